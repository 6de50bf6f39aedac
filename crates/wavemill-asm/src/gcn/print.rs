//! The printer: one instruction as text, in LLVM's syntax.
//!
//! The text equals the output of `llvm-mc -disassemble` and `llvm-objdump`, letter for letter. It
//! follows from the row (operands in their order, mnemonic per target) and the encoding (which
//! modifiers exist). No code here knows an instruction by name.

use std::fmt::{self, Write};

use wavemill_isa::gcn::{
    Elem, Encoding, FieldId, Flag, Format, Inst, Modifiers, Operand, OperandSpec, Role, Row,
};
use wavemill_isa::{CacheWords, Target};

use super::line::{Line, Short};
use super::mnemonic::Suffix;
use super::number::{self, reading};
use super::{has_sign, special};

/// Names for branch targets.
///
/// Closures implement it. The plain printer uses `()`, which has no names.
pub trait BranchNames {
    /// Writes the name of the address `distance` dwords after the end of the instruction and
    /// returns true. Or writes nothing and returns false; the distance is then written as a number.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_name(&self, out: &mut dyn Write, distance: i16) -> Result<bool, fmt::Error>;
}

impl BranchNames for () {
    fn write_name(&self, _out: &mut dyn Write, _distance: i16) -> Result<bool, fmt::Error> {
        Ok(false)
    }
}

impl<F: Fn(&mut dyn Write, i16) -> Result<bool, fmt::Error>> BranchNames for F {
    fn write_name(&self, out: &mut dyn Write, distance: i16) -> Result<bool, fmt::Error> {
        self(out, distance)
    }
}

/// Writes `inst` as LLVM prints it: `v_add_f32_e32 v1, s2, v3`. No newline, no leading blank.
///
/// # Errors
/// The errors of `out`; writing to a `String` does not fail.
pub fn print(out: &mut impl Write, inst: &Inst) -> fmt::Result {
    print_with(out, inst, &())
}

/// Writes `inst` as [`print()`] does, with names for branch targets.
///
/// # Errors
/// The errors of `out` and of `names`.
pub fn print_with(out: &mut impl Write, inst: &Inst, names: &dyn BranchNames) -> fmt::Result {
    let mut line = Line::new(out);
    Printer::new(&mut line, inst, names).print()?;
    line.flush()
}

/// An operand of `inst` as text, without the effect of modifiers.
pub(super) fn operand_text(inst: &Inst, spec: &OperandSpec, operand: Operand) -> String {
    let mut text = String::new();
    let mut line = Line::new(&mut text);
    // Writing to a String cannot fail.
    let _ = Printer::new(&mut line, inst, &()).value(spec, operand).and_then(|()| line.flush());
    text
}

const BLANK: Short = Short::new(" ");
const COMMA: Short = Short::new(", ");

struct Printer<'a, 'w> {
    out: &'a mut Line<'w>,
    inst: &'a Inst,
    row: &'static Row,
    target: Target,
    encoding: Encoding,
    modifiers: Modifiers,
    names: &'a dyn BranchNames,
}

impl<'a, 'w> Printer<'a, 'w> {
    fn new(out: &'a mut Line<'w>, inst: &'a Inst, names: &'a dyn BranchNames) -> Self {
        Printer {
            out,
            inst,
            row: inst.row(),
            target: inst.target(),
            encoding: inst.encoding(),
            modifiers: inst.modifiers(),
            names,
        }
    }

    fn print(mut self) -> fmt::Result {
        self.out.text(self.row.mnemonic(self.target))?;
        let mut separator = BLANK;
        let inst = self.inst;
        for (index, (spec, operand)) in inst.operands().enumerate() {
            if index == 0 {
                let suffix = Suffix::written(self.row, self.target, self.encoding);
                self.out.short(suffix.map_or(Short::EMPTY, Suffix::short))?;
            }
            // `s_endpgm 0` is written `s_endpgm`.
            if operand == Operand::Imm(0) && self.has(Flag::Endpgm) {
                continue;
            }
            self.out.short(separator)?;
            self.operand(spec, operand)?;
            separator = if spec.ty.elem == Elem::ExpTgt { BLANK } else { COMMA };
        }
        self.suffix_modifiers()
    }

    fn has(&self, flag: Flag) -> bool {
        self.row.has(flag, self.target)
    }

    fn operand(&mut self, spec: &OperandSpec, operand: Operand) -> fmt::Result {
        match (spec.role.source(), spec.role) {
            (Some(source), _) => self.source(spec, operand, source),
            (_, Role::Vsrc0 | Role::Vsrc1 | Role::Vsrc2 | Role::Vsrc3) => self.exported(spec.role, operand),
            _ => self.value(spec, operand),
        }
    }

    /// A source of a vector instruction, with its modifiers.
    fn source(&mut self, spec: &OperandSpec, operand: Operand, source: u8) -> fmt::Result {
        // In packed forms the bits apply to halves, and are written after the operands.
        let packed = matches!(self.encoding, Encoding::Vop3p | Encoding::Mai | Encoding::MaiScaled);
        let inline = !packed || self.has(Flag::Mix);
        let bit = |bits: u8| inline && bits >> source & 1 != 0;
        let sign = has_sign(spec, self.modifiers.sdwa.is_some());
        let (neg, abs, sext) =
            (sign && bit(self.modifiers.neg), sign && bit(self.modifiers.abs), bit(self.modifiers.sext));
        // `neg(1)` differs from the inline constant -1.
        let constant = matches!(operand, Operand::Int(_) | Operand::Float(_) | Operand::Literal(_));
        const BAR: Short = Short::new("|");
        const CLOSE: Short = Short::new(")");
        let (before, after) = match (neg, abs, sext) {
            (_, _, true) => (const { Short::new("sext(") }, CLOSE),
            (true, true, _) => (const { Short::new("-|") }, BAR),
            (true, false, _) if constant => (const { Short::new("neg(") }, CLOSE),
            (true, false, _) => (const { Short::new("-") }, Short::EMPTY),
            (false, true, _) => (BAR, BAR),
            _ => (Short::EMPTY, Short::EMPTY),
        };
        self.out.short(before)?;
        self.value(spec, operand)?;
        self.out.short(after)
    }

    /// A value of an export: `off` if its component is not enabled; compressed exports have two per register.
    fn exported(&mut self, role: Role, operand: Operand) -> fmt::Result {
        let Some(export) = self.modifiers.export else { return Ok(()) };
        let (index, half) = match role {
            Role::Vsrc0 => (0, Role::Vsrc0),
            Role::Vsrc1 => (1, Role::Vsrc0),
            Role::Vsrc2 => (2, Role::Vsrc1),
            _ => (3, Role::Vsrc1),
        };
        if export.en >> index & 1 == 0 {
            return self.out.text("off");
        }
        let operand = if export.compr { self.inst.operand(half).unwrap_or(operand) } else { operand };
        self.register(operand)
    }

    fn value(&mut self, spec: &OperandSpec, operand: Operand) -> fmt::Result {
        match operand {
            Operand::Int(value) => self.out.signed_decimal(value.into()),
            Operand::Float(float) => number::inline_float(self.out, float, reading(self.row, spec)),
            Operand::Literal(value) if spec.role == Role::Literal => match self.encoding {
                // The value to write is an ordinary immediate; the constants of multiply-adds are bit patterns.
                Encoding::SopkLiteral => number::immediate(self.out, value),
                _ => self.out.hexadecimal(value),
            },
            Operand::Literal(value) => number::literal(self.out, value, reading(self.row, spec)),
            Operand::Imm(value) => self.immediate(spec, value),
            Operand::Attr { attr, chan } => {
                let channel = ["x", "y", "z", "w"][usize::from(chan & 3)];
                write!(self.out, "attr{attr}.{channel}")
            }
            _ => self.register(operand),
        }
    }

    fn register(&mut self, operand: Operand) -> fmt::Result {
        let (name, first, dwords) = match operand {
            Operand::Sgpr { first, dwords } => (const { Short::new("s") }, first, dwords),
            Operand::Ttmp { first, dwords } => (const { Short::new("ttmp") }, first, dwords),
            Operand::Vgpr { first, dwords } => (const { Short::new("v") }, first, dwords),
            Operand::Agpr { first, dwords } => (const { Short::new("a") }, first, dwords),
            Operand::Special { reg, dwords } => {
                let pair = if dwords == 2 { reg.pair_name() } else { None };
                return self.out.text(pair.unwrap_or(reg.name()));
            }
            Operand::Off => return self.out.text("off"),
            // Constants are not registers; `value` has written them.
            _ => return Ok(()),
        };
        let first = u32::from(first);
        self.out.short(name)?;
        if dwords == 1 {
            return self.out.decimal(first);
        }
        self.out.short(const { Short::new("[") })?;
        self.out.decimal(first)?;
        self.out.text(":")?;
        self.out.decimal(first + u32::from(dwords).saturating_sub(1))?;
        self.out.text("]")
    }

    fn immediate(&mut self, spec: &OperandSpec, value: i32) -> fmt::Result {
        let half = value as u16;
        match spec.ty.elem {
            // The constants of SOPK are data and always hexadecimal.
            Elem::Simm16 | Elem::Uimm16 if self.row.format == Format::Sopk => {
                self.out.hexadecimal(half.into())
            }
            Elem::Uimm16 if self.has(Flag::Endpgm) => self.out.decimal(half.into()),
            Elem::Soffset => number::signed_hex(self.out, value),
            Elem::Branch => match self.names.write_name(self.out, value as i16)? {
                true => Ok(()),
                false => self.out.decimal(half.into()),
            },
            Elem::Waitcnt => special::wait_counts(self.out, half),
            Elem::Hwreg => special::hardware_register(self.out, half, self.target),
            Elem::Sendmsg => special::message(self.out, half),
            Elem::GprIdx => special::index_mode(self.out, value as u32),
            Elem::ExpTgt => special::export_target(self.out, value as u32),
            Elem::InterpSlot => special::interpolation_slot(self.out, value as u32),
            _ => number::immediate(self.out, value as u32),
        }
    }

    /// Writes ` name` if the bit is set.
    fn bit(&mut self, bit: bool, name: &str) -> fmt::Result {
        if !bit {
            return Ok(());
        }
        self.out.text(" ")?;
        self.out.text(name)
    }

    /// Writes ` name:value` in decimal if the value is not 0.
    fn count(&mut self, value: impl Into<i32>, name: &str) -> fmt::Result {
        match value.into() {
            0 => Ok(()),
            value => {
                self.out.text(" ")?;
                self.out.text(name)?;
                self.out.text(":")?;
                self.out.signed_decimal(value)
            }
        }
    }

    /// Writes ` name:value`.
    fn word(&mut self, name: &str, value: &str) -> fmt::Result {
        self.out.text(" ")?;
        self.out.text(name)?;
        self.out.text(":")?;
        self.out.text(value)
    }

    /// Writes ` name:[1,0,...]`, `count` bits from the lowest up, unless all equal the bits of `default`.
    fn bits(&mut self, name: &str, bits: u8, count: u32, default: u8) -> fmt::Result {
        let all = ((1u32 << count) - 1) as u8;
        if bits & all == default & all {
            return Ok(());
        }
        self.out.text(" ")?;
        self.out.text(name)?;
        self.out.text(":[")?;
        for bit in 0..count {
            self.out.text(if bit == 0 { "" } else { "," })?;
            self.out.text(if bits >> bit & 1 == 0 { "0" } else { "1" })?;
        }
        self.out.text("]")
    }

    fn suffix_modifiers(&mut self) -> fmt::Result {
        match self.encoding {
            Encoding::Vop3a | Encoding::Vop3b | Encoding::Vop3Interp => self.long_vector_modifiers(),
            Encoding::Vop3p => self.packed_modifiers(),
            Encoding::Mai | Encoding::MaiScaled => self.matrix_modifiers(),
            Encoding::Vop2Sdwa | Encoding::Vop1Sdwa | Encoding::VopcSdwa => self.sdwa_modifiers(),
            Encoding::Vop2Dpp | Encoding::Vop1Dpp => self.dpp_modifiers(),
            Encoding::Smem => self.scalar_memory_modifiers(),
            Encoding::Ds => self.lds_modifiers(),
            Encoding::Mubuf | Encoding::Mtbuf => self.buffer_modifiers(),
            Encoding::Flat => {
                self.count(self.modifiers.offset, "offset")?;
                self.cache_policy()?;
                self.bit(self.modifiers.lds, "lds")
            }
            Encoding::Mimg => self.image_modifiers(),
            Encoding::Exp => self.export_modifiers(),
            _ => Ok(()),
        }
    }

    /// How many of SRC0, SRC1 and SRC2 the row has.
    fn sources(&self) -> u32 {
        let is_source = |spec: &&OperandSpec| matches!(spec.role, Role::Src0 | Role::Src1 | Role::Src2);
        self.row.operands.iter().filter(is_source).count() as u32
    }

    fn result_modifiers(&mut self) -> fmt::Result {
        self.bit(self.modifiers.clamp, "clamp")?;
        self.out.text(["", " mul:2", " mul:4", " div:2"][usize::from(self.modifiers.omod & 3)])
    }

    fn long_vector_modifiers(&mut self) -> fmt::Result {
        self.bit(self.modifiers.high, "high")?;
        if self.has(Flag::Bitop3) && self.modifiers.bitop3 != 0 {
            // LLVM writes the first eleven tables in decimal.
            match self.modifiers.bitop3 {
                table @ 0..=10 => write!(self.out, " bitop3:{table}")?,
                table => write!(self.out, " bitop3:{table:#x}")?,
            }
        }
        if self.encoding == Encoding::Vop3Interp {
            self.result_modifiers()?;
            return self.half_selects();
        }
        self.half_selects()?;
        if self.has(Flag::Dppctl) {
            self.bit(self.modifiers.op_sel & 2 != 0, "bound_ctrl:1")?;
            self.bit(self.modifiers.op_sel & 1 != 0, "fi:1")?;
        }
        self.result_modifiers()
    }

    /// ` op_sel:[...]` of VOP3: the destination's bit comes last, after the bits of the sources.
    fn half_selects(&mut self) -> fmt::Result {
        if !self.has(Flag::Opsel) {
            return Ok(());
        }
        // Conversions into a byte of their destination use the bit of a third source that they do
        // not have. So the free bits of the form determine how many there are.
        let form = self.inst.form();
        let free = match self.encoding.field(self.target, FieldId::OpSel) {
            Some(field) => ((form.used & !form.fixed & field.mask()) >> field.lo) as u8,
            None => 0,
        };
        let sources = (free & 7).checked_ilog2().map_or(0, |last| last + 1);
        let selects = self.modifiers.op_sel & free;
        let bits = selects & ((1 << sources) - 1) | (selects >> 3 & 1) << sources;
        self.bits("op_sel", bits, sources + 1, 0)
    }

    fn packed_modifiers(&mut self) -> fmt::Result {
        let sources = self.sources();
        let mixed = self.has(Flag::Mix);
        // Moves to and from accumulation VGPRs have none of these modifiers, whatever the words
        // hold.
        let plain = self.has(Flag::Acc);
        if !plain && !self.has(Flag::Noopsel) {
            self.bits("op_sel", self.modifiers.op_sel, sources, 0)?;
            self.bits("op_sel_hi", self.modifiers.op_sel_hi, sources, if mixed { 0 } else { 7 })?;
        }
        // The scale loads have no result, and no source that could be negated.
        if !plain && !mixed && self.row.operand(Role::Vdst).is_some() {
            self.bits("neg_lo", self.modifiers.neg, sources, 0)?;
            self.bits("neg_hi", self.modifiers.neg_hi, sources, 0)?;
        }
        self.bit(self.modifiers.clamp && !plain, "clamp")
    }

    fn matrix_modifiers(&mut self) -> fmt::Result {
        let scaled = self.encoding == Encoding::MaiScaled;
        if scaled {
            // Written as half selections with a third that does not exist: the bytes of the scale
            // registers.
            self.bits("op_sel", self.modifiers.op_sel, 3, 0)?;
            self.bits("op_sel_hi", self.modifiers.op_sel_hi, 3, 7)?;
        }
        self.count(self.modifiers.cbsz, "cbsz")?;
        self.count(if scaled { 0 } else { self.modifiers.abid }, "abid")?;
        let doubles = self.row.operand(Role::Src0).is_some_and(|spec| spec.ty.elem == Elem::F64);
        if doubles && self.target.facts().blgp_negates_doubles {
            return self.bits("neg", self.modifiers.blgp, 3, 0);
        }
        self.count(self.modifiers.blgp, "blgp")
    }

    fn sdwa_modifiers(&mut self) -> fmt::Result {
        let Some(sdwa) = self.modifiers.sdwa else { return Ok(()) };
        self.result_modifiers()?;
        let selects = self.encoding != Encoding::VopcSdwa && !self.has(Flag::SdwaNodst);
        if selects && self.row.operand(Role::Vdst).is_some() {
            self.word("dst_sel", sdwa.dst_sel.name())?;
            self.word("dst_unused", sdwa.dst_unused.name())?;
        }
        if self.row.operand(Role::Src0).is_some() {
            self.word("src0_sel", sdwa.src0_sel.name())?;
        }
        if self.row.operand(Role::Src1).is_some() {
            self.word("src1_sel", sdwa.src1_sel.name())?;
        }
        Ok(())
    }

    fn dpp_modifiers(&mut self) -> fmt::Result {
        let Some(dpp) = self.modifiers.dpp else { return Ok(()) };
        self.out.text(" ")?;
        special::dpp_control(self.out, dpp.ctrl, self.target)?;
        self.out.text(" row_mask:")?;
        self.out.hexadecimal(dpp.row_mask.into())?;
        self.out.text(" bank_mask:")?;
        self.out.hexadecimal(dpp.bank_mask.into())?;
        self.bit(dpp.bound_ctrl, "bound_ctrl:1")
    }

    /// GLC, SLC and SCC, with the names that the target uses. The scalar cache keeps the old name.
    fn cache_policy(&mut self) -> fmt::Result {
        let scopes = self.target.facts().cache_words == CacheWords::Scope;
        self.bit(self.modifiers.glc, if scopes { "sc0" } else { "glc" })?;
        self.bit(self.modifiers.slc, if scopes { "nt" } else { "slc" })?;
        self.bit(self.modifiers.scc, if scopes { "sc1" } else { "scc" })
    }

    fn scalar_memory_modifiers(&mut self) -> fmt::Result {
        let has_register = !matches!(self.inst.operand(Role::Offset), Some(Operand::Imm(_)) | None);
        if has_register && self.inst.field(FieldId::Imm) == Some(1) {
            self.out.text(" offset:")?;
            number::signed_hex(self.out, self.modifiers.offset)?;
        }
        match self.row.memory.is_empty() {
            true => Ok(()),
            false => self.bit(self.modifiers.glc, "glc"),
        }
    }

    fn lds_modifiers(&mut self) -> fmt::Result {
        if self.has(Flag::TwoOffsets) {
            self.count(self.modifiers.offset, "offset0")?;
            self.count(self.modifiers.offset1, "offset1")?;
        } else if self.has(Flag::Swizzle) {
            special::swizzle(self.out, self.modifiers.offset as u16)?;
        } else {
            self.count(self.modifiers.offset, "offset")?;
        }
        // LLVM omits the GDS bit where the target has no such memory, unless the instruction needs
        // it.
        let shown = self.has(Flag::GdsOnly) || self.target.facts().gds;
        self.bit(self.modifiers.gds && shown, "gds")
    }

    fn buffer_modifiers(&mut self) -> fmt::Result {
        if self.has(Flag::Fence) {
            // Since CDNA 3, cache instructions have a scope. Before, and otherwise, the bits have
            // no effect.
            if self.target.facts().cache_words == CacheWords::Scope {
                self.bit(self.modifiers.glc, "sc0")?;
                self.bit(self.modifiers.scc, "sc1")?;
            }
            return Ok(());
        }
        if self.encoding == Encoding::Mtbuf {
            special::buffer_format(self.out, self.modifiers.dfmt, self.modifiers.nfmt)?;
        }
        self.bit(self.modifiers.idxen, "idxen")?;
        self.bit(self.modifiers.offen, "offen")?;
        self.count(self.modifiers.offset, "offset")?;
        // Where the bit is part of the instruction, LLVM writes it first.
        let always_lds = self.always_set(FieldId::Lds);
        self.bit(self.modifiers.lds && always_lds, "lds")?;
        self.cache_policy()?;
        self.bit(self.modifiers.tfe, "tfe")?;
        self.bit(self.modifiers.lds && !always_lds, "lds")
    }

    /// Whether a one-bit field must be 1 in this form of the instruction.
    fn always_set(&self, id: FieldId) -> bool {
        let form = self.inst.form();
        self.encoding.field(self.target, id).is_some_and(|field| form.fixed & form.value & field.mask() != 0)
    }

    fn image_modifiers(&mut self) -> fmt::Result {
        match self.modifiers.dmask {
            0 => {}
            channels => write!(self.out, " dmask:{channels:#x}")?,
        }
        self.bit(self.modifiers.unorm, "unorm")?;
        self.cache_policy()?;
        self.bit(self.modifiers.a16, "a16")?;
        self.bit(self.modifiers.tfe, "tfe")?;
        self.bit(self.modifiers.lwe, "lwe")?;
        self.bit(self.modifiers.da, "da")?;
        self.bit(self.modifiers.d16, "d16")
    }

    fn export_modifiers(&mut self) -> fmt::Result {
        let Some(export) = self.modifiers.export else { return Ok(()) };
        self.bit(export.done, "done")?;
        self.bit(export.compr, "compr")?;
        self.bit(export.vm, "vm")
    }
}
