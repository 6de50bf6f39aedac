//! What every message of an assembler holds to.

use wavemill_asm::Report;

/// A report can be printed, and its fix applied.
pub fn check(report: &Report) {
    let diagnostic = &report.diagnostic;
    assert!(!diagnostic.message.is_empty() && !diagnostic.message.contains('\n'), "{report:?}");
    assert!(report.text.is_char_boundary(diagnostic.span.start), "{report:?}");
    assert!(diagnostic.span.start <= diagnostic.span.end, "{report:?}");
    if let Some(fix) = &diagnostic.fix {
        assert!(fix.applied(&report.text).is_some(), "{report:?}");
    }
}
