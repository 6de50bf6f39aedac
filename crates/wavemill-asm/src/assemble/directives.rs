//! The names of directives.

/// The directives that suggestions are made from.
pub(super) const DIRECTIVES: &[&str] = &[
    ".2byte",
    ".4byte",
    ".8byte",
    ".addrsig",
    ".addrsig_sym",
    ".align",
    ".amdgcn_target",
    ".amdgpu_lds",
    ".amdgpu_metadata",
    ".amdhsa_code_object_version",
    ".amdhsa_kernel",
    ".ascii",
    ".asciz",
    ".balign",
    ".bss",
    ".byte",
    ".cfi_def_cfa",
    ".cfi_endproc",
    ".cfi_escape",
    ".cfi_sections",
    ".cfi_startproc",
    ".cfi_undefined",
    ".comm",
    ".data",
    ".double",
    ".else",
    ".elseif",
    ".end",
    ".end_amdgpu_metadata",
    ".end_amdhsa_kernel",
    ".endif",
    ".endm",
    ".endr",
    ".equ",
    ".equiv",
    ".err",
    ".error",
    ".exitm",
    ".file",
    ".fill",
    ".float",
    ".global",
    ".globl",
    ".hidden",
    ".hword",
    ".ident",
    ".if",
    ".ifdef",
    ".ifndef",
    ".incbin",
    ".include",
    ".int",
    ".internal",
    ".irp",
    ".irpc",
    ".local",
    ".loc",
    ".long",
    ".macro",
    ".no_dead_strip",
    ".octa",
    ".org",
    ".p2align",
    ".popsection",
    ".previous",
    ".print",
    ".protected",
    ".purgem",
    ".pushsection",
    ".quad",
    ".rept",
    ".section",
    ".set",
    ".short",
    ".single",
    ".size",
    ".skip",
    ".sleb128",
    ".space",
    ".string",
    ".text",
    ".type",
    ".uleb128",
    ".warning",
    ".weak",
    ".word",
    ".zero",
];

#[cfg(test)]
mod tests {
    use super::DIRECTIVES;
    use crate::{Options, assemble};

    /// What is suggested must exist.
    #[test]
    fn every_directive_that_is_suggested_is_known() {
        for directive in DIRECTIVES {
            let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{directive}\n");
            let Err(reports) = assemble(&source, &Options::default()) else { continue };
            for report in reports {
                let message = &report.diagnostic.message;
                assert!(!message.contains("there is no directive"), "{directive}: {message}");
            }
        }
        assert!(assemble(".no_such_directive", &Options::default()).is_err());
    }
}
