//! Arguments that the launcher fills in (AMDGPUUsage, "Code Object V4 Metadata" and "V5 Metadata").

use wavemill_machine::{LDS_APERTURE, SCRATCH_APERTURE};
use wavemill_object::{Argument, ValueKind};

use crate::abi::Geometry;
use crate::services::ServiceAddresses;

/// Values that hidden arguments depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct HiddenValues {
    pub geometry: Geometry,
    /// Bytes of dynamic LDS.
    pub dynamic_lds: u32,
    /// Guest address of the queue.
    pub queue: u64,
    /// Guest address of the structure for synchronising the grid; 0 if there is none.
    pub grid_sync: u64,
    pub services: ServiceAddresses,
}

impl HiddenValues {
    /// Value of a hidden argument. Unsupported services (device queues) are 0, which device code
    /// reads as "not there".
    fn value(&self, kind: &ValueKind) -> u64 {
        use ValueKind as K;
        let g = &self.geometry;
        let whole = |d: usize| g.global_size[d] / u64::from(g.workgroup_size[d].max(1));
        let rest = |d: usize| g.global_size[d] % u64::from(g.workgroup_size[d].max(1));
        match kind {
            K::HiddenGlobalOffsetX => g.offset[0],
            K::HiddenGlobalOffsetY => g.offset[1],
            K::HiddenGlobalOffsetZ => g.offset[2],
            K::HiddenBlockCountX => whole(0),
            K::HiddenBlockCountY => whole(1),
            K::HiddenBlockCountZ => whole(2),
            K::HiddenGroupSizeX => u64::from(g.workgroup_size[0]),
            K::HiddenGroupSizeY => u64::from(g.workgroup_size[1]),
            K::HiddenGroupSizeZ => u64::from(g.workgroup_size[2]),
            K::HiddenRemainderX => rest(0),
            K::HiddenRemainderY => rest(1),
            K::HiddenRemainderZ => rest(2),
            K::HiddenGridDims => u64::from(g.dims),
            K::HiddenDynamicLdsSize => u64::from(self.dynamic_lds),
            K::HiddenPrivateBase => SCRATCH_APERTURE >> 32,
            K::HiddenSharedBase => LDS_APERTURE >> 32,
            K::HiddenQueuePtr => self.queue,
            K::HiddenPrintfBuffer => self.services.printf,
            K::HiddenHostcallBuffer => self.services.hostcall,
            K::HiddenHeapV1 => self.services.heap,
            K::HiddenMultigridSyncArg => self.grid_sync,
            _ => 0,
        }
    }

    /// Writes the hidden arguments into the kernel argument segment. Arguments outside it are
    /// omitted.
    pub(super) fn fill<'a>(&self, args: impl Iterator<Item = &'a Argument>, kernarg: &mut [u8]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(kind: &str, offset: u32, size: u32) -> Argument {
        let value_kind = ValueKind::from_text(kind);
        assert!(!matches!(value_kind, ValueKind::Other(_)), "{kind}");
        Argument {
            name: None,
            type_name: None,
            offset,
            size,
            value_kind,
            value_type: None,
            address_space: None,
            access: None,
            actual_access: None,
            pointee_align: None,
            is_const: false,
            is_restrict: false,
            is_volatile: false,
            is_pipe: false,
            extra: Vec::new(),
        }
    }

    /// A grid whose last workgroups are partial in X and Z.
    const VALUES: HiddenValues = HiddenValues {
        geometry: Geometry {
            global_size: [70_001, 64, 11],
            workgroup_size: [64, 2, 4],
            offset: [0x1_0000_0001, 0x2_0000_0002, 0x3_0000_0003],
            dims: 3,
        },
        dynamic_lds: 0x1_2340,
        queue: 0x10_0000_2000,
        grid_sync: 0x10_0000_6000,
        services: ServiceAddresses { printf: 0x10_0000_3000, hostcall: 0x10_0000_4000, heap: 0x10_0000_5000 },
    };

    /// Fills a segment of all ones and expects these values. Bytes that belong to no argument must
    /// stay as they are.
    fn check(explicit: u32, fields: &[(&str, u32, u32, u64)]) {
        let end = fields.iter().map(|(_, offset, size, _)| offset + size).max().unwrap_or(0);
        let mut expected = vec![0xff; (explicit + end) as usize];
        for (_, offset, size, value) in fields {
            let start = (explicit + offset) as usize;
            expected[start..start + *size as usize].copy_from_slice(&value.to_le_bytes()[..*size as usize]);
        }
        let mut args: Vec<Argument> =
            fields.iter().map(|(kind, offset, size, _)| argument(kind, explicit + offset, *size)).collect();
        args.push(argument("global_buffer", 0, 8));
        let mut found = vec![0xff; expected.len()];
        VALUES.fill(args.iter(), &mut found);
        for (kind, offset, size, _) in fields {
            let range = (explicit + offset) as usize..(explicit + offset + size) as usize;
            assert_eq!(found[range.clone()], expected[range], "{kind}");
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn code_object_v4() {
        for (buffer, address) in [
            ("hidden_hostcall_buffer", 0x10_0000_4000),
            ("hidden_printf_buffer", 0x10_0000_3000),
            ("hidden_none", 0),
        ] {
            check(
                24,
                &[
                    ("hidden_global_offset_x", 0, 8, 0x1_0000_0001),
                    ("hidden_global_offset_y", 8, 8, 0x2_0000_0002),
                    ("hidden_global_offset_z", 16, 8, 0x3_0000_0003),
                    (buffer, 24, 8, address),
                    ("hidden_default_queue", 32, 8, 0),
                    ("hidden_completion_action", 40, 8, 0),
                    ("hidden_multigrid_sync_arg", 48, 8, 0x10_0000_6000),
                ],
            );
        }
    }

    #[test]
    fn code_object_v5() {
        check(
            16,
            &[
                ("hidden_block_count_x", 0, 4, 1093),
                ("hidden_block_count_y", 4, 4, 32),
                ("hidden_block_count_z", 8, 4, 2),
                ("hidden_group_size_x", 12, 2, 64),
                ("hidden_group_size_y", 14, 2, 2),
                ("hidden_group_size_z", 16, 2, 4),
                ("hidden_remainder_x", 18, 2, 49),
                ("hidden_remainder_y", 20, 2, 0),
                ("hidden_remainder_z", 22, 2, 3),
                ("hidden_global_offset_x", 40, 8, 0x1_0000_0001),
                ("hidden_global_offset_y", 48, 8, 0x2_0000_0002),
                ("hidden_global_offset_z", 56, 8, 0x3_0000_0003),
                ("hidden_grid_dims", 64, 2, 3),
                ("hidden_printf_buffer", 72, 8, 0x10_0000_3000),
                ("hidden_hostcall_buffer", 80, 8, 0x10_0000_4000),
                ("hidden_multigrid_sync_arg", 88, 8, 0x10_0000_6000),
                ("hidden_heap_v1", 96, 8, 0x10_0000_5000),
                ("hidden_default_queue", 104, 8, 0),
                ("hidden_completion_action", 112, 8, 0),
                ("hidden_dynamic_lds_size", 120, 4, 0x1_2340),
                ("hidden_private_base", 192, 4, 0x2_0000),
                ("hidden_shared_base", 196, 4, 0x1_0000),
                ("hidden_queue_ptr", 200, 8, 0x10_0000_2000),
            ],
        );
    }

    #[test]
    fn what_lies_outside_of_the_segment_is_left_out() {
        let args = [argument("hidden_queue_ptr", 4, 8), argument("hidden_queue_ptr", u32::MAX, 8)];
        let mut kernarg = [0xff; 8];
        VALUES.fill(args.iter(), &mut kernarg);
        assert_eq!(kernarg, [0xff; 8]);
    }
}
