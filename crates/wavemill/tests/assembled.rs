//! A kernel in assembly, as a loaded module.

use wavemill::device::{TargetChoice, TargetId};
use wavemill::{Device, Module};
use wavemill_asm::Options;
use wavemill_kernels::Target;

/// What a module has besides its target.
#[derive(Clone, Copy, Default)]
pub(crate) struct Source<'a> {
    /// The instructions of the kernel before `s_endpgm`. `s[0:1]` is the address of the arguments:
    /// the address of a buffer. The SGPRs that the launch sets begin at s2.
    pub(crate) body: &'a str,
    /// Directives of the kernel besides the counts of registers.
    pub(crate) directives: &'a str,
    /// Other functions of the module.
    pub(crate) functions: &'a str,
}

impl Source<'_> {
    /// A device of the target with the module, whose kernel is `kernel`.
    pub(crate) fn load(&self, target: Target) -> (Device, Module) {
        let Source { body, directives, functions } = self;
        let accum = match target {
            Target::Gfx90a | Target::Gfx942 | Target::Gfx950 => ".amdhsa_accum_offset 32",
            _ => "",
        };
        let source = format!(
            "
    .text
    .globl kernel
    .p2align 8
    .type kernel,@function
kernel:
{body}
    s_endpgm
    .size kernel, .-kernel
{functions}
    .rodata
    .p2align 6
    .amdhsa_kernel kernel
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 32
        .amdhsa_next_free_sgpr 32
        {accum}
        {directives}
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 32
    .max_flat_workgroup_size: 1024
    .args:
      - .name: out
        .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
    .end_amdgpu_metadata
"
        );
        let id: TargetId = format!("amdgcn-amd-amdhsa--{}", target.name()).parse().expect("a target id");
        let options = Options { target: Some(id.clone()), ..Options::default() };
        let module = wavemill_asm::assemble(&source, &options)
            .unwrap_or_else(|reports| panic!("{reports:#?}\n{source}"));
        let object = wavemill_object::write::link(&module).expect("it links");
        let device = Device::builder(TargetChoice::from(id)).build().expect("a device");
        let module = Module::load(&device, &object).expect("it loads");
        (device, module)
    }
}
