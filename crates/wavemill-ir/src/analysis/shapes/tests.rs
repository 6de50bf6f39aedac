//! Shapes of programs written by hand.

use std::collections::BTreeMap;

use super::super::Limits;
use super::super::tests::branch;
use super::*;
use crate::{Attrs, BlockBuilder, IntOp, LANES, LaneMask, MemType, ScalarOp, Space, Terminator, Width};

const ACTIVE: Operand = Operand::Uni(Uni::ACTIVE);

fn int<const N: usize>(b: &mut BlockBuilder, op: IntOp, dst: [Operand; 2], sources: [Operand; N]) {
    b.push(Op::Int(op), dst, sources, Attrs::default());
}

fn row(n: u16) -> Operand {
    Operand::Row(Row(n))
}

fn cell(n: u16) -> Operand {
    Operand::Uni(Uni(n))
}

const NONE: Operand = Operand::None;

fn lanes() -> Shape {
    Shape::exact(&std::array::from_fn(|lane| lane as u32))
}

/// Calls a function with the shapes of a program whose first row is the lane.
fn analysed<R>(
    blocks: Vec<Block>,
    full: bool,
    then: impl FnOnce(&Graph<&Block>, &Shapes<'_, &Block>) -> R,
) -> R {
    let blocks: BTreeMap<u64, Block> = blocks.into_iter().map(|block| (block.start, block)).collect();
    let graph = Graph::new(0, Limits::default(), |at| &blocks[&at]);
    let wave = WaveFacts::default();
    let full = Full::new(&graph, &wave, full);
    let entry = Entry { rows: vec![(Row(0), lanes())], ..Entry::default() };
    then(&graph, &Shapes::new(&graph, &wave, &full, &entry))
}

fn block(at: u64, end: Terminator, build: impl FnOnce(&mut BlockBuilder)) -> Block {
    let mut b = BlockBuilder::new(at);
    b.begin_guest(at);
    build(&mut b);
    b.finish(at + 1, end)
}

/// The state at the end of a block.
fn end(graph: &Graph<&Block>, shapes: &Shapes<'_, &Block>, at: u64) -> State {
    let mut walk = shapes.walk(graph.at(at).unwrap()).unwrap();
    while walk.operation().is_some() {
        walk.step();
    }
    walk.state().clone()
}

/// An address that a loop moves by a uniform distance stays affine; the counter loses its range.
#[test]
fn a_loop_moves_an_address() {
    let first = block(0, Terminator::Jump(1), |b| {
        int(b, IntOp::Shl, [row(1), NONE], [row(0), Operand::Const(2)]);
        b.scalar(ScalarOp::Mov, Width::W32, Uni(6), &[Operand::Const(0)]);
    });
    let body = block(1, branch(1, 2), |b| {
        int(b, IntOp::Add, [row(1), NONE], [row(1), cell(7)]);
        int(b, IntOp::Add, [row(2), NONE], [row(2), row(0)]);
        b.scalar(ScalarOp::AddCarryOut, Width::W32, Uni(6), &[cell(6), Operand::Const(4)]);
    });
    let last = block(2, Terminator::End, |_| {});
    analysed(vec![first, body, last], true, |graph, shapes| {
        let state = end(graph, shapes, 2);
        assert_eq!((state.row(Row(1)).stride(), state.row(Row(1)).is_uniform()), (Some(4), false));
        assert_eq!(state.row(Row(2)), Shape::varying(32));
        // The counter is a multiple of 4, and nothing else is known.
        assert_eq!((state.cell(Uni(6)).low_bits(), state.cell(Uni(6)).value()), ((0, 2), None));
    });
}

/// Under a part of the mask, rows have the shapes that are written; behind it, they are mixed.
#[test]
fn values_mix_when_the_mask_grows() {
    let first = block(0, branch(1, 2), |b| {
        int(b, IntOp::Mov, [row(1), NONE], [Operand::Const(7)]);
        int(b, IntOp::Mov, [row(2), NONE], [Operand::Const(7)]);
        b.scalar(ScalarOp::Mov, Width::W64, Uni(2), &[ACTIVE]);
        b.scalar(ScalarOp::And, Width::W64, Uni::ACTIVE, &[ACTIVE, cell(106)]);
    });
    let inside = block(1, Terminator::Jump(2), |b| {
        int(b, IntOp::Mov, [row(1), NONE], [Operand::Const(9)]);
        int(b, IntOp::Mov, [row(2), NONE], [Operand::Const(7)]);
        int(b, IntOp::Mov, [row(3), NONE], [row(0)]);
    });
    let behind = block(2, Terminator::End, |b| {
        b.scalar(ScalarOp::Or, Width::W64, Uni::ACTIVE, &[ACTIVE, cell(2)]);
    });
    for full in [true, false] {
        analysed(vec![first.clone(), inside.clone(), behind.clone()], full, |graph, shapes| {
            let state = end(graph, shapes, 1);
            assert_eq!((state.row(Row(1)).value(), state.row(Row(3))), (Some(9), lanes()));
            let state = end(graph, shapes, 2);
            assert_eq!((state.row(Row(1)).stride(), state.row(Row(1)).range()), (None, (7, 9)));
            assert_eq!((state.row(Row(2)).value(), state.row(Row(0))), (Some(7), lanes()));
            assert_eq!(state.row(Row(3)).stride(), None);
            // What inactive lanes have at the entry is not known.
            assert_eq!(state.row_in_all_lanes(Row(0)).stride(), full.then_some(1));
        });
    }
}

/// Without a relation of the two masks, shapes are those in all lanes.
#[test]
fn another_mask_forgets() {
    let only = block(0, Terminator::End, |b| {
        b.scalar(ScalarOp::And, Width::W64, Uni::ACTIVE, &[ACTIVE, cell(106)]);
        int(b, IntOp::Mov, [row(1), NONE], [Operand::Const(9)]);
        b.scalar(ScalarOp::Mov, Width::W64, Uni::ACTIVE, &[cell(4)]);
    });
    analysed(vec![only], true, |graph, shapes| {
        let state = end(graph, shapes, 0);
        assert_eq!((state.row(Row(1)).stride(), state.row(Row(0))), (None, lanes()));
    });
}

/// A 64-bit sum in two operations, and addresses of loads.
#[test]
fn sums_of_pairs_are_addresses() {
    let only = block(0, Terminator::End, |b| {
        int(b, IntOp::Mov, [row(1), NONE], [Operand::Const(0)]);
        int(b, IntOp::Shl64, [row(2), NONE], [row(0), Operand::Const(2)]);
        int(b, IntOp::Mov, [row(4), NONE], [cell(9)]);
        int(b, IntOp::AddCo, [row(2), cell(106)], [cell(8), row(2)]);
        int(b, IntOp::AddCi, [row(3), cell(106)], [row(4), row(3), cell(106)]);
        let ty = MemType::Dwords(1);
        b.push(Op::Load(Space::Global, ty), [row(5), NONE], [row(2)], Attrs { imm: 16, ..Attrs::default() });
        b.push(Op::Load(Space::Global, ty), [row(6), NONE], [row(0), cell(8)], Attrs::default());
        b.push(Op::Load(Space::Global, ty), [row(7), NONE], [row(4), cell(8)], Attrs::default());
    });
    analysed(vec![only], false, |graph, shapes| {
        let mut walk = shapes.walk(0).unwrap();
        let mut addresses = Vec::new();
        while walk.operation().is_some() {
            addresses.extend(walk.address().map(|address| address.stride()));
            walk.step();
        }
        assert_eq!(addresses, [Some(4), Some(1), Some(0)]);
        let state = end(graph, shapes, 0);
        assert_eq!(state.pair(Row(2)).stride(), Some(4));
        assert!(state.row(Row(7)).is_uniform() && !state.row(Row(6)).is_uniform());
    });
}

/// Comparisons of rising values hold for a run of lanes; a comparison of uniform values for all lanes
/// or none, so that a selection by it stays uniform.
#[test]
fn comparisons() {
    let only = block(0, Terminator::End, |b| {
        let cmp = |b: &mut BlockBuilder, pred, sources: [Operand; 2]| {
            b.push(Op::IntCmp(pred, IntType::U32), [cell(106), NONE], sources, Attrs::default());
        };
        cmp(b, CmpPred::Lt, [row(0), cell(4)]);
        cmp(b, CmpPred::Lt, [cell(4), row(0)]);
        cmp(b, CmpPred::Eq, [row(0), cell(4)]);
        int(b, IntOp::And, [row(1), NONE], [row(0), Operand::Const(0x1f)]);
        cmp(b, CmpPred::Ge, [row(1), cell(4)]);
        int(b, IntOp::Select, [row(2), NONE], [cell(4), cell(5), cell(106)]);
        cmp(b, CmpPred::Eq, [cell(4), cell(5)]);
        int(b, IntOp::Select, [row(3), NONE], [cell(4), cell(5), cell(106)]);
        int(b, IntOp::Select, [row(4), NONE], [row(0), row(1), cell(106)]);
    });
    analysed(vec![only], false, |graph, shapes| {
        let mut walk = shapes.walk(0).unwrap();
        let mut found = Vec::new();
        while walk.operation().is_some() {
            found.extend(matches!(walk.operation().unwrap().op, Op::IntCmp(..)).then(|| walk.compared()));
            walk.step();
        }
        let run = |whole_wave, from_first| Some(ComparedLanes::Run { whole_wave, from_first });
        let expected =
            [run(true, true), run(true, false), None, run(false, false), Some(ComparedLanes::AllOrNone)];
        assert_eq!(found, expected);
        let state = end(graph, shapes, 0);
        assert_eq!((state.row(Row(2)).stride(), state.row(Row(3)).stride()), (None, Some(0)));
        // One path or the other for all lanes: both rise by one in a strip.
        assert_eq!(state.row(Row(4)).stride(), Some(1));
    });
}

#[test]
fn lanes_of_comparisons() {
    let run = |whole_wave, from_first| ComparedLanes::Run { whole_wave, from_first };
    assert!(run(true, true).admits(0xff, !0) && !run(true, true).admits(0xff00, !0));
    assert!(run(true, true).admits(0xff00, 0xffff_ff00) && run(true, true).admits(0, !0));
    assert!(run(true, false).admits(!0 << 40, !0) && !run(true, false).admits(1, !0));
    assert!(
        run(false, true).admits(0x0001_0003_0000_ffff, !0)
            && !run(true, true).admits(0x0001_0003_0000_ffff, !0)
    );
    assert!(ComparedLanes::AllOrNone.admits(0xf0, 0xf0) && !ComparedLanes::AllOrNone.admits(0x10, 0xf0));
}

/// A comparison of a walk with registers finds each kind of wrong value.
#[test]
fn contradictions_are_found() {
    let only = block(0, Terminator::End, |b| {
        b.scalar(ScalarOp::Mov, Width::W32, Uni(4), &[Operand::Const(5)]);
        int(b, IntOp::Mov64, [row(2), NONE], [cell(8)]);
        b.begin_guest(0);
    });
    analysed(vec![only], true, |_, shapes| {
        let mut walk = shapes.walk(0).unwrap();
        walk.step();
        walk.step();
        let registers = |active: u32, four: u32, first: u32, wide: u32| {
            let cells = move |cell: Uni| match cell {
                Uni::ACTIVE => active,
                Uni(257) => !0,
                Uni(4) => four,
                _ => 0,
            };
            let rows = move |row: Row| -> [u32; LANES] {
                std::array::from_fn(|lane| match row {
                    Row(0) => lane as u32 * first,
                    Row(3) => lane as u32 * wide,
                    _ => 0,
                })
            };
            (cells, rows)
        };
        let check = |active, four, first, wide| {
            let (cells, rows) = registers(active, four, first, wide);
            walk.contradiction(cells, rows)
        };
        assert_eq!(check(!0, 5, 1, 0), None);
        assert!(check(1, 5, 1, 0).unwrap().contains("active"));
        assert!(check(!0, 6, 1, 0).unwrap().contains("u4"));
        assert!(check(!0, 5, 2, 0).unwrap().contains("r0"));
        assert!(check(!0, 5, 1, 1).unwrap().contains("r2"));
    });
}

/// What masks of their own write is a part of the lanes.
#[test]
fn masks_of_their_own() {
    let only = block(0, Terminator::End, |b| {
        let mask = b.uni_temp(2);
        int(b, IntOp::Mov, [row(1), NONE], [Operand::Const(7)]);
        b.push(Op::Load(Space::Lds, MemType::Dwords(1)), [row(1), NONE], [cell(4)], Attrs::default()).mask =
            LaneMask::Given(mask);
    });
    analysed(vec![only], true, |graph, shapes| {
        assert_eq!(end(graph, shapes, 0).row(Row(1)).stride(), None);
    });
}
