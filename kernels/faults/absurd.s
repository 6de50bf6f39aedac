// Kernels that want what no chip has. Each is a single `s_endpgm`.
.include "prologue.inc"

.set GROUP, 0
.set PRIVATE, 0
.set KERNARG, 0
.set PROPERTIES, 8
.set PRELOAD, 0
.set RSRC1, 0x00af0000
.set RSRC2, 4
.set RSRC3, 0

// A kernel whose descriptor says what the symbols above say, and where its code lies, if that is not where it is.
.macro absurd name, entry
    .text
    .protected \name
    .globl \name
    .p2align 8
    .type \name, @function
\name:
    s_endpgm
.Lend_\name:
    .size \name, .Lend_\name - \name
    .section .rodata, "a"
    .p2align 6
    .globl \name\().kd
    .type \name\().kd, @object
    .size \name\().kd, 64
\name\().kd:
    .long GROUP, PRIVATE, KERNARG, 0
    .ifb \entry
        .quad \name - \name\().kd
    .else
        .quad \entry
    .endif
    .zero 20
    .long RSRC3, RSRC1, RSRC2
    .short PROPERTIES, PRELOAD
    .long 0
.endm

absurd normal

.set GROUP, 0xffffffff
absurd lds_4gib
.set GROUP, 0

.set PRIVATE, 0xffffffff
absurd private_4gib
.set PRIVATE, 131056
absurd private_most
.set PRIVATE, 131060
absurd private_more
.set PRIVATE, 0

.set KERNARG, 0xffffffff
absurd kernarg_4gib
.set KERNARG, 0

// 64 granules of VGPRs, and all of them AccVGPRs but 4 where there are such.
.set RSRC1, 0x00af003f
absurd all_vgprs
// More ordinary VGPRs than VGPRs.
.set RSRC1, 0x00af0000
.set RSRC3, 0x3f
absurd offset_beyond
.set RSRC3, 0

// All user SGPRs that there are, and 127 preloaded ones.
.set PROPERTIES, 0x7f
.set PRELOAD, 0x7f
.set RSRC2, 0x3e
absurd user_sgprs
.set PROPERTIES, 8
.set PRELOAD, 0
.set RSRC2, 4

// The first instruction lies behind the end of the file, in front of its start, or among the constants.
absurd entry_beyond, 0x7fffffffffffff00
absurd entry_before, -0x7fffffffffffff00
absurd entry_constants, 0

// What the metadata says about these is absurd.
absurd argument_beyond
absurd argument_4gib
absurd no_items
absurd too_many_items
absurd no_workgroup
absurd kernarg_of_metadata

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: argument_beyond
    .symbol: argument_beyond.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.name: n, .offset: 4294967288, .size: 8, .value_kind: by_value}
  - .name: argument_4gib
    .symbol: argument_4gib.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.name: n, .offset: 0, .size: 4294967295, .value_kind: by_value}
  - .name: no_items
    .symbol: no_items.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [0, 1, 1]
  - .name: too_many_items
    .symbol: too_many_items.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [65536, 65536, 65536]
  - .name: no_workgroup
    .symbol: no_workgroup.kd
    .kernarg_segment_size: 0
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 0
  - .name: kernarg_of_metadata
    .symbol: kernarg_of_metadata.kd
    .kernarg_segment_size: 4294967295
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
...
.end_amdgpu_metadata
