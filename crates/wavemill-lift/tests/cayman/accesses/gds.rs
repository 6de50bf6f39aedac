//! The global data share: the accesses of LDS, with sources and results in registers (HD 6900 ISA
//! 8.5).

use wavemill_isa::cayman::{FieldId as F, Format, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_oracle::SplitMix64;

use super::super::machine::{HALT_WORD, Machine, set_gpr};
use super::lds::{MODELS, Memory, Model, apply};
use super::{bytes, bytes_of, dword, with};

/// Bytes of the share.
const SIZE: usize = 0x1_0000;
/// Dwords that are filled and compared.
const DWORDS: usize = 128;

/// An access with address and data in channels of a register, and results in X and Y of another.
fn access(op: Op, from: u32, to: u32, offset: u32) -> Inst {
    let fields = [
        (F::SrcGpr, from),
        (F::SrcSelX, 0),
        (F::SrcSelY, 1),
        (F::SrcSelZ, 2),
        (F::DstGpr, to),
        (F::DstSelX, 0),
        (F::DstSelY, 1),
        (F::DstSelZ, 7),
        (F::DstSelW, 5),
        (F::GdsOffset, offset),
    ];
    with(Inst::new(op), &fields)
}

#[test]
fn accesses_follow_the_models_of_lds() {
    let is_access = |op: &&Op| op.row().format == Format::Gds && **op != Op::GdsAtomicOrderedAllocRet;
    for &op in Op::ALL.iter().filter(is_access) {
        let code = op.row().sub_code;
        let model = MODELS.iter().find(|(lds, _)| lds.row().sub_code == code);
        let (_, model) = *model.unwrap_or_else(|| panic!("{} has no counterpart", op.row().name));
        let mut random = SplitMix64::new(code.into());
        for offset in [0, random.below(64) as u32] {
            let filled: Vec<u32> = (0..DWORDS).map(|_| random.below(5) as u32).collect();
            let address = |random: &mut SplitMix64| random.below(4 * DWORDS as u64) as u32;
            let lanes: Vec<[u32; 3]> = (0..64)
                .map(|_| {
                    let second = match model {
                        Model::ReadTwo | Model::ReadWrite => address(&mut random),
                        _ => random.below(5) as u32,
                    };
                    [address(&mut random), second, random.next_u64() as u32]
                })
                .collect();
            let clause = [
                access(Op::GdsWrite, 3, 0, 0),
                access(Op::GdsWrite, 5, 0, 0),
                access(op, 0, 4, offset),
                access(Op::GdsReadRet, 3, 8, 0),
                access(Op::GdsReadRet, 5, 9, 0),
            ];
            let call = with(Inst::new(Op::Gds), &[(F::Addr, 2), (F::Count, clause.len() as u32 - 1)]);
            let mut program = bytes(&[call]);
            program.extend(HALT_WORD.to_le_bytes());
            program.extend(bytes(&clause));
            let outcome = Machine::default().run_code(&program, |registers, _| {
                for n in 0..3 {
                    set_gpr(registers, 0, n, |lane| lanes[lane as usize][usize::from(n)]);
                }
                (0..4).for_each(|channel| set_gpr(registers, 4, channel, |_| 7));
                for (register, first) in [(3, 0), (5, 64)] {
                    set_gpr(registers, register, 0, |lane| 4 * (lane + first));
                    set_gpr(registers, register, 1, |lane| filled[(lane + first) as usize]);
                }
            });
            let mut memory = Memory(bytes_of(&filled));
            memory.0.resize(SIZE, 0);
            let returned = apply(model, &mut memory, &lanes, offset as usize);
            let returns = op.row().result.is_some();
            for (lane, sources) in lanes.iter().enumerate() {
                let context = format!("{}, offset {offset}, lane {lane}: {:x?}", op.row().name, sources);
                let result = [0, 1, 2, 3].map(|channel| outcome.gpr(4, channel)[lane]);
                let value = |queue: usize| returned[queue].get(lane).copied().unwrap_or(0);
                let want = if returns { [value(0), value(1), 7, 0x3f80_0000] } else { [7; 4] };
                assert_eq!(result, want, "{context}");
                for (half, register) in [8, 9].into_iter().enumerate() {
                    let want = dword(&memory.0, 256 * half + 4 * lane);
                    assert_eq!(outcome.gpr(register, 0)[lane], want, "half {half} after {context}");
                }
            }
        }
    }
}

/// The share ends behind its last dword, at 64 KiB.
#[test]
fn the_last_dword_exists() {
    let clause =
        [access(Op::GdsWrite, 3, 0, 0), access(Op::GdsAddRet, 5, 4, 0), access(Op::GdsReadRet, 3, 8, 0)];
    let call = with(Inst::new(Op::Gds), &[(F::Addr, 2), (F::Count, clause.len() as u32 - 1)]);
    let mut program = bytes(&[call]);
    program.extend(HALT_WORD.to_le_bytes());
    program.extend(bytes(&clause));
    let outcome = Machine::default().run_code(&program, |registers, _| {
        // The last 64 dwords.
        set_gpr(registers, 3, 0, |lane| 0x1_0000 - 256 + 4 * lane);
        set_gpr(registers, 3, 1, |lane| 1000 + lane);
        set_gpr(registers, 5, 0, |_| 0xfffc);
        set_gpr(registers, 5, 1, |_| 1);
    });
    for lane in 0..64u32 {
        assert_eq!(outcome.gpr(4, 0)[lane as usize], 1063 + lane, "lane {lane}");
        let wanted = if lane == 63 { 1063 + 64 } else { 1000 + lane };
        assert_eq!(outcome.gpr(8, 0)[lane as usize], wanted, "lane {lane}");
    }
}

/// Runs a clause of accesses with T0 and T1 from lanes, and then reads the first eight dwords of the
/// share to T8.
fn counted(words: &[Inst], active: u64, index: u32) -> super::super::machine::Outcome {
    // MOVA_DST 2 is CF_IDX0.
    let mova = with(Inst::new(Op::MovaInt), &[(F::Src0Sel, 1), (F::MovaDst, 2), (F::Last, 1)]);
    let mut clause = words.to_vec();
    clause.push(access(Op::GdsReadRet, 2, 8, 0));
    let clear = access(Op::GdsWrite, 2, 0, 0);
    clause.insert(0, clear);
    let calls = [
        with(Inst::new(Op::Alu), &[(F::Addr, 4)]),
        with(Inst::new(Op::Gds), &[(F::Addr, 6), (F::Count, clause.len() as u32 - 1)]),
    ];
    let mut program = bytes(&calls);
    program.extend(HALT_WORD.to_le_bytes());
    program.resize(32, 0);
    program.extend(bytes(&[mova]));
    program.resize(48, 0);
    program.extend(bytes(&clause));
    Machine::default().run_code(&program, |registers, _| {
        set_gpr(registers, 0, 0, |lane| 4 * (lane % 8));
        set_gpr(registers, 0, 1, |lane| 3 + lane);
        set_gpr(registers, 1, 0, |_| index);
        set_gpr(registers, 2, 0, |lane| 4 * (lane % 8));
        set_gpr(registers, 2, 1, |_| 100);
        registers.set_uni(super::super::names::named("aL"), 1);
        (0..4).for_each(|channel| set_gpr(registers, 4, channel, |_| 7));
        registers.set_uni(registers::ORDERED_COUNT, 12 << 16);
        super::super::machine::set_active(registers, active);
    })
}

/// Append and consume counters: the number of the counter is the address.
#[test]
fn counters() {
    for (mode, id, index, counter) in [(0, 2, 9, 2), (1, 1, 3, 4)] {
        let fields = [(F::AllocConsume, 1), (F::UavId, id), (F::UavIndexMode, mode)];
        let add = with(access(Op::GdsAddRet, 0, 4, 0), &fields);
        let outcome = counted(&[add], !0, index);
        // Lanes add one after the other.
        let mut total = 100;
        for lane in 0..64 {
            assert_eq!(outcome.gpr(4, 0)[lane], total, "lane {lane}");
            total += 3 + lane as u32;
        }
        for lane in 0..8 {
            let wanted = if lane == counter { total } else { 100 };
            assert_eq!(outcome.gpr(8, 0)[lane], wanted, "dword {lane}");
        }
    }
    // Without a result, the bit is ignored.
    let add = with(access(Op::GdsAdd, 0, 4, 0), &[(F::AllocConsume, 1), (F::UavId, 2)]);
    let outcome = counted(&[add], 0xff, 0);
    for lane in 0..8 {
        assert_eq!(outcome.gpr(8, 0)[lane], 103 + lane as u32);
    }
}

/// BCAST_FIRST_REQ: the first active lane makes the access, and all lanes get its result.
#[test]
fn one_lane_for_all() {
    for active in [!0, 0xffff_0000_0000_ff40] {
        let add = with(access(Op::GdsAddRet, 0, 4, 0), &[(F::BcastFirstReq, 1)]);
        let store = with(access(Op::GdsWrite, 2, 0, 0), &[]);
        // All of the share is 100, from the active lanes.
        let outcome = counted(&[store, add], active, 0);
        let first = active.trailing_zeros() as usize;
        for lane in 0..64 {
            assert_eq!(outcome.gpr(4, 0)[lane], 100, "lane {lane}");
        }
        let dword =
            (first..64).find(|lane| lane % 8 == first % 8 && active >> lane & 1 != 0).expect("a lane");
        assert_eq!(outcome.gpr(8, 0)[dword], 103 + first as u32);
    }
}

/// ATOMIC_ORDERED_ALLOC: seven bits of the datum of the first lane are added to the counter.
#[test]
fn ordered_allocation() {
    let alloc = |fields: &[(F, u32)]| {
        let own = [(F::SrcSelX, 1), (F::BcastFirstReq, 1)];
        with(with(access(Op::GdsAtomicOrderedAllocRet, 0, 4, 0), &own), fields)
    };
    let active = 0xffff_ffff_ffff_ff00;
    let outcome = counted(&[alloc(&[])], active, 0);
    for lane in 0..64 {
        assert_eq!(outcome.gpr(4, 0)[lane], 100, "lane {lane}");
        assert_eq!(outcome.gpr(4, 1)[lane], 0, "lane {lane}");
    }
    for lane in 8..16 {
        assert_eq!(outcome.gpr(8, 0)[lane], if lane == 11 { 100 + 3 + 8 } else { 100 }, "dword {}", lane - 8);
    }
    // The loop index moves the register of the result.
    let moved = counted(&[alloc(&[(F::DstGpr, 3), (F::DstRelMode, 1)])], active, 0);
    assert_eq!((moved.gpr(4, 0)[0], moved.gpr(4, 1)[0]), (100, 0));
    // The second turn of the wave does not come.
    assert!(counted(&[alloc(&[]), alloc(&[])], active, 0).waits);
}
