//! Instructions of VLIW4 that are more than one operation, on every runner: short sequences of
//! operations against the steps of the manual (HD 6900 ISA 8.2), by the host's arithmetic.

use crate::common::{Setup, inst, registers_after, runners, s, v};
use wavemill_ir::{
    Attrs, BufferAddr, CmpPred, CvtOp, DataFormat, DstUnused, FloatOp, FloatType, FpEnv, Inst, IntOp,
    IntType, MemType, Op, Operand, Row, SrcMods, SubDword, TexelAccess, TexelCells, TexelFormat, TexelNumber,
    Uni,
};
use wavemill_machine::GuestMemory;

const F32: FloatType = FloatType::F32;
const F64: FloatType = FloatType::F64;
/// The mode of 64-bit tables: denormals are zeros.
const FLUSHING: FpEnv = FpEnv { denorm_in: false, denorm_out: false, ..FpEnv::DEFAULT };
const MAX: u32 = f32::MAX.to_bits();
const INF: u32 = f32::INFINITY.to_bits();
const SIGN: u32 = 0x8000_0000;
/// A quiet NaN of either sign.
const NAN: [u32; 2] = [0x7fc0_0000, 0xffc0_0000];

fn bits(x: f32) -> u32 {
    x.to_bits()
}

fn constant(bits: u32) -> Operand {
    Operand::Const(bits.into())
}

fn float(op: FloatOp, ty: FloatType, dst: u16, sources: &[Operand]) -> Inst {
    inst(Op::Float(op, ty), v(dst), sources, Attrs::default())
}

fn select(pred: CmpPred, ty: FloatType, dst: u16, sources: [Operand; 4]) -> Inst {
    inst(Op::FloatSelect(pred, ty), v(dst), &sources, Attrs::default())
}

/// Runs the operations once for each case, a lane for each: the sources in v0, v1..., the results in
/// v16, v17...
fn check<const N: usize, const M: usize>(insts: &[Inst], cases: &[([u32; N], [u32; M])]) {
    assert!(cases.len() <= 64, "a lane for each case");
    let mut setup = Setup::one_wave(u64::MAX >> (64 - cases.len()));
    for n in 0..N {
        let lanes = std::array::from_fn(|lane| cases.get(lane).map_or(0, |(sources, _)| sources[n]));
        setup.rows.push((Row(n as u16), lanes));
    }
    for runner in runners() {
        let after = registers_after(insts, &setup, &GuestMemory::default(), runner);
        for (lane, (sources, want)) in cases.iter().enumerate() {
            let found: [u32; M] = std::array::from_fn(|n| after.rows[0][16 + n][lane]);
            assert_eq!(found, *want, "of {sources:x?} on {runner}: {found:x?}, not {want:x?}");
        }
    }
}

/// LOG_CLAMPED: minus infinity becomes the lowest number.
#[test]
fn clamped_logarithms() {
    let insts = [
        float(FloatOp::Log2, F32, 16, &[v(0)]),
        select(CmpPred::Eq, F32, 16, [v(16), constant(INF | SIGN), constant(MAX | SIGN), v(16)]),
    ];
    check(
        &insts,
        &[
            ([bits(8.0)], [bits(3.0)]),
            ([bits(1.0)], [0]),
            ([bits(0.0)], [MAX | SIGN]),
            ([bits(-0.0)], [MAX | SIGN]),
            ([INF], [INF]),
            ([bits(-1.0)], [NAN[1]]),
            ([NAN[0]], [NAN[0]]),
        ],
    );
}

/// RECIP_CLAMPED, RECIP_FF, RECIPSQRT_CLAMPED and RECIPSQRT_FF.
#[test]
fn reciprocals_without_infinities() {
    let insts = [
        float(FloatOp::Rcp, F32, 8, &[v(0)]),
        float(FloatOp::InfinityToMax, F32, 16, &[v(8)]),
        float(FloatOp::InfinityToZero, F32, 17, &[v(8)]),
        float(FloatOp::Rsq, F32, 8, &[v(0)]),
        float(FloatOp::InfinityToMax, F32, 18, &[v(8)]),
        float(FloatOp::InfinityToZero, F32, 19, &[v(8)]),
    ];
    let (half, nan) = (bits(0.5), NAN[1]);
    check(
        &insts,
        &[
            ([bits(1.0)], [bits(1.0); 4]),
            ([bits(4.0)], [bits(0.25), bits(0.25), half, half]),
            ([0], [MAX, 0, MAX, 0]),
            ([SIGN], [MAX | SIGN, SIGN, MAX | SIGN, SIGN]),
            ([INF], [0; 4]),
            ([bits(-2.0)], [bits(-0.5), bits(-0.5), nan, nan]),
            ([NAN[0]], [NAN[0]; 4]),
        ],
    );
}

/// RECIP_CLAMPED_64: the result is the upper dword.
#[test]
fn double_reciprocals_without_infinities() {
    let insts = [float(FloatOp::Rcp, F64, 16, &[v(0)]), float(FloatOp::InfinityToMax, F64, 16, &[v(16)])];
    check(
        &insts,
        &[
            ([0, 0x4010_0000], [0, 0x3fd0_0000]),
            ([0, 0], [0xffff_ffff, 0x7fef_ffff]),
            ([0, SIGN], [0xffff_ffff, 0xffef_ffff]),
            ([0, 0x7ff0_0000], [0, 0]),
        ],
    );
}

/// MUL_LIT: the lowest number if source 1 is it, minus infinity or a NaN, or if source 2 is not above
/// 0; else the product, in which zero times anything is zero.
#[test]
fn products_for_lighting() {
    let lowest = constant(MAX | SIGN);
    let insts = [
        float(FloatOp::MulLegacy, F32, 16, &[v(0), v(1)]),
        select(CmpPred::Gt, F32, 16, [v(2), constant(0), v(16), lowest]),
        select(CmpPred::Gt, F32, 16, [v(1), lowest, v(16), lowest]),
    ];
    let (one, two, low) = (bits(1.0), bits(2.0), MAX | SIGN);
    check(
        &insts,
        &[
            ([two, bits(3.0), one], [bits(6.0)]),
            ([two, INF, one], [INF]),
            ([0, INF, one], [0]),
            ([two, low, one], [low]),
            ([two, INF | SIGN, one], [low]),
            ([two, NAN[0], one], [low]),
            ([two, one, 0], [low]),
            ([two, one, SIGN], [low]),
            ([two, one, bits(-1.0)], [low]),
            ([two, one, NAN[1]], [low]),
            ([0, NAN[0], one], [low]),
        ],
    );
}

/// SIN and COS: beyond 256 turns they are 0 and 1.
#[test]
fn angles_out_of_range() {
    let limit = constant(bits(256.0));
    let size = Attrs {
        src: [SrcMods { abs: true, ..SrcMods::default() }, SrcMods::default(), SrcMods::default()],
        ..Attrs::default()
    };
    let beyond = |dst: u16, other: f32| {
        let sources = [v(0), limit, constant(bits(other)), v(dst)];
        inst(Op::FloatSelect(CmpPred::Gt, F32), v(dst), &sources, size)
    };
    let insts = [
        float(FloatOp::Sin, F32, 16, &[v(0)]),
        beyond(16, 0.0),
        float(FloatOp::Cos, F32, 17, &[v(0)]),
        beyond(17, 1.0),
    ];
    check(
        &insts,
        &[
            ([bits(0.25)], [bits(1.0), 0]),
            ([bits(-0.25)], [bits(-1.0), 0]),
            ([bits(256.0)], [0, bits(1.0)]),
            ([bits(-256.5)], [0, bits(1.0)]),
            ([bits(1e9)], [0, bits(1.0)]),
            ([INF], [0, bits(1.0)]),
        ],
    );
}

/// FLT_TO_UINT4: the low bytes of four unsigned integers, packed.
#[test]
fn four_floats_to_bytes() {
    let parts = [SubDword::Byte0, SubDword::Byte1, SubDword::Byte2, SubDword::Byte3];
    let insts: Vec<Inst> = parts
        .into_iter()
        .zip(0..)
        .map(|(dst_sel, n)| {
            let dst_unused = if n == 0 { DstUnused::Pad } else { DstUnused::Preserve };
            inst(Op::Cvt(CvtOp::U32F32), v(16), &[v(n)], Attrs { dst_sel, dst_unused, ..Attrs::default() })
        })
        .collect();
    check(
        &insts,
        &[
            ([1.0, 2.9, 254.0, 255.5].map(bits), [0xfffe_0201]),
            // They are cut, not saturated; negative numbers and NaNs are 0.
            ([256.0, 511.0, -7.0, f32::NAN].map(bits), [0x0000_ff00]),
            ([f32::INFINITY, 1e20, 0.99, 128.0].map(bits), [0x8000_ffff]),
        ],
    );
}

/// FLT_TO_INT_FLOOR and FLT_TO_INT_RPI: NaNs saturate by their sign.
#[test]
fn floats_to_integers_with_saturating_nans() {
    let insts = [
        float(FloatOp::NanToInfinity, F32, 8, &[v(0)]),
        inst(Op::Cvt(CvtOp::FlrI32F32), v(16), &[v(8)], Attrs::default()),
        inst(Op::Cvt(CvtOp::RpiI32F32), v(17), &[v(8)], Attrs::default()),
    ];
    let (most, least) = (i32::MAX as u32, i32::MIN as u32);
    check(
        &insts,
        &[
            ([bits(2.5)], [2, 3]),
            ([bits(-2.5)], [-3i32 as u32, -2i32 as u32]),
            ([bits(-0.5)], [-1i32 as u32, 0]),
            ([bits(3e9)], [most, most]),
            ([bits(-3e9)], [least, least]),
            ([INF], [most, most]),
            ([INF | SIGN], [least, least]),
            ([NAN[0]], [most, most]),
            ([NAN[1]], [least, least]),
            ([0x7f80_0001], [most, most]),
        ],
    );
}

/// MOVA_INT: what does not fit into 9 bits with a sign is -256.
#[test]
fn clamped_indices() {
    let insts = [
        inst(Op::Int(IntOp::Add), v(8), &[v(0), Operand::Const(256)], Attrs::default()),
        inst(
            Op::IntSelect(CmpPred::Lt, IntType::U32),
            v(16),
            &[v(8), Operand::Const(512), v(0), constant(-256i32 as u32)],
            Attrs::default(),
        ),
    ];
    let cases = [0, 255, 256, -256, -257, i32::MAX, i32::MIN, 17].map(|index: i32| {
        let want = if (-256..=255).contains(&index) { index } else { -256 };
        ([index as u32], [want as u32])
    });
    check(&insts, &cases);
}

/// DOT4: the products of W, Z, Y and X, in this order, rounded to f32 at the end only.
#[test]
fn dot_products_of_four_channels() {
    let chains = [
        (FloatOp::MulAddWide, FloatOp::MulAddNarrow),
        (FloatOp::MulAddWideLegacy, FloatOp::MulAddNarrowLegacy),
    ];
    for (op, last) in chains {
        let mut insts = Vec::new();
        for channel in (0..4).rev() {
            let sum = if channel == 3 { Operand::Const((-0.0f64).to_bits()) } else { v(8) };
            let (op, dst) = if channel == 0 { (last, 16) } else { (op, 8) };
            insts.push(float(op, F32, dst, &[v(channel), v(4 + channel), sum]));
        }
        let case = |a: [f32; 4], b: [f32; 4], want: u32| {
            let mut sources = [0; 8];
            for n in 0..4 {
                (sources[n], sources[4 + n]) = (bits(a[n]), bits(b[n]));
            }
            (sources, [want])
        };
        let infinite = if op == FloatOp::MulAddWide { NAN[1] } else { bits(3.0) };
        check(
            &insts,
            &[
                case([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], bits(70.0)),
                // 2^24 + 1 - 2^24 is 0 if the sum is rounded to f32 on its way.
                case([-4096.0, 0.0, 1.0, 4096.0], [4096.0, 0.0, 1.0, 4096.0], bits(1.0)),
                case([3.0, 0.0, 0.0, 0.0], [1.0, f32::INFINITY, 0.0, 0.0], infinite),
                case([-0.0; 4], [1.0; 4], if op == FloatOp::MulAddWide { SIGN } else { 0 }),
            ],
        );
    }
}

/// PRED_SET_INV and PRED_SET_RESTORE: a counter, and the lanes that go on as a mask.
#[test]
fn predicate_counters() {
    let one = bits(1.0);
    let mut invert = select(CmpPred::Eq, F32, 16, [v(0), constant(one), constant(0), v(8)]);
    invert.dst[1] = s(32);
    let mut restore = select(CmpPred::Eq, F32, 17, [v(0), constant(0), constant(0), v(0)]);
    restore.dst[1] = s(34);
    let insts = [select(CmpPred::Eq, F32, 8, [v(0), constant(0), constant(one), v(0)]), invert, restore];
    let numbers = [0.0, 1.0, 2.0, -0.0, 3.0].map(bits);
    let mut setup = Setup::one_wave(0x1f);
    setup.rows = vec![(Row(0), std::array::from_fn(|lane| numbers.get(lane).copied().unwrap_or(0)))];
    for runner in runners() {
        let after = registers_after(&insts, &setup, &GuestMemory::default(), runner);
        assert_eq!(after.rows[0][16][..5], [1.0, 0.0, 2.0, 1.0, 3.0].map(bits), "on {runner}");
        assert_eq!(after.rows[0][17][..5], [0.0, 1.0, 2.0, 0.0, 3.0].map(bits), "on {runner}");
        assert_eq!([after.cells[32], after.cells[33]], [0b00010, 0], "on {runner}");
        assert_eq!([after.cells[34], after.cells[35]], [0b01001, 0], "on {runner}");
    }
}

/// FREXP_64: the exponent is -1 for infinities and NaNs, whose fractions are NaNs.
#[test]
fn fractions_and_exponents_of_doubles() {
    let flushing = Attrs { fp: FLUSHING, ..Attrs::default() };
    let exponents = Operand::Const(0x7ff0_0000);
    let size = Attrs {
        src: [SrcMods { abs: true, ..SrcMods::default() }, SrcMods::default(), SrcMods::default()],
        ..Attrs::default()
    };
    let infinity = Operand::Const(f64::INFINITY.to_bits());
    let default_nan = Operand::Const(0xfff8 << 48);
    let insts = [
        inst(Op::Float(FloatOp::FrexpMant, F64), v(16), &[v(0)], flushing),
        inst(Op::FloatSelect(CmpPred::Eq, F64), v(16), &[v(0), infinity, default_nan, v(16)], size),
        inst(Op::Float(FloatOp::FrexpExp, F64), v(18), &[v(0)], flushing),
        inst(Op::Int(IntOp::And), v(8), &[v(1), exponents], Attrs::default()),
        inst(
            Op::IntSelect(CmpPred::Eq, IntType::U32),
            v(18),
            &[v(8), exponents, constant(!0), v(18)],
            Attrs::default(),
        ),
    ];
    check(
        &insts,
        &[
            // 3 is 0.75 * 2^2.
            ([0, 0x4008_0000], [0, 0x3fe8_0000, 2]),
            ([5, 0xbfd0_0000], [5, 0xbfe0_0000, -1i32 as u32]),
            ([0, 0], [0, 0, 0]),
            ([0, SIGN], [0, SIGN, 0]),
            ([7, SIGN], [0, SIGN, 0]),
            ([0, 0x7ff0_0000], [0, 0xfff8_0000, !0]),
            ([0, 0xfff0_0000], [0, 0xfff8_0000, !0]),
            ([9, 0x7ff8_0000], [9, 0x7ff8_0000, !0]),
        ],
    );
}

/// MAX_64 and MIN_64: -0 is below +0, and the second source wins if one is a NaN.
#[test]
fn extremes_of_doubles() {
    let mode = Attrs { fp: FpEnv { ieee: false, ..FpEnv::DEFAULT }, ..Attrs::default() };
    let of = |op: FloatOp, dst: u16| {
        [
            inst(Op::Float(op, F64), v(dst), &[v(0), v(2)], mode),
            select(CmpPred::Unordered, F64, dst, [v(0), v(2), v(2), v(dst)]),
        ]
    };
    let insts = [of(FloatOp::Max, 16), of(FloatOp::Min, 18)].concat();
    let (one, two, nan) = (0x3ff0_0000, 0x4000_0000, 0x7ff8_0001);
    check(
        &insts,
        &[
            ([1, one, 2, two], [2, two, 1, one]),
            ([2, two, 1, one], [2, two, 1, one]),
            ([0, 0, 0, SIGN], [0, 0, 0, SIGN]),
            ([0, SIGN, 0, 0], [0, 0, 0, SIGN]),
            ([3, nan, 4, one], [4, one, 4, one]),
            ([4, one, 3, nan], [3, nan, 3, nan]),
        ],
    );
}

/// Bytes of a buffer, and of the memory that it is in.
const BOUND: u64 = 50;
const MEMORY: u64 = 256;

/// Indices of elements of 12 bytes. The products of the last ones leave 32 bits: 0x1555_5556 times 12
/// is 8, modulo 2^32.
const ELEMENTS: [u32; 9] = [0, 1, 2, 3, 4, 5, 0x1555_5556, 0x8000_0000, u32::MAX];

fn byte(at: u64) -> u8 {
    (at * 7 + 1) as u8
}

/// A wave with the indices in v0, and the resource of the buffer in s4 to s7: no stride, and the
/// number of bytes.
fn with_buffer(memory: &GuestMemory) -> (u64, Setup) {
    let buffer = memory.allocate("buffer", MEMORY, 256).unwrap();
    memory.write(buffer, &(0..MEMORY).map(byte).collect::<Vec<u8>>()).unwrap();
    let mut setup = Setup::one_wave((1 << ELEMENTS.len()) - 1);
    setup.rows.push((Row(0), std::array::from_fn(|lane| ELEMENTS.get(lane).copied().unwrap_or(0))));
    let resource = [buffer as u32, (buffer >> 32) as u32, BOUND as u32, 4 << 15];
    setup.cells.extend((4..).map(Uni).zip(resource));
    (buffer, setup)
}

/// The offset `12 * index + 4`; if it leaves 32 bits, the last one, which no buffer contains.
fn offset() -> Inst {
    let attrs = Attrs { clamp: true, ..Attrs::default() };
    inst(Op::Int(IntOp::MadU32), v(8), &[v(0), constant(12), constant(4)], attrs)
}

/// Where dword `n` of an element is, if it is in the buffer.
fn dword_at(index: u32, n: u64) -> Option<u64> {
    let at = 12 * u64::from(index) + 4 + 4 * n;
    (at + 4 <= BOUND).then_some(at)
}

const RAW: BufferAddr = BufferAddr { offen: true, idxen: false, plain: false };

/// VFETCH of one to four dwords: those outside of the buffer are 0.
#[test]
fn fetches_from_bounded_buffers() {
    let memory = GuestMemory::default();
    let (_, setup) = with_buffer(&memory);
    for count in 1..=4u8 {
        let load = Op::BufferLoad(MemType::Dwords(count), RAW);
        let insts = [offset(), inst(load, v(16), &[v(8), s(4)], Attrs::default())];
        for runner in runners() {
            let after = registers_after(&insts, &setup, &memory, runner);
            for (lane, index) in ELEMENTS.into_iter().enumerate() {
                for n in 0..u64::from(count) {
                    let bytes = |at: u64| u32::from_le_bytes([0, 1, 2, 3].map(|k| byte(at + k)));
                    let want = dword_at(index, n).map_or(0, bytes);
                    let found = after.rows[0][16 + n as usize][lane];
                    assert_eq!(found, want, "dword {n} of {count} of element {index:#x} on {runner}");
                }
            }
        }
    }
}

/// Stores of one to four dwords: those outside of the buffer are dropped.
#[test]
fn stores_to_bounded_buffers() {
    for count in 1..=4u8 {
        for runner in runners() {
            let memory = GuestMemory::default();
            let (buffer, mut setup) = with_buffer(&memory);
            let value = |lane: usize, n: u64| 0x0101_0101 * (16 * n as u32 + lane as u32 + 0x80);
            for n in 0..4 {
                setup.rows.push((Row(20 + n as u16), std::array::from_fn(|lane| value(lane, n))));
            }
            let store = Op::BufferStore(MemType::Dwords(count), RAW);
            let sources = [v(8), s(4), Operand::None, v(20)];
            let insts = [offset(), inst(store, Operand::None, &sources, Attrs::default())];
            registers_after(&insts, &setup, &memory, runner);
            let mut want: Vec<u8> = (0..MEMORY).map(byte).collect();
            for (lane, index) in ELEMENTS.into_iter().enumerate() {
                for n in 0..u64::from(count) {
                    if let Some(at) = dword_at(index, n) {
                        want[at as usize..at as usize + 4].copy_from_slice(&value(lane, n).to_le_bytes());
                    }
                }
            }
            let mut found = vec![0; MEMORY as usize];
            memory.read(buffer, &mut found).unwrap();
            assert_eq!(found, want, "{count} dwords on {runner}");
        }
    }
}

/// VFETCH with a format that no buffer of GCN has: a texel is in the buffer or not as a whole.
#[test]
fn formatted_fetches_from_bounded_buffers() {
    let texel = |data, number, count| {
        let format = TexelFormat::new(data, number);
        assert!(format.is_some(), "{data:?} {number:?}");
        TexelAccess { format, count, cells: TexelCells::Dwords }
    };
    let (one, nothing) = (bits(1.0), [0; 4]);
    // Bytes 48 to 51 are in the last two bytes of the buffer in part.
    for (access, at, bytes, want) in [
        (texel(DataFormat::D5_6_5, TexelNumber::Unorm, 4), 48, [0x1f, 0xf8, 0, 0], [one, 0, one, 0]),
        (texel(DataFormat::D1_5_5_5, TexelNumber::Uint, 4), 0, [0x41, 0x84, 0, 0], [1, 2, 1, 1]),
        (texel(DataFormat::D4_4_4_4, TexelNumber::Sint, 4), 2, [0xf1, 0x87, 0, 0], [1, !0, 7, -8i32 as u32]),
        (texel(DataFormat::D4_4, TexelNumber::Uscaled, 2), 49, [0x93, 0, 0, 0], [bits(3.0), bits(9.0), 0, 0]),
        (texel(DataFormat::D24_8, TexelNumber::Uint, 2), 44, [0xab, 1, 2, 3], [0xab, 0x03_0201, 0, 0]),
        (texel(DataFormat::D24_8, TexelNumber::Uint, 2), 48, [0xab, 1, 2, 3], nothing),
        (texel(DataFormat::D8_8_8_8, TexelNumber::Snorm, 4), 47, [1, 1, 1, 1], nothing),
    ] {
        let memory = GuestMemory::default();
        let (buffer, mut setup) = with_buffer(&memory);
        memory.write(buffer + at, &bytes).unwrap();
        setup.rows.push((Row(8), [at as u32; 64]));
        let load = inst(Op::BufferLoadTexel(access, RAW), v(16), &[v(8), s(4)], Attrs::default());
        for runner in runners() {
            let after = registers_after(&[load], &setup, &memory, runner);
            for (n, value) in want.into_iter().enumerate().take(access.count.into()) {
                assert_eq!(after.rows[0][16 + n][0], value, "component {n} of {load} on {runner}");
            }
        }
    }
}
