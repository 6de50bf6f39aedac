//! The names of directives.

/// The directives that suggestions come from, besides the directives of the ABI.
pub(super) const DIRECTIVES: &[&str] = &[
    ".2byte",
    ".4byte",
    ".8byte",
    ".addrsig",
    ".addrsig_sym",
    ".align",
    ".amdgpu_lds",
    ".ascii",
    ".asciz",
    ".balign",
    ".bss",
    ".rodata",
    ".byte",
    ".cfi_def_cfa",
    ".cfi_endproc",
    ".cfi_escape",
    ".cfi_sections",
    ".cfi_startproc",
    ".cfi_undefined",
    ".comm",
    ".data",
    ".dc.a",
    ".dc.b",
    ".dc.d",
    ".dc.l",
    ".dc.s",
    ".dc.w",
    ".dcb.b",
    ".dcb.d",
    ".dcb.l",
    ".dcb.s",
    ".dcb.w",
    ".double",
    ".ds.b",
    ".ds.d",
    ".ds.l",
    ".ds.w",
    ".else",
    ".elseif",
    ".end",
    ".endif",
    ".endm",
    ".endr",
    ".equ",
    ".equiv",
    ".err",
    ".error",
    ".exitm",
    ".extern",
    ".file",
    ".fill",
    ".float",
    ".global",
    ".globl",
    ".hidden",
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
    ".lcomm",
    ".loc",
    ".local",
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
    ".value",
    ".warning",
    ".weak",
    ".zero",
];

/// LLVM directives that are not supported: a module cannot hold their result, or no source has
/// needed them.
pub(super) const MISSING: &[&str] = &[
    ".align32",
    ".altmacro",
    ".amdgpu_pal_metadata",
    ".base64",
    ".cg_profile",
    ".cv_file",
    ".cv_string",
    ".dc.x",
    ".dcb.x",
    ".line",
    ".loc_label",
    ".lto_discard",
    ".lto_set_conditional",
    ".memtag",
    ".noaltmacro",
    ".reloc",
    ".subsection",
    ".symver",
    ".tbss",
    ".tdata",
    ".version",
    ".weak_reference",
    ".weakref",
];

#[cfg(test)]
mod tests {
    use super::{DIRECTIVES, MISSING};
    use crate::{InstructionSet, Options, assemble};

    /// Every suggested directive must exist.
    #[test]
    fn every_directive_that_is_suggested_is_known() {
        let own = InstructionSet::default().abi().expect("sources without a target have an ABI");
        let own = own.directives().names();
        for directive in DIRECTIVES.iter().chain(&own) {
            let source = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{directive}\n");
            let Err(reports) = assemble(&source, &Options::default()) else { continue };
            for report in reports {
                let message = &report.diagnostic.message;
                assert!(!message.contains("there is no directive"), "{directive}: {message}");
            }
        }
        assert!(assemble(".no_such_directive", &Options::default()).is_err());
    }

    /// Missing directives are reported as missing, and docs/assembler.md has the same list.
    #[test]
    fn every_directive_that_is_missing_is_listed() {
        let page = include_str!("../../../../docs/assembler.md");
        for directive in MISSING {
            assert!(!DIRECTIVES.contains(directive), "{directive}");
            let reports = assemble(directive, &Options::default()).expect_err(directive);
            let message = format!("`{directive}` is an LLVM directive that Wavemill does not support");
            assert_eq!(reports[0].diagnostic.message, message);
            assert!(page.contains(&format!("`{directive}`")), "{directive}");
        }
    }
}
