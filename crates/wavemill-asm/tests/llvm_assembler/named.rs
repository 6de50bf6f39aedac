//! Instructions that lines of `disagreements.txt` name.

/// Instructions by mnemonic: full mnemonics without encoding suffix, or prefixes of the form
/// `stem_*`, which have at least one more underscore before the last one.
#[derive(Debug)]
pub(crate) struct Mnemonics(Vec<String>);

impl Mnemonics {
    /// Parses a comma-separated list; `None` if it contains an invalid name or stem.
    pub(crate) fn new(text: &str) -> Option<Mnemonics> {
        let good = |name: &str| {
            let stem = name.strip_suffix("*");
            let plain = stem.unwrap_or(name);
            plain.contains('_')
                && stem.is_none_or(|stem| stem.ends_with('_') && stem.len() > 4)
                && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let names: Vec<String> = text.split(',').map(str::to_owned).collect();
        names.iter().all(|name| good(name)).then_some(Mnemonics(names))
    }

    /// Whether the mnemonic, which may have a suffix, is one of them.
    pub(crate) fn contain(&self, mnemonic: &str) -> bool {
        let plain = ["_e32", "_e64", "_sdwa", "_dpp"].iter().find_map(|suffix| mnemonic.strip_suffix(suffix));
        let name = plain.unwrap_or(mnemonic);
        self.0.iter().any(|known| match known.strip_suffix('*') {
            Some(stem) => name.starts_with(stem),
            None => known == name,
        })
    }
}
