//! Matrix products (CDNA3 ISA 13.3.6.1, CDNA4 ISA 7).

use wavemill_ir::{
    Attrs, LaneMask, MatrixLanes, MatrixOp, MatrixSum, NumberFormat, Op, Operand, ScalarOp, Width,
};
use wavemill_isa::MatrixCore;
use wavemill_isa::gcn::{Inst, LanePermutation, Matrix, MatrixLayout, MatrixShape, Role};

use super::MatrixRule;
use super::format_cvt::number_format;
use super::lifter::{GPR_IDX_EN, Lifted, Lifter};

/// How the cores of a target sum products of factors of a format (`mmasim` 2.1.1, whose authors
/// compared it with MI100, MI210 and MI300X). For gfx950 no measurement is public: it is modelled
/// after gfx942.
fn sum(core: MatrixCore, format: NumberFormat, items: u32) -> Option<MatrixSum> {
    use NumberFormat as N;
    let truncated = |group, halves| MatrixSum::Truncated { group, product_bits: 24, sum_bits: 31, halves };
    Some(match (core, format) {
        (MatrixCore::None, _) => return None,
        (_, N::I8 | N::I32) => MatrixSum::Wrap,
        (_, N::F64 | N::F32) => MatrixSum::Chain,
        (MatrixCore::Exact, N::F16) => MatrixSum::Exact { group: 4 },
        (MatrixCore::Exact, _) => MatrixSum::Exact { group: 2 },
        (MatrixCore::Flushing, N::Bf16) if items == 2 => MatrixSum::Tree { width: 2 },
        (MatrixCore::Flushing, _) => MatrixSum::Tree { width: 4 },
        (MatrixCore::Truncating, N::Xf32) => truncated(4, false),
        (MatrixCore::Truncating, N::F16 | N::Bf16) => truncated(8, false),
        (MatrixCore::Truncating, _) => truncated(16, true),
    })
}

/// The permutation of the lanes of B.
fn lanes(permutation: LanePermutation) -> MatrixLanes {
    match permutation {
        LanePermutation::Own => MatrixLanes::Own,
        LanePermutation::Half(half) => MatrixLanes::Half(half),
        LanePermutation::Rotate16 => MatrixLanes::Rotate16,
        LanePermutation::Quarter(group) => MatrixLanes::Quarter(group),
    }
}

impl Lifter {
    /// The product that an instruction computes; `None` if its modifiers are reserved.
    fn matrix_op(&self, inst: &Inst) -> Option<MatrixOp> {
        let layout = MatrixLayout::of(inst).ok()?;
        let target = self.context.target;
        let MatrixShape { rows, columns, depth, blocks } = layout.shape();
        let size = |n: u32| u8::try_from(n).ok();
        let elem = |matrix| number_format(layout.elem(matrix)?, target);
        let a = elem(Matrix::A)?;
        let items = layout.registers(Matrix::A) * 32 / a.bits();
        let sum = match (sum(target.facts().matrix_core, a, items)?, self.context.matrix) {
            (sum @ MatrixSum::Wrap, _) | (sum, MatrixRule::Exact) => sum,
            (_, MatrixRule::Fast) => MatrixSum::Chain,
        };
        let scaled = inst.row().operand(Role::Scale0).is_some();
        let broadcast = layout.broadcast();
        Some(MatrixOp {
            rows: size(rows)?,
            columns: size(columns)?,
            depth: size(depth)?,
            blocks: size(blocks)?,
            a,
            b: elem(Matrix::B)?,
            c: elem(Matrix::C)?,
            sparse: if layout.is_sparse() { Some(layout.index_set() as u8) } else { None },
            scales: scaled.then(|| layout.scale_bytes()),
            broadcast: broadcast.group_log2,
            shared: broadcast.block,
            lanes: lanes(layout.lane_permutation()),
            negate: layout.signs(target)?,
            sum,
        })
    }

    /// Lifts a matrix product. All lanes take part, whatever EXEC holds.
    pub(super) fn mai(&mut self, inst: &Inst) -> Lifted {
        let Some(op) = self.matrix_op(inst) else { return Lifted::Unsupported };
        if self.mode_bit(GPR_IDX_EN) {
            return Lifted::Unsupported;
        }
        let mut src = [Operand::None; 5];
        let mut result = Operand::None;
        for (spec, operand) in inst.operands() {
            let operand = self.operand(inst, spec, operand);
            let slot = match spec.role {
                Role::Vdst => {
                    result = operand;
                    continue;
                }
                Role::Src0 => 0,
                Role::Src1 => 1,
                Role::Src2 if op.sparse.is_some() => 3,
                Role::Src2 => 2,
                Role::Scale0 => 3,
                Role::Scale1 => 4,
                _ => return Lifted::Unsupported,
            };
            src[slot] = if slot >= 3 && op.scales.is_some() { self.scale(operand) } else { operand };
        }
        // A sparse product adds to its result.
        if op.sparse.is_some() {
            src[2] = result;
        }
        let mut fp = if op.a == NumberFormat::F64 { self.fp16_64() } else { self.fp32() };
        fp.round = wavemill_ir::Round::NearestEven;
        let attrs = Attrs { fp, ..Attrs::default() };
        self.b.push(Op::Matrix(op), [result, Operand::None], src, attrs).mask = LaneMask::All;
        Lifted::Next
    }

    /// The scales in an operand. A scalar is a float whose exponent is the scale of every factor
    /// (CDNA4 ISA 7.2.1).
    fn scale(&mut self, operand: Operand) -> Operand {
        const EACH_BYTE: u64 = 0x0101_0101;
        match operand {
            Operand::Const(bits) => Operand::Const((bits >> 23 & 0xff) * EACH_BYTE),
            Operand::Uni(cell) => {
                let temp = self.b.uni_temp(1);
                let steps = [(ScalarOp::Shr, 23), (ScalarOp::And, 0xff), (ScalarOp::Mul, EACH_BYTE)];
                let mut from = cell;
                for (op, by) in steps {
                    self.b.scalar(op, Width::W32, temp, &[from.into(), Operand::Const(by)]);
                    from = temp;
                }
                temp.into()
            }
            operand => operand,
        }
    }
}
