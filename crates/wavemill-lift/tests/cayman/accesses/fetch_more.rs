//! Fetches that are not in the format of a texel: semantics, sizes of buffers, buffers of the table,
//! results in LDS, and formats of their own (HD 6900 ISA 8.3, 9.3).

use wavemill_isa::cayman::{FieldId as F, Inst, Op};
use wavemill_lift::cayman::registers;
use wavemill_oracle::SplitMix64;
use wavemill_reference::texel;

use super::super::machine::{HALT_WORD, Machine, Outcome, assembled, set_gpr};
use super::{bytes, bytes_of, with};

const BUFFER: u16 = 3;
/// Bytes of the buffer that exist.
const BOUND: usize = 601;
const ONE: u32 = 0x3f80_0000;

/// Runs a fetch by the index in T0.x, with strides of this many bytes.
fn run(fetch: Inst, dwords: &[u32], stride: u32) -> Outcome {
    let mut code = bytes(&[with(Inst::new(Op::Tex), &[(F::Addr, 2)])]);
    code.extend(HALT_WORD.to_le_bytes());
    code.extend(bytes(&[fetch]));
    let machine = Machine { buffers: vec![dwords.to_vec()], ..Machine::default() };
    machine.run_code(&code, |registers, addresses| {
        set_gpr(registers, 0, 0, |lane| if lane == 63 { u32::MAX } else { lane });
        (0..4).for_each(|channel| set_gpr(registers, 1, channel, |_| 7));
        registers.set_uni64(registers::buffer(BUFFER), addresses[0]);
        registers.set_uni(registers::bytes_of(registers::buffer(BUFFER)), BOUND as u32);
        registers.set_uni(registers::stride(BUFFER), stride);
    })
}

fn random(count: usize) -> Vec<u32> {
    let mut random = SplitMix64::new(12);
    (0..count).map(|_| random.next_u64() as u32).collect()
}

/// NUM_FORMAT_ALL and FORMAT_COMP_ALL, with the name of the number format.
const NUMBERS: [(u32, u32, &str); 6] =
    [(0, 0, "unorm"), (0, 1, "snorm"), (1, 0, "uint"), (1, 1, "sint"), (2, 0, "uscaled"), (2, 1, "sscaled")];

/// Three components of 8 or 16 bits, each of which is in the buffer or is 0; a fourth one is 1.
#[test]
fn three_components() {
    let dwords = random(200);
    let memory = bytes_of(&dwords);
    for (code, name, size) in [(44, "8", 1), (45, "16", 2), (46, "16", 2)] {
        for (number_code, signed, number) in NUMBERS {
            let number = if code == 46 { "float" } else { number };
            let fields = [
                (F::BufferId, BUFFER.into()),
                (F::DataFormat, code),
                (F::NumFormatAll, number_code),
                (F::FormatCompAll, signed),
                (F::DstGpr, 1),
                (F::DstSelY, 1),
                (F::DstSelZ, 2),
                (F::DstSelW, 3),
                (F::Offset, 1),
            ];
            let outcome = run(with(Inst::new(Op::VtxRead), &fields), &dwords, 10);
            let one = if matches!(number, "uint" | "sint") { 1 } else { ONE };
            for lane in 0..64 {
                for channel in 0..4 {
                    let at = if lane == 63 { 1 << 40 } else { 10 * lane + 1 + size * channel };
                    let wanted = match channel {
                        3 => one,
                        _ if at + size > BOUND => 0,
                        _ => {
                            let mut element = [0u8; 16];
                            element[..size].copy_from_slice(&memory[at..at + size]);
                            texel::unpack_with(
                                name,
                                number,
                                u128::from_le_bytes(element),
                                texel::Dwords::Converted,
                            )[0]
                        }
                    };
                    let found = outcome.gpr(1, channel)[lane];
                    assert_eq!(found, wanted, "{code} {number}, lane {lane}, channel {channel}");
                }
            }
        }
    }
}

/// 3_3_2: X are the lowest two bits.
#[test]
fn packed_bytes() {
    let dwords: Vec<u32> = (0..64u32).map(|n| 0x0302_0100 + 0x0404_0404 * n).collect();
    let memory = bytes_of(&dwords);
    for (number_code, signed, number) in NUMBERS {
        let fields = [
            (F::BufferId, BUFFER.into()),
            (F::DataFormat, 3),
            (F::NumFormatAll, number_code),
            (F::FormatCompAll, signed),
            (F::DstGpr, 1),
            (F::DstSelY, 1),
            (F::DstSelZ, 2),
            (F::DstSelW, 7),
        ];
        let outcome = run(with(Inst::new(Op::VtxRead), &fields), &dwords, 4);
        for lane in 0..63 {
            for (channel, (low, width)) in [(0, 2), (2, 3), (5, 3)].into_iter().enumerate() {
                let bits = u32::from(memory[4 * lane] >> low) & ((1 << width) - 1);
                let integer = (bits << (32 - width)) as i32 >> (32 - width);
                let float = |value: f64| (value as f32).to_bits();
                let wanted = match number {
                    "unorm" => float(f64::from(bits) / f64::from((1 << width) - 1)),
                    "snorm" => float((f64::from(integer) / f64::from((1 << (width - 1)) - 1)).max(-1.0)),
                    "uint" => bits,
                    "sint" => integer as u32,
                    "uscaled" => float(bits.into()),
                    _ => float(integer.into()),
                };
                let found = outcome.gpr(1, channel)[lane];
                assert_eq!(found, wanted, "{number}, byte {:#x}, channel {channel}", memory[4 * lane]);
            }
        }
        assert_eq!(outcome.gpr(1, 2)[63], 0, "outside of the buffer");
    }
}

/// GET_BUFFER_RESINFO: whole elements of the stride.
#[test]
fn sizes_of_buffers() {
    let source = "tc loads\nhalt\nloads: get_buffer_resinfo r1.xy_1, r0.x, buf:2\n";
    let mut random = SplitMix64::new(3);
    let mut sizes =
        vec![(0, 1), (100, 0), (99, 100), (100, 100), (u32::MAX, 1), (u32::MAX, 3), (u32::MAX, u32::MAX)];
    sizes.extend((0..40).map(|_| {
        let bits = 1 + random.below(31);
        let divisor = 1 + random.below(1 << bits) as u32;
        let count = random.below(u64::from(u32::MAX / divisor) + 1) as u32;
        (count * divisor - u32::from(count > 0 && random.below(2) == 0), divisor)
    }));
    for (bytes, stride) in sizes {
        let outcome = Machine::default().run_code(&assembled(source), |registers, _| {
            set_gpr(registers, 1, 2, |_| 7);
            registers.set_uni(registers::bytes_of(registers::buffer(2)), bytes);
            registers.set_uni(registers::stride(2), stride);
        });
        let found = [0, 1, 2, 3].map(|channel| outcome.value(1, channel));
        assert_eq!(found, [bytes / stride.max(1), 0, 7, ONE], "{bytes} by {stride}");
    }
}

/// Buffers above number 15 are entries of the table of resources, and a table has the register of
/// each semantic.
#[test]
fn buffers_and_registers_of_tables() {
    let source = "tc loads\nhalt
        loads: vfetch r1.x___, r0.x, buf:160 fmt:32 int offset:4
        semantic sem6.x1__, r0.x, buf:160 fmt:32 int
        semantic sem7.x___, r0.x, buf:160 fmt:32 int\n";
    let machine = Machine { buffers: vec![(0..200).map(|n| 1000 + n).collect()], ..Machine::default() };
    let tables = |addresses: &[u64]| {
        let mut resources = vec![0u32; 8 * 161];
        let buffer = [addresses[0] as u32, (addresses[0] >> 32) as u32, 400, 0, 8];
        resources[8 * 160..][..5].copy_from_slice(&buffer);
        // Semantic 6 is register 3, and semantic 7 no register of the program.
        vec![resources, vec![0, 0xff03_0201]]
    };
    let outcome = machine.run_with_tables(&assembled(source), tables, |registers, addresses| {
        set_gpr(registers, 0, 0, |lane| lane);
        registers.set_uni64(registers::RESOURCE_TABLE, addresses[1]);
        registers.set_uni64(registers::SEMANTIC_TABLE, addresses[2]);
    });
    for lane in 0..64 {
        let element = |dword: u32| if dword < 100 { 1000 + dword } else { 0 };
        assert_eq!(outcome.gpr(1, 0)[lane], element(2 * lane as u32 + 1), "lane {lane}");
        assert_eq!(outcome.gpr(3, 0)[lane], element(2 * lane as u32), "lane {lane}");
        assert_eq!(outcome.gpr(3, 1)[lane], ONE);
        // Register 0 got what has no register.
        assert_eq!(outcome.gpr(0, 0)[lane], element(2 * lane as u32), "lane {lane}");
    }
}

/// LDS_REQ: selected components go to LDS. CONST_BUF_NO_STRIDE: all lanes have the first element.
#[test]
fn results_in_lds_and_strides_of_zero() {
    let source = "tc loads\nalu read\nhalt
        loads: vfetch r1.w1_x, r0.x, buf:0 fmt:32_32_32_32 int lds_req src_sel_y:1
        vfetch r2.x___, r0.x, buf:0 fmt:32 int offset:8 const_buf_no_stride
        read: x: lds_read_ret r0.y ;;
        x: mov r3.x, oqa.pop ;;
        x: lds_read_ret r0.y offset:1 ;;
        y: mov r3.y, oqa.pop ;;
        x: lds_read_ret r0.y offset:2 ;;
        z: mov r3.z, oqa.pop ;;\n";
    // The constant 0 is a component of its own.
    let zero = source.replace("r1.w1_x", "r1.w0_x");
    let machine =
        Machine { buffers: vec![(0..256).map(|n| 1000 + n).collect()], lds: 1024, ..Machine::default() };
    for (source, constant) in [(source, ONE), (&*zero, 0)] {
        let outcome = machine.run_code(&assembled(source), |registers, addresses| {
            set_gpr(registers, 0, 0, |lane| lane);
            set_gpr(registers, 0, 1, |lane| 12 * (63 - lane));
            set_gpr(registers, 1, 0, |_| 7);
            registers.set_uni64(registers::buffer(0), addresses[0]);
            registers.set_uni(registers::stride(0), 16);
        });
        for lane in 0..64u32 {
            let found = [0, 1, 2].map(|channel| outcome.gpr(3, channel)[lane as usize]);
            assert_eq!(found, [1000 + 4 * lane + 3, constant, 1000 + 4 * lane], "lane {lane}");
        }
        assert_eq!((outcome.value(1, 0), outcome.value(2, 0)), (7, 1002));
    }
}
