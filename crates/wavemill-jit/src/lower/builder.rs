//! Builds strip code.

use iced_x86::Code;
use wavemill_ir::{Attrs, Inst, LaneMask, Operand, Round, SrcMods, SubDword};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use crate::emit::TEMPS;
use crate::lir::{Dst, Src, Step, Strip, Where, rounds};

/// The part of a dword that the modifiers of a source name, extended to a dword.
fn part_of(value: u32, mods: SrcMods) -> u32 {
    let (offset, width) = mods.sel.bits();
    let top = value << (32 - offset - width);
    if mods.sext { (top as i32 >> (32 - width)) as u32 } else { top >> (32 - width) }
}

/// Strip code in the making, with the operands of its operation.
pub(crate) struct Builder<'a> {
    pub inst: &'a Inst,
    counts: RegisterCounts,
    pub strip: Strip,
    /// The next value of the operation's own.
    next: u8,
}

impl<'a> Builder<'a> {
    /// `None` if the operation has operands or attributes that no strip code supports.
    pub(crate) fn new(inst: &'a Inst, counts: RegisterCounts) -> Option<Self> {
        let all_lanes = match inst.mask {
            LaneMask::Active => false,
            LaneMask::All => true,
            LaneMask::Given(_) => return None,
        };
        // Results in registers that the wave lacks are for the interpreter.
        let exists = |n: usize| match inst.dst[n] {
            Operand::Row(row) => counts.has(row, inst.result_dwords(n)),
            Operand::Uni(cell) => !(0..inst.result_dwords(n)).any(|k| counts.lacks(cell.plus(k))),
            Operand::None => true,
            Operand::Const(_) => false,
        };
        let strip = Strip { all_lanes, ..Strip::default() };
        (exists(0) && exists(1)).then_some(Builder { inst, counts, strip, next: 0 })
    }

    pub(crate) fn finish(self) -> Strip {
        self.strip
    }

    /// Whether the operation has no modifiers.
    pub(crate) fn is_plain(&self) -> bool {
        self.inst.attrs.is_plain()
    }

    /// Whether the operation has no modifiers but parts of its sources.
    pub(crate) fn has_parts_only(&self) -> bool {
        let whole = |mods: SrcMods| SrcMods { sel: SubDword::Dword, sext: false, ..mods };
        Attrs { src: self.inst.attrs.src.map(whole), ..self.inst.attrs }.is_plain()
    }

    /// The part of source `i`, of one dword, that the operation reads.
    pub(crate) fn part(&mut self, i: usize) -> Option<Src> {
        let value = self.src(i, 0)?;
        let mods = self.inst.attrs.src[i];
        let (offset, width) = mods.sel.bits();
        let (above, unused) = ((32 - offset - width) as u8, (32 - width) as u8);
        let down = match mods.sext {
            true => Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
            false => Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        };
        match value {
            _ if width == 32 => Some(value),
            Src::Const(value) => Some(Src::Const(part_of(value, mods))),
            _ if above == 0 => self.with_imm(down, value, unused),
            Src::Row(_) if offset == 0 && !mods.sext => {
                let code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
                self.binary(code, value, Src::Const((1 << width) - 1))
            }
            _ => {
                let top = self.with_imm(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, value, above)?;
                self.update(top, down, None, top, Some(unused), Where::Everywhere)?;
                Some(top)
            }
        }
    }

    /// Whether the operation has no modifiers but those of sources.
    pub(crate) fn has_source_modifiers_only(&self) -> bool {
        let attrs = self.inst.attrs;
        Attrs { src: Default::default(), ..attrs }.is_plain()
    }

    /// Dword `n` of source `i`.
    pub(crate) fn src(&self, i: usize, n: u16) -> Option<Src> {
        let dwords = self.inst.source_dwords(i);
        match self.inst.src[i] {
            Operand::Row(row) => {
                self.counts.has(row, dwords).then(|| Src::Row(self.counts.source_nth(row, n)))
            }
            // A cell that the wave lacks may be a result of the same instruction. Of pairs, some operations read each
            // cell by itself.
            Operand::Uni(cell) if (0..dwords).any(|n| self.counts.lacks(cell.plus(n))) => None,
            Operand::Uni(cell) => Some(Src::Cell(uni_offset(cell.plus(n)))),
            Operand::Const(_) => match self.inst.src[i].dword(n) {
                Operand::Const(value) => Some(Src::Const(value as u32)),
                _ => None,
            },
            Operand::None => None,
        }
    }

    /// The row of dword `n` of result `i`.
    pub(crate) fn dst(&self, i: usize, n: u16) -> Option<u32> {
        match self.inst.dst[i] {
            Operand::Row(row) => self.counts.offset(row.plus(n)),
            _ => None,
        }
    }

    /// The pair of cells of source `i`, a mask.
    pub(crate) fn mask_source(&self, i: usize) -> Option<u32> {
        match self.inst.src[i] {
            Operand::Uni(cell) if !self.counts.lacks(cell) => Some(uni_offset(cell)),
            _ => None,
        }
    }

    /// Result `i` is a mask of the operation's own; nothing if the operation has no such result.
    pub(crate) fn mask_result(&mut self, i: usize, mask: u8) -> Option<()> {
        self.strip.mask_result = match self.inst.dst[i] {
            Operand::Uni(cell) => Some((mask, uni_offset(cell))),
            Operand::None => None,
            Operand::Row(_) | Operand::Const(_) => return None,
        };
        Some(())
    }

    /// A constant source, or the part of it that the operation reads.
    pub(crate) fn constant(&self, i: usize) -> Option<u32> {
        match self.inst.src[i] {
            Operand::Const(value) => Some(part_of(value as u32, self.inst.attrs.src[i])),
            _ => None,
        }
    }

    /// Code for what the code so far refuses. It has values of its own.
    pub(crate) fn otherwise(&mut self, build: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let first = Strip { all_lanes: self.strip.all_lanes, round: self.strip.round, ..Strip::default() };
        let (first, next) = (std::mem::replace(&mut self.strip, first), std::mem::take(&mut self.next));
        let built = build(self);
        let second = std::mem::replace(&mut self.strip, first);
        self.next = next;
        built?;
        self.strip.otherwise = Some(Box::new(second));
        Some(())
    }

    /// Values of the operation's own so far are not needed any more.
    pub(crate) fn forget_values(&mut self) {
        self.next = 0;
    }

    fn temp(&mut self) -> Option<u8> {
        let n = self.next;
        self.next += 1;
        self.strip.temps = self.strip.temps.max(self.next);
        (usize::from(n) < TEMPS).then_some(n)
    }

    /// A value of the operation's own that is still to be computed.
    pub(crate) fn value(&mut self) -> Option<Src> {
        self.temp().map(Src::Temp)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.strip.steps.push(step);
    }

    /// The source in a vector register: a scalar is broadcast.
    pub(crate) fn reg(&mut self, src: Src) -> Option<Src> {
        match src {
            Src::Row(_) | Src::Temp(_) => Some(src),
            Src::Cell(_) | Src::Const(_) => self.unary(Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, src),
            Src::CellPair(_) | Src::ConstPair(_) => self.unary(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, src),
            Src::Quad(_) | Src::Below { .. } => self.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, src),
        }
    }

    /// The source in a register of the operation's own, which may be overwritten.
    pub(crate) fn own(&mut self, src: Src) -> Option<Src> {
        match src {
            Src::Temp(_) => Some(src),
            Src::Row(_) => self.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, src),
            other => self.reg(other),
        }
    }

    /// The first source of an instruction that has one, in a register.
    fn first(&mut self, a: Option<Src>) -> Option<Option<Src>> {
        a.map_or(Some(None), |a| self.reg(a).map(Some))
    }

    /// The second source of an instruction, in a register if the instruction has a rounding mode of its own.
    pub(crate) fn second(&mut self, code: Code, b: Src) -> Option<Src> {
        if self.strip.round != Round::NearestEven && rounds(code) { self.reg(b) } else { Some(b) }
    }

    /// A value of the operation's own: `code(b)`.
    pub(crate) fn unary(&mut self, code: Code, b: Src) -> Option<Src> {
        self.step(code, None, b, None)
    }

    /// A value of the operation's own: `code(a, b)`.
    pub(crate) fn binary(&mut self, code: Code, a: Src, b: Src) -> Option<Src> {
        self.step(code, Some(a), b, None)
    }

    /// A value of the operation's own: `code(b, imm)`.
    pub(crate) fn with_imm(&mut self, code: Code, b: Src, imm: u8) -> Option<Src> {
        self.step(code, None, b, Some(imm))
    }

    /// A value of the operation's own, in a register of its own.
    pub(crate) fn step(&mut self, code: Code, a: Option<Src>, b: Src, imm: Option<u8>) -> Option<Src> {
        let a = self.first(a)?;
        let b = self.second(code, b)?;
        let temp = self.temp()?;
        self.push(Step::Vector {
            code,
            dst: Dst::Temp(temp),
            a,
            b,
            imm,
            lanes: Where::Everywhere,
            round: None,
        });
        Some(Src::Temp(temp))
    }

    /// Overwrites a value of the operation's own.
    pub(crate) fn update(
        &mut self,
        value: Src,
        code: Code,
        a: Option<Src>,
        b: Src,
        imm: Option<u8>,
        lanes: Where,
    ) -> Option<()> {
        let Src::Temp(temp) = value else { return None };
        let a = self.first(a)?;
        let b = self.second(code, b)?;
        self.push(Step::Vector { code, dst: Dst::Temp(temp), a, b, imm, lanes, round: None });
        Some(())
    }

    /// The result in a row: `code(a, b)`.
    pub(crate) fn result(
        &mut self,
        row: u32,
        code: Code,
        a: Option<Src>,
        b: Src,
        imm: Option<u8>,
    ) -> Option<()> {
        let a = self.first(a)?;
        let b = self.second(code, b)?;
        self.push(Step::Vector {
            code,
            dst: Dst::Row(row),
            a,
            b,
            imm,
            lanes: Where::Everywhere,
            round: None,
        });
        Some(())
    }

    /// The result in a row: a copy.
    pub(crate) fn copy(&mut self, row: u32, b: Src) -> Option<()> {
        let code = match b {
            Src::Row(_) | Src::Temp(_) | Src::Quad(_) | Src::Below { .. } => {
                Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512
            }
            Src::Cell(_) | Src::Const(_) => Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
            Src::CellPair(_) | Src::ConstPair(_) => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
        };
        self.result(row, code, None, b, None)
    }

    /// Puts `code(a, b)` into all lanes of a value of the operation's own.
    pub(crate) fn put(&mut self, value: Src, code: Code, a: Src, b: Src) -> Option<()> {
        self.update(value, code, Some(a), b, None, Where::Everywhere)
    }

    /// Puts `code(a, b)` into a value of the operation's own, with a rounding mode of its own.
    pub(crate) fn put_rounded(
        &mut self,
        value: Src,
        code: Code,
        a: Option<Src>,
        b: Src,
        round: Round,
    ) -> Option<()> {
        let Src::Temp(temp) = value else { return None };
        let round = Some(round);
        let (dst, lanes) = (Dst::Temp(temp), Where::Everywhere);
        self.push(Step::Vector { code, dst, a, b, imm: None, lanes, round });
        Some(())
    }

    /// Puts `code(b)` into a value of the operation's own.
    pub(crate) fn put_unary(&mut self, value: Src, code: Code, b: Src) -> Option<()> {
        self.update(value, code, None, b, None, Where::Everywhere)
    }

    /// A mask of the operation's own: the lanes in which `code(a, b)` holds.
    pub(crate) fn test(
        &mut self,
        mask: u8,
        code: Code,
        a: Option<Src>,
        b: Src,
        imm: Option<u8>,
        lanes: Where,
    ) -> Option<()> {
        let a = self.first(a)?;
        self.push(Step::Vector { code, dst: Dst::Mask(mask), a, b, imm, lanes, round: None });
        Some(())
    }

    /// Negates a mask of the operation's own.
    pub(crate) fn negate(&mut self, mask: u8) {
        self.push(Step::Mask { code: Code::VEX_Knotw_kr_kr, dst: mask, a: mask, b: mask });
    }

    /// A mask of the operation's own: a comparison of dwords.
    pub(crate) fn compare(
        &mut self,
        mask: u8,
        code: Code,
        a: Src,
        b: Src,
        predicate: u8,
        lanes: Where,
    ) -> Option<()> {
        self.test(mask, code, Some(a), b, Some(predicate), lanes)
    }
}
