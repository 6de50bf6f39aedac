//! The state of a wave, field by field, as `umr` shows it.

use std::fmt;

use wavemill_lift::cayman;
use wavemill_machine::Fault;

use crate::registers::WaveRegisters;

/// The state of the wave that faulted.
pub(super) struct Wave<'a> {
    pub fault: &'a Fault,
    /// Whether TRAPSTS has all exceptions that it raised.
    pub collects_exceptions: bool,
}

/// Flags of a register by their bits.
type Flags = &'static [(&'static str, u32)];

/// STATUS (Vega ISA 3.3): the flags of compute.
const STATUS: Flags = &[
    ("scc", 0),
    ("priv", 5),
    ("trap_en", 6),
    ("execz", 9),
    ("vccz", 10),
    ("in_barrier", 12),
    ("halt", 13),
    ("valid", 16),
];
/// MODE (Vega ISA 3.4): its flags.
const MODE: Flags =
    &[("dx10_clamp", 8), ("ieee", 9), ("debug", 11), ("fp16_ovfl", 23), ("gpr_idx_en", 27), ("vskip", 28)];
/// Exceptions that TRAPSTS collects, and that MODE.EXCP_EN enables from bit 12 on.
const EXCEPTIONS: Flags = &[
    ("invalid", 0),
    ("input_denorm", 1),
    ("float_div0", 2),
    ("overflow", 3),
    ("underflow", 4),
    ("inexact", 5),
    ("int_div0", 6),
    ("addr_watch", 7),
    ("mem_viol", 8),
];
/// The bits of [`EXCEPTIONS`].
const EXCP: u32 = 0x1ff;
/// Names of the values of a rounding field and of a denormal field (Vega ISA 3.4).
const ROUND: [&str; 4] = ["nearest_even", "plus_inf", "minus_inf", "to_zero"];
const DENORM: [&str; 4] = ["flush", "flush_out", "flush_in", "keep"];

/// Each flag with its value.
fn flags(word: u32, flags: Flags) -> String {
    let one = |(name, bit): &(&str, u32)| format!("{name} {}", word >> bit & 1);
    flags.iter().map(one).collect::<Vec<_>>().join("  ")
}

/// The names of the flags that are set.
fn set(word: u32, flags: Flags) -> String {
    let names: Vec<&str> =
        flags.iter().filter(|(_, bit)| word >> bit & 1 != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" ") }
}

impl fmt::Display for Wave<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.fault;
        let (s, r) = (WaveRegisters(&fault.snapshot), &fault.resources);
        writeln!(f, "  wave")?;
        writeln!(f, "    status   {:08x}  {}", s.status(), flags(s.status(), STATUS))?;
        let field = |names: [&'static str; 4], at: u32| names[(s.mode() >> at & 3) as usize];
        writeln!(
            f,
            "    mode     {:08x}  round f32 {}  f64 {}  denorm f32 {}  f64 {}",
            s.mode(),
            field(ROUND, 0),
            field(ROUND, 2),
            field(DENORM, 4),
            field(DENORM, 6),
        )?;
        writeln!(f, "{:23}{}  excp_en {}", "", flags(s.mode(), MODE), set(s.mode() >> 12, EXCEPTIONS))?;
        let saved = if s.trapsts() >> 10 & 1 != 0 { "  savectx 1" } else { "" };
        let excp = match (self.collects_exceptions, s.trapsts() & EXCP) {
            (true, _) => set(s.trapsts(), EXCEPTIONS),
            (false, 0) => "not collected".to_owned(),
            (false, _) => format!("{}, others not collected", set(s.trapsts(), EXCEPTIONS)),
        };
        writeln!(f, "    trapsts  {:08x}  excp {excp}{saved}", s.trapsts())?;
        writeln!(
            f,
            "    alloc    lds {} bytes  private {} bytes  vgprs {}  accvgprs {}",
            r.lds,
            r.private,
            s.vgprs().len(),
            s.accvgprs().len()
        )?;
        writeln!(f, "    exec     {:016x}  vcc {:016x}", s.exec(), s.vcc())?;
        writeln!(
            f,
            "    m0       {:08x}  flat_scratch {:016x}  xnack_mask {:016x}",
            s.m0(),
            s.flat_scratch(),
            s.xnack_mask()
        )?;
        sgprs(f, s.sgprs())
    }
}

/// The state of a wave of a family with clauses.
pub(super) struct ClauseWave<'a>(pub &'a Fault);

impl fmt::Display for ClauseWave<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClauseWave(fault) = self;
        let (s, r) = (&fault.snapshot, &fault.resources);
        writeln!(f, "  wave")?;
        writeln!(f, "    active   {:016x}", s.active)?;
        writeln!(f, "    stack    {} subentries in use", cayman::Position::depth(fault.pc))?;
        let field = |at: u32| ROUND[(s.context >> at & 3) as usize];
        let keeps = |at: u32| if s.context >> at & 1 != 0 { "keep" } else { "flush" };
        writeln!(
            f,
            "    mode     {:08x}  round f32 {}  f64 {}  denorm f32 {}, {}  f64 {}, {}",
            s.context,
            field(0),
            field(4),
            keeps(2),
            keeps(3),
            keeps(6),
            keeps(7),
        )?;
        writeln!(f, "    alloc    lds {} bytes  gprs {}", r.lds, s.rows[0].len() / 4)?;
        // Resources are those of the launch.
        for (name, value) in cayman::registers::control_state(|cell| s.cell(cell)) {
            writeln!(f, "    {name:18} {value:x}")?;
        }
        Ok(())
    }
}

/// SGPRs in groups of four; groups of zeros are omitted.
fn sgprs(f: &mut fmt::Formatter<'_>, sgprs: &[u32]) -> fmt::Result {
    for first in (0..sgprs.len()).step_by(4) {
        let last = (first + 3).min(sgprs.len() - 1);
        if sgprs[first..=last].iter().all(|v| *v == 0) {
            continue;
        }
        let values: Vec<String> = sgprs[first..=last].iter().map(|v| format!("{v:08x}")).collect();
        writeln!(f, "    {:9}{}", format!("s[{first}:{last}]"), values.join(" "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_by_name() {
        assert_eq!(flags(0x0001_0201, &STATUS[..4]), "scc 1  priv 0  trap_en 0  execz 1");
        assert_eq!(set(0x0, EXCEPTIONS), "none");
        assert_eq!(set(0x121, EXCEPTIONS), "invalid inexact mem_viol");
    }
}
