//! Control flow words, and those that write memory (HD 6900 ISA 8.1).

use wavemill_ir::{Attrs, IntOp, MemType, Op as IrOp, Operand, Space, Terminator};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::lifter::{Lifter, Refused, Then, UNSUPPORTED, all_zero};
use super::queue::Queues;
use super::{Position, registers};

impl Lifter<'_, '_> {
    /// A control flow word without its clause.
    pub(super) fn control(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        match inst.op() {
            Op::Alu => {
                all_zero(inst, &[F::WholeQuadMode])?;
                self.queues = Some(Queues::default());
                Ok(Then::Next(at.in_clause(0)))
            }
            Op::Tex => {
                // Clauses of fetches run for the active lanes (HD 6900 ISA 3.1: COND).
                all_zero(inst, &[F::Cond, F::ValidPixelMode, F::PopCount])?;
                Ok(Then::Next(at.in_clause(0)))
            }
            // It ends the wave whatever its condition (HD 6900 ISA 3.1).
            Op::CfEnd => Ok(Then::End(Terminator::End)),
            Op::MemRatCachelessStoreDword => {
                self.store_dwords(inst)?;
                Ok(Then::Next(at.next_control()))
            }
            _ => Err(UNSUPPORTED),
        }
    }

    /// Stores channels of RW_GPR to the dwords that start at INDEX_GPR.X (HD 6900 ISA 8.1,
    /// MEM_RAT_CACHELESS).
    fn store_dwords(&mut self, inst: &Inst) -> Result<(), Refused> {
        // A burst, a relative register or an element of several dwords.
        all_zero(inst, &[F::RwRel, F::RatIndexMode, F::ElemSize, F::BurstCount, F::ValidPixelMode])?;
        // WRITE_IND and WRITE_IND_ACK have an index. Memory is written at once, so nothing waits
        // for the acknowledgement.
        if !matches!(inst.get(F::Type), 1 | 3) {
            return Err(UNSUPPORTED);
        }
        // The manual has only 1; LLVM also writes 3 and 15.
        let dwords = match inst.get(F::CompMask) {
            1 => 1,
            3 => 2,
            15 => 4,
            _ => return Err(UNSUPPORTED),
        };
        let base = registers::random_access_target(inst.get(F::RatId) as u16);
        let index = registers::gpr(inst.get(F::IndexGpr) as u16, 0);
        let address = self.address(index.into(), Operand::Const(4), base.into());
        let data = registers::gpr(inst.get(F::RwGpr) as u16, 0);
        let store = IrOp::Store(Space::Global, MemType::Dwords(dwords));
        self.push(store, Operand::None, &[address, Operand::None, data.into()], Attrs::default());
        Ok(())
    }

    /// `base + index * stride`, with 64 bits.
    pub(super) fn address(&mut self, index: Operand, stride: Operand, base: Operand) -> Operand {
        let address = self.b.row_temp(2);
        self.push(IrOp::Int(IntOp::MadU64U32), address, &[index, stride, base], Attrs::default());
        address.into()
    }
}
