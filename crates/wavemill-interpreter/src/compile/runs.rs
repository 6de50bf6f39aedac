//! Fuses runs of integer operations.

use wavemill_machine::registers::ROW_BYTES;

use crate::Tier;
use crate::fused::{Kind, form, kind_of, run_handler};
use crate::hostop::{FLAGS, HostOp};

/// How many operations ahead of its time one may run, to find its source in registers.
const REACH: usize = 8;

/// Operations of the shortest run: the handler of a run costs as much as two of its own ones do.
const SHORTEST: usize = 3;

/// Fuses the runs of a block, whose operations may change places. Nothing can see the rows inside a
/// run: no operation there faults, waits, reports or counts, and waves enter and leave a block
/// elsewhere.
pub(super) fn fuse(ops: &mut [HostOp], tier: Tier) {
    // Results do not stay in registers on the portable tier.
    if tier == Tier::Portable {
        return;
    }
    let mut overwritten = Rows::default();
    let mut rest = ops;
    while let [first, ..] = rest {
        let mask = first.mask;
        let n = rest.iter().take_while(|op| op.mask == mask && kind_of(op).is_some()).count();
        let (run, behind) = rest.split_at_mut(n.max(1));
        rest = behind;
        if n >= SHORTEST {
            arrange(run);
            encode(run, &mut overwritten);
            run[0].run = run_handler(tier);
        }
    }
}

/// The offsets of sources, with flags.
fn sources(op: &HostOp) -> &[u32] {
    &op.src[..kind_of(op).map_or(0, Kind::sources)]
}

/// Moves operations up to those whose results they read, if all rows have the same values as before
/// when they are read, and in the end.
fn arrange(run: &mut [HostOp]) {
    for at in 0..run.len() {
        let row = run[at].dst;
        let end = run.len().min(at + 1 + REACH);
        for next in at + 1..end {
            if !sources(&run[next]).contains(&row) {
                continue;
            }
            let (moved, between) = (&run[next], &run[at + 1..next]);
            let is_independent = |other: &HostOp| {
                other.dst != moved.dst
                    && !sources(moved).contains(&other.dst)
                    && !sources(other).contains(&moved.dst)
            };
            if between.iter().all(is_independent) {
                run[at + 1..=next].rotate_right(1);
                break;
            }
        }
    }
}

/// Decides where sources come from, and which results are stored: those that are read from their
/// rows, and those that are the last ones there.
fn encode(run: &mut [HostOp], overwritten: &mut Rows) {
    overwritten.0.clear();
    let last = run.len() - 1;
    for at in (0..=last).rev() {
        let held = at.checked_sub(1).map(|before| run[before].dst);
        let op = &mut run[at];
        let Some(kind) = kind_of(op) else { continue };
        let held = held.and_then(|held| sources(op).iter().position(|source| *source == held));
        let (form, held) = form_of(op, kind, held);
        // An earlier result in the row is overwritten here, unless this operation reads it first.
        let is_stored = !overwritten.set(op.dst, true);
        for (i, source) in sources(op).iter().enumerate() {
            if source & FLAGS == 0 && held != Some(i) {
                overwritten.set(*source, false);
            }
        }
        op.dst2 = kind.in_run(form, is_stored, at == last);
    }
}

/// The form of an operation whose source at `held` is, and where that source is then: if the first
/// two sources may be exchanged, a held one is first, and a scalar is second.
fn form_of(op: &mut HostOp, kind: Kind, held: Option<usize>) -> (u8, Option<usize>) {
    let n = kind.sources();
    let is_scalar = |op: &HostOp, i: usize| op.src[i] & FLAGS != 0;
    let mut held = held;
    let exchange = match held {
        None => n == 2 && is_scalar(op, 0),
        Some(at) => at == 1,
    };
    if exchange && kind.is_symmetric() {
        op.src.swap(0, 1);
        op.k.swap(0, 1);
        held = held.map(|_| 0);
    }
    let others_are_rows = (0..n).all(|i| held == Some(i) || !is_scalar(op, i));
    let form = match held {
        None if others_are_rows => form::ROWS,
        None if n == 2 && !is_scalar(op, 0) => form::ROW_SCALAR,
        None => form::ANY,
        Some(0) if others_are_rows => form::FIRST_ROWS,
        Some(0) if n == 2 => form::FIRST_SCALAR,
        Some(0) => form::FIRST,
        Some(1) => form::SECOND,
        Some(_) => form::THIRD,
    };
    (form, held)
}

/// A set of rows, by their offsets.
#[derive(Default)]
struct Rows(Vec<u64>);

impl Rows {
    /// Makes a row a member or not, and returns whether it was one.
    fn set(&mut self, offset: u32, member: bool) -> bool {
        let row = (offset / ROW_BYTES) as usize;
        let (word, bit) = (row / 64, 1 << (row % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let was = self.0[word] & bit != 0;
        match member {
            true => self.0[word] |= bit,
            false => self.0[word] &= !bit,
        }
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Shape;
    use crate::hostop::{ABSENT, CONST, Own, SiteCache};
    use crate::int::int_handler;
    use wavemill_ir::{IntOp, Row, Uni};
    use wavemill_machine::registers::{RegisterCounts, uni_offset};

    const COUNTS: RegisterCounts = RegisterCounts::of_rows([16, 0]);

    fn row(n: u16) -> u32 {
        COUNTS.source(Row(n))
    }

    fn op(kind: Kind, to: u16, sources: &[u32]) -> HostOp {
        let mut src = [ABSENT; 4];
        src[..sources.len()].copy_from_slice(sources);
        HostOp {
            run: int_handler(IntOp::Mov, Tier::Portable, Shape::Rows, false).unwrap(),
            dst: row(to),
            dst2: kind.alone(),
            src,
            mask: uni_offset(Uni::ACTIVE),
            imm: 0,
            k: [0, 1, 2, 3],
            float: std::ptr::null(),
            own: Own { site: SiteCache::EMPTY },
            pc: 0,
        }
    }

    fn encoded<const N: usize>(mut run: [HostOp; N]) -> [HostOp; N] {
        encode(&mut run, &mut Rows::default());
        run
    }

    #[test]
    fn results_that_nobody_reads_from_their_row_are_not_stored() {
        let run = encoded([
            op(Kind::Add, 0, &[row(1), row(2)]),
            op(Kind::Xor, 0, &[row(0), row(3)]),
            op(Kind::Sub, 4, &[row(5), row(0)]),
            op(Kind::Mov, 0, &[row(1)]),
        ]);
        let codes = run.map(|op| op.dst2);
        let want = [
            Kind::Add.in_run(form::ROWS, false, false),
            Kind::Xor.in_run(form::FIRST_ROWS, false, false),
            Kind::Sub.in_run(form::SECOND, true, false),
            Kind::Mov.in_run(form::ROWS, true, true),
        ];
        assert_eq!(codes, want);
    }

    #[test]
    fn results_that_are_read_from_their_row_are_stored() {
        // The second one reads it twice, the third one later.
        for third in [op(Kind::Mov, 3, &[row(4)]), op(Kind::Or, 3, &[row(0), row(4)])] {
            let twice = op(Kind::Sub, 2, &[row(0), row(0)]);
            let last = op(Kind::Mov, 0, &[row(1)]);
            let run = encoded([op(Kind::Not, 0, &[row(1)]), twice, third, last]);
            assert_eq!(run[0].dst2, Kind::Not.in_run(form::ROWS, true, false));
            assert_eq!(run[1].dst2, Kind::Sub.in_run(form::FIRST_ROWS, true, false));
        }
        // The last result stays, also where it overwrites its own source.
        let run = encoded([op(Kind::Add, 0, &[row(0), row(1)]), op(Kind::Shl, 0, &[row(1), row(0)])]);
        assert_eq!(run[0].dst2, Kind::Add.in_run(form::ROWS, false, false));
        assert_eq!(run[1].dst2, Kind::Shl.in_run(form::SECOND, true, true));
    }

    #[test]
    fn operations_follow_those_that_they_read_from() {
        let order = |rows: [(u16, [u16; 2]); 4]| {
            let mut run = rows.map(|(to, [a, b])| op(Kind::Add, to, &[row(a), row(b)]));
            arrange(&mut run);
            run.map(|op| rows.iter().position(|(to, _)| row(*to) == op.dst).unwrap())
        };
        assert_eq!(order([(0, [1, 2]), (3, [1, 2]), (4, [5, 6]), (7, [0, 1])]), [0, 3, 1, 2]);
        // Not before its other source, after its own source changed, or before a reader of its row.
        assert_eq!(order([(0, [1, 2]), (3, [1, 2]), (4, [5, 6]), (7, [0, 3])]), [0, 1, 3, 2]);
        assert_eq!(order([(0, [1, 2]), (3, [1, 7]), (4, [5, 6]), (7, [0, 1])]), [0, 1, 2, 3]);
        // Both write the same row.
        let mut run = [0, 3, 3].map(|to| op(Kind::Mov, to, &[row(1)]));
        run[2].src[0] = row(0);
        arrange(&mut run);
        assert_eq!(run.map(|op| op.src[0]), [row(1), row(1), row(0)]);
    }

    #[test]
    fn a_scalar_is_second_where_sources_may_be_exchanged() {
        let run = encoded([
            op(Kind::Add, 0, &[CONST, row(1)]),
            op(Kind::And, 2, &[CONST, row(0)]),
            op(Kind::Sub, 3, &[CONST, row(2)]),
            op(Kind::Sub, 4, &[CONST, row(1)]),
            op(Kind::Bfi, 5, &[CONST, row(4), row(1)]),
        ]);
        let forms = [form::ROW_SCALAR, form::FIRST_SCALAR, form::SECOND, form::ANY, form::SECOND];
        let kinds = [Kind::Add, Kind::And, Kind::Sub, Kind::Sub, Kind::Bfi];
        for (n, op) in run.iter().enumerate() {
            assert_eq!(op.dst2, kinds[n].in_run(forms[n], true, n == 4), "operation {n}");
        }
        assert_eq!((run[0].src[1], run[0].k), (CONST, [1, 0, 2, 3]));
        assert_eq!((run[2].src[0], run[2].k), (CONST, [0, 1, 2, 3]));
    }
}
