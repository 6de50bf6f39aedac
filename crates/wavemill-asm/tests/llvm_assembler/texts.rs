//! Texts of instructions, derived from the rows: instances of every form, with each operand and
//! modifier replaced by others, and with tokens dropped, doubled and swapped.

use std::collections::{BTreeMap, BTreeSet};

use wavemill_asm::gcn::print;
use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, Flag, Form, Inst, Op, Role, Row, decode};
use wavemill_oracle::{Filler, Span, SplitMix64};

use crate::cross::{self, Turns};

/// Replacements for operands: every kind of operand, with its limits.
const OPERANDS: &[&str] = &[
    "v0",
    "v255",
    "v256",
    "v[0:1]",
    "v[1:2]",
    "v[254:255]",
    "v[255:256]",
    "v[2:4]",
    "v[4:7]",
    "v[5:8]",
    "v[0:5]",
    "v[8:15]",
    "v[0:15]",
    "v[1:16]",
    "v[0:31]",
    "v[2]",
    "v[3:2]",
    "a0",
    "a255",
    "a[0:1]",
    "a[1:2]",
    "a[0:3]",
    "a[0:15]",
    "a[0:31]",
    "s0",
    "s101",
    "s102",
    "s[0:1]",
    "s[1:2]",
    "s[100:101]",
    "s[0:2]",
    "s[0:3]",
    "s[2:5]",
    "s[100:103]",
    "s[0:7]",
    "s[0:15]",
    "[s4,s5]",
    "[v4,v5,v6]",
    "ttmp0",
    "ttmp15",
    "ttmp16",
    "ttmp[2:3]",
    "ttmp[4:7]",
    "vcc",
    "vcc_lo",
    "vcc_hi",
    "exec",
    "exec_lo",
    "exec_hi",
    "m0",
    "null",
    "flat_scratch",
    "flat_scratch_lo",
    "xnack_mask",
    "xnack_mask_hi",
    "src_shared_base",
    "src_private_limit",
    "shared_base",
    "src_pops_exiting_wave_id",
    "src_vccz",
    "vccz",
    "src_execz",
    "src_scc",
    "scc",
    "src_lds_direct",
    "off",
    "0",
    "1",
    "64",
    "65",
    "-1",
    "-16",
    "-17",
    "0.5",
    "-4.0",
    "0.15915494",
    "0.15915494309189532",
    "1.5",
    "3.14159",
    "1e-50",
    "1e300",
    "0x7fff",
    "0x8000",
    "0xffff",
    "0x10000",
    "0x3c00",
    "0xffffffff",
    "0x3f800000",
    "0x80000000",
    "0x100000000",
    "0x3ff0000000000000",
    "-32768",
    "-32769",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "lit(1)",
    "lit(1.0)",
    "lit(0x1234)",
    "-v1",
    "|v1|",
    "-|v1|",
    "neg(v1)",
    "abs(v1)",
    "sext(v1)",
    "-s1",
    "|s1|",
    "neg(1)",
    "|1.0|",
    "-|2|",
    "neg(1.0)",
    "sext(1)",
    "-v[2:3]",
    "|v[2:3]|",
    "attr0.x",
    "attr32.w",
    "attr33.x",
    "p10",
    "p20",
    "p0",
    "mrt0",
    "mrtz",
    "null",
    "pos3",
    "param31",
    "param32",
    "hwreg(HW_REG_MODE)",
    "hwreg(2, 1, 4)",
    "hwreg(HW_REG_XCC_ID)",
    "hwreg(1, 0, 33)",
    "sendmsg(MSG_INTERRUPT)",
    "sendmsg(MSG_GS, GS_OP_EMIT, 1)",
    "sendmsg(MSG_GS)",
    "sendmsg(2, 1)",
    "vmcnt(0)",
    "vmcnt(64)",
    "vmcnt(63) & lgkmcnt(15)",
    "vmcnt_sat(70)",
    "expcnt(7)",
    "expcnt(8)",
    "gpr_idx(SRC0)",
    "gpr_idx(SRC0,DST)",
    "gpr_idx()",
    "1+2",
    "(3)",
    "2*(3+4)",
    "1<<4",
    "~0",
    "!0",
    "7/2",
    "-7%3",
    "1==1",
    "3>2",
    "\'a\'",
    "0b101",
    "017",
    "0x1p3",
];

/// Modifiers, with their limits.
const MODIFIERS: &[&str] = &[
    "clamp",
    "noclamp",
    "mul:1",
    "mul:2",
    "mul:3",
    "mul:4",
    "div:1",
    "div:2",
    "op_sel:[0,0]",
    "op_sel:[1,0]",
    "op_sel:[0,1,0]",
    "op_sel:[1,1,1]",
    "op_sel:[0,0,0,1]",
    "op_sel:[0,0,2]",
    "op_sel_hi:[0,0]",
    "op_sel_hi:[0,1,0]",
    "op_sel_hi:[1,1,1]",
    "op_sel_hi:[1,0]",
    "neg_lo:[1,0]",
    "neg_lo:[0,1,1]",
    "neg_lo:[0,0]",
    "neg_hi:[1,0]",
    "neg_hi:[0,1,1]",
    "neg:[1,0,0]",
    "neg:[1,1,1]",
    "cbsz:0",
    "cbsz:1",
    "cbsz:4",
    "cbsz:7",
    "cbsz:8",
    "abid:0",
    "abid:1",
    "abid:15",
    "abid:16",
    "blgp:0",
    "blgp:1",
    "blgp:7",
    "blgp:8",
    "bitop3:0",
    "bitop3:0x5a",
    "bitop3:255",
    "bitop3:256",
    "high",
    "fi:0",
    "fi:1",
    "bound_ctrl:0",
    "bound_ctrl:1",
    "bound_ctrl:2",
    "quad_perm:[0,1,2,3]",
    "quad_perm:[3,3,3,3]",
    "quad_perm:[0,1,2]",
    "quad_perm:[0,1,2,4]",
    "row_shl:1",
    "row_shl:15",
    "row_shl:0",
    "row_shl:16",
    "row_shr:7",
    "row_ror:15",
    "wave_shl:1",
    "wave_shl:2",
    "wave_rol:1",
    "wave_shr:1",
    "wave_ror:1",
    "row_mirror",
    "row_half_mirror",
    "row_bcast:15",
    "row_bcast:31",
    "row_bcast:7",
    "row_newbcast:0",
    "row_newbcast:15",
    "row_newbcast:16",
    "row_mask:0x0",
    "row_mask:0xf",
    "row_mask:16",
    "bank_mask:0x1",
    "bank_mask:0xf",
    "dst_sel:BYTE_0",
    "dst_sel:WORD_1",
    "dst_sel:DWORD",
    "dst_sel:BYTE_4",
    "dst_unused:UNUSED_PAD",
    "dst_unused:UNUSED_SEXT",
    "dst_unused:UNUSED_PRESERVE",
    "src0_sel:BYTE_3",
    "src0_sel:WORD_0",
    "src1_sel:BYTE_1",
    "src1_sel:DWORD",
    "offset:0",
    "offset:1",
    "offset:4095",
    "offset:4096",
    "offset:-1",
    "offset:-4096",
    "offset:-4097",
    "offset:65535",
    "offset:65536",
    "offset:0xfffff",
    "offset:0x100000",
    "offset:swizzle(QUAD_PERM,0,1,2,3)",
    "offset:swizzle(BROADCAST,4,1)",
    "offset:swizzle(SWAP,8)",
    "offset:swizzle(REVERSE,16)",
    "offset:swizzle(BITMASK_PERM,\"01pip\")",
    "offset:swizzle(FFT,5)",
    "offset:swizzle(ROTATE,1,7)",
    "offset0:0",
    "offset0:255",
    "offset0:256",
    "offset1:1",
    "offset1:255",
    "gds",
    "offen",
    "idxen",
    "glc",
    "noglc",
    "slc",
    "scc",
    "sc0",
    "nt",
    "sc1",
    "nv",
    "lds",
    "tfe",
    "lwe",
    "unorm",
    "da",
    "a16",
    "d16",
    "dmask:0x0",
    "dmask:0x1",
    "dmask:0x3",
    "dmask:0xf",
    "dmask:0x10",
    "dfmt:1",
    "dfmt:15",
    "dfmt:16",
    "nfmt:0",
    "nfmt:7",
    "nfmt:8",
    "format:0",
    "format:127",
    "format:128",
    "format:[BUF_DATA_FORMAT_32]",
    "format:[BUF_NUM_FORMAT_FLOAT]",
    "format:[BUF_DATA_FORMAT_8_8,BUF_NUM_FORMAT_SINT]",
    "done",
    "compr",
    "vm",
];

/// How many texts are made per form.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Instances of random fields.
    pub(crate) fillings: usize,
    /// Replaced operands, and added modifiers.
    pub(crate) replacements: usize,
    /// Token changes.
    pub(crate) mutations: usize,
    /// How often every modifier meets every encoding, and every operand meets every operand
    /// position of it.
    pub(crate) meetings: usize,
}

impl Effort {
    /// Multiplies the effort.
    pub(crate) fn times(self, times: usize) -> Effort {
        let times = times.max(1);
        Effort {
            fillings: self.fillings * times,
            replacements: self.replacements * times,
            mutations: self.mutations * times,
            meetings: self.meetings * times,
        }
    }
}

/// Texts, and their coverage.
#[derive(Default)]
pub(crate) struct Texts {
    /// Texts of instructions.
    pub(crate) lines: Vec<String>,
    /// Texts with one token changed.
    pub(crate) mutated: Vec<String>,
    /// Operands and modifiers that were used.
    operands: BTreeSet<&'static str>,
    modifiers: BTreeSet<&'static str>,
    forms: usize,
    never: Vec<String>,
}

impl Texts {
    /// What was never generated; empty if the coverage is complete.
    pub(crate) fn missing(&self) -> Vec<String> {
        let unused = |all: &'static [&'static str], used: &BTreeSet<&'static str>| {
            all.iter().filter(|text| !used.contains(*text)).map(|text| (*text).to_owned()).collect::<Vec<_>>()
        };
        let mut missing = self.never.clone();
        missing.extend(unused(OPERANDS, &self.operands));
        missing.extend(unused(MODIFIERS, &self.modifiers));
        missing
    }

    /// The coverage in one line.
    pub(crate) fn coverage(&self) -> String {
        format!(
            "{} texts of {} forms, {} kinds of operands, {} modifiers, {} texts with a token changed; never generated: {}",
            self.lines.len(),
            self.forms,
            self.operands.len(),
            self.modifiers.len(),
            self.mutated.len(),
            self.missing().len(),
        )
    }
}

/// A seed that depends on names only, so another instruction or target does not change the texts of
/// this one.
fn seed(names: &[&str]) -> u64 {
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Words of `form` that decode as it.
pub(crate) fn instances(form: &'static Form, target: Target, count: usize) -> impl Iterator<Item = Inst> {
    let fields = form.encoding.fields().iter().filter(move |field| field.targets.contains(target));
    let spans: Vec<Span> = fields.map(|field| Span { lo: field.lo, width: field.width }).collect();
    let mut filler = Filler::new(seed(&[form.op.row().name(), form.encoding.name()]));
    (0..count)
        .filter_map(move |_| decode(target, &filler.fill(form.value, form.fixed, &spans)).ok())
        .filter(move |inst| inst.op() == form.op && inst.encoding() == form.encoding)
}

/// The forms of `target`.
pub(crate) fn forms(target: Target) -> impl Iterator<Item = &'static Form> {
    Op::ALL.iter().map(|op| op.row()).flat_map(Row::forms).filter(move |form| form.targets.contains(target))
}

pub(crate) fn text(inst: &Inst) -> String {
    let mut text = String::new();
    print(&mut text, inst).expect("a String takes any text");
    text
}

/// Texts that the random ones rarely produce. Each comes from a large run in which the two sides
/// differed.
const RARE: [&str; 68] = [
    "v_pk_fma_f32 v[0:1], 1e-50, s[0:1], s[0:1]",
    "v_div_scale_f32 v0, s[10:11], s0, abs(v1), s0",
    "v_div_scale_f64 v[0:1], vcc, v[2:3], v[2:3], |v[4:5]|",
    "buffer_store_format_d16_xyzw a[0:1], off, s[52:55],  scc",
    "v_pk_mad_u16 v0, v67, v99,  0op_sel:[0,0,1] op_sel_hi:[0,0,0] neg_lo:[0,0,1]",
    "v_cvt_f32_bf16_e32 v0, 0.15915494309189532",
    "v_fma_mix_f32 v0, v1, 0x3c00, v2 op_sel_hi:[1,1,1]",
    "v_fma_mixlo_f16 v0, v1, 0x3f800000, v2",
    "ds_ordered_count v0, v1 nogds",
    "ds_ordered_count v0, v1 offset:4 nogds",
    "ds_gws_barrier v0 nogds",
    "buffer_inv sc0 nt",
    "buffer_inv nont sc1",
    "buffer_wbl2 nt",
    "buffer_wbl2 nont",
    "v_readfirstlane_b32 m0, v0",
    "v_readfirstlane_b32 vcc_lo, v0",
    "v_readlane_b32 m0, v0, s1",
    "v_readlane_b32 exec_hi, v0, s1",
    "buffer_load_dword v0, off, s[0:3], scc",
    "buffer_store_dword v0, off, s[0:3], scc",
    "tbuffer_load_format_x v0, off, s[0:3], scc",
    "v_cvt_scalef32_sr_fp8_f16 v0, 0x3f800000, s0, |s0|",
    "v_mov_b32 v0, 1<<0x8000",
    "v_mov_b32 v0, 1e3000",
    "v_or_b32 v154, 1<1e3004, v0",
    "v_cmp_gt_i64 vcc, (1.0), v[224:225]",
    "s_load_dword s0, s[0:1], 1e-50",
    "v_mov_b32 v0, v[0:2147483648]",
    "v_bitop3_b32 v0, v1, v2, v3 bitop3:256",
    "global_load_dword v0, v1, exec",
    "global_store_dword v0, v1, exec glc offset:16",
    "global_store_dwordx3 v0, a[0:2], exec sc0 offset:4095",
    "global_load_dword v0, v1, s[0:1] nv",
    "global_load_dword v0, v1, s[0:1] nv offset:16",
    "image_gather4_l v[0:2], v[0:3], s[0:7], s[0:3] dmask:0x1 tfe d16",
    "global_atomic_add_f32 a0, v[0:1], a1, off sc0",
    "global_atomic_add_f32 a0, v[0:1], a1, off sc0 offset:16",
    "global_atomic_add_f64 a[0:1], v75, a[4:5], s[0:1] sc0 sc1",
    "v_pk_fmac_f16_sdwa v0, sext(v1), v0",
    "v_pk_fmac_f16 v0, -1.0, sext(1)",
    "v_pk_fmac_f16_sdwa v0, neg(1.0), v0",
    "v_pk_fmac_f16 v0, |v0|, 3>2 src1_sel:BYTE_1",
    "v_cvt_scalef32_sr_pk_fp4_f32 v12, 65, v253, 29",
    "v_dot2_f32_f16 v0, v1, v2, v3 op_sel_hi:[1,1,1]",
    "v_ldexp_f16 v0, v1, sext(v2) quad_perm:[0,2,0,0]",
    "v_cndmask_b32 v0, -|2|, v0, vcc",
    "v_cmp_class_f16 vcc, s0, 0xffff",
    "v_cmp_class_f16 s[0:1], v1, 0x3f800000",
    "v_cmp_lt_i16 vcc, v0, 0.15915494 src0_sel:BYTE_0",
    "v_cmp_gt_f16_sdwa vcc, v107, 00.15915494309189532",
    "v_cvt_norm_u16_f16 v0, -|!0|",
    "v_cmp_f_f32 s[14:15], s0, -|--16|",
    "v_subrev_f32 v252, lit(1), ~0",
    "v_cmpx_f_i16 vcc, sext(lit(1)), v0",
    "v_cmpx_ne_u16 -7%3 -7%3, v8",
    "v_cmp_eq_u32 v0, v1",
    "v_cndmask_b32 v0, v1, v2",
    "v_add_co_u32 v0, v1, v2",
    "v_addc_co_u32 v0, v1, v2",
    "s_load_dword s5, s[2:3] glc",
    "v_sub_f32_sdwa v0, v0, v0 dst_sel:BYTE_0 dst_unused:!0 src0_sel:(3) src1_sel:7/2",
    "v_sub_f32_sdwa v0, v0, v0 dst_sel:7 dst_unused:3",
    "buffer_atomic_or a0, off, s[4:7] scc glc",
    "buffer_load_dword off, s[0:3] scc lds",
    "image_load_pck v0, v0, s[0:7] notfe",
    "s_endpgm [2]",
    "s_sleep~ 0",
];

/// A gather with one to six registers of data, and with each modifier that changes their number.
fn gather_widths(mnemonic: &str, row: &Row) -> Vec<String> {
    let least = row.operand(Role::Vaddr).map_or(1, |operand| operand.ty.dwords());
    let tuple = |first: u8, count: u8| match count {
        1 => format!("v{first}"),
        _ => format!("v[{first}:{}]", first + count - 1),
    };
    let address = tuple(8, least);
    let text = |count: u8, modifiers: &str| {
        format!("{mnemonic} {}, {address}, s[0:7], s[8:11] dmask:0x2{modifiers}", tuple(0, count))
    };
    (1..=6)
        .flat_map(|count| ["", " d16", " tfe", " tfe d16", " lwe"].map(|modifiers| text(count, modifiers)))
        .collect()
}

/// All texts for `target`.
pub(crate) fn texts(target: Target, effort: Effort) -> Texts {
    let mut all = Texts::default();
    all.mutated.extend(RARE.map(str::to_owned));
    let mut crossing = Crossing::new(target, effort);
    for form in forms(target) {
        all.forms += 1;
        let mut random = SplitMix64::new(seed(&[target.name(), form.op.row().name(), form.encoding.name()]));
        let before = all.lines.len();
        for inst in instances(form, target, effort.fillings.max(100) * 50) {
            if all.lines.len() - before >= 2 * effort.fillings {
                break;
            }
            let text = text(&inst);
            // Instructions without operands are printed with a note in place of a lane pattern.
            if text.contains("/*") {
                continue;
            }
            if let Some(plain) = without_suffix(&text) {
                all.lines.push(plain);
            }
            all.lines.push(text);
        }
        if all.lines.len() == before {
            all.never.push(format!("{} ({})", form.op, form.encoding.name()));
            continue;
        }
        let base = all.lines[before].clone();
        all.lines.extend(spellings(form, target, &base));
        all.lines.extend(crossing.of(form, &base));
        // Other texts are not derived from these.
        if form.encoding == Encoding::Mubuf {
            all.mutated.extend(cross::condition_offsets(form.op.row().mnemonic(target)));
        }
        if form.op.row().has(Flag::Gather, target) {
            all.mutated.extend(gather_widths(form.op.row().mnemonic(target), form.op.row()));
        }
        for _ in 0..effort.replacements {
            let base = all.lines[before + random.below((all.lines.len() - before) as u64) as usize].clone();
            let Some((mnemonic, mut operands, modifiers)) = parts(&base) else { continue };
            let modifier = pick(MODIFIERS, &mut random);
            let (mut behind, mut line) = (modifiers.clone(), mnemonic.clone());
            match random.below(3) {
                0 => {
                    behind.push(modifier.to_owned());
                    all.modifiers.insert(modifier);
                }
                1 if !operands.is_empty() => {
                    let operand = pick(OPERANDS, &mut random);
                    let at = random.below(operands.len() as u64) as usize;
                    operands[at] = operand.to_owned();
                    all.operands.insert(operand);
                    // Half of the time without the other modifiers, so that they do not interfere.
                    if random.below(2) == 0 {
                        behind.clear();
                    }
                }
                _ => {
                    behind = vec![modifier.to_owned()];
                    all.modifiers.insert(modifier);
                }
            }
            join(&mut line, &operands, &behind);
            all.lines.push(line);
        }
        for _ in 0..effort.mutations {
            let base = &all.lines[before + random.below((all.lines.len() - before) as u64) as usize];
            let mutated = mutate(base, &mut random);
            // An open quote or comment would swallow the following lines.
            if !mutated.contains("/*")
                && !mutated.contains("//")
                && ['"', '\''].iter().all(|quote| mutated.matches(*quote).count() % 2 == 0)
            {
                all.mutated.push(mutated);
            }
        }
    }
    all
}

/// The text with the other spellings of its mnemonic.
fn spellings(form: &Form, target: Target, text: &str) -> Vec<String> {
    let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
    let row = form.op.row();
    let aliases = row.aliases().iter().filter(|(targets, _)| targets.contains(target)).map(|(_, name)| *name);
    let mut all: Vec<String> = aliases.map(|name| format!("{name} {rest}")).collect();
    if matches!(form.encoding, Encoding::Vop3p | Encoding::Mai | Encoding::MaiScaled) {
        all.push(format!("{mnemonic}_e64 {rest}"));
    }
    all
}

/// Every modifier and every operand, in turn.
struct Crossing {
    modifiers: Vec<&'static str>,
    operands: Vec<&'static str>,
    /// The forms of each encoding.
    forms: BTreeMap<Encoding, usize>,
    turns: Turns,
    meetings: usize,
}

impl Crossing {
    fn new(target: Target, effort: Effort) -> Crossing {
        let mut counts = BTreeMap::new();
        for form in forms(target) {
            *counts.entry(form.encoding).or_default() += 1;
        }
        Crossing {
            modifiers: MODIFIERS.iter().chain(cross::MODIFIERS).copied().collect(),
            operands: OPERANDS.iter().chain(cross::OPERANDS).copied().collect(),
            forms: counts,
            turns: Turns::default(),
            meetings: effort.meetings,
        }
    }

    /// Combines the instance of `form` with the next modifiers and operands.
    fn of(&mut self, form: &Form, base: &str) -> Vec<String> {
        let Some((mnemonic, operands, modifiers)) = parts(base) else { return Vec::new() };
        let mut all = Vec::new();
        if form.encoding == Encoding::Mtbuf {
            all.extend(cross::formats(&mnemonic, &operands));
        }
        let share = self.forms.get(&form.encoding).copied().unwrap_or(1);
        let count = |of: usize| (of * self.meetings).div_ceil(share);
        let key = |text: &str| text.split([':', '[']).next().unwrap_or_default().to_owned();
        for modifier in self.turns.next(form.encoding, None, &self.modifiers, count(self.modifiers.len())) {
            let mut behind = modifiers.clone();
            behind.retain(|known| key(known) != key(modifier));
            behind.push(modifier.to_owned());
            let mut line = mnemonic.clone();
            join(&mut line, &operands, &behind);
            all.push(line);
        }
        for at in 0..operands.len() {
            let count = count(self.operands.len());
            for operand in self.turns.next(form.encoding, Some(at), &self.operands, count) {
                let mut operands = operands.clone();
                operands[at] = operand.to_owned();
                let mut line = mnemonic.clone();
                join(&mut line, &operands, &modifiers);
                all.push(line);
            }
        }
        all
    }
}

/// The text without its suffix (`_e32` and so on), if it has one.
fn without_suffix(text: &str) -> Option<String> {
    let (mnemonic, rest) = text.split_once(' ').unwrap_or((text, ""));
    let plain = ["_e32", "_e64", "_sdwa", "_dpp"].iter().find_map(|suffix| mnemonic.strip_suffix(suffix))?;
    Some(format!("{plain} {rest}"))
}

fn pick(from: &'static [&'static str], random: &mut SplitMix64) -> &'static str {
    from[random.below(from.len() as u64) as usize]
}

/// The number of modifiers of a text, as far as it is visible; 2 if it is not.
pub(crate) fn modifiers(text: &str) -> usize {
    // After a comma, a modifier looks like an operand.
    let named =
        |operands: &[String]| operands.iter().filter(|operand| MODIFIERS.contains(&operand.as_str())).count();
    parts(text).map_or(2, |(_, operands, modifiers)| named(&operands) + modifiers.len())
}

/// Mnemonic, operands and modifiers of a text.
pub(crate) fn parts(text: &str) -> Option<(String, Vec<String>, Vec<String>)> {
    let (mnemonic, rest) = text.split_once(' ')?;
    let mut pieces: Vec<String> = Vec::new();
    let mut depth = 0;
    let mut piece = String::new();
    for character in rest.chars() {
        match character {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            _ => {}
        }
        piece.push(character);
    }
    // After the last operand, blanks separate modifiers.
    let mut words = piece.trim().split(' ').map(str::to_owned).filter(|word| !word.is_empty());
    let mut modifiers = Vec::new();
    let counters = mnemonic.starts_with("s_waitcnt") || mnemonic == "exp";
    if counters {
        return None;
    }
    match words.next() {
        Some(first) if pieces.is_empty() && MODIFIERS.contains(&first.as_str()) => modifiers.push(first),
        Some(first) => pieces.push(first),
        None => {}
    }
    modifiers.extend(words);
    Some((mnemonic.to_owned(), pieces.iter().map(|piece| piece.trim().to_owned()).collect(), modifiers))
}

pub(crate) fn join(line: &mut String, operands: &[String], modifiers: &[String]) {
    if !operands.is_empty() {
        line.push(' ');
        line.push_str(&operands.join(", "));
    }
    for modifier in modifiers {
        line.push(' ');
        line.push_str(modifier);
    }
}

/// The text with one token dropped, doubled, swapped with its neighbour, or replaced by another.
fn mutate(text: &str, random: &mut SplitMix64) -> String {
    let mut tokens: Vec<String> = Vec::new();
    for character in text.chars() {
        let joins = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        match tokens.last_mut() {
            Some(last) if joins(character) && last.chars().all(joins) => last.push(character),
            _ => tokens.push(character.to_string()),
        }
    }
    let at = random.below(tokens.len() as u64) as usize;
    match random.below(4) {
        0 => {
            tokens.remove(at);
        }
        1 => tokens.insert(at, tokens[at].clone()),
        2 if at > 0 => tokens.swap(at - 1, at),
        _ => tokens[at] = pick(if random.below(2) == 0 { OPERANDS } else { MODIFIERS }, random).to_owned(),
    }
    tokens.concat()
}
