//! DS instructions on the global data share: the same as on LDS, with base and size in M0.

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId as F, Flag, Format, Op};
use wavemill_machine::{Access, FaultCause, FaultSpace};

use super::lds::{ADDRESS, DATA, LDS, RESULT};
use super::reference::{MASKS, Numbers, set_rows};
use crate::common::{Machine, home_words};
use wavemill_lift::gcn::registers;

const TARGET: Target = Target::Gfx906;
/// The VGPR with the offset of each lane's 64 bytes, for the code around the tested instruction.
const OWN: u32 = 30;
/// `s_mov_b32 m0, s98`: all of the global data share. `s_mov_b32 m0, s99`: that of the test.
const WHOLE: u32 = 0xbefc_0062;
const OF_TEST: u32 = 0xbefc_0063;

/// What an instruction leaves: the first 4 KiB of the data share, and the result registers.
#[derive(PartialEq, Debug)]
struct Done {
    share: Vec<u8>,
    result: Vec<[u32; 64]>,
}

/// Registers of a test, and the contents of the data share.
struct Input {
    exec: u64,
    m0: u32,
    addresses: [u32; 64],
    data: Vec<[u32; 64]>,
    old: Vec<[u32; 64]>,
    contents: Vec<u8>,
}

/// Runs one instruction; `gds` says on which data share.
fn run(code: &[u32], gds: bool, input: &Input) -> Result<Done, FaultCause> {
    let mut machine = Machine::new(TARGET);
    machine.lds_size = LDS as u32;
    machine.buffers = vec![input.contents.clone()];
    let share = (F::Gds, u32::from(gds));
    let (mut fill, mut dump) = (vec![WHOLE], vec![WHOLE]);
    for n in 0..4 {
        let load = [(F::Vdst, 24), (F::Vaddr, OWN), (F::Saddr, 90), (F::Offset, 16 * n)];
        fill.extend(home_words(TARGET, Op::GlobalLoadDwordx4, &load));
        let put = [(F::Data0, 24), (F::Addr, OWN), (F::Offset0, 16 * n), share];
        fill.extend(home_words(TARGET, Op::DsWriteB128, &put));
        let get = [(F::Vdst, 24), (F::Addr, OWN), (F::Offset0, 16 * n), share];
        dump.extend(home_words(TARGET, Op::DsReadB128, &get));
        let store = [(F::Vdata, 24), (F::Vaddr, OWN), (F::Saddr, 90), (F::Offset, 16 * n)];
        dump.extend(home_words(TARGET, Op::GlobalStoreDwordx4, &store));
    }
    let set_mask = [0xbefe_0160]; // s_mov_b64 exec, s[96:97]
    let set_all = [0xbefe_01c1]; // s_mov_b64 exec, -1
    let program = [&fill[..], &set_mask, &[OF_TEST], code, &set_all, &dump].concat();
    let outcome = machine.try_run(&program, |regs, buffers| {
        regs.set_uni64(Uni(90), buffers[0]);
        regs.set_uni64(Uni(96), input.exec);
        regs.set_uni(registers::scalar(98), 0xffff);
        regs.set_uni(registers::scalar(99), input.m0);
        set_rows(regs, OWN as u16, &[std::array::from_fn(|lane| 64 * lane as u32)]);
        set_rows(regs, ADDRESS as u16, &[input.addresses]);
        set_rows(regs, DATA as u16, &input.data);
        set_rows(regs, RESULT as u16, &input.old);
    })?;
    let result = outcome.wave.vgprs[RESULT as usize..RESULT as usize + 4].to_vec();
    Ok(Done { share: outcome.buffers[0].clone(), result })
}

/// The words of an instruction on the registers of the tests.
fn words(op: Op, gds: bool, offsets: [u32; 2]) -> Vec<u32> {
    let has = |role| op.row().operand(role).is_some();
    use wavemill_isa::gcn::Role;
    let mut fields = vec![(F::Offset0, offsets[0]), (F::Offset1, offsets[1]), (F::Gds, u32::from(gds))];
    for (role, field, register) in [
        (Role::Vdst, F::Vdst, RESULT),
        (Role::Addr, F::Addr, ADDRESS),
        (Role::Data0, F::Data0, DATA),
        (Role::Data1, F::Data1, DATA + 4),
    ] {
        if has(role) {
            fields.push((field, register));
        }
    }
    home_words(TARGET, op, &fields)
}

fn input(numbers: &mut Numbers, exec: u64, m0: u32, address: impl Fn(usize) -> u32) -> Input {
    Input {
        exec,
        m0,
        addresses: std::array::from_fn(address),
        data: (0..8).map(|_| numbers.row()).collect(),
        old: (0..4).map(|_| numbers.row()).collect(),
        contents: numbers.bytes(LDS),
    }
}

/// All instructions that both data shares have, except those whose address is in M0.
fn ops() -> Vec<Op> {
    let rows = Op::ALL.iter().filter(|op| {
        let row = op.row();
        let listed = row.format == Format::Ds && row.targets.contains(TARGET);
        listed && row.has(Flag::Gds, TARGET) && !row.has(Flag::Swizzle, TARGET)
    });
    let in_m0 = [Op::DsAppend, Op::DsConsume, Op::DsReadAddtidB32, Op::DsWriteAddtidB32];
    rows.copied().filter(|op| !in_m0.contains(op)).collect()
}

#[test]
fn every_instruction_does_the_same_as_on_lds() {
    const BASE: u32 = 0x140;
    let ops = ops();
    assert!(ops.len() > 120, "{}", ops.len());
    let mut numbers = Numbers::new(11);
    for op in ops {
        let name = op.row().name();
        for exec in MASKS {
            // Lanes share addresses, in pairs that are not neighbours.
            let address = |lane: usize| 16 * ((lane as u32 * 7) % 60);
            let offsets = match () {
                () if name.contains("src2") => [4, 0],
                () if name.contains("st64") => [1, 2],
                () if name.contains("2_") => [8, 1],
                () => [8, 0],
            };
            let mut input = input(&mut numbers, exec, BASE << 16 | 0xe00, address);
            let on_gds = run(&words(op, true, offsets), true, &input);
            input.addresses = input.addresses.map(|address| address + BASE);
            let on_lds = run(&words(op, false, offsets), false, &input);
            assert!(on_lds.is_ok(), "{name}: {on_lds:?}");
            assert_eq!(on_gds, on_lds, "{name} {exec:#x}");
        }
    }
}

#[test]
fn addresses_in_m0() {
    let mut numbers = Numbers::new(12);
    for exec in MASKS {
        for (op, offsets) in [
            (Op::DsAppend, [0x24, 1]),
            (Op::DsConsume, [0x23, 0]),
            (Op::DsReadAddtidB32, [0x40, 1]),
            (Op::DsWriteAddtidB32, [0x30, 0]),
        ] {
            let mut input = input(&mut numbers, exec, 0x0200_0e00, |_| 0);
            let on_gds = run(&words(op, true, offsets), true, &input);
            input.m0 = 0x0e00_0200;
            assert_eq!(on_gds, run(&words(op, false, offsets), false, &input), "{op:?} {exec:#x}");
        }
        // The size does not limit counters.
        let before = input(&mut numbers, exec, 0x0208_0000, |_| 0);
        let done = run(&words(Op::DsAppend, true, [4, 0]), true, &before).unwrap();
        let dword = |bytes: &[u8]| u32::from_le_bytes(bytes[0x20c..0x210].try_into().unwrap());
        let old = dword(&before.contents);
        assert_eq!(dword(&done.share), old.wrapping_add(exec.count_ones()));
        for lane in 0..64 {
            let expected = if exec >> lane & 1 != 0 { old } else { before.old[0][lane] };
            assert_eq!(done.result[0][lane], expected);
        }
    }
}

/// A refused access: its kind, its size and the lanes with their addresses.
type Refused = (Access, u32, Vec<(u8, u64)>);

fn refused(result: &Result<Done, FaultCause>) -> Option<Refused> {
    match result {
        Err(FaultCause::Memory { access, space: FaultSpace::Gds, size, lanes, .. }) => {
            Some((*access, *size, lanes.iter().map(|lane| (lane.lane, lane.address)).collect()))
        }
        _ => None,
    }
}

#[test]
fn m0_limits_the_addresses() {
    let mut numbers = Numbers::new(13);
    // 64 bytes from byte 256 on: lanes 0 to 15.
    let mut input = input(&mut numbers, 0xffff, 0x0100_0040, |lane| 4 * lane as u32);
    for (op, access) in
        [(Op::DsReadB32, Access::Load), (Op::DsWriteB32, Access::Store), (Op::DsAddRtnU32, Access::Atomic)]
    {
        input.exec = 0xffff;
        assert!(run(&words(op, true, [0, 0]), true, &input).is_ok(), "{op:?}");
        input.exec = 0x3_ffff;
        let wanted = Some((access, 4, vec![(16, 256 + 64), (17, 256 + 68)]));
        assert_eq!(refused(&run(&words(op, true, [0, 0]), true, &input)), wanted, "{op:?}");
    }
    input.exec = 1 << 15;
    let wanted = Some((Access::Load, 8, vec![(15, 256 + 60)]));
    assert_eq!(refused(&run(&words(Op::DsReadB64, true, [0, 0]), true, &input)), wanted);
    // The share ends at 64 KiB, whatever M0 says.
    (input.m0, input.exec) = (0xfff0_ffff, 0x1f);
    let wanted = Some((Access::Load, 4, vec![(4, 0x1_0000)]));
    assert_eq!(refused(&run(&words(Op::DsReadB32, true, [0, 0]), true, &input)), wanted);
    let wanted = Some((Access::Atomic, 4, vec![(0, 0x1_0000)]));
    assert_eq!(refused(&run(&words(Op::DsAppend, true, [16, 0]), true, &input)), wanted);
    // Atomics are aligned to their size, base included.
    (input.m0, input.exec) = (0x0102_ffff, 1);
    let misaligned = run(&words(Op::DsAddU32, true, [0, 0]), true, &input);
    assert!(matches!(misaligned, Err(FaultCause::MisalignedAtomic { size: 4, .. })), "{misaligned:?}");
}

#[test]
fn the_ordered_count() {
    let mut numbers = Numbers::new(14);
    let dword = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    for (second, swaps) in [(1, false), (0x11, true), (0, false)] {
        // Order 2, the counter at byte 0x80 + 8; it is the turn of number 0.
        let before = input(&mut numbers, 0xfff0, 0x0080_0000, |lane| 100 + lane as u32);
        let code = words(Op::DsOrderedCount, true, [8, second]);
        let done = run(&code, true, &before).unwrap();
        let old = dword(&before.contents, 0x88);
        let new = if swaps { 104 } else { old.wrapping_add(104) };
        assert_eq!(dword(&done.share, 0x88), new);
        assert_eq!((done.result[0][3], done.result[0][4]), (before.old[0][3], old));
        assert_eq!(done.result[0][15], old);
    }
}
