//! Products of matrices.

use wavemill_float::{MatrixSources, matrix_exceptions, matrix_product};
use wavemill_ir::{Inst, LANES, MatrixOp, MatrixOperand};
use wavemill_machine::{FaultCause, RaisedLane};

use crate::state::{Row, State};

impl State<'_> {
    /// A product. All lanes take part and are written.
    ///
    /// # Errors
    /// The fault of the operation if it traps on an exception that it raises.
    pub(crate) fn matrix(&mut self, inst: &Inst, op: &MatrixOp) -> Result<(), FaultCause> {
        let rows = |state: &Self, n: usize, cells: u32| -> Vec<Row> {
            (0..cells as u16).map(|dword| state.row(inst.src[n], dword)).collect()
        };
        // A scalar addend is the value of every element.
        let addend: Vec<Row> = match inst.src[2] {
            wavemill_ir::Operand::Row(_) => rows(self, 2, op.cells(MatrixOperand::C)),
            scalar => {
                let each = op.c.bits() / 32;
                let cells = (0..op.cells(MatrixOperand::C)).map(|n| (n % each) as u16);
                cells.map(|dword| [self.cell(scalar, dword); LANES]).collect()
            }
        };
        let sources = MatrixSources {
            a: &rows(self, 0, op.cells(MatrixOperand::A)),
            b: &rows(self, 1, op.cells(MatrixOperand::B)),
            c: &addend,
            extra_a: self.row(inst.src[3], 0),
            scales_b: self.row(inst.src[4], 0),
        };
        if inst.op.raises() && (self.exceptions.is_some() || inst.attrs.traps != 0) {
            let raised = matrix_exceptions(op, &sources, inst.attrs.fp);
            let of_lane =
                |(lane, raised): (u8, wavemill_float::Exceptions)| RaisedLane { lane, raised: raised.bits() };
            self.collect(inst, &(0..).zip(raised).map(of_lane).collect::<Vec<_>>())?;
        }
        let mask = self.mask(inst);
        for (n, row) in (0..).zip(&matrix_product(op, &sources, inst.attrs.fp)) {
            self.set_row(inst.dst[0], n, row, mask);
        }
        Ok(())
    }
}
