//! Fields of instructions that symbols decide.

use wavemill_object::RelocationKind;

use super::finish::Need;
use super::symbols::Linear;
use super::{Assembler, Pending};
use crate::diagnostic::{Diagnostic, Fail};
use crate::family::Field;

impl Assembler<'_> {
    /// Fills in a field without changing the bits around it.
    pub(super) fn patch_bits(&mut self, pending: &Pending, field: Field, value: i64) {
        let offset = pending.offset + u64::from(field.byte);
        let bytes = usize::from(field.bits).div_ceil(8);
        let Some(place) = self.bytes_at(pending.section, offset, bytes) else { return };
        let mask = (1u64 << field.bits) - 1;
        let mut filled = [0; 8];
        for (to, from) in filled.iter_mut().zip(&*place) {
            *to = *from;
        }
        let filled = u64::from_le_bytes(filled) & !mask | value as u64 & mask;
        for (to, from) in place.iter_mut().zip(filled.to_le_bytes()) {
            *to = from;
        }
    }

    /// The distance to a label in units, counted from `bias` bytes after the start of the
    /// instruction.
    pub(super) fn distance(
        &mut self,
        pending: &Pending,
        value: &Linear,
        field: Field,
        unit: u8,
        bias: u8,
        needs: &mut Vec<Need>,
    ) -> Result<(), Fail> {
        let span = pending.place.span.clone();
        let unit = i64::from(unit);
        let most = (1i64 << (field.bits - 1)) - 1;
        let reach = -most - 1..=most;
        if let Some(number) = self.symbols.number_of(value) {
            if !reach.contains(&number) {
                return Err(Diagnostic::new(
                    span,
                    format!("expected a distance from {} to {most}, found {number}", -most - 1),
                ));
            }
            self.patch_bits(pending, field, number);
            return Ok(());
        }
        let (Some(reference), None) = (&value.plus, &value.minus) else {
            return Err(Diagnostic::new(span, "expected a label"));
        };
        // Another file may replace symbols that are not local.
        let local = self.symbols.all.get(reference.symbol).is_none_or(super::symbols::Symbol::is_local);
        match self.symbols.place(reference.symbol) {
            Some((section, offset)) if section == pending.section && local => {
                let target = (offset as i64).wrapping_add(value.constant);
                let bytes = target.wrapping_sub((pending.offset + u64::from(bias)) as i64);
                if bytes % unit != 0 {
                    return Err(Diagnostic::new(
                        span,
                        format!(
                            "expected a branch target at a multiple of {unit} bytes from here, found {bytes} bytes"
                        ),
                    ));
                }
                if !reach.contains(&(bytes / unit)) {
                    return Err(Diagnostic::new(
                        span,
                        format!(
                            "the label is {} dwords away; a branch reaches {} to {most}",
                            bytes / unit,
                            -most - 1
                        ),
                    ));
                }
                self.patch_bits(pending, field, bytes / unit);
            }
            _ => {
                // LLVM leaves this value in a field that the linker fills in.
                self.patch_bits(pending, field, -1);
                needs.push(Need {
                    section: pending.section,
                    offset: pending.offset,
                    kind: RelocationKind::Rel16,
                    symbol: reference.symbol,
                    addend: value.constant,
                });
            }
        }
        Ok(())
    }
}
