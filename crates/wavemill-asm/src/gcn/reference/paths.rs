//! Where pages are, without extension.

/// The page of an instruction, by its newest mnemonic.
pub(super) fn instruction_path(name: &str) -> String {
    format!("instruction/{name}")
}

/// The page of a format.
pub(super) fn format_path(name: &str) -> String {
    format!("format/{name}")
}

/// The page of a target.
pub(super) fn target_path(name: &str) -> String {
    format!("target/{name}")
}
