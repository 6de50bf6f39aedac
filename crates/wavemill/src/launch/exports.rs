//! Buffers that receive what a launch exports.

use wavemill_ir::{ExportTarget, LANES};
use wavemill_machine::{Export, RunStats, WaveExports};

use super::builder::Launch;
use crate::Result;
use crate::abi::Plan;
use crate::abi::work_items::first_item;
use crate::argument::Arg;
use crate::binding::{Binding, Location};
use crate::buffer::Buffer;

/// Bytes for a work-item: four dwords.
const ITEM: u64 = 16;

/// The buffers of targets.
fn buffers(bindings: &[Binding]) -> impl Iterator<Item = (ExportTarget, &Buffer)> {
    bindings.iter().filter_map(|binding| match (&binding.location, &binding.resource) {
        (Location::Export(target), Arg::Buffer(buffer)) => Some((*target, buffer)),
        _ => None,
    })
}

/// Puts what active lanes export into the dwords of a wave's work-items.
fn put(export: &Export, items: &mut [u8]) {
    for component in 0..4 {
        let Some(values) = export.component(component) else { continue };
        let dwords = items.chunks_exact_mut(4).skip(component).step_by(4);
        for (lane, (dword, value)) in dwords.zip(values).enumerate() {
            if export.active >> lane & 1 != 0 {
                dword.copy_from_slice(&value.to_le_bytes());
            }
        }
    }
}

impl Launch<'_> {
    /// Whether buffers receive exports.
    pub(super) fn keeps_exports(&self) -> bool {
        buffers(&self.bindings).next().is_some()
    }

    /// Checks that buffers have room for the exports of all work-items.
    pub(super) fn check_exports(&self, plan: &Plan) -> Result<()> {
        for (target, buffer) in buffers(&plan.bindings) {
            let items: u64 = plan.geometry.global_size.iter().product();
            if items.checked_mul(ITEM).is_none_or(|bytes| buffer.size() < bytes) {
                let (location, size) = (Location::Export(target), buffer.size());
                return Err(self.refuse(format!(
                    "{location} is a buffer of {size} bytes; expected {ITEM} bytes for each of {items} work-items"
                )));
            }
        }
        Ok(())
    }

    /// Writes the exports of a run to their buffers. Those of a wave are in the order of its program,
    /// so the last one to a target counts.
    pub(super) fn store_exports(&self, plan: &Plan, run: &RunStats) -> Result<()> {
        if !self.keeps_exports() {
            return Ok(());
        }
        let recorded: u64 = run.exports.iter().map(|wave| wave.exports.len() as u64).sum();
        if recorded < run.exported {
            return Err(self.refuse(format!(
                "it exported {} times, but buffers receive only the first {recorded} exports; run fewer workgroups at a time",
                run.exported
            )));
        }
        let geometry = &plan.geometry;
        for (target, buffer) in buffers(&plan.bindings) {
            for WaveExports { workgroup, wave, exports } in &run.exports {
                let first = first_item(geometry.workgroup_size, geometry.global_size, *workgroup, *wave);
                let at = first * ITEM;
                let size = buffer.size().saturating_sub(at).min(ITEM * LANES as u64);
                let mut items = vec![0; size as usize];
                buffer.read_bytes(at, &mut items)?;
                for export in exports.iter().filter(|export| export.op.target == target) {
                    put(export, &mut items);
                }
                buffer.write_bytes(at, &items)?;
            }
        }
        Ok(())
    }
}
