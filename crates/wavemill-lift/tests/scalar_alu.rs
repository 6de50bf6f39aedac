//! The scalar ALU against references written from the manual's text, over edge values.

use crate::common::{EDGES, EDGES64, Machine, home_words};
use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_isa::gcn::{FieldId, Format, Op, State};
use wavemill_lift::gcn::registers;

/// The inputs of an operation: sources, the old destination, SCC.
#[derive(Clone, Copy)]
struct In {
    a: u64,
    b: u64,
    d: u64,
    scc: bool,
}

impl In {
    fn i(self) -> (i32, i32) {
        (self.a as i32, self.b as i32)
    }

    fn u(self) -> (u32, u32) {
        (self.a as u32, self.b as u32)
    }
}

/// The outputs: the destination (`None`: unchanged), and SCC if the operation writes it.
struct Out {
    d: Option<u64>,
    scc: Option<bool>,
}

/// A result that does not change SCC.
fn plain(d: u64) -> Out {
    Out { d: Some(d), scc: None }
}

/// A result with SCC.
fn with(d: u64, scc: bool) -> Out {
    Out { d: Some(d), scc: Some(scc) }
}

/// A 32-bit result; SCC is whether it is not zero.
fn nz32(d: u32) -> Out {
    with(u64::from(d), d != 0)
}

/// The same in 64 bits.
fn nz64(d: u64) -> Out {
    with(d, d != 0)
}

fn flag(scc: bool) -> Out {
    Out { d: None, scc: Some(scc) }
}

fn half_pack(low: u32, high: u32) -> Out {
    plain(u64::from(low & 0xffff | high << 16))
}

/// Field of `bits` (32 or 64) bits: offset and width as the manual encodes them in the second source.
fn field(value: u64, control: u32, bits: u32, signed: bool) -> u64 {
    let (offset, width) = (control % bits, (control >> 16 & 0x7f).min(bits));
    let mut result = 0u64;
    let sign = if signed { value >> (bits - 1) & 1 } else { 0 };
    for n in 0..width {
        let from = offset + n;
        let bit = if from < bits { value >> from & 1 } else { sign };
        result |= bit << n;
    }
    if signed && width > 0 && result >> (width - 1) & 1 != 0 {
        for n in width..bits {
            result |= 1 << n;
        }
    }
    result
}

fn quads(value: u64, whole: bool) -> u64 {
    (0..16)
        .filter(|q| value >> (4 * q) & 15 != 0)
        .fold(0, |r, q| r | if whole { 15 << (4 * q) } else { 1 << q })
}

fn reverse(value: u64, bits: u32) -> u64 {
    (0..bits).fold(0, |r, n| r | (value >> n & 1) << (bits - 1 - n))
}

fn count(value: u64, bits: u32, bit: u64) -> u32 {
    (0..bits).filter(|n| value >> n & 1 == bit).count() as u32
}

/// Position of the lowest bit that is `bit`.
fn lowest(value: u64, bits: u32, bit: u64) -> Out {
    plain(u64::from((0..bits).find(|n| value >> n & 1 == bit).unwrap_or(u32::MAX)))
}

/// Distance from the top of the highest bit for which `wanted` holds.
fn from_top(bits: u32, wanted: impl Fn(u32) -> bool) -> Out {
    plain(u64::from((0..bits).find(|n| wanted(bits - 1 - n)).unwrap_or(u32::MAX)))
}

fn shift_add(x: In, amount: u32) -> Out {
    let sum = (u64::from(x.a as u32) << amount) + u64::from(x.b as u32);
    with(sum & 0xffff_ffff, sum > 0xffff_ffff)
}

fn add(x: In, carry: bool) -> Out {
    let sum = u64::from(x.u().0) + u64::from(x.u().1) + u64::from(carry);
    with(sum & 0xffff_ffff, sum > 0xffff_ffff)
}

fn sub(x: In, borrow: bool) -> Out {
    let (a, b) = (i64::from(x.u().0), i64::from(x.u().1) + i64::from(borrow));
    with((a - b) as u64 & 0xffff_ffff, b > a)
}

/// A signed result that may have overflowed.
fn signed(exact: i64) -> Out {
    with(u64::from(exact as u32), i32::try_from(exact).is_err())
}

fn select(x: In) -> Out {
    plain(if x.scc { x.a } else { x.b })
}

fn set_bit(x: In, bits: u32, to: u64) -> Out {
    let n = x.a as u32 % bits;
    plain(x.d & !(1 << n) | to << n)
}

fn bit_is(x: In, bits: u32, value: u64) -> Out {
    flag(x.a >> (x.b as u32 % bits) & 1 == value)
}

/// The reference of an instruction with two sources, one source (`b` is 0), or a 16-bit constant as `b`.
fn reference(name: &str, x: In) -> Option<Out> {
    let (ai, bi) = x.i();
    let (au, bu) = x.u();
    let (a, b) = (x.a, x.b);
    Some(match name {
        "s_add_u32" => add(x, false),
        "s_sub_u32" => sub(x, false),
        "s_add_i32" => signed(i64::from(ai) + i64::from(bi)),
        "s_sub_i32" => signed(i64::from(ai) - i64::from(bi)),
        "s_addc_u32" => add(x, x.scc),
        "s_subb_u32" => sub(x, x.scc),
        "s_min_i32" => with(u64::from(ai.min(bi) as u32), ai < bi),
        "s_min_u32" => with(u64::from(au.min(bu)), au < bu),
        "s_max_i32" => with(u64::from(ai.max(bi) as u32), ai > bi),
        "s_max_u32" => with(u64::from(au.max(bu)), au > bu),
        "s_cselect_b32" | "s_cselect_b64" => select(x),
        "s_and_b32" => nz32(au & bu),
        "s_and_b64" => nz64(a & b),
        "s_or_b32" => nz32(au | bu),
        "s_or_b64" => nz64(a | b),
        "s_xor_b32" => nz32(au ^ bu),
        "s_xor_b64" => nz64(a ^ b),
        "s_andn2_b32" => nz32(au & !bu),
        "s_andn2_b64" => nz64(a & !b),
        "s_orn2_b32" => nz32(au | !bu),
        "s_orn2_b64" => nz64(a | !b),
        "s_nand_b32" => nz32(!(au & bu)),
        "s_nand_b64" => nz64(!(a & b)),
        "s_nor_b32" => nz32(!(au | bu)),
        "s_nor_b64" => nz64(!(a | b)),
        "s_xnor_b32" => nz32(!(au ^ bu)),
        "s_xnor_b64" => nz64(!(a ^ b)),
        "s_lshl_b32" => nz32(au << (bu & 31)),
        "s_lshl_b64" => nz64(a << (bu & 63)),
        "s_lshr_b32" => nz32(au >> (bu & 31)),
        "s_lshr_b64" => nz64(a >> (bu & 63)),
        "s_ashr_i32" => nz32((ai >> (bu & 31)) as u32),
        "s_ashr_i64" => nz64((a as i64 >> (bu & 63)) as u64),
        "s_bfm_b32" => plain(u64::from(((1u32 << (au & 31)) - 1) << (bu & 31))),
        "s_bfm_b64" => plain(((1u64 << (au & 63)) - 1) << (bu & 63)),
        "s_mul_i32" => plain(u64::from(ai.wrapping_mul(bi) as u32)),
        "s_bfe_u32" => nz32(field(u64::from(au), bu, 32, false) as u32),
        "s_bfe_i32" => nz32(field(u64::from(au), bu, 32, true) as u32),
        "s_bfe_u64" => nz64(field(a, bu, 64, false)),
        "s_bfe_i64" => nz64(field(a, bu, 64, true)),
        "s_absdiff_i32" => nz32(ai.wrapping_sub(bi).wrapping_abs() as u32),
        "s_mul_hi_u32" => plain((u64::from(au) * u64::from(bu)) >> 32),
        "s_mul_hi_i32" => plain((i64::from(ai) * i64::from(bi)) as u64 >> 32),
        "s_lshl1_add_u32" => shift_add(x, 1),
        "s_lshl2_add_u32" => shift_add(x, 2),
        "s_lshl3_add_u32" => shift_add(x, 3),
        "s_lshl4_add_u32" => shift_add(x, 4),
        "s_pack_ll_b32_b16" => half_pack(au, bu),
        "s_pack_lh_b32_b16" => half_pack(au, bu >> 16),
        "s_pack_hh_b32_b16" => half_pack(au >> 16, bu >> 16),

        "s_mov_b32" | "s_mov_b64" => plain(a),
        "s_cmov_b32" | "s_cmov_b64" => plain(if x.scc { a } else { x.d }),
        "s_not_b32" => nz32(!au),
        "s_not_b64" => nz64(!a),
        "s_wqm_b32" => nz32(quads(u64::from(au), true) as u32),
        "s_wqm_b64" => nz64(quads(a, true)),
        "s_brev_b32" => plain(reverse(a, 32)),
        "s_brev_b64" => plain(reverse(a, 64)),
        "s_bcnt0_i32_b32" => nz32(count(a, 32, 0)),
        "s_bcnt0_i32_b64" => nz32(count(a, 64, 0)),
        "s_bcnt1_i32_b32" => nz32(count(a, 32, 1)),
        "s_bcnt1_i32_b64" => nz32(count(a, 64, 1)),
        "s_ff0_i32_b32" => lowest(a, 32, 0),
        "s_ff0_i32_b64" => lowest(a, 64, 0),
        "s_ff1_i32_b32" => lowest(a, 32, 1),
        "s_ff1_i32_b64" => lowest(a, 64, 1),
        "s_flbit_i32_b32" => from_top(32, |n| a >> n & 1 == 1),
        "s_flbit_i32_b64" => from_top(64, |n| a >> n & 1 == 1),
        "s_flbit_i32" => from_top(32, |n| a >> n & 1 != a >> 31 & 1),
        "s_flbit_i32_i64" => from_top(64, |n| a >> n & 1 != a >> 63),
        "s_sext_i32_i8" => plain(u64::from(au as i8 as i32 as u32)),
        "s_sext_i32_i16" => plain(u64::from(au as i16 as i32 as u32)),
        "s_bitset0_b32" => set_bit(x, 32, 0),
        "s_bitset0_b64" => set_bit(x, 64, 0),
        "s_bitset1_b32" => set_bit(x, 32, 1),
        "s_bitset1_b64" => set_bit(x, 64, 1),
        "s_quadmask_b32" => nz32(quads(u64::from(au), false) as u32),
        "s_quadmask_b64" => nz64(quads(a, false)),
        "s_abs_i32" => nz32(ai.wrapping_abs() as u32),
        "s_bitreplicate_b64_b32" => plain((0..64).fold(0, |r, n| r | (a >> (n / 2) & 1) << n)),

        "s_cmp_eq_i32" | "s_cmp_eq_u32" => flag(au == bu),
        "s_cmp_lg_i32" | "s_cmp_lg_u32" => flag(au != bu),
        "s_cmp_gt_i32" => flag(ai > bi),
        "s_cmp_ge_i32" => flag(ai >= bi),
        "s_cmp_lt_i32" => flag(ai < bi),
        "s_cmp_le_i32" => flag(ai <= bi),
        "s_cmp_gt_u32" => flag(au > bu),
        "s_cmp_ge_u32" => flag(au >= bu),
        "s_cmp_lt_u32" => flag(au < bu),
        "s_cmp_le_u32" => flag(au <= bu),
        "s_bitcmp0_b32" => bit_is(x, 32, 0),
        "s_bitcmp1_b32" => bit_is(x, 32, 1),
        "s_bitcmp0_b64" => bit_is(x, 64, 0),
        "s_bitcmp1_b64" => bit_is(x, 64, 1),
        "s_cmp_eq_u64" => flag(a == b),
        "s_cmp_lg_u64" => flag(a != b),
        _ => return None,
    })
}

/// The reference of a SOPK instruction: `d` is the register, `k` the constant.
fn reference_k(name: &str, d: u32, k: u16, scc: bool) -> Option<Out> {
    let (s, z, signed_d) = (i32::from(k as i16), u32::from(k), d as i32);
    let wide = |v: i32| u64::from(v as u32);
    Some(match name {
        "s_movk_i32" => plain(wide(s)),
        "s_cmovk_i32" => plain(if scc { wide(s) } else { u64::from(d) }),
        "s_cmpk_eq_i32" => flag(signed_d == s),
        "s_cmpk_lg_i32" => flag(signed_d != s),
        "s_cmpk_gt_i32" => flag(signed_d > s),
        "s_cmpk_ge_i32" => flag(signed_d >= s),
        "s_cmpk_lt_i32" => flag(signed_d < s),
        "s_cmpk_le_i32" => flag(signed_d <= s),
        "s_cmpk_eq_u32" => flag(d == z),
        "s_cmpk_lg_u32" => flag(d != z),
        "s_cmpk_gt_u32" => flag(d > z),
        "s_cmpk_ge_u32" => flag(d >= z),
        "s_cmpk_lt_u32" => flag(d < z),
        "s_cmpk_le_u32" => flag(d <= z),
        "s_addk_i32" => signed(i64::from(signed_d) + i64::from(s)),
        "s_mulk_i32" => plain(wide(signed_d.wrapping_mul(s))),
        _ => return None,
    })
}

/// Registers of the tests: destination pair, sources.
const D: u32 = 10;
const A: u32 = 20;
const B: u32 = 30;

/// Runs one instruction and compares destination, its neighbour and SCC with the expected values.
fn check(code: &[u32], op: Op, x: In, expected: &Out) {
    check_on(Target::Gfx906, code, op, x, expected);
}

fn check_on(target: Target, code: &[u32], op: Op, x: In, expected: &Out) {
    let dwords = op.row().operands.first().map_or(0, |spec| spec.ty.dwords());
    let outcome = Machine::new(target).run(code, |regs, _| {
        for (register, value) in [(D, x.d), (A, x.a), (B, x.b)] {
            regs.set_uni64(Uni(register as u16), value);
        }
        regs.set_uni(registers::SCC, u32::from(x.scc));
    });
    let what = || format!("{op}({:#x}, {:#x}), d {:#x}, scc {} on {}", x.a, x.b, x.d, x.scc, target.name());
    let mut d = x.d;
    match expected.d {
        Some(result) if dwords == 2 => d = result,
        Some(result) => d = d & !0xffff_ffff | result & 0xffff_ffff,
        None => {}
    }
    assert_eq!(outcome.sgpr64(D as usize), d, "{}", what());
    assert_eq!(outcome.wave.scc, expected.scc.unwrap_or(x.scc), "SCC of {}", what());
    assert_eq!(expected.scc.is_some(), op.row().writes.contains(State::Scc), "row of {op}");
}

/// SCC of a minimum and a maximum. Equal sources: 0 for the minimum everywhere; for the maximum 0 on Vega (Vega ISA 12.1:
/// `S0 > S1`), 1 on CDNA (AMD's machine-readable tables of the instruction set: `S0 >= S1`).
#[test]
fn scc_of_minimum_and_maximum() {
    const MINUS_ONE: u64 = 0xffff_ffff;
    for target in Target::GCN {
        let tie = !matches!(target, Target::Gfx900 | Target::Gfx906);
        for (name, a, b, d, scc) in [
            ("s_min_i32", MINUS_ONE, 1, MINUS_ONE, true),
            ("s_min_i32", 1, MINUS_ONE, MINUS_ONE, false),
            ("s_min_i32", 5, 5, 5, false),
            ("s_min_u32", MINUS_ONE, 1, 1, false),
            ("s_min_u32", 1, MINUS_ONE, 1, true),
            ("s_min_u32", MINUS_ONE, MINUS_ONE, MINUS_ONE, false),
            ("s_max_i32", MINUS_ONE, 1, 1, false),
            ("s_max_i32", 1, MINUS_ONE, 1, true),
            ("s_max_i32", 0, 0, 0, tie),
            ("s_max_i32", MINUS_ONE, MINUS_ONE, MINUS_ONE, tie),
            ("s_max_u32", MINUS_ONE, 1, MINUS_ONE, true),
            ("s_max_u32", 1, MINUS_ONE, MINUS_ONE, false),
            ("s_max_u32", 0, 0, 0, tie),
            ("s_max_u32", MINUS_ONE, MINUS_ONE, MINUS_ONE, tie),
        ] {
            let op = Op::from_name(name).expect("it exists");
            let fields = [(FieldId::Src0, A), (FieldId::Src1, B), (FieldId::Sdst, D)];
            let code = home_words(target, op, &fields);
            for before in [false, true] {
                check_on(target, &code, op, In { a, b, d: 0, scc: before }, &with(d, scc));
            }
        }
    }
}

fn values(wide: bool) -> Vec<u64> {
    if wide { EDGES64.to_vec() } else { EDGES.iter().map(|v| u64::from(*v) | 0x5a5a_5a5a << 32).collect() }
}

#[test]
fn two_source_operations_and_comparisons() {
    let mut tested = 0;
    for op in Op::ALL {
        let row = op.row();
        let name = row.name();
        let is_compare = row.format == Format::Sopc;
        if row.format != Format::Sop2 && !is_compare {
            continue;
        }
        let probe = In { a: 0, b: 0, d: 0, scc: false };
        if reference(name, probe).is_none() {
            continue;
        }
        tested += 1;
        let mut fields = vec![(FieldId::Src0, A), (FieldId::Src1, B)];
        if !is_compare {
            fields.push((FieldId::Sdst, D));
        }
        let code = home_words(Target::Gfx906, *op, &fields);
        let wide = |n: usize| {
            row.operands
                .iter()
                .filter(|s| s.role.name().starts_with("src"))
                .nth(n)
                .is_some_and(|s| s.ty.dwords() == 2)
        };
        for a in values(wide(0)) {
            for b in values(wide(1)) {
                for scc in [false, true] {
                    let x = In { a, b, d: 0x1122_3344_5566_7788, scc };
                    check(&code, *op, x, &reference(name, x).expect("known"));
                }
            }
        }
    }
    assert_eq!(tested, 51 + 18, "every SOP2 but fork and return, every SOPC but the two that change MODE");
}

#[test]
fn one_source_operations() {
    let mut tested = 0;
    for op in Op::ALL.iter().filter(|op| op.row().format == Format::Sop1) {
        let row = op.row();
        let (name, d) = (row.name(), 0x1122_3344_8765_4321);
        if reference(name, In { a: 0, b: 0, d, scc: false }).is_none() {
            continue;
        }
        tested += 1;
        let code = home_words(Target::Gfx906, *op, &[(FieldId::Src0, A), (FieldId::Sdst, D)]);
        let wide = row.operands.iter().any(|s| s.role.name() == "src0" && s.ty.dwords() == 2);
        for a in values(wide) {
            for scc in [false, true] {
                let x = In { a, b: 0, d, scc };
                check(&code, *op, x, &reference(name, x).expect("known"));
            }
        }
    }
    assert_eq!(tested, 32);
}

#[test]
fn operations_with_a_constant() {
    let mut tested = 0;
    for op in Op::ALL.iter().filter(|op| op.row().format == Format::Sopk) {
        let name = op.row().name();
        if reference_k(name, 0, 0, false).is_none() {
            continue;
        }
        tested += 1;
        for k in [0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff] {
            let code =
                home_words(Target::Gfx906, *op, &[(FieldId::Simm16, u32::from(k)), (FieldId::Sdst, D)]);
            for d in EDGES.into_iter().chain([0xffff_8000, 0xffff_fffe]) {
                for scc in [false, true] {
                    let x = In { a: 0, b: u64::from(k), d: u64::from(d), scc };
                    check(&code, *op, x, &reference_k(name, d, k, scc).expect("known"));
                }
            }
        }
    }
    assert_eq!(tested, 16);
}

/// EXEC before and after, the saved or result pair, SCC; with the destination apart from the source
/// and equal to it.
#[test]
fn exec_operations() {
    type Expect = fn(u64, u64) -> u64;
    let save: [(&str, Expect); 10] = [
        ("s_and_saveexec_b64", |s, e| s & e),
        ("s_or_saveexec_b64", |s, e| s | e),
        ("s_xor_saveexec_b64", |s, e| s ^ e),
        ("s_andn2_saveexec_b64", |s, e| s & !e),
        ("s_orn2_saveexec_b64", |s, e| s | !e),
        ("s_nand_saveexec_b64", |s, e| !(s & e)),
        ("s_nor_saveexec_b64", |s, e| !(s | e)),
        ("s_xnor_saveexec_b64", |s, e| !(s ^ e)),
        ("s_andn1_saveexec_b64", |s, e| !s & e),
        ("s_orn1_saveexec_b64", |s, e| !s | e),
    ];
    let write: [(&str, Expect); 2] =
        [("s_andn1_wrexec_b64", |s, e| !s & e), ("s_andn2_wrexec_b64", |s, e| s & !e)];
    for (n, (name, expect)) in save.into_iter().chain(write).enumerate() {
        let op = Op::from_name(name).expect("an instruction");
        for d in [D, A] {
            let code = home_words(Target::Gfx906, op, &[(FieldId::Src0, A), (FieldId::Sdst, d)]);
            for s in EDGES64 {
                for e in EDGES64 {
                    let outcome = Machine::new(Target::Gfx906).run(&code, |regs, _| {
                        regs.set_uni64(Uni(A as u16), s);
                        regs.set_uni64(registers::EXEC, e);
                    });
                    let result = expect(s, e);
                    assert_eq!(outcome.wave.exec(), result, "{name} s {s:#x} e {e:#x}");
                    assert_eq!(
                        outcome.sgpr64(d as usize),
                        if n < save.len() { e } else { result },
                        "{name} D"
                    );
                    assert_eq!(outcome.wave.scc, result != 0, "{name} SCC");
                }
            }
        }
    }
}
