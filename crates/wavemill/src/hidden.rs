//! Arguments that the launcher fills in (AMDGPUUsage, "Code Object V4 Metadata" and "V5 Metadata").

use wavemill_engine::{LDS_APERTURE, SCRATCH_APERTURE};
use wavemill_object::{Argument, ValueKind};

/// What hidden arguments depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Work-items of the grid.
    pub global_size: [u64; 3],
    /// Work-items of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Global offset (OpenCL).
    pub offset: [u64; 3],
    /// Dimensions, 1 to 3.
    pub dims: u16,
    /// Bytes of dynamic LDS.
    pub dynamic_lds: u32,
    /// Guest address of the queue.
    pub queue: u64,
}

impl Geometry {
    /// Workgroups, partial ones included.
    pub(crate) fn workgroups(&self) -> [u64; 3] {
        std::array::from_fn(|d| self.global_size[d].div_ceil(u64::from(self.workgroup_size[d].max(1))))
    }

    /// Value of a hidden argument. What is not served (printf, host calls, device heap, multi-grid) is 0, which device
    /// code takes as "not there".
    fn value(&self, kind: &ValueKind) -> u64 {
        use ValueKind as K;
        let whole = |d: usize| self.global_size[d] / u64::from(self.workgroup_size[d].max(1));
        let rest = |d: usize| self.global_size[d] % u64::from(self.workgroup_size[d].max(1));
        match kind {
            K::HiddenGlobalOffsetX => self.offset[0],
            K::HiddenGlobalOffsetY => self.offset[1],
            K::HiddenGlobalOffsetZ => self.offset[2],
            K::HiddenBlockCountX => whole(0),
            K::HiddenBlockCountY => whole(1),
            K::HiddenBlockCountZ => whole(2),
            K::HiddenGroupSizeX => u64::from(self.workgroup_size[0]),
            K::HiddenGroupSizeY => u64::from(self.workgroup_size[1]),
            K::HiddenGroupSizeZ => u64::from(self.workgroup_size[2]),
            K::HiddenRemainderX => rest(0),
            K::HiddenRemainderY => rest(1),
            K::HiddenRemainderZ => rest(2),
            K::HiddenGridDims => u64::from(self.dims),
            K::HiddenDynamicLdsSize => u64::from(self.dynamic_lds),
            K::HiddenPrivateBase => SCRATCH_APERTURE >> 32,
            K::HiddenSharedBase => LDS_APERTURE >> 32,
            K::HiddenQueuePtr => self.queue,
            _ => 0,
        }
    }

    /// Writes the hidden arguments into the kernel argument segment; what lies outside of it is left out.
    pub(crate) fn fill<'a>(&self, args: impl Iterator<Item = &'a Argument>, kernarg: &mut [u8]) {
        for a in args.filter(|a| a.is_hidden()) {
            let bytes = self.value(&a.value_kind).to_le_bytes();
            let start = a.offset as usize;
            let end = start.saturating_add((a.size as usize).min(8));
            if let Some(slot) = kernarg.get_mut(start..end) {
                let n = slot.len();
                slot.copy_from_slice(&bytes[..n]);
            }
        }
    }
}
