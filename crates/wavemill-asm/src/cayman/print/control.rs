//! Words of the control flow program.

use wavemill_isa::cayman::{Address, FieldId as F, LINE_CONSTANTS, WINDOW_FIELDS};

use super::{Printer, TargetLabel};
use crate::cayman::syntax::{EXPORTS, LOOP_INDEX, NUMBER_INDICES, SELS};

impl Printer<'_> {
    /// `jump @end pop:1`, `tc loads`.
    pub(super) fn control(&mut self, target: Option<&TargetLabel>) {
        match self.inst.row().address {
            Some(Address::Acks) => {
                let count = self.take(F::Addr);
                self.write(format_args!(" {count}"));
            }
            Some(_) => self.target(target),
            None => {}
        }
        if self.inst.get(F::PopCount) != 0 {
            let count = self.take(F::PopCount);
            self.write(format_args!(" pop:{count}"));
        }
    }

    /// The address: a label, or a number of words from the start of the program.
    fn target(&mut self, target: Option<&TargetLabel>) {
        let address = self.take(F::Addr);
        let is_clause = self.inst.row().clause().is_some();
        match target {
            Some(label) if is_clause => self.write(format_args!(" {}", label.name)),
            Some(label) => self.write(format_args!(" @{}", label.name)),
            None => self.write(format_args!(" @{address}")),
        }
        if !is_clause {
            return;
        }
        let count = self.take(F::Count);
        if !target.is_some_and(|label| label.counts) {
            self.write(format_args!(" count:{count}"));
        }
    }

    /// `alu clause, kc0=cb0[0:31]`.
    pub(super) fn alu_clause(&mut self, target: Option<&TargetLabel>) {
        self.target(target);
        for (number, window) in WINDOW_FIELDS.iter().enumerate() {
            let Some(lock) = window.lock(self.inst) else { continue };
            self.take(window.mode);
            let (bank, first) = (self.take(window.bank), LINE_CONSTANTS * self.take(window.line));
            self.write(format_args!(", kc{number}=cb{bank}"));
            let index = (self.inst.get(window.index) as usize).checked_sub(1);
            if let Some(index) = index.and_then(|index| NUMBER_INDICES.get(index)) {
                self.take(window.index);
                self.write(format_args!("+{index}"));
            }
            let index = if lock.by_loop { format!("{LOOP_INDEX}+") } else { String::new() };
            self.write(format_args!("[{index}{first}:{}]", first + lock.constants() - 1));
        }
    }

    /// `export_done pix0, r1.xyzw`.
    pub(super) fn export(&mut self) {
        let (kind, number) = (self.take(F::Type), self.take(F::ArrayBase));
        self.write(format_args!(" {}{number}, ", EXPORTS[kind as usize & 3]));
        self.register(F::RwGpr, Some(F::RwRel));
        self.selections(&SELS);
    }

    /// `mem_ring r1.xy, [r2.x] base:4 type:write_ind`.
    pub(super) fn memory(&mut self) {
        self.text(" ");
        self.data();
    }

    /// `mem_rat_cacheless store_dword rat0, r0.x, [r1.x] type:write_ind`.
    pub(super) fn rat(&mut self) {
        let number = self.take(F::RatId);
        self.write(format_args!(" rat{number}"));
        self.number_index(F::RatIndexMode);
        self.text(", ");
        self.data();
    }

    fn data(&mut self) {
        self.register(F::RwGpr, Some(F::RwRel));
        self.mask(F::CompMask);
        // WRITE_IND and WRITE_IND_ACK have an index.
        if self.inst.get(F::Type) & 1 != 0 || self.inst.get(F::IndexGpr) != 0 {
            let index = self.take(F::IndexGpr);
            self.write(format_args!(", [r{index}.x]"));
        }
        self.named(F::Type);
    }
}
