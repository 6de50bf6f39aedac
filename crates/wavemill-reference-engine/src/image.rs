//! Accesses to images.

use wavemill_ir::{ImageKind, ImageOp, Inst, LANES};
use wavemill_machine::image::{ImageAccess, ImageCache, ImageFault, ImageRow, MAX_RESULT};
use wavemill_machine::{Access, FaultCause};

use crate::host::Location;
use crate::memory::Locations;
use crate::state::State;

impl State<'_> {
    fn image_words<const N: usize>(&self, inst: &Inst, source: usize) -> [u32; N] {
        std::array::from_fn(|n| self.cell(inst.src[source], n as u16))
    }

    fn image_rows(&self, inst: &Inst, source: usize, cells: u16) -> Vec<ImageRow> {
        (0..cells).map(|n| self.row(inst.src[source], n)).collect()
    }

    /// Calls `f` with the access of an operation.
    pub(crate) fn with_image<R>(
        &self,
        inst: &Inst,
        op: &ImageOp,
        f: impl FnOnce(&ImageAccess<'_>) -> Result<R, ImageFault>,
    ) -> Result<R, FaultCause> {
        let access = ImageAccess {
            op,
            map: self.around.map,
            resource: self.image_words(inst, 1),
            sampler: self.image_words(inst, 2),
            address: &self.image_rows(inst, 0, op.address_cells()),
            active: self.mask(inst),
            cache: &ImageCache::default(),
        };
        f(&access).map_err(|fault| fault.cause(self.around))
    }

    /// An access.
    pub(crate) fn image(&mut self, inst: &Inst, op: &ImageOp) -> Result<(), FaultCause> {
        match op.kind {
            ImageKind::Store { .. } => {
                let data = self.image_rows(inst, 3, op.source_cells());
                let outside = self.with_image(inst, op, |access| access.store(&data))?;
                self.out_of_range.image += outside;
                Ok(())
            }
            ImageKind::Atomic(atomic, width) => {
                let addresses = self.with_image(inst, op, |access| access.atomic_addresses())?;
                let size = 4 * u32::from(width.dwords());
                let location = |address: Option<u64>| {
                    address.and_then(|at| Location::global(self.around.map, at, size, Access::Atomic))
                };
                let active = self.mask(inst);
                let lanes = (0..LANES).filter(|lane| active >> lane & 1 != 0);
                let outside = lanes.clone().filter(|lane| addresses[*lane].is_none());
                self.out_of_range.image += outside.count() as u64;
                let locations: Locations<'_> = lanes
                    .map(|lane| (lane, location(addresses[lane]).unwrap_or(Location::NOWHERE)))
                    .collect();
                // The second datum follows the first one.
                let both = self.wide(inst, 3);
                let data = both.map(|value| value & ((1 << (8 * size)) - 1));
                let second = both.map(|value| value >> (8 * size));
                self.update(inst, atomic, width, &locations, &[data, second]);
                Ok(())
            }
            _ => {
                let mut result = [[0; LANES]; MAX_RESULT];
                let outside = self.with_image(inst, op, |access| access.read(&mut result))?;
                self.out_of_range.image += outside;
                let mask = self.mask(inst);
                for (n, row) in (0..op.result_cells()).zip(&result) {
                    self.set_row(inst.dst[0], n, row, mask);
                }
                Ok(())
            }
        }
    }
}
