//! Every instruction that the manual enumerates has a row, and every other number is refused.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use wavemill_isa::cayman::{
    Chain, DecodeError, Field, FieldId as F, Flag, Format, Inst, Op, Slots, Stage, decode_control,
    decode_fetch, decode_gds, decode_slot,
};
use wavemill_oracle::SplitMix64;

type Decode = fn(&[u8]) -> Result<Inst, DecodeError>;

/// The numbers that the manual's enumerations list for an opcode field (HD 6900 ISA 9), with those
/// that rows have besides.
struct Enumeration {
    what: &'static str,
    decode: Decode,
    /// The fields that lead to the opcode.
    around: &'static [(Bits, u32)],
    opcode: Bits,
    /// The numbers of the manual.
    listed: &'static [RangeInclusive<u32>],
    /// Numbers that decode although the manual does not list them, or the reverse.
    exceptions: &'static [u32],
}

/// First bit and width.
type Bits = (u32, u32);

const CF_INST: Bits = (54, 8);
const CF_ALU_INST: Bits = (58, 4);
const OP3: Bits = (45, 5);
/// CF_ALU of a word 64 bits later.
const BEHIND: Bits = (122, 4);

const ENUMERATIONS: &[Enumeration] = &[
    Enumeration {
        what: "CF_WORD1.CF_INST and CF_ALLOC_EXPORT_WORD1",
        decode: decode_control,
        // RAT_INST 20 is STORE_DWORD, and GWS_OPCODE 0. Bit 29 of the dword is part of the opcode.
        around: &[((4, 6), 20)],
        opcode: CF_INST,
        listed: &[0..=1, 3..=11, 13..=14, 18..=24, 26..=27, 29..=42, 64..=80, 82..=92],
        exceptions: &[],
    },
    Enumeration {
        what: "CF_ALU_WORD1.CF_INST",
        decode: decode_control,
        around: &[(BEHIND, 8)],
        opcode: CF_ALU_INST,
        // Below 8 the bit that tells these words from others is clear.
        listed: &[8..=15],
        exceptions: &[],
    },
    Enumeration {
        what: "CF_INST behind ALU_EXTENDED",
        decode: decode_control,
        around: &[(CF_ALU_INST, 12)],
        opcode: BEHIND,
        listed: &[8..=15],
        // It is not extended twice.
        exceptions: &[12],
    },
    Enumeration {
        what: "RAT_INST of MEM_RAT",
        decode: decode_control,
        around: &[(CF_INST, 86)],
        opcode: (4, 6),
        listed: &[0..=1, 4..=4, 7..=16, 18..=22, 32..=32, 34..=34, 36..=36, 39..=48, 50..=51],
        // MSKOR, which LLVM writes.
        exceptions: &[17],
    },
    Enumeration {
        what: "RAT_INST of MEM_RAT_CACHELESS: stores and reads",
        decode: decode_control,
        around: &[(CF_INST, 87)],
        opcode: (4, 6),
        listed: &[0..=1, 20..=22, 32..=32],
        exceptions: &[],
    },
    Enumeration {
        what: "RAT_INST of MEM_RAT_COMBINED_CACHELESS",
        decode: decode_control,
        around: &[(CF_INST, 92)],
        opcode: (4, 6),
        listed: &[0..=1, 20..=22, 32..=32],
        exceptions: &[],
    },
    Enumeration {
        what: "GWS_OPCODE",
        decode: decode_control,
        around: &[(CF_INST, 30)],
        opcode: (30, 2),
        listed: &[0..=3],
        exceptions: &[],
    },
    Enumeration {
        what: "ALU_INST of OP2",
        decode: decode_slot,
        around: &[],
        // The top three bits are zero in words with two sources.
        opcode: (39, 8),
        listed: &[
            0..=6,
            8..=23,
            25..=84,
            87..=87,
            90..=92,
            129..=138,
            141..=146,
            149..=156,
            160..=167,
            170..=193,
            196..=219,
            224..=226,
        ],
        exceptions: &[],
    },
    Enumeration {
        what: "ALU_INST of OP3",
        decode: decode_slot,
        around: &[],
        opcode: OP3,
        // Below 4 the word has two sources: these are the upper bits of OP2's numbers.
        listed: &[4..=17, 20..=31],
        exceptions: &[0, 1, 2, 3],
    },
    Enumeration {
        what: "LDS_OP",
        decode: decode_slot,
        around: &[(OP3, 17)],
        opcode: (53, 6),
        listed: &[0..=19, 32..=57, 63..=63],
        // ATOMIC_ORDERED_ALLOC_RET is for the global data share only.
        exceptions: &[63],
    },
    Enumeration {
        what: "VC_INST, MEM_INST and TEX_INST",
        decode: decode_fetch,
        around: &[],
        opcode: (0, 5),
        listed: &[0..=12, 14..=14, 16..=31],
        exceptions: &[],
    },
    Enumeration {
        what: "MEM_OP of memory reads",
        decode: decode_fetch,
        around: &[((0, 5), 2)],
        opcode: (8, 3),
        listed: &[0..=0, 2..=2],
        exceptions: &[],
    },
    Enumeration {
        what: "MEM_INST of the global data share",
        decode: decode_gds,
        // GDS_OP 13 is WRITE.
        around: &[((8, 3), 4), ((41, 6), 13)],
        opcode: (0, 5),
        listed: &[2..=2],
        exceptions: &[],
    },
    Enumeration {
        what: "MEM_OP of the global data share",
        decode: decode_gds,
        around: &[((0, 5), 2), ((41, 6), 13)],
        opcode: (8, 3),
        listed: &[4..=5],
        exceptions: &[],
    },
    Enumeration {
        what: "GDS_OP",
        decode: decode_gds,
        around: &[((0, 5), 2), ((8, 3), 4)],
        opcode: (41, 6),
        listed: &[0..=19, 32..=57, 63..=63],
        exceptions: &[],
    },
];

fn set(word: u128, (lo, width): Bits, value: u32) -> u128 {
    let mask = ((1u128 << width) - 1) << lo;
    word & !mask | u128::from(value) << lo
}

fn random(random: &mut SplitMix64) -> u128 {
    u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())
}

/// Whatever the other bits are, the listed numbers decode and no others do, and no bit is lost.
#[test]
fn rows_are_those_that_the_manual_enumerates() {
    let mut source = SplitMix64::new(69);
    for one in ENUMERATIONS {
        for number in 0..1u32 << one.opcode.1 {
            let listed = one.listed.iter().any(|range| range.contains(&number));
            let expected = listed != one.exceptions.contains(&number);
            for _ in 0..64 {
                let mut word = random(&mut source);
                // Bits 49:47 are zero in OP2, and bit 61 tells CF_ALU words from others.
                if one.what.ends_with("OP2") {
                    word = set(word, (47, 3), 0);
                }
                word = set(word, one.opcode, number);
                word = one.around.iter().fold(word, |word, (bits, value)| set(word, *bits, *value));
                let is_wrong_family = one.opcode == CF_INST && number & 0x80 != 0
                    || one.opcode == CF_ALU_INST && number < 8
                    || one.opcode == OP3 && number < 4;
                if is_wrong_family {
                    continue;
                }
                // LDS operations have numbers of their own.
                if one.opcode == OP3 && number == 17 {
                    word = set(word, (53, 6), 13);
                }
                if one.opcode == (0, 5) && number == 2 && one.what.starts_with("VC") {
                    word = set(word, (8, 3), 0);
                }
                let bytes = word.to_le_bytes();
                let found = (one.decode)(&bytes);
                assert_eq!(found.is_ok(), expected, "{} {number}: {word:#034x}", one.what);
                if let Ok(inst) = found {
                    let (back, size) = inst.encode();
                    assert_eq!(back[..size], bytes[..size], "{} {number}", one.what);
                    assert!(back[size..].iter().all(|byte| *byte == 0));
                } else if number == 0 {
                    // The error has the word.
                    assert_eq!(found, Err(DecodeError::Unknown { word: word as u64 }), "{}", one.what);
                }
            }
        }
    }
}

/// Counts of the classes of the manual (HD 6900 ISA 9).
#[test]
fn classes_have_the_counts_of_the_manual() {
    let count = |format: Format| Op::ALL.iter().filter(|op| op.row().format == format).count();
    let counts: Vec<(&str, usize)> =
        Format::ALL.iter().map(|format| (format.name(), count(*format))).collect();
    assert_eq!(
        counts,
        [
            // 36 with GLOBAL_WAVE_SYNC, which has four operations.
            ("cf", 35),
            ("gws", 4),
            // 8 with ALU_EXTENDED, which extends each of the others.
            ("cf_alu", 7),
            ("cf_alu_extended", 7),
            // 28 with the three kinds of random access targets.
            ("export_buf", 23),
            ("export_swiz", 2),
            // 33 operations and MSKOR, and two kinds of 6.
            ("rat", 34 + 2 * 6),
            // 170 with MOVA_INT.
            ("op2", 169),
            ("op2_mova", 1),
            ("op2_execute_mask", 0),
            // 26 with LDS_IDX_OP.
            ("op3", 25),
            // 47 with ATOMIC_ORDERED_ALLOC_RET, which LDS lacks.
            ("lds", 46),
            ("lds_direct", 0),
            ("vtx", 2),
            ("vtx_semantic", 1),
            ("tex", 26),
            ("mem_rd", 2),
            ("gds", 47),
            ("tf_write", 1),
        ]
    );
    let with = |flag| Op::ALL.iter().filter(|op| op.row().has(flag)).count();
    assert_eq!((with(Flag::Predicate), with(Flag::Kill), with(Flag::Reduction)), (27, 10, 4));
    // READ_REL, READ2, XCHG_REL and XCHG2 return two values.
    assert_eq!((with(Flag::PushesA), with(Flag::PushesB)), (26, 4));
}

/// The words of HD 6900 ISA 9: where fields begin that the tests of other files do not reach, counted
/// from the start of the instruction.
#[test]
fn fields_are_where_the_manual_has_them() {
    for (format, id, lo, width) in [
        (Format::Cf, F::JumptableSel, 24, 3),
        (Format::Cf, F::CfConst, 35, 5),
        (Format::Gws, F::Resource, 16, 5),
        (Format::Gws, F::Sign, 25, 1),
        (Format::Gws, F::ValIndexMode, 26, 2),
        (Format::Gws, F::GwsOpcode, 30, 2),
        (Format::CfAlu, F::Count, 50, 7),
        (Format::CfAlu, F::AltConst, 57, 1),
        (Format::CfAluExtended, F::KcacheBankIndexMode0, 4, 2),
        (Format::CfAluExtended, F::KcacheBankIndexMode3, 10, 2),
        (Format::CfAluExtended, F::KcacheBank2, 22, 4),
        (Format::CfAluExtended, F::KcacheMode3, 32, 2),
        (Format::CfAluExtended, F::KcacheAddr3, 42, 8),
        (Format::CfAluExtended, F::CfInstExt, 58, 4),
        (Format::CfAluExtended, F::Addr, 64, 22),
        (Format::CfAluExtended, F::KcacheMode1, 96, 2),
        (Format::CfAluExtended, F::CfInst, 122, 4),
        (Format::CfAluExtended, F::Barrier, 127, 1),
        (Format::ExportBuf, F::ArrayBase, 0, 13),
        (Format::ExportBuf, F::ArraySize, 32, 12),
        (Format::ExportSwiz, F::SelW, 41, 3),
        (Format::ExportSwiz, F::BurstCount, 48, 4),
        (Format::Rat, F::RatIndexMode, 11, 2),
        (Format::Op2Mova, F::MovaDst, 53, 7),
        (Format::Op2ExecuteMask, F::ExecuteMaskOp, 37, 2),
        (Format::LdsDirect, F::StrideA, 13, 7),
        (Format::LdsDirect, F::ThreadRelB, 54, 1),
        (Format::LdsDirect, F::DirectRead32, 63, 1),
        (Format::VtxSemantic, F::SemanticId, 32, 8),
        (Format::Vtx, F::BufferIndexMode, 85, 2),
        (Format::Tex, F::InstMod, 5, 2),
        (Format::Tex, F::SamplerIndexMode, 27, 2),
        (Format::Tex, F::LodBias, 53, 7),
        (Format::Tex, F::CoordTypeW, 63, 1),
        (Format::Tex, F::OffsetZ, 74, 5),
        (Format::Tex, F::SamplerId, 79, 5),
        (Format::Tex, F::SrcSelW, 93, 3),
        (Format::MemRd, F::Uncached, 11, 1),
        (Format::MemRd, F::SrcSelY, 13, 2),
        (Format::MemRd, F::BurstCnt, 26, 4),
        (Format::MemRd, F::ArraySize, 84, 12),
        (Format::Gds, F::SrcGpr, 11, 7),
        (Format::Gds, F::SrcSelZ, 26, 3),
        (Format::Gds, F::DstRelMode, 39, 2),
        (Format::Gds, F::GdsOffset, 48, 7),
        (Format::Gds, F::UavIndexMode, 56, 2),
        (Format::Gds, F::UavId, 58, 4),
        (Format::Gds, F::DstSelW, 73, 3),
    ] {
        let field = format.field(id).map(|field: &Field| field.parts);
        assert_eq!(field, Some(&[(lo, width)][..]), "{} of {}", id.name(), format.name());
    }
}

/// A random value in a field stays there, and changes nothing else.
#[test]
fn fields_of_every_row_are_set_and_read() {
    let mut source = SplitMix64::new(70);
    for &op in Op::ALL {
        let row = op.row();
        for _ in 0..20 {
            let mut inst = Inst::new(op);
            let mut expected: Vec<(F, u32)> = Vec::new();
            for field in row.format.fields() {
                let value = source.next_u64() as u32 & field.max();
                // UPDATE_EXEC_MASK gives other fields another meaning.
                if field.id == F::UpdateExecMask {
                    continue;
                }
                match inst.with(field.id, value) {
                    Ok(with) => {
                        inst = with;
                        expected.push((field.id, value));
                    }
                    // Opcodes, and MEM_INST of the global data share.
                    Err(_) => assert_eq!(inst.get(field.id), Inst::new(op).get(field.id)),
                }
            }
            assert!(expected.iter().all(|(id, value)| inst.field(*id) == Some(*value)), "{inst:?}");
            let (bytes, size) = inst.encode();
            let decode: Decode = match row.format {
                format if format.is_control() => decode_control,
                format if format.is_alu() => decode_slot,
                format if format.is_gds() => decode_gds,
                _ => decode_fetch,
            };
            assert_eq!(decode(&bytes[..size]), Ok(inst));
            for cut in 0..size {
                let needed = decode(&bytes[..cut]);
                assert!(
                    matches!(needed, Err(DecodeError::Truncated { needed }) if needed > cut),
                    "{cut}: {inst:?}"
                );
            }
        }
    }
}

/// With UPDATE_EXEC_MASK, the bits of OMOD say what becomes of lanes (HD 6900 ISA 9.2,
/// ALU_WORD1_OP2_EXECUTE_MASK).
#[test]
fn predicates_and_kills_update_masks() {
    let predicate = Inst::new(Op::PredSeteInt);
    assert_eq!((predicate.format(), predicate.field(F::ExecuteMaskOp)), (Format::Op2, None));
    let update = predicate.with(F::UpdateExecMask, 1).expect("it fits");
    let update = update.with(F::ExecuteMaskOp, 2).expect("it fits");
    assert_eq!((update.format(), update.field(F::Omod)), (Format::Op2ExecuteMask, None));
    let bytes = update.encode().0;
    assert_eq!(decode_slot(&bytes), Ok(update));
    assert_eq!(u64::from_le_bytes(bytes[..8].try_into().unwrap()) >> 34 & 0b1_1001, 0b1_0001);
    let other = Inst::new(Op::Add).with(F::UpdateExecMask, 1).expect("it fits");
    assert_eq!(other.format(), Format::Op2);
}

/// Mnemonics and aliases are the names of one instruction each.
#[test]
fn names_are_unique() {
    let mut seen = BTreeSet::new();
    for op in Op::ALL {
        let row = op.row();
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert!(seen.insert(*name), "{name}");
            assert_eq!(Op::from_name(name), Some(*op));
        }
    }
    assert!(seen.len() > 430);
}

/// Slots, chains and stages of instructions, from HD 6900 ISA 8.2.
#[test]
fn rows_have_the_slots_of_the_manual() {
    for (op, slots, chain) in [
        (Op::Add, Slots::Any, None),
        (Op::Dot, Slots::NotW, Some(Chain::Next)),
        (Op::MuladdPrev, Slots::XOrY, Some(Chain::AfterNext)),
        (Op::Dot4, Slots::All, None),
        (Op::Cube, Slots::All, None),
        (Op::Add64, Slots::Pair, None),
        (Op::Mul64, Slots::All, None),
        (Op::Frexp64, Slots::All, None),
        (Op::InterpX, Slots::Xy, None),
        (Op::InterpZ, Slots::Zw, None),
        (Op::InterpXy, Slots::All, None),
        (Op::RecipIeee, Slots::Three, None),
        (Op::StoreFlags, Slots::W, None),
        (Op::LdsReadRet, Slots::X, None),
    ] {
        assert_eq!((op.row().slots, op.row().chain), (slots, chain), "{op:?}");
    }
    // Each set of channels, for the slots with several.
    let allowed = |slots: Slots| (1..16).filter(|channels| slots.allow(*channels)).collect::<Vec<u8>>();
    assert_eq!(allowed(Slots::Pair), [0b0011, 0b1100, 0b1111]);
    assert_eq!(allowed(Slots::Three), [0b0111, 0b1111]);
    assert_eq!(allowed(Slots::All), [0b1111]);
    assert_eq!(allowed(Slots::NotW), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(allowed(Slots::XOrY), [1, 2, 3]);
    assert_eq!(Chain::Next.producer(2), Some(3));
    assert_eq!((Chain::AfterNext.producer(1), Chain::AfterNext.producer(2)), (Some(3), None));
    assert!(
        Op::ALL
            .iter()
            .filter(|op| op.row().name.starts_with("KILL"))
            .all(|op| op.row().stages == [Stage::Ps])
    );
}
