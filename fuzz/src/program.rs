//! Generates valid programs from the rows: instructions with random operands, loops, branches,
//! accesses to memory and LDS.
//!
//! A program relies on the registers that [`machine`](crate::machine) sets up. It does not write
//! the registers below [`FREE_SGPRS`] and [`FREE_VGPRS`], which hold addresses and loop counters.

use std::sync::OnceLock;

use wavemill_interpreter::{Tier, operation_costs};
use wavemill_ir::Terminator;
use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Fidelity, FieldId, Flag, Form, Format, Inst, Op, RegisterFile, Registers, State, decode,
};
use wavemill_lift::gcn::{Context, lift_instruction};
use wavemill_oracle::SplitMix64;

/// VGPRs and AccVGPRs of a wave.
pub const VGPRS: u8 = 32;
/// AccVGPRs of a wave, if it has any.
pub const ACCS: u8 = 8;
/// First SGPR that instructions write; the loop counters are the four before it.
pub const FREE_SGPRS: u8 = 20;
/// First VGPR that instructions write.
pub const FREE_VGPRS: u8 = 6;
/// MODE of compute kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
pub const MODE: u32 = 0x3f0;

/// First loop counter, and the deepest nesting of loops.
const COUNTERS: u32 = 16;
const DEEPEST: u32 = 2;
/// Operand codes of scalar sources (Vega ISA 5.2).
const VCC: u32 = 106;
const EXEC: u32 = 126;
const ZERO: u32 = 128;
const LITERAL: u32 = 255;
const VECTOR: u32 = 256;
/// The value of SADDR that names no register.
const OFF: u32 = 0x7f;

/// Makes programs for a target.
#[derive(Clone, Debug)]
pub struct Generator {
    target: Target,
    random: SplitMix64,
}

/// The formats of straight-line code, and their frequencies in sixteenths.
const MIX: [(Format, u64); 14] = [
    (Format::Sop2, 1),
    (Format::Sop1, 1),
    (Format::Sopc, 1),
    (Format::Sopk, 1),
    (Format::Sopp, 1),
    (Format::Smem, 1),
    (Format::Vop2, 2),
    (Format::Vop1, 2),
    (Format::Vopc, 1),
    (Format::Vop3, 2),
    (Format::Vop3p, 1),
    (Format::Ds, 2),
    (Format::Global, 2),
    (Format::Mubuf, 2),
];
/// Formats that sometimes replace global memory.
const RARE: [Format; 2] = [Format::Flat, Format::Scratch];

/// The forms of a format that a target runs, except those that change the control flow.
fn forms(target: Target, format: Format) -> &'static [&'static Form] {
    static ALL: OnceLock<Vec<Vec<&'static Form>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let of = |(target, format): (Target, Format)| {
            let rows = Op::ALL.iter().map(|op| op.row());
            let rows = rows.filter(|row| row.format == format && is_straight(row.op, target));
            rows.flat_map(|row| row.forms()).filter(|form| form.targets.contains(target)).collect()
        };
        Target::GCN.into_iter().flat_map(|t| Format::ALL.iter().map(move |f| (t, *f))).map(of).collect()
    });
    &all[target.index() * Format::ALL.len() + format as usize]
}

/// Whether a wave always continues after the instruction.
fn is_straight(op: Op, target: Target) -> bool {
    let row = op.row();
    let leaves = [Flag::Jump, Flag::Branch, Flag::Endpgm].iter().any(|flag| row.has(*flag, target));
    let writes_pc = row.writes.iter().any(|state| state == State::Pc);
    row.fidelity(target) != Fidelity::Unsupported
        && !leaves
        && !writes_pc
        && (row.format != Format::Sopp
            || matches!(op, Op::SNop | Op::SWaitcnt | Op::SSleep | Op::SBarrier | Op::SIcacheInv))
}

impl Generator {
    /// A generator whose programs depend only on `seed`.
    #[must_use]
    pub fn new(target: Target, seed: u64) -> Self {
        Generator { target, random: SplitMix64::new(seed) }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A program without its end, of approximately this size in bytes.
    pub fn program(&mut self, bytes: usize) -> Vec<u8> {
        let mut code = Vec::new();
        while code.len() < bytes {
            self.item(&mut code, 0);
        }
        code
    }

    /// An instruction, a loop, or code that a condition skips.
    fn item(&mut self, code: &mut Vec<u8>, depth: u32) {
        match self.below(12) {
            0 if depth < DEEPEST => self.repeated(code, depth),
            1 if depth < DEEPEST => self.skipped(code, depth),
            _ => {
                let inst = self.instruction();
                code.extend_from_slice(&inst);
            }
        }
    }

    fn body(&mut self, depth: u32) -> Vec<u8> {
        let mut body = Vec::new();
        for _ in 0..1 + self.below(6) {
            self.item(&mut body, depth + 1);
        }
        body
    }

    /// A loop of one to four rounds that counts in its own SGPR.
    fn repeated(&mut self, code: &mut Vec<u8>, depth: u32) {
        let counter = COUNTERS + depth;
        let rounds = 1 + self.below(4) as u32;
        code.extend(self.fixed(Op::SMovkI32, &[(FieldId::Sdst, counter), (FieldId::Simm16, rounds)]));
        let start = code.len();
        let body = self.body(depth);
        code.extend(body);
        let minus_one = [(FieldId::Sdst, counter), (FieldId::Simm16, 0xffff)];
        code.extend(self.fixed(Op::SAddkI32, &minus_one));
        code.extend(self.fixed(Op::SCmpkLgI32, &[(FieldId::Sdst, counter), (FieldId::Simm16, 0)]));
        let back = (start as i64 - code.len() as i64) / 4 - 1;
        code.extend(self.fixed(Op::SCbranchScc1, &[(FieldId::Simm16, back as u16 as u32)]));
    }

    /// Code that a condition skips.
    fn skipped(&mut self, code: &mut Vec<u8>, depth: u32) {
        let conditions = [
            Op::SCbranchScc0,
            Op::SCbranchScc1,
            Op::SCbranchVccz,
            Op::SCbranchVccnz,
            Op::SCbranchExecz,
            Op::SCbranchExecnz,
            Op::SBranch,
        ];
        let op = conditions[self.below(conditions.len() as u64) as usize];
        let body = self.body(depth);
        code.extend(self.fixed(op, &[(FieldId::Simm16, body.len() as u32 / 4)]));
        code.extend(body);
    }

    /// An instruction with these fields.
    fn fixed(&self, op: Op, fields: &[(FieldId, u32)]) -> Vec<u8> {
        let form = op.row().forms().iter().find(|form| form.targets.contains(self.target));
        let form = form.expect("every target has it");
        let mut bits = form.value;
        for (id, value) in fields {
            let field = form.encoding.field(self.target, *id).expect("the encoding has the field");
            bits |= u128::from(*value) << field.lo;
        }
        bits.to_le_bytes()[..usize::from(form.encoding.bytes())].to_vec()
    }

    /// An instruction that the interpreter runs, with registers that exist.
    pub fn instruction(&mut self) -> Vec<u8> {
        loop {
            let all: u64 = MIX.iter().map(|(_, weight)| weight).sum();
            let mut pick = self.below(all);
            let mut format = Format::Vop2;
            for (one, weight) in MIX {
                if pick < weight {
                    format = one;
                    break;
                }
                pick -= weight;
            }
            if format == Format::Global && self.one_in(3) {
                format = RARE[self.below(RARE.len() as u64) as usize];
            }
            let forms = forms(self.target, format);
            if forms.is_empty() {
                continue;
            }
            let form = forms[self.below(forms.len() as u64) as usize];
            for _ in 0..16 {
                let bytes = self.fill(form).to_le_bytes();
                if let Some(size) = self.accepted(form, &bytes) {
                    return bytes[..size].to_vec();
                }
            }
        }
    }

    /// The size of the instance if programs may contain it.
    fn accepted(&self, form: &Form, bytes: &[u8; 16]) -> Option<usize> {
        let inst = decode(self.target, bytes).ok().filter(|inst| inst.form() == form)?;
        let reads = inst.reads();
        let there = |r: Registers| match r.file {
            RegisterFile::Vgpr => r.first < VGPRS && r.count <= VGPRS - r.first,
            RegisterFile::Agpr => r.first < ACCS && r.count <= ACCS - r.first,
            _ => true,
        };
        let kept = |r: Registers| match r.file {
            RegisterFile::Vgpr => r.first >= FREE_VGPRS,
            RegisterFile::Sgpr => r.first >= FREE_SGPRS,
            _ => true,
        };
        let writes = inst.writes();
        if !reads.iter().all(there) || !writes.iter().all(|r| there(r) && kept(r)) || inst.modifiers().gds {
            return None;
        }
        self.runs(&inst).then(|| inst.size())
    }

    /// Whether the instance has a meaning that the interpreter runs.
    fn runs(&self, inst: &Inst) -> bool {
        let (bytes, size) = inst.encode();
        let context = Context::new(self.target, MODE, false);
        let block = lift_instruction(&context, 0, &mut |pc, into| {
            let rest = bytes[..size].get(pc as usize..).unwrap_or_default();
            into[..rest.len()].copy_from_slice(rest);
            rest.len()
        });
        !matches!(block.terminator, Terminator::Fault(_) | Terminator::End | Terminator::Trap(_))
            && !operation_costs(&block, Tier::Portable).iter().any(|cost| cost.unsupported)
    }

    /// An instance of the form with random operands; it may be illegal.
    fn fill(&mut self, form: &Form) -> u128 {
        let mut bits = form.value;
        let safe = !self.one_in(16);
        // Modifiers are mostly omitted.
        let plain = self.one_in(2);
        let target = self.target;
        for field in form.encoding.fields().iter().filter(|field| field.targets.contains(target)) {
            let value = self.field(form, field.id, field.width, safe, plain);
            bits |= (u128::from(value) << field.lo) & field.mask() & !form.fixed & form.used;
        }
        // A literal, if the instruction has one.
        let literal = if self.one_in(2) { self.below(64) } else { self.random.next_u64() & 0xffff_ffff };
        let end = 8 * u32::from(form.encoding.bytes());
        if end < 96 { bits | u128::from(literal) << end } else { bits }
    }

    fn field(&mut self, form: &Form, id: FieldId, width: u8, safe: bool, plain: bool) -> u32 {
        let format = form.op.row().format;
        let top = if width >= 32 { u32::MAX } else { (1 << width) - 1 };
        let memory = matches!(
            format,
            Format::Ds | Format::Smem | Format::Mubuf | Format::Flat | Format::Global | Format::Scratch
        );
        match id {
            FieldId::Encoding | FieldId::Reserved | FieldId::Op => 0,
            // Addresses first, as the machine has set them up: v0 counts lanes, v1 is 4 times that,
            // v[2:3] is the address of eight bytes for each lane, s[0:1] is the address of the
            // buffer, s[2:3] of constants, s[4:7] describes the buffer.
            FieldId::Vaddr if safe && format == Format::Flat => 2,
            FieldId::Vaddr if safe && format == Format::Global => 2,
            FieldId::Saddr if safe && format == Format::Scratch => OFF,
            FieldId::Saddr if safe => OFF,
            FieldId::Addr | FieldId::Vaddr if safe => self.below(2) as u32,
            FieldId::Srsrc if safe => 1,
            FieldId::Sbase if safe && form.op.row().name().contains("buffer") => 2,
            FieldId::Sbase if safe => self.below(2) as u32,
            FieldId::Soffset if safe => ZERO + 4 * self.below(8) as u32,
            FieldId::Imm if safe => 1,
            FieldId::SoffsetEn | FieldId::Gds | FieldId::Tfe | FieldId::Lds if safe => 0,
            FieldId::Offset if safe && format == Format::Smem => 4 * self.below(16) as u32,
            FieldId::Offset if format == Format::Ds && form.op.row().flags().contains(Flag::Swizzle) => {
                self.below(1 << 16) as u32
            }
            FieldId::Offset if safe => self.below(64) as u32 & if self.one_in(4) { !0 } else { !7 },
            FieldId::Offset0 | FieldId::Offset1 if safe => self.below(16) as u32,
            FieldId::Glc | FieldId::Slc | FieldId::Scc | FieldId::Nv if memory => self.below(2) as u32,
            FieldId::Sdata | FieldId::Sdst => self.scalar_destination(),
            FieldId::Vdst | FieldId::Vdata | FieldId::Data0 | FieldId::Data1 | FieldId::Vsrc => self.vgpr(),
            FieldId::Src0 | FieldId::Src1 | FieldId::Src2 if width == 9 => self.source(),
            FieldId::Src0 | FieldId::Src1 if is_scalar(format) => self.scalar_source(),
            FieldId::Src0 | FieldId::Src1 => self.vgpr(),
            FieldId::OpSelHi | FieldId::OpSelHi2 if plain => top,
            FieldId::BankMask | FieldId::RowMask if self.one_in(2) => top,
            FieldId::DppCtrl => {
                let controls =
                    [0x00, 0x1b, 0xe4, 0x101, 0x111, 0x121, 0x130, 0x138, 0x140, 0x141, 0x142, 0x143];
                controls[self.below(controls.len() as u64) as usize]
            }
            FieldId::Src0Sel | FieldId::Src1Sel | FieldId::DstSel => self.below(7) as u32,
            FieldId::DstUnused => self.below(3) as u32,
            FieldId::Simm16 if form.op.row().format == Format::Sopp => self.below(4) as u32,
            FieldId::Literal | FieldId::Simm16 => self.random.next_u64() as u32 & top,
            _ if plain => 0,
            _ => self.random.next_u64() as u32 & top,
        }
    }

    fn vgpr(&mut self) -> u32 {
        let n = u32::from(FREE_VGPRS) + self.below(u64::from(VGPRS - FREE_VGPRS)) as u32;
        // Tuples must be even on some targets.
        if self.one_in(2) { n & !1 } else { n }
    }

    fn scalar_destination(&mut self) -> u32 {
        match self.below(16) {
            0 => EXEC,
            1 | 2 => VCC,
            _ => (u32::from(FREE_SGPRS) + self.below(40) as u32) & if self.one_in(4) { !0 } else { !3 },
        }
    }

    fn scalar_source(&mut self) -> u32 {
        match self.below(8) {
            0 => ZERO + self.below(81) as u32,
            1 => 240 + self.below(9) as u32,
            2 => LITERAL,
            3 => [VCC, EXEC, 124, 253][self.below(4) as usize],
            _ => self.below(64) as u32 & if self.one_in(4) { !0 } else { !1 },
        }
    }

    fn source(&mut self) -> u32 {
        if self.one_in(3) { self.scalar_source() } else { VECTOR + self.below(u64::from(VGPRS)) as u32 }
    }
}

/// Whether 8-bit sources of the format are scalar.
fn is_scalar(format: Format) -> bool {
    matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp)
}

/// The start offsets of a program's instructions. Bytes that do not decode count as four.
#[must_use]
pub fn boundaries(target: Target, code: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    while at < code.len() {
        starts.push(at);
        at += decode(target, &code[at..]).map_or(4, |inst| inst.size());
    }
    starts
}
