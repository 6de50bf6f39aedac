//! The bit fields of the register words in a kernel descriptor, one row each.

/// Declares a register word: a newtype with a reader for every field.
///
/// A row is `name / "NAME": shift, width` (a number) or `name / "NAME": shift` (a flag).
macro_rules! word {
    (
        $(#[$meta:meta])*
        $word:ident: $raw:ty {
            $( $(#[$field_meta:meta])* $field:ident / $spelled:literal: $shift:literal $(, $width:literal)?; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $word(
            /// The raw word of the descriptor.
            pub $raw,
        );

        impl $word {
            $( word!(@reader $raw, $(#[$field_meta])* $field: $shift $(, $width)?); )*

            /// Name, lowest bit and width of every field, in bit order.
            pub const FIELDS: &'static [Field] = &[
                $( Field { name: $spelled, shift: $shift, width: word!(@width $($width)?) }, )*
            ];

            /// Every field with its value, in bit order.
            pub fn fields(self) -> impl Iterator<Item = (&'static Field, u32)> {
                Self::FIELDS.iter().map(move |field| (field, field.of(u32::from(self.0))))
            }
        }
    };
    (@reader $raw:ty, $(#[$meta:meta])* $field:ident: $shift:literal, $width:literal) => {
        $(#[$meta])*
        pub fn $field(self) -> u32 {
            Field { name: "", shift: $shift, width: $width }.of(u32::from(self.0))
        }
    };
    (@reader $raw:ty, $(#[$meta:meta])* $field:ident: $shift:literal) => {
        $(#[$meta])*
        pub fn $field(self) -> bool {
            u32::from(self.0) >> $shift & 1 != 0
        }
    };
    (@width $width:literal) => { $width };
    (@width) => { 1 };
}

/// A bit field of a register word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    /// Name in AMDGPUUsage.
    pub name: &'static str,
    /// Lowest bit.
    pub shift: u8,
    /// Number of bits.
    pub width: u8,
}

impl Field {
    /// The value of the field in `word`.
    pub fn of(self, word: u32) -> u32 {
        word >> self.shift & self.max()
    }

    /// The largest value that fits.
    pub const fn max(self) -> u32 {
        u32::MAX >> (32 - self.width as u32)
    }

    /// The field called `name`. For tables that are built at compile time: a missing field is a
    /// compile error.
    pub(super) const fn named(fields: &[Field], name: &str) -> Field {
        let mut at = 0;
        while at < fields.len() {
            if same(fields[at].name.as_bytes(), name.as_bytes()) {
                return fields[at];
            }
            at += 1;
        }
        panic!("no field has this name")
    }
}

const fn same(left: &[u8], right: &[u8]) -> bool {
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

word! {
    /// `compute_pgm_rsrc1` (AMDGPUUsage, "compute_pgm_rsrc1 for GFX6-GFX12").
    Rsrc1: u32 {
        /// Vector registers per work-item in granules, minus one.
        granulated_vgpr_count / "GRANULATED_WORKITEM_VGPR_COUNT": 0, 6;
        /// Scalar registers per wave in granules (GFX6 to GFX9).
        granulated_sgpr_count / "GRANULATED_WAVEFRONT_SGPR_COUNT": 6, 4;
        /// Must be 0: set by the command processor.
        priority / "PRIORITY": 10, 2;
        /// Initial rounding of 32-bit floats: 0 nearest even, 1 up, 2 down, 3 to zero.
        float_round_mode_32 / "FLOAT_ROUND_MODE_32": 12, 2;
        /// Initial rounding of 16-bit and 64-bit floats.
        float_round_mode_16_64 / "FLOAT_ROUND_MODE_16_64": 14, 2;
        /// Initial handling of 32-bit denormals: bit 0 keeps inputs, bit 1 keeps results.
        float_denorm_mode_32 / "FLOAT_DENORM_MODE_32": 16, 2;
        /// Initial handling of 16-bit and 64-bit denormals.
        float_denorm_mode_16_64 / "FLOAT_DENORM_MODE_16_64": 18, 2;
        /// Must be 0: set by the command processor.
        priv_mode / "PRIV": 20;
        /// Clamping turns NaN into 0 (GFX6 to GFX11); round-robin scheduling on GFX12.
        dx10_clamp / "ENABLE_DX10_CLAMP": 21;
        /// Must be 0: set by the command processor.
        debug_mode / "DEBUG_MODE": 22;
        /// Signalling NaNs are quieted (GFX6 to GFX11).
        ieee_mode / "ENABLE_IEEE_MODE": 23;
        /// Must be 0: set by the command processor.
        bulky / "BULKY": 24;
        /// Must be 0: set by the command processor.
        cdbg_user / "CDBG_USER": 25;
        /// 16-bit overflow gives the largest finite value (GFX9 and later).
        fp16_overflow / "FP16_OVFL": 26;
        /// Workgroups run on both compute units of a workgroup processor (GFX10 and later).
        wgp_mode / "WGP_MODE": 29;
        /// Memory results return in order (GFX10 and later).
        mem_ordered / "MEM_ORDERED": 30;
        /// Waves are guaranteed to progress (GFX10 and later).
        fwd_progress / "FWD_PROGRESS": 31;
    }
}

word! {
    /// `compute_pgm_rsrc2` (AMDGPUUsage, "compute_pgm_rsrc2 for GFX6-GFX12").
    Rsrc2: u32 {
        /// The kernel uses scratch memory.
        enable_private_segment / "ENABLE_PRIVATE_SEGMENT": 0;
        /// Number of user SGPRs, preloaded kernel arguments included.
        user_sgpr_count / "USER_SGPR_COUNT": 1, 5;
        /// Must be 0: set by the command processor.
        trap_handler / "ENABLE_TRAP_HANDLER": 6;
        /// An SGPR receives the workgroup id in X.
        workgroup_id_x / "ENABLE_SGPR_WORKGROUP_ID_X": 7;
        /// An SGPR receives the workgroup id in Y.
        workgroup_id_y / "ENABLE_SGPR_WORKGROUP_ID_Y": 8;
        /// An SGPR receives the workgroup id in Z.
        workgroup_id_z / "ENABLE_SGPR_WORKGROUP_ID_Z": 9;
        /// An SGPR receives the workgroup information word.
        workgroup_info / "ENABLE_SGPR_WORKGROUP_INFO": 10;
        /// Work-item ids in VGPRs: 0 X, 1 X and Y, 2 X, Y and Z.
        workitem_id / "ENABLE_VGPR_WORKITEM_ID": 11, 2;
        /// Must be 0: set by the command processor.
        exception_address_watch / "ENABLE_EXCEPTION_ADDRESS_WATCH": 13;
        /// Must be 0: set by the command processor.
        exception_memory / "ENABLE_EXCEPTION_MEMORY": 14;
        /// Must be 0: the size of local memory comes from the dispatch packet.
        granulated_lds_size / "GRANULATED_LDS_SIZE": 15, 9;
        /// Trap on an invalid floating-point operation.
        exception_fp_invalid / "ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION": 24;
        /// Trap on a denormal input.
        exception_fp_denormal_source / "ENABLE_EXCEPTION_FP_DENORMAL_SOURCE": 25;
        /// Trap on a floating-point division by zero.
        exception_fp_divide_by_zero / "ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO": 26;
        /// Trap on floating-point overflow.
        exception_fp_overflow / "ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW": 27;
        /// Trap on floating-point underflow.
        exception_fp_underflow / "ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW": 28;
        /// Trap on an inexact floating-point result.
        exception_fp_inexact / "ENABLE_EXCEPTION_IEEE_754_FP_INEXACT": 29;
        /// Trap on an integer division by zero.
        exception_int_divide_by_zero / "ENABLE_EXCEPTION_INT_DIVIDE_BY_ZERO": 30;
    }
}

word! {
    /// `compute_pgm_rsrc3` of MI200 and its successors (AMDGPUUsage,
    /// "compute_pgm_rsrc3 for GFX90A, GFX942"). Other processors of the GCN
    /// family keep the word 0.
    Rsrc3Gfx90a: u32 {
        /// First accumulation register in units of 4, minus one.
        accum_offset / "ACCUM_OFFSET": 0, 6;
        /// Waves of a workgroup may be spread over compute units.
        tg_split / "TG_SPLIT": 16;
    }
}

word! {
    /// `compute_pgm_rsrc3` of RDNA (AMDGPUUsage, "compute_pgm_rsrc3 for GFX10-GFX11").
    Rsrc3Gfx10: u32 {
        /// Shared vector registers in units of 8 (wave64).
        shared_vgpr_count / "SHARED_VGPR_COUNT": 0, 4;
        /// Instructions to prefetch, in units of 128 bytes (GFX11).
        inst_pref_size / "INST_PREF_SIZE": 4, 6;
        /// Trap when a wave starts (GFX11).
        trap_on_start / "TRAP_ON_START": 10;
        /// Trap when a wave ends (GFX11).
        trap_on_end / "TRAP_ON_END": 11;
        /// The kernel uses image instructions (GFX11).
        image_op / "IMAGE_OP": 31;
    }
}

word! {
    /// `kernel_code_properties`: which user SGPRs are set up, in this order
    /// (AMDGPUUsage, "Code Object V3 Kernel Descriptor").
    KernelCodeProperties: u16 {
        /// Four SGPRs: the buffer resource of the private segment.
        private_segment_buffer / "ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER": 0;
        /// Two SGPRs: address of the dispatch packet.
        dispatch_ptr / "ENABLE_SGPR_DISPATCH_PTR": 1;
        /// Two SGPRs: address of the queue.
        queue_ptr / "ENABLE_SGPR_QUEUE_PTR": 2;
        /// Two SGPRs: address of the kernel arguments.
        kernarg_segment_ptr / "ENABLE_SGPR_KERNARG_SEGMENT_PTR": 3;
        /// Two SGPRs: the dispatch id.
        dispatch_id / "ENABLE_SGPR_DISPATCH_ID": 4;
        /// Two SGPRs: the base of flat scratch.
        flat_scratch_init / "ENABLE_SGPR_FLAT_SCRATCH_INIT": 5;
        /// One SGPR: bytes of scratch per work-item.
        private_segment_size / "ENABLE_SGPR_PRIVATE_SEGMENT_SIZE": 6;
        /// Waves have 32 lanes (GFX10 and later).
        wavefront_size32 / "ENABLE_WAVEFRONT_SIZE32": 10;
        /// The stack size is not known in advance (code object v5 and later).
        uses_dynamic_stack / "USES_DYNAMIC_STACK": 11;
    }
}

word! {
    /// `kernarg_preload`: kernel arguments that arrive in user SGPRs (MI200 and later).
    KernargPreload: u16 {
        /// Number of 32-bit words.
        length / "KERNARG_PRELOAD_SPEC_LENGTH": 0, 7;
        /// First of them in the kernarg segment, in 32-bit words.
        offset / "KERNARG_PRELOAD_SPEC_OFFSET": 7, 9;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields are in bit order and do not overlap; each reader sees its own bits only.
    fn check(fields: &[Field], bits: u8) {
        let mut next = 0;
        for field in fields {
            assert!(field.shift >= next, "{} overlaps the field before it", field.name);
            next = field.shift + field.width;
            let all = (0..32u32)
                .filter(|bit| (u32::from(field.shift)..u32::from(next)).contains(bit))
                .fold(0, |word, bit| word | 1 << bit);
            assert_eq!(field.of(!all), 0, "{}", field.name);
            assert_eq!(field.of(all), ((1u64 << field.width) - 1) as u32, "{}", field.name);
        }
        assert!(next <= bits);
    }

    #[test]
    fn fields_do_not_overlap() {
        check(Rsrc1::FIELDS, 32);
        check(Rsrc2::FIELDS, 32);
        check(Rsrc3Gfx90a::FIELDS, 32);
        check(Rsrc3Gfx10::FIELDS, 32);
        check(KernelCodeProperties::FIELDS, 16);
        check(KernargPreload::FIELDS, 16);
    }

    #[test]
    fn readers_agree_with_the_table() {
        let word = Rsrc1(0x00af_0081);
        assert_eq!(word.granulated_vgpr_count(), 1);
        assert_eq!(word.granulated_sgpr_count(), 2);
        assert_eq!(word.float_denorm_mode_32(), 3);
        assert!(word.ieee_mode() && word.dx10_clamp() && !word.fp16_overflow());
        let listed: Vec<_> =
            word.fields().filter(|(_, value)| *value != 0).map(|(f, v)| (f.name, v)).collect();
        assert_eq!(
            listed,
            [
                ("GRANULATED_WORKITEM_VGPR_COUNT", 1),
                ("GRANULATED_WAVEFRONT_SGPR_COUNT", 2),
                ("FLOAT_DENORM_MODE_32", 3),
                ("FLOAT_DENORM_MODE_16_64", 3),
                ("ENABLE_DX10_CLAMP", 1),
                ("ENABLE_IEEE_MODE", 1),
            ]
        );
    }
}
