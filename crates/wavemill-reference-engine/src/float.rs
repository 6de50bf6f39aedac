//! Float operations, comparisons and conversions.

use wavemill_float::{
    Exceptions, MixSource, apply_output, class, compare, convert_function, div_fmas, div_scale,
    float_function, fma_mix_f16, fma_mix_f32, watched,
};
use wavemill_ir::{CmpPred, CvtOp, FloatOp, FloatType, Inst, LANES, SrcMods, SubDword};
use wavemill_machine::{FaultCause, RaisedLane};

use crate::state::{State, lanes_of};

/// Whether there is a reference for the operation.
pub(crate) fn is_known(op: FloatOp, ty: FloatType) -> bool {
    match op {
        FloatOp::FmaMix => true,
        FloatOp::DivScale | FloatOp::DivFmas => matches!(ty, FloatType::F32 | FloatType::F64),
        _ => float_function(op, ty).is_some(),
    }
}

/// A source of a mixed-precision operation: an f32, or one half of a cell.
fn mixed(value: u64, mods: SrcMods, keeps_denormals: bool) -> MixSource {
    let abs = mods.abs || mods.neg_hi;
    if mods.hi_sel {
        let mut half = (if mods.sel == SubDword::Word1 { value >> 16 } else { value }) as u16;
        half &= if abs { 0x7fff } else { 0xffff };
        half ^= u16::from(mods.neg) << 15;
        MixSource::half(half, keeps_denormals)
    } else {
        let mut word = value as u32;
        word &= if abs { 0x7fff_ffff } else { 0xffff_ffff };
        MixSource::F32(word ^ u32::from(mods.neg) << 31)
    }
}

/// Result of an operation in a lane, and the lane's bit of the mask result.
fn value(inst: &Inst, op: FloatOp, ty: FloatType, s: [u64; 3], bit: bool) -> (u64, bool) {
    let env = inst.attrs.fp;
    match op {
        FloatOp::FmaMix => {
            let s = [0, 1, 2].map(|n| mixed(s[n], inst.attrs.src[n], inst.attrs.imm == 0));
            let value = match ty {
                FloatType::F16 => u64::from(fma_mix_f16(s, env)),
                _ => u64::from(fma_mix_f32(s, env)),
            };
            (value, false)
        }
        FloatOp::DivScale => div_scale(ty, s[0], s[1], s[2], env).unwrap_or_default(),
        FloatOp::DivFmas => (div_fmas(ty, s, bit, env).unwrap_or_default(), false),
        _ => (float_function(op, ty).map_or(0, |function| function(s, env)), false),
    }
}

impl State<'_> {
    /// Adds the exceptions of each lane to the cell that collects them.
    ///
    /// # Errors
    /// The fault of the operation if it traps on one of them.
    pub(crate) fn collect(&mut self, inst: &Inst, lanes: &[RaisedLane]) -> Result<(), FaultCause> {
        let enabled = u32::from(inst.attrs.traps);
        let trapping = lanes.iter().filter(|lane| lane.raised & enabled != 0).copied().collect::<Vec<_>>();
        if !trapping.is_empty() {
            return Err(FaultCause::Exceptions { enabled, lanes: trapping });
        }
        let raised = lanes.iter().fold(0, |all, lane| all | lane.raised);
        if let Some(cell) = self.exceptions
            && !self.regs.counts().lacks(cell)
        {
            self.regs.set_uni(cell, self.regs.uni(cell) | raised);
        }
        Ok(())
    }

    /// A float operation.
    pub(crate) fn float(&mut self, inst: &Inst, op: FloatOp, ty: FloatType) -> Result<(), FaultCause> {
        let scaled = self.pair(inst.src[3]);
        let result = |lane: usize, s| value(inst, op, ty, s, scaled >> lane & 1 != 0);
        self.float_lanes(inst, result, |raised| raised)
    }

    /// A conversion.
    pub(crate) fn convert(&mut self, inst: &Inst, op: CvtOp) -> Result<(), FaultCause> {
        let function = convert_function(op);
        let is_float = inst.op.signature().results[0].float_type().is_some() || op == CvtOp::PkBf16F32;
        let inexact_counts = is_float || inst.attrs.imm != 0;
        let keep =
            |raised: Exceptions| if inexact_counts { raised } else { raised.without(Exceptions::INEXACT) };
        self.float_lanes(inst, |_, s| (function(s, inst.attrs.fp), false), keep)
    }

    /// Computes lanes, collects the exceptions of those that count, and writes results with output
    /// modifiers.
    fn float_lanes(
        &mut self,
        inst: &Inst,
        result: impl Fn(usize, [u64; 3]) -> (u64, bool),
        keep: impl Fn(Exceptions) -> Exceptions,
    ) -> Result<(), FaultCause> {
        let sources = self.sources(inst);
        let (mut values, mut bits, mut all) = ([0; LANES], 0, Vec::new());
        let output = inst.op.signature().results[0].float_type();
        let attrs = &inst.attrs;
        for lane in lanes_of(sources.mask) {
            // An output modifier is one more rounding step, with exceptions of its own.
            let ((value, bit), raised) = watched(|| {
                let (value, bit) = result(lane, sources.low(lane));
                match output {
                    Some(ty) => (apply_output(ty, value, attrs.omod, attrs.clamp, attrs.fp), bit),
                    None => (value, bit),
                }
            });
            values[lane] = value.into();
            bits |= u64::from(bit) << lane;
            all.push(RaisedLane { lane: lane as u8, raised: keep(raised).bits() });
        }
        self.collect(inst, &all)?;
        self.write(inst, &values, sources.mask);
        self.set_pair(inst.dst[1], bits);
        Ok(())
    }

    /// A comparison into a mask.
    pub(crate) fn float_cmp(&mut self, inst: &Inst, pred: CmpPred, ty: FloatType) -> Result<(), FaultCause> {
        let sources = self.sources(inst);
        let (mut bits, mut all) = (0, Vec::new());
        let env = inst.attrs.fp;
        for lane in lanes_of(sources.mask) {
            let [a, b, _] = sources.low(lane);
            let (holds, mut raised) = watched(|| compare(pred, ty, a, b, env));
            bits |= u64::from(holds) << lane;
            if inst.attrs.imm != 0 && compare(CmpPred::Unordered, ty, a, b, env) {
                raised |= Exceptions::INVALID;
            }
            all.push(RaisedLane { lane: lane as u8, raised: raised.bits() });
        }
        self.collect(inst, &all)?;
        self.set_pair(inst.dst[0], bits);
        Ok(())
    }

    /// A comparison that selects a value.
    pub(crate) fn float_select(
        &mut self,
        inst: &Inst,
        pred: CmpPred,
        ty: FloatType,
    ) -> Result<(), FaultCause> {
        let second = self.wide(inst, 3);
        let result = |lane: usize, [a, b, first]: [u64; 3]| {
            let holds = compare(pred, ty, a, b, inst.attrs.fp);
            (if holds { first } else { second[lane] as u64 }, holds)
        };
        self.float_lanes(inst, result, |raised| raised)
    }

    /// A test of classes, with a mask as its result.
    pub(crate) fn float_class(&mut self, inst: &Inst, ty: FloatType) {
        let sources = self.sources(inst);
        let is = |lane: &usize| {
            let [value, classes, _] = sources.low(*lane);
            class(ty, value, classes as u32)
        };
        let bits = lanes_of(sources.mask).filter(is).fold(0, |bits, lane| bits | 1 << lane);
        self.set_pair(inst.dst[0], bits);
    }
}
