//! Blocks with operands that do not exist fault and have no other effect.

use std::sync::Arc;

use wavemill_interpreter::Interpreter;
use wavemill_ir::{
    Attrs, Block, BufferAddr, CellRange, CmpPred, Cond, Inst, IntOp, IntType, LaneControl, LaneMask,
    LanePattern, MatrixLanes, MatrixOp, MatrixSum, MemType, NumberFormat, Op, Operand, Row, ScalarOp, Space,
    Terminator, TexelAccess, TexelCells, Uni, Width,
};
use wavemill_machine::engine::{Engine, Inside, Lds, Surroundings, Task, Wave};
use wavemill_machine::{GuestMemory, RegisterCounts, Strict};
use wavemill_reference_engine::ReferenceExecutor;

use crate::common::{Bench, Source};

const COUNTS: RegisterCounts = RegisterCounts::of_rows([8, 0]);
const NONE: Operand = Operand::None;

fn inst(op: Op, dst: impl Into<Operand>, src: &[Operand]) -> Inst {
    let mut sources = [NONE; Inst::SOURCES];
    sources[..src.len()].copy_from_slice(src);
    let (attrs, mask) = (Attrs::default(), LaneMask::Active);
    Inst { op, dst: [dst.into(), NONE], src: sources, attrs, mask, guest: 0 }
}

/// A move with one source whose lane control permutes another source, or an operand that is not a
/// row.
fn permuted(source: u8, from: Operand) -> Inst {
    let pattern = LanePattern::Mirror { group: 16 };
    let lanes = Some(LaneControl { source, pattern, written: !0, zero_fill: true });
    let mov = inst(Op::Int(IntOp::Mov), Row(2), &[from]);
    Inst { attrs: Attrs { lanes, ..mov.attrs }, ..mov }
}

/// A block of one guest instruction.
fn block(insts: Vec<Inst>, terminator: Terminator) -> Block {
    let covered = 0x1000..0x1004;
    Block { start: 0x1000, next: 0x1004, ranges: vec![covered], insts, guest: vec![0x1000], terminator }
}

/// Products of matrices that engines have no room for, or with groups that are not whole.
fn matrices() -> [MatrixOp; 8] {
    let truncated = |group, halves| MatrixSum::Truncated { group, product_bits: 24, sum_bits: 31, halves };
    let product = |rows, depth, format, sum| MatrixOp {
        rows,
        columns: rows,
        depth,
        blocks: 1,
        a: format,
        b: format,
        c: NumberFormat::F32,
        sparse: None,
        scales: None,
        broadcast: 0,
        shared: 0,
        lanes: MatrixLanes::Own,
        negate: 0,
        sum,
    };
    let halves = product(16, 32, NumberFormat::F16, truncated(8, false));
    let scaled = product(16, 96, NumberFormat::Fp4, truncated(12, true));
    [
        // More elements than a factor has.
        product(32, 128, NumberFormat::Fp4, MatrixSum::Chain),
        product(32, 96, NumberFormat::Fp6, MatrixSum::Chain),
        // Groups that do not divide the depth, or that two scales share.
        product(32, 64, NumberFormat::Fp8, truncated(15, true)),
        product(16, 6, NumberFormat::Bf16, MatrixSum::Tree { width: 4 }),
        MatrixOp { scales: Some([0, 0]), ..scaled },
        // Products that are not exact in f32.
        product(16, 8, NumberFormat::F32, truncated(8, false)),
        // Blocks and sets that do not exist.
        MatrixOp { broadcast: 1, ..halves },
        MatrixOp { sparse: Some(4), ..halves },
    ]
}

/// Blocks of one guest instruction that access registers out of range.
fn malformed() -> Vec<Block> {
    let (row, cell) = (Operand::Row(Row(1)), Operand::Uni(Uni(4)));
    let mov = Op::Int(IntOp::Mov);
    let anywhere = |end| CellRange { first: Uni(0), end: Uni(end) };
    let matrices = matrices().map(|op| {
        let sources = [Row(0).into(), Row(0).into(), Operand::Const(0), row, row];
        Inst { mask: LaneMask::All, ..inst(Op::Matrix(op), Row::temp(0), &sources) }
    });
    let operations = [
        inst(mov, Row(Row::COUNT), &[row]),
        inst(mov, Row(u16::MAX), &[row]),
        inst(mov, Row(2), &[Row(u16::MAX).into()]),
        inst(mov, Row(2), &[Uni(Uni::COUNT).into()]),
        inst(mov, Row(2), &[Uni(u16::MAX).into()]),
        inst(mov, Row(2), &[]),
        inst(Op::Int(IntOp::Add), Row(2), &[row]),
        inst(Op::Scalar(ScalarOp::Mov, Width::W64), Uni(Uni::COUNT), &[cell]),
        inst(Op::IntCmp(CmpPred::Lt, IntType::I32), Uni(u16::MAX), &[row, row]),
        inst(Op::MoveRelSource(Width::W32, anywhere(u16::MAX)), Uni(3), &[cell, Operand::Const(50_000)]),
        inst(Op::MoveRelDest(Width::W64, anywhere(Uni::COUNT + 1)), Uni(4), &[cell, Operand::Const(50_000)]),
        inst(Op::IndexedRead(255), Row::temp(0), &[row, Operand::Const(0)]),
        inst(Op::ScalarLoad(255), Uni(0), &[Operand::Const(0)]),
        inst(Op::ScalarLoad(3), Uni(0), &[Operand::Const(0)]),
        inst(Op::ScalarStore(200), NONE, &[Operand::Const(0), NONE, cell]),
        inst(Op::Load(Space::Lds, MemType::Dwords(200)), Row::temp(0), &[row]),
        inst(Op::Load(Space::Lds, MemType::Dwords(0)), Row(1), &[row]),
        inst(
            Op::BufferStore(MemType::Dwords(2), BufferAddr { offen: true, idxen: true, plain: false }),
            NONE,
            &[Row(u16::MAX).into(), cell, NONE, row],
        ),
        inst(
            Op::BufferLoadTexel(
                TexelAccess { format: None, count: 2, cells: TexelCells::UpperHalf },
                BufferAddr { offen: false, idxen: false, plain: false },
            ),
            Row(1),
            &[NONE, cell],
        ),
        inst(
            Op::BufferStoreTexel(
                TexelAccess { format: None, count: 9, cells: TexelCells::Dwords },
                BufferAddr { offen: false, idxen: false, plain: false },
            ),
            NONE,
            &[NONE, cell, NONE, row],
        ),
        inst(Op::Transpose(6), Row(1), &[cell]),
        permuted(0, Operand::Const(7)),
        permuted(0, cell),
        permuted(1, row),
        permuted(3, row),
    ];
    let operations = operations.into_iter().chain(matrices);
    let ends = [
        Terminator::Branch { cond: Cond::Zero(Uni(u16::MAX), Width::W64), taken: 0, next: 0 },
        Terminator::Branch { cond: Cond::NonZero(Uni(Uni::COUNT), Width::W32), taken: 0, next: 0 },
        // Back to the block itself: nothing of the branch may happen.
        Terminator::Branch { cond: Cond::NonZero(Uni(Uni::COUNT), Width::W32), taken: 0x1000, next: 0x1000 },
        Terminator::Indirect(Uni(Uni::COUNT - 1)),
        Terminator::SetContext { value: Row(u16::MAX).into(), next: 0 },
        Terminator::SetContext { value: Uni(u16::MAX).into(), next: 0 },
    ];
    let good = || inst(mov, Row(3), &[Operand::Const(1)]);
    let operations = operations.map(|inst| block(vec![good(), inst], Terminator::End));
    operations.into_iter().chain(ends.map(|end| block(vec![good()], end))).collect()
}

const REFUSED: &str = "Fault(WaveFault { pc: 1000, cause: Instruction(Unsupported) })";

#[test]
fn a_block_of_a_source_does_not_lead_out_of_the_registers() {
    for (n, block) in malformed().into_iter().enumerate() {
        let mut bench = Bench::new(COUNTS, 7);
        bench.block = Arc::new(block);
        bench.budget = 100;
        let exit = bench.compare().unwrap_or_else(|difference| panic!("block {n}: {difference}"));
        assert_eq!(exit, REFUSED, "block {n}: {:?}", bench.block);
    }
}

#[test]
fn a_block_that_is_handed_over_does_not_lead_out_of_the_registers() {
    let map = GuestMemory::default().snapshot();
    let lds = Lds::new(64, 1);
    let around = Surroundings { map: &map, lds: &lds, scratch_size: 0, private: (0, 0), deterministic: true };
    for (n, block) in malformed().into_iter().enumerate() {
        let block = Arc::new(block);
        let mut bench = Bench::new(COUNTS, 7);
        bench.block = block.clone();
        let (source, strict) = (Source(&bench), Strict::default());
        let task =
            Task { counts: COUNTS, source: &source, counting: true, strict, interests: None, starts: None };
        for operation in 0..block.insts.len() {
            let mut wave = Wave::new(COUNTS);
            wave.pc = block.start;
            wave.inside = Some(Inside { block: block.clone(), operation });
            let exit = Interpreter::new().executor(task).run(&mut wave, around, 1, None);
            assert_eq!(format!("{exit:x?}"), REFUSED, "block {n}, operation {operation}");
            wave.inside = Some(Inside { block: block.clone(), operation });
            let mut executor = ReferenceExecutor::new(task);
            let exit = executor.run_operations(&mut wave, around, 1, 10);
            assert_eq!(format!("{:x?}", exit.unwrap()), REFUSED, "block {n}, operation {operation}");
        }
    }
}

/// If the cell that collects exceptions does not exist, none are collected.
#[test]
fn exceptions_in_a_cell_that_does_not_exist_are_not_collected() {
    let add = Op::Float(wavemill_ir::FloatOp::Add, wavemill_ir::FloatType::F32);
    let (one, tiny) = (Operand::Const(0x3f80_0000), Operand::Const(1));
    let mut bench = Bench::new(COUNTS, 7);
    bench.block = Arc::new(block(vec![inst(add, Row(1), &[one, tiny])], Terminator::End));
    let without = bench.run(crate::common::Who::Reference);
    for cell in [Uni::COUNT, u16::MAX] {
        bench.exceptions = Some(Uni(cell));
        bench.compare().unwrap();
        assert_eq!(bench.run(crate::common::Who::Interpreter).difference(&without), None);
    }
}
