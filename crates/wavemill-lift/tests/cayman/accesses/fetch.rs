//! Fetches of all formats, with bounds (HD 6900 ISA 8.3, 9.3).

use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_oracle::SplitMix64;
use wavemill_reference::{Env, F32, Number, texel};

use super::super::machine::{CODE, HALT_WORD, MODE, Machine, lift, set_gpr};
use super::{bytes, bytes_of, format_cell, with};

/// The formats: code, name, whether it is a float.
const FORMATS: &[(u32, &str, bool)] = &[
    (1, "8", false),
    (2, "4_4", false),
    (5, "16", false),
    (6, "16", true),
    (7, "8_8", false),
    (8, "5_6_5", false),
    (9, "6_5_5", false),
    (10, "1_5_5_5", false),
    (11, "4_4_4_4", false),
    (12, "5_5_5_1", false),
    (13, "32", false),
    (14, "32", true),
    (15, "16_16", false),
    (16, "16_16", true),
    (17, "8_24", false),
    (19, "24_8", false),
    (21, "10_11_11", false),
    (22, "10_11_11", true),
    (23, "11_11_10", false),
    (24, "11_11_10", true),
    (25, "2_10_10_10", false),
    (26, "8_8_8_8", false),
    (27, "10_10_10_2", false),
    (28, "x24_8_32", true),
    (29, "32_32", false),
    (30, "32_32", true),
    (31, "16_16_16_16", false),
    (32, "16_16_16_16", true),
    (34, "32_32_32_32", false),
    (35, "32_32_32_32", true),
    (43, "5_9_9_9", true),
    (47, "32_32_32", false),
    (48, "32_32_32", true),
];

/// NUM_FORMAT_ALL and FORMAT_COMP_ALL, with the name of the number format.
const NUMBERS: [(u32, u32, &str); 6] =
    [(0, 0, "unorm"), (0, 1, "snorm"), (1, 0, "uint"), (1, 1, "sint"), (2, 0, "uscaled"), (2, 1, "sscaled")];

/// The buffer, its number of bytes, its stride, and the offset of fetches.
const BUFFER: u16 = 3;
const BOUND: usize = 1000;
const STRIDE: u32 = 20;
const OFFSET: u32 = 6;

/// A fetch to T1 by the index in T0.x.
fn fetch(fields: &[(F, u32)]) -> Inst {
    let own = [(F::BufferId, BUFFER.into()), (F::Offset, OFFSET), (F::DstGpr, 1)];
    with(with(Inst::new(Op::VtxRead), &own), fields)
}

fn selects(elements: [u32; 4]) -> [(F, u32); 4] {
    let fields = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW];
    std::array::from_fn(|n| (fields[n], elements[n]))
}

fn program(fetch: &Inst) -> Vec<u8> {
    let mut code = bytes(&[with(Inst::new(Op::Tex), &[(F::Addr, 2)])]);
    code.extend(HALT_WORD.to_le_bytes());
    code.extend(bytes(&[*fetch]));
    code
}

/// Runs a fetch of every element of a buffer of random bytes, and beyond its end. Compares each
/// channel with `want`, from the bytes of the buffer and the address of the element in it.
fn check(fetch: &Inst, format: u32, want: impl Fn(&[u8], usize) -> [Option<u32>; 4]) {
    let mut random = SplitMix64::new(11);
    let dwords: Vec<u32> = (0..300).map(|_| random.next_u64() as u32).collect();
    let machine = Machine { buffers: vec![dwords.clone()], ..Machine::default() };
    let outcome = machine.run_code(&program(fetch), |registers, addresses| {
        set_gpr(registers, 0, 0, |lane| if lane == 63 { 0x8000_0001 } else { lane });
        (0..4).for_each(|channel| set_gpr(registers, 1, channel, |_| 7));
        let resource = registers::buffer(BUFFER);
        registers.set_uni64(resource, addresses[0]);
        registers.set_uni(registers::bytes_of(resource), BOUND as u32);
        registers.set_uni(resource.plus(3), format);
        registers.set_uni(registers::stride(BUFFER), STRIDE);
    });
    let memory = bytes_of(&dwords);
    for lane in 0..64 {
        let at = if lane == 63 { usize::MAX / 2 } else { lane * STRIDE as usize + OFFSET as usize };
        for (channel, want) in want(&memory, at).into_iter().enumerate() {
            let found = outcome.gpr(1, channel)[lane];
            assert_eq!(found, want.unwrap_or(7), "{fetch:?}: channel {channel} of element {lane}");
        }
    }
}

/// The components of an element, with those that the format lacks. A dword, or an element of
/// another width, is zeros outside of the buffer.
fn components(memory: &[u8], at: usize, name: &str, number: &str) -> [u32; 4] {
    let size = texel::bytes(name);
    let widths = texel::widths(name);
    let mut read = [0u8; 16];
    let part = if widths.iter().all(|width| *width == 32) { 4 } else { size };
    for start in (0..size).step_by(part).filter(|start| at + start + part <= BOUND) {
        read[start..start + part].copy_from_slice(&memory[at + start..at + start + part]);
    }
    let inside = part == 4 && widths.len() * 4 == size || at + size <= BOUND;
    let unpacked = texel::unpack_with(name, number, u128::from_le_bytes(read), texel::Dwords::Converted);
    std::array::from_fn(|n| if inside || n >= widths.len() { unpacked[n] } else { 0 })
}

#[test]
fn formats_are_converted() {
    let mut count = 0;
    for &(code, name, is_float) in FORMATS {
        for (number_code, signed, number) in NUMBERS {
            let number = if is_float { "float" } else { number };
            let fields = [(F::DataFormat, code), (F::NumFormatAll, number_code), (F::FormatCompAll, signed)];
            let fetch = with(with(fetch(&fields), &selects([0, 1, 2, 3])), &[]);
            let position = wavemill_lift::cayman::Position { control: CODE, word: Some(0) };
            let block = lift(&program(&fetch), position.number(), MODE, true);
            assert!(!block.insts.is_empty(), "{fetch:?}");
            check(&fetch, 0, |memory, at| components(memory, at, name, number).map(Some));
            count += 1;
        }
    }
    assert_eq!(count, FORMATS.len() * NUMBERS.len());
}

/// Components of 32 bits as NUM_FORMAT_ALL of 9.3 says: fractions of the largest number, or the
/// number itself, each the nearest f32. The quotient of doubles is not, for some of these.
#[test]
fn dwords_are_converted_to_the_nearest() {
    let mut random = SplitMix64::new(17);
    let mut dwords = vec![
        0,
        1,
        2,
        3,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0x0100_0001,
        0x0100_0003,
        0xffff_ff7f,
        0xffff_fd7f,
        0x7fff_ffbf,
        0x8000_0041,
        0xffff_ff80,
        0xffff_ff81,
    ];
    // Halfway between two numbers of 24 bits, and one beside it.
    while dwords.len() < 64 {
        let high = (random.next_u64() as u32) << 8;
        dwords.extend([high | 0x7f, high | 0x80, high | 0x81, (high >> 1) | 0x40]);
    }
    for (number, signed) in [(0, 0), (0, 1), (2, 0), (2, 1)] {
        let value = |bits: u32| {
            let value = if signed == 0 { i64::from(bits) } else { i64::from(bits as i32) };
            // Two encodings are -1.
            Number::new(if number == 0 { value.max(-0x7fff_ffff) } else { value }, 0)
        };
        let fields = [(F::DataFormat, 13), (F::NumFormatAll, number), (F::FormatCompAll, signed)];
        let fetch = with(fetch(&fields), &[(F::Offset, 0)]);
        let machine = Machine { buffers: vec![dwords.clone()], ..Machine::default() };
        let outcome = machine.run_code(&program(&fetch), |registers, addresses| {
            set_gpr(registers, 0, 0, |lane| lane);
            registers.set_uni64(registers::buffer(BUFFER), addresses[0]);
            registers.set_uni(registers::bytes_of(registers::buffer(BUFFER)), 256);
            registers.set_uni(registers::stride(BUFFER), 4);
        });
        let one: i64 = match (number, signed) {
            (0, 0) => 0xffff_ffff,
            (0, _) => 0x7fff_ffff,
            _ => 1,
        };
        for (lane, bits) in dwords.iter().take(64).enumerate() {
            let wanted = F32.encode(&value(*bits).over(&Number::new(one, 0)), false, Env::DEFAULT);
            assert_eq!(outcome.gpr(1, 0)[lane], wanted as u32, "{number} {signed}: {bits:#x}");
        }
    }
}

/// DST_SEL: components in any order, 0, 1, and unchanged channels.
#[test]
fn components_are_selected() {
    let integers = [(F::DataFormat, 26), (F::NumFormatAll, 1)];
    for elements in [[3, 2, 1, 0], [0, 0, 7, 7], [5, 7, 4, 1], [7, 7, 7, 2]] {
        check(&with(fetch(&integers), &selects(elements)), 0, |memory, at| {
            let found = components(memory, at, "8_8_8_8", "uint");
            elements.map(|element| match element {
                4 => Some(0),
                5 => Some(0x3f80_0000),
                7 => None,
                element => Some(found[element as usize]),
            })
        });
    }
}

/// USE_CONST_FIELDS: the format is that of the resource.
#[test]
fn formats_of_resources() {
    // In resources, 10 is 8_8_8_8, and 12 is 16_16_16_16; 1 is snorm, 7 float.
    for (data, name, code, number) in [(10, "8_8_8_8", 1, "snorm"), (12, "16_16_16_16", 7, "float")] {
        let fetch = with(fetch(&[(F::UseConstFields, 1)]), &selects([0, 1, 2, 3]));
        check(&fetch, format_cell(data, code), |memory, at| components(memory, at, name, number).map(Some));
    }
}

/// ENDIAN_SWAP of dwords: bytes in halves, and bytes in dwords.
#[test]
fn bytes_are_swapped() {
    let halves = |bits: u32| (bits & 0x00ff_00ff) << 8 | bits >> 8 & 0x00ff_00ff;
    for (swap, swapped) in [(1, &halves as &dyn Fn(u32) -> u32), (2, &u32::swap_bytes)] {
        let fields = [(F::DataFormat, 29), (F::EndianSwap, swap)];
        check(&with(fetch(&fields), &selects([0, 1, 7, 7])), 0, |memory, at| {
            let [first, second, ..] = components(memory, at, "32_32", "uint");
            [Some(swapped(first)), Some(swapped(second)), None, None]
        });
    }
}

/// BUFFER_INDEX_MODE adds an index register to the number of the buffer; beyond the last one there is
/// no buffer.
#[test]
fn buffers_are_indexed() {
    for (index, want) in [(2, 30), (0, 10), (15, 0), (100, 0), (174, 0), (175, 0), (1000, 0)] {
        for mode in [1, 2] {
            let fields = [(F::BufferId, 1), (F::Offset, 0), (F::BufferIndexMode, mode), (F::DataFormat, 13)];
            let fetch = with(with(fetch(&fields), &selects([0, 7, 7, 7])), &[]);
            // MOVA_DST 2 and 3 are CF_IDX0 and CF_IDX1.
            let mova = with(Inst::new(Op::MovaInt), &[(F::Src0Sel, 2), (F::MovaDst, 1 + mode), (F::Last, 1)]);
            let calls =
                [with(Inst::new(Op::Alu), &[(F::Addr, 3)]), with(Inst::new(Op::Tex), &[(F::Addr, 4)])];
            let mut code = bytes(&calls);
            code.extend(HALT_WORD.to_le_bytes());
            code.extend(bytes(&[mova, fetch]));
            let machine =
                Machine { buffers: vec![vec![10; 4], vec![20; 4], vec![30; 4]], ..Machine::default() };
            let outcome = machine.run_code(&code, |registers, addresses| {
                set_gpr(registers, 0, 0, |lane| lane % 4);
                set_gpr(registers, 2, 0, |_| index);
                for (number, buffer) in [(1, 0), (0, 1), (3, 2)] {
                    registers.set_uni64(registers::buffer(number), addresses[buffer]);
                    registers.set_uni(registers::stride(number), 4);
                }
            });
            assert_eq!(outcome.value(1, 0), want, "CF_IDX{} = {index}", mode - 1);
        }
    }
}
