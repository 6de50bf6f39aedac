//! Names and values of the registers that an instruction changed.

use wavemill_ir::{Names, Operand, Row, Uni};
use wavemill_isa::Family;
use wavemill_isa::gcn::Special;
use wavemill_machine::Changes;

use crate::registers::{self, cayman};

/// A scalar register with its new value.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::observe::TraceStep;
/// use wavemill::observe::changed::scalars;
///
/// /// The scalar registers that an instruction changed, in a line of a trace.
/// fn changed(step: &TraceStep<'_>) -> String {
///     let all = scalars(step.family, &step.changes, |cell| step.registers.uni(cell));
///     let texts = all.iter().map(|scalar| format!("{} = {:#x}", scalar.name, scalar.value));
///     texts.collect::<Vec<_>>().join(", ")
/// }
/// # use std::sync::Mutex;
/// # use wavemill::Launch;
/// # use wavemill::observe::Tracer;
/// # #[derive(Debug, Default)]
/// # struct Lines(Mutex<Vec<String>>);
/// # impl Tracer for Lines {
/// #     fn watches(&self, _: [u32; 3], _: u32) -> bool { true }
/// #     fn stepped(&self, step: &TraceStep<'_>) { self.0.lock().unwrap().push(changed(step)); }
/// # }
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_mov_b32 s4, 7\ns_endpgm")?;
/// # let lines = Lines::default();
/// # Launch::new(&kernel).tracer(&lines).run()?;
/// # assert_eq!(lines.0.into_inner()?, ["s4 = 0x7", ""]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Its name: `s3`, `exec`.
    pub name: String,
    /// Its value after the instruction.
    pub value: u64,
    /// Whether it is a pair of cells, which has 64 bits.
    pub pair: bool,
}

/// The names of registers.
fn names(family: Family) -> &'static dyn Names {
    match family {
        Family::Gcn => &registers::RegisterNames,
        Family::Cayman => &cayman::RegisterNames,
    }
}

/// The name of a vector register: `v1`, `a0`.
#[must_use]
pub fn row_name(family: Family, row: Row) -> String {
    Operand::Row(row).text(names(family))
}

/// The pair of cells that a cell is one of, by its first cell and its name.
fn pair(family: Family, cell: Uni) -> Option<(Uni, String)> {
    match family {
        Family::Gcn => {
            // Pairs begin at even operand codes.
            let low = registers::code(cell) & !1;
            let name = Special::from_code(low.into())?.pair_name()?;
            Some((registers::scalar(low), name.to_owned()))
        }
        Family::Cayman => cayman::pair(cell),
    }
}

/// The scalar registers that changed, except SCC. `now` has the values after the instruction.
pub fn scalars(family: Family, changes: &Changes<'_>, now: impl Fn(Uni) -> u32) -> Vec<Scalar> {
    let is_scc = |cell: Uni| family == Family::Gcn && cell == registers::SCC;
    let mut out: Vec<Scalar> = Vec::new();
    let mut changed: Vec<_> = changes.cells.iter().filter(|change| !is_scc(change.cell)).collect();
    changed.sort_by_key(|change| match family {
        Family::Gcn => registers::code(change.cell),
        Family::Cayman => change.cell.0,
    });
    for change in changed {
        let cell = change.cell;
        match pair(family, cell) {
            None => {
                out.push(Scalar {
                    name: Operand::Uni(cell).text(names(family)),
                    value: change.after.into(),
                    pair: false,
                });
            }
            Some((_, name)) if out.last().is_some_and(|last| last.name == name) => {}
            Some((low, name)) => {
                let value = u64::from(now(low)) | u64::from(now(low.plus(1))) << 32;
                out.push(Scalar { name, value, pair: true });
            }
        }
    }
    out
}

/// MODE without CSP, if it changed. Other changes of a context are those of a trap handler.
#[must_use]
pub fn mode(family: Family, changes: &Changes<'_>) -> Option<u32> {
    let mode = |context| match family {
        Family::Gcn => registers::mode(context, 0),
        Family::Cayman => context,
    };
    let (old, new) = changes.context.map(|(old, new)| (mode(old), mode(new)))?;
    (old != new).then_some(new)
}

/// SCC, if it changed.
#[must_use]
pub fn scc(family: Family, changes: &Changes<'_>) -> Option<u32> {
    let change = changes.cells.iter().find(|change| change.cell == registers::SCC)?;
    (family == Family::Gcn).then_some(change.after)
}
