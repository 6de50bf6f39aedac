//! Atomics on values of 16 bits at the edge of a buffer. The loops are those that LLVM makes of
//! them: a load of the aligned dword around the value, and a compare-and-swap of it.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use wavemill::device::{AddressMode, TargetChoice};
use wavemill::module::{CodeLocation, RawCode};
use wavemill::{Buffer, Device, Error, Launch, Module, Result};

use crate::raw_code::code;

const TARGETS: [&str; 5] = ["gfx900", "gfx906", "gfx90a", "gfx942", "gfx950"];

/// The address of the value is s[0:1]; s2 is added to it as f16. The loads of a wave and of lanes.
const SCALAR: &str = "
    s_and_b32 s4, s0, -4
    s_mov_b32 s5, s1
    s_load_dword s6, s[4:5], 0x0
    s_and_b32 s7, s0, 3
    s_lshl_b32 s7, s7, 3
    s_lshl_b32 s8, 0xffff, s7
    s_not_b32 s8, s8
    s_mov_b64 s[10:11], 0
    v_mov_b32_e32 v4, 0
    s_waitcnt lgkmcnt(0)
    v_mov_b32_e32 v1, s6
    v_lshrrev_b32_e32 v0, s7, v1
    v_add_f16_e32 v0, s2, v0
    v_lshlrev_b32_e32 v0, s7, v0
    v_and_or_b32 v0, v1, s8, v0
    global_atomic_cmpswap v0, v4, v[0:1], s[4:5] glc
    s_waitcnt vmcnt(0)
    v_cmp_eq_u32_e32 vcc, v0, v1
    s_or_b64 s[10:11], vcc, s[10:11]
    v_mov_b32_e32 v1, v0
    s_andn2_b64 exec, exec, s[10:11]
    s_cbranch_execnz 65523
    s_endpgm";
const VECTOR: &str = "
    v_mov_b32_e32 v2, s0
    v_mov_b32_e32 v3, s1
    v_and_b32_e32 v2, -4, v2
    global_load_dword v1, v[2:3], off
    s_and_b32 s7, s0, 3
    s_lshl_b32 s7, s7, 3
    s_lshl_b32 s8, 0xffff, s7
    s_not_b32 s8, s8
    s_mov_b64 s[10:11], 0
    s_waitcnt vmcnt(0)
    v_lshrrev_b32_e32 v0, s7, v1
    v_add_f16_e32 v0, s2, v0
    v_lshlrev_b32_e32 v0, s7, v0
    v_and_or_b32 v0, v1, s8, v0
    global_atomic_cmpswap v0, v[2:3], v[0:1], off glc
    s_waitcnt vmcnt(0)
    v_cmp_eq_u32_e32 vcc, v0, v1
    s_or_b64 s[10:11], vcc, s[10:11]
    v_mov_b32_e32 v1, v0
    s_andn2_b64 exec, exec, s[10:11]
    s_cbranch_execnz 65523
    s_endpgm";

/// The names of cache bits are others from gfx942 on.
fn of(target: &str, lines: &str) -> String {
    if target.starts_with("gfx94") || target.starts_with("gfx95") {
        lines.replace("glc", "sc0")
    } else {
        lines.to_owned()
    }
}

fn device(target: &str, mode: AddressMode) -> Device {
    Device::builder(TargetChoice::parse(target).expect("a target")).addresses(mode).build().expect("a device")
}

/// Adds an f16 to the value at an address, in every work-item of some workgroups.
fn add(device: &Device, code: &[u8], address: u64, value: u16, groups: u32) -> Result<()> {
    let raw = RawCode { rsrc2: 3 << 1, ..RawCode::new("add", CodeLocation::Bytes(code)) };
    let module = Module::from_code(device, &raw)?;
    let kernel = module.kernel("add")?;
    let launch = Launch::new(&kernel).workgroups([groups, 1, 1]).workgroup_size([64, 1, 1]);
    launch.user_data(&[address as u32, (address >> 32) as u32, value.into()]).run().map(|_| ())
}

const ONE: u16 = 0x3c00;

#[test]
fn the_last_of_an_odd_number_of_halves_can_be_added_to() {
    for target in TARGETS {
        for loop_ in [SCALAR, VECTOR] {
            let code = code(target, &of(target, loop_));
            for mode in AddressMode::ALL {
                let device = device(target, mode);
                let buffer = device.buffer_from("halves", &[0u16; 3]).expect("memory");
                for (n, sums) in [(2, [0, 0, 0x6400]), (0, [0x6400, 0, 0x6400])] {
                    add(&device, &code, buffer.address() + 2 * n, ONE, 16).expect("it finishes");
                    assert_eq!(buffer.to_vec::<u16>().expect("halves"), sums, "{target}, {mode}");
                }
                let behind = add(&device, &code, buffer.address() + 6, ONE, 1);
                assert!(matches!(behind, Err(Error::Fault(_))), "{target}, {mode}: {behind:?}");
                assert_eq!(buffer.to_vec::<u16>().expect("halves"), [0x6400, 0, 0x6400]);
            }
        }
    }
}

/// Memory of the host with the buffer of the device that has a part of it.
fn part(device: &Device, memory: &[AtomicU16], from: usize, to: usize) -> Buffer {
    let start = memory[from..].as_ptr().cast_mut().cast::<u8>();
    // SAFETY: the tests keep the memory, and access it by atomic operations alone.
    unsafe { device.import_buffer("part", start, 2 * (to - from) as u64) }.expect("a buffer")
}

/// Others write behind the last element, and before the first one, all the time.
#[test]
fn what_others_write_beside_a_buffer_stays() {
    for mode in AddressMode::ALL {
        let device = device("gfx942", mode);
        // Elements 1 to 4 are the buffer: its first and its last one share a dword with others.
        #[repr(align(8))]
        struct Halves([AtomicU16; 6]);
        let memory = Halves(Default::default());
        let buffer = part(&device, &memory.0, 1, 5);
        let stop = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let others = scope.spawn(|| {
                let mut count = 0u16;
                while !stop.load(Ordering::Relaxed) || count == 0 {
                    count = count.wrapping_add(1);
                    for n in [0, 5] {
                        // A plain store, as other programs do it.
                        memory.0[n].store(count, Ordering::Relaxed);
                        assert_eq!(memory.0[n].load(Ordering::Relaxed), count, "element {n}");
                    }
                }
                count
            });
            for n in [0, 3] {
                add(&device, &code("gfx942", &of("gfx942", VECTOR)), buffer.address() + 2 * n, ONE, 32)
                    .expect("it finishes");
            }
            stop.store(true, Ordering::Relaxed);
            others.join().expect("it keeps what it writes")
        });
        drop(buffer);
        let found = memory.0.map(AtomicU16::into_inner);
        assert_eq!(found, [written, 0x6800, 0, 0, 0x6800, written], "{mode}");
    }
}

#[test]
fn a_load_of_four_bytes_is_checked_to_the_byte() {
    const LOAD: &str = "
        v_mov_b32_e32 v2, s0
        v_mov_b32_e32 v3, s1
        global_load_dword v1, v[2:3], off
        s_waitcnt vmcnt(0)
        s_endpgm";
    const STORE: &str = "
        v_mov_b32_e32 v2, s0
        v_mov_b32_e32 v3, s1
        global_store_dword v[2:3], v0, off
        s_endpgm";
    for (lines, what) in [(LOAD, "load of 4 bytes"), (STORE, "store of 4 bytes")] {
        let device = device("gfx942", AddressMode::Sandbox);
        let buffer = device.buffer_from("halves", &[0u16; 3]).expect("memory");
        let error = add(&device, &code("gfx942", lines), buffer.address() + 4, ONE, 1).expect_err("a fault");
        let text = error.to_string();
        assert!(text.contains(what) && text.contains("`halves`"), "{text}");
    }
}
