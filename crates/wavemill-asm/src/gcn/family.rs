//! The interface between GCN and CDNA and the assembler.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Encoding, Inst, Operand, decode};
use wavemill_object::{Processor, ProcessorInfo, SpecialSgprs, TargetId};

use super::parse::{Parser, register_but_for_case};
use super::tracker::Tracker;
use crate::diagnostic::Fail;
use crate::family::{
    AddressTracker, DecodeError, Family, Field, Instruction, InstructionParser, Meaning, Parsed,
};
use crate::instruction_set::InstructionSet;
use crate::syntax::{LineSyntax, Symbols};

/// GCN from Vega on, and CDNA.
#[derive(Debug)]
pub(crate) struct Gcn;

/// The distance to a label in dwords, counted from the end of a branch, which has one dword.
pub(super) const BRANCH: Field = Field { byte: 0, bits: 16, meaning: Meaning::Distance { unit: 4, bias: 4 } };
/// A number in the low half of the first dword.
pub(super) const HALF: Field = Field { byte: 0, bits: 16, meaning: Meaning::Number };

/// The literal dword, at this byte of the instruction.
pub(super) const fn literal(byte: u8) -> Field {
    Field { byte, bits: 32, meaning: Meaning::Data }
}

/// Comments begin with `;` or `//`.
static LINES: LineSyntax = LineSyntax::new(&[";", "//"]);

impl Family for Gcn {
    fn line_syntax(&self) -> &'static LineSyntax {
        &LINES
    }

    fn parser(&self, set: InstructionSet) -> Box<dyn InstructionParser> {
        Box::new(Parser::new(set))
    }

    fn register_counters(&self) -> [&'static str; 2] {
        [".amdgcn.next_free_vgpr", ".amdgcn.next_free_sgpr"]
    }

    fn processor_symbols(&self, id: &TargetId) -> Vec<(&'static str, i64)> {
        processor_symbols(id).to_vec()
    }

    fn is_predefined(&self, symbol: &str) -> bool {
        symbol.starts_with(".amdgcn.")
    }

    fn functions(&self) -> &'static [&'static str] {
        &["extrasgprs", "totalnumvgprs"]
    }

    /// AMDGPUUsage, "Assembler expressions". The compiler writes them where the needs of a kernel
    /// depend on the functions that it calls.
    fn call(&self, set: InstructionSet, name: &str, arguments: &[i64]) -> Result<i64, String> {
        match (name, arguments) {
            ("extrasgprs", &[vcc, flat_scratch, xnack_mask]) => {
                let special = SpecialSgprs {
                    vcc: vcc != 0,
                    flat_scratch: flat_scratch != 0,
                    xnack_mask: xnack_mask != 0,
                };
                Ok(special.count(&Processor::from_name(set.target().name())).into())
            }
            ("totalnumvgprs", [0, vgprs]) => Ok(*vgprs),
            // If one file holds both, the accumulation registers start at a multiple of four.
            ("totalnumvgprs", [agprs, vgprs]) if set.target().has_unified_vgprs() => {
                Ok((vgprs + 3) / 4 * 4 + agprs)
            }
            ("totalnumvgprs", [agprs, vgprs]) => Ok(*agprs.max(vgprs)),
            _ => {
                let count = if name == "extrasgprs" { 3 } else { 2 };
                Err(format!("`{name}` needs {count} numbers, found {}", arguments.len()))
            }
        }
    }

    fn local_memory(&self, set: InstructionSet) -> u32 {
        set.members().iter().map(Target::lds_bytes).min().unwrap_or(0)
    }

    fn decode(&self, target: Target, bytes: &[u8]) -> Result<Instruction, DecodeError> {
        decode(target, bytes).map(Instruction::Gcn).map_err(DecodeError::Gcn)
    }

    fn tracker(&self) -> Box<dyn AddressTracker> {
        Box::new(Tracker::default())
    }

    /// `s_nop 0`.
    fn filler(&self) -> u32 {
        0xBF80_0000
    }

    fn register_but_for_case(&self, symbol: &str) -> Option<String> {
        register_but_for_case(symbol)
    }
}

impl InstructionParser for Parser {
    fn parse(&mut self, text: &str, symbols: &dyn Symbols) -> Result<Parsed, Fail> {
        let mut parsed = Parser::parse(self, text, symbols)?;
        if let Some(fixup) = &mut parsed.fixup {
            // The constant of a multiply-add and of `s_setreg_imm32_b32` is part of the
            // instruction.
            fixup.fixed = fixup.field == HALF
                || matches!(parsed.inst.encoding(), Encoding::Vop2Literal | Encoding::SopkLiteral);
        }
        Ok(Parsed { inst: Instruction::Gcn(parsed.inst), fixup: parsed.fixup })
    }

    fn register_ends(&self) -> [u16; 2] {
        Parser::register_ends(self)
    }
}

/// The predefined symbols that describe the processor of a source, and their values (AMDGPUUsage,
/// "Code Object V3 and Above Predefined Symbols").
///
/// ```
/// let id = wavemill_object::TargetId::parse("gfx942").ok_or("no target")?;
/// assert_eq!(wavemill_asm::processor_symbols(&id)[1], (".amdgcn.gfx_generation_minor", 4));
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn processor_symbols(id: &TargetId) -> [(&'static str, i64); 3] {
    let (major, minor, stepping) = id.processor.info().and_then(ProcessorInfo::version).unwrap_or_default();
    [
        (".amdgcn.gfx_generation_number", major.into()),
        (".amdgcn.gfx_generation_minor", minor.into()),
        (".amdgcn.gfx_generation_stepping", stepping.into()),
    ]
}

/// The distance of a direct branch or call.
pub(crate) fn distance(inst: &Inst) -> Option<i16> {
    inst.operands().find_map(|(spec, operand)| match operand {
        Operand::Imm(distance) if spec.ty.elem == Elem::Branch => Some(distance as i16),
        _ => None,
    })
}
