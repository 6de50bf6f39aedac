//! Threads of an embedder on which the host computes floats in another mode. Libraries that are built for fast arithmetic
//! set one, and threads inherit it from the thread that starts them.
#![cfg(target_arch = "x86_64")]

use std::arch::asm;
use std::num::NonZeroUsize;

use wavemill::device::TargetChoice;
use wavemill::launch::Engine;
use wavemill::module::{CodeLocation, RawCode};
use wavemill::{Device, Launch, Module, RunOptions};

use crate::raw_code::code;

/// Denormals are kept and sums round to nearest even. `s[0:1]` is the output. Work-item 0 stores 1 + 2^-25, a denormal
/// product, and the sum of a denormal and zero.
const FLOATS: &str = "
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
    v_mov_b32_e32 v0, 0
    v_mov_b32_e32 v2, 0x33000000
    v_add_f32_e32 v2, 1.0, v2
    v_mov_b32_e32 v3, 0x0d800000
    v_mov_b32_e32 v4, 0x30800000
    v_mul_f32_e32 v3, v3, v4
    v_mov_b32_e32 v4, 0x00000123
    v_add_f32_e32 v4, 0, v4
    global_store_dwordx3 v0, v[2:4], s[0:1]
    s_endpgm";
const RESULTS: [u32; 3] = [0x3f80_0000, 0x0008_0000, 0x123];
/// To plus infinity; sources and results that are denormal become zeros. Exceptions are masked.
const OTHER: u32 = 0x1f80 | 1 << 15 | 2 << 13 | 1 << 6;
/// Bits that are not results of operations.
const CONTROL: u32 = !0x3f;

fn mode() -> u32 {
    let mut mode = 0u32;
    // SAFETY: it stores the mode to this variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack)) };
    mode
}

fn set_mode(mode: u32) {
    // SAFETY: the mode is valid, and what the tests compute in it does not matter.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack)) };
}

#[test]
fn launches_do_not_depend_on_the_mode_of_the_thread() {
    let device = Device::builder(TargetChoice::parse("gfx942").expect("a target")).build().expect("a device");
    let code = code("gfx942", FLOATS);
    let raw = RawCode { rsrc2: 2 << 1, ..RawCode::new("floats", CodeLocation::Bytes(&code)) };
    let module = Module::from_code(&device, &raw).expect("it loads");
    let kernel = module.kernel("floats").expect("the kernel");
    let run = |engine: Engine, threads: usize| {
        let out = device.buffer("out", 12).expect("memory");
        let address = [out.address() as u32, (out.address() >> 32) as u32];
        let options = RunOptions { threads: NonZeroUsize::new(threads), ..RunOptions::default() };
        let launch = Launch::new(&kernel).workgroups([64, 1, 1]).workgroup_size([64, 1, 1]).engine(engine);
        launch.user_data(&address).options(options).run().expect("it finishes");
        out.to_vec::<u32>().expect("numbers")
    };
    for engine in Engine::ALL {
        for threads in [1, 2] {
            assert_eq!(run(engine, threads), RESULTS, "{engine}");
            let (found, after) = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    set_mode(OTHER);
                    (run(engine, threads), mode() & CONTROL)
                });
                other.join().expect("it finishes")
            });
            assert_eq!(found, RESULTS, "{engine}, {threads} threads");
            // The thread has its own mode again.
            assert_eq!(after, OTHER, "{engine}");
        }
    }
}
