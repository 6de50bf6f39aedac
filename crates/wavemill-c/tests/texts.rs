//! Assembling and disassembling.

use std::ptr;

use wavemill_c::*;

use crate::calls::*;

const SOURCE: &str = "
    .text
    .globl kernel
    .p2align 8
    .type kernel,@function
kernel:
    v_mov_b32 v0, 0
    v_mov_b32 v1, 7
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    global_store_dword v0, v1, s[2:3]
    s_endpgm
    .size kernel, .-kernel
    .rodata
    .p2align 6
    .amdhsa_kernel kernel
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 8
        .amdhsa_accum_offset 8
    .end_amdhsa_kernel
";

#[test]
fn a_source_becomes_a_kernel_that_runs() {
    let source = c_string(SOURCE);
    let (mut bytes, mut size) = (ptr::null(), 0);
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        ok(wm_assemble(c"gfx90a".as_ptr(), source.as_ptr(), &mut bytes, &mut size));
        let device = device(c"gfx90a");
        let mut module = ptr::null_mut();
        ok(wm_module_load(device, bytes, size, &mut module));
        let kernel = kernel(module, c"kernel");
        let out = buffer(device, c"out", 4);
        let address = address(out).to_le_bytes();
        let launch = wm_launch_t {
            kernel,
            grid: [1; 3],
            kernarg: address.as_ptr().cast(),
            kernarg_size: address.len(),
            ..sized()
        };
        ok(wm_launch(&launch, ptr::null_mut()));
        assert_eq!(read::<u32>(out, 1), [7]);

        // Without metadata, only the segment can be passed.
        let arguments = [of_buffer(out)];
        let launch =
            wm_launch_t { kernarg_size: 0, arguments: arguments.as_ptr(), argument_count: 1, ..launch };
        let message = error(wm_launch(&launch, ptr::null_mut()));
        assert!(message.ends_with("pass the kernel argument segment as raw bytes"), "{message}");
        ok(wm_buffer_free(out));
        ok(wm_kernel_free(kernel));
        ok(wm_module_free(module));
        ok(wm_device_free(device));
    }
}

#[test]
fn errors_in_a_source_have_lines() {
    let (mut bytes, mut size) = (ptr::null(), 0);
    // SAFETY: the pointers lead to what the function expects.
    unsafe {
        let source = c"s_nop 0\n  v_mow_b32 v0, v1\n";
        let message = error(wm_assemble(c"gfx906".as_ptr(), source.as_ptr(), &mut bytes, &mut size));
        assert!(message.starts_with("line 2, column 3: "), "{message}");
        assert!(message.contains("v_mow_b32"), "{message}");
        let message = error(wm_assemble(c"gfx906".as_ptr(), ptr::null(), &mut bytes, &mut size));
        assert_eq!(message, "expected a source, found NULL");
    }
    assert!(bytes.is_null() && size == 0);
}

#[test]
fn machine_code_becomes_text() {
    // From the table of LLVM's assembler: `v_add_f32_e32 v1, s2, v3` is 0x02020602; 0xffffffff is
    // no instruction.
    let mut code: Vec<u8> =
        [0x0202_0602u32, 0xffff_ffff, 0xbf81_0000].into_iter().flat_map(u32::to_le_bytes).collect();
    code.extend([1, 2]);
    let mut listing = ptr::null();
    // SAFETY: the pointers lead to what the function expects.
    unsafe {
        ok(wm_disassemble(c"gfx90a".as_ptr(), code.as_ptr().cast(), code.len(), &mut listing));
        assert_eq!(text(listing), "v_add_f32_e32 v1, s2, v3\n.long 0xffffffff\ns_endpgm\n.byte 0x01, 0x02\n");
        ok(wm_disassemble(c"gfx90a".as_ptr(), ptr::null(), 0, &mut listing));
        assert_eq!(text(listing), "");
        let message = error(wm_disassemble(c"cayman".as_ptr(), code.as_ptr().cast(), 4, &mut listing));
        assert_eq!(message, "expected a target of GCN or CDNA, found cayman");
        let (mut bytes, mut size) = (ptr::null(), 0);
        let message = error(wm_assemble(c"cayman".as_ptr(), c"END".as_ptr(), &mut bytes, &mut size));
        assert_eq!(message, "expected a target of GCN or CDNA, found cayman");
        let message = error(wm_disassemble(c"gfx90a".as_ptr(), ptr::null(), 4, &mut listing));
        assert_eq!(message, "expected 4 bytes of machine code, found NULL");
    }
}
