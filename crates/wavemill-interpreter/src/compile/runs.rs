//! Fuses runs of integer operations.

use wavemill_machine::registers::ROW_BYTES;

use crate::Tier;
use crate::fused::{Kind, form, kind_of, run_handler};
use crate::hostop::{FLAGS, HostOp};

/// How many operations ahead of its time one may run, to find its source in registers.
const REACH: usize = 8;

/// Fuses the runs of a block. Operations of a run change places, and nothing else points to them:
/// a wave is neither left nor entered inside a run, and nothing there counts.
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
        if n > 1 {
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

/// Moves operations up to those whose results they read, if all rows have the same
/// values as before when they are read, and in the end.
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
