//! Machine code with branches, for programs that generate it.

use super::builder::{BuildError, InstBuilder};
use super::inst::Inst;
use super::operand::Operand;
use super::row::Op;
use super::vocabulary::Elem;
use crate::target::Target;
use core::fmt;

/// A position in the code of the [`CodeBuilder`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// Why code cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeError {
    /// An instruction is for a different target than the code.
    Target {
        /// The target of the code.
        expected: Target,
        /// The target of the instruction.
        found: Target,
    },
    /// An instruction has no branch distance operand.
    NoBranch(Op),
    /// An instruction cannot be built.
    Build(BuildError),
    /// A label belongs to other code, or was already placed.
    Label(Label),
    /// A branch names a label that was never placed.
    NotPlaced {
        /// The label.
        label: Label,
        /// Byte offset of the branch.
        offset: usize,
    },
    /// The distance does not fit: a branch reaches 32768 dwords back and 32767 forward, from its
    /// own end.
    TooFar {
        /// Byte offset of the branch.
        offset: usize,
        /// The distance that it needs, in dwords.
        distance: i64,
    },
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeError::Target { expected, found } => {
                write!(f, "the code is for {expected}, the instruction for {found}")
            }
            CodeError::NoBranch(op) => write!(f, "{op} does not branch to a label"),
            CodeError::Build(error) => error.fmt(f),
            CodeError::Label(_) => f.write_str("the label belongs to other code or has an address already"),
            CodeError::NotPlaced { offset, .. } => {
                write!(f, "the branch at {offset:#x} goes to a label that was never placed")
            }
            CodeError::TooFar { offset, distance } => {
                write!(f, "the branch at {offset:#x} would go {distance} dwords; it reaches -32768 to 32767")
            }
        }
    }
}

impl core::error::Error for CodeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            CodeError::Build(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for CodeError {
    fn from(error: BuildError) -> CodeError {
        CodeError::Build(error)
    }
}

/// A branch whose distance is not known yet.
#[derive(Clone, Copy, Debug)]
struct Branch {
    offset: usize,
    inst: InstBuilder,
    label: Label,
}

/// Collects instructions in order and fills in branch distances.
///
/// ```
/// use wavemill_isa::Target;
/// use wavemill_isa::gcn::{CodeBuilder, Encoding, Inst, Op, Operand, Role};
///
/// let target = Target::Gfx942;
/// let s0 = Operand::Sgpr { first: 0, dwords: 1 };
/// let mut code = CodeBuilder::new(target);
/// // for (s0 = 10; s0 != 0; s0 -= 1) {}
/// let ten = Inst::build(target, Op::SMovB32, Encoding::Sop1)?;
/// code.push(ten.operand(Role::Sdst, s0).operand(Role::Src0, Operand::Int(10)).finish()?)?;
/// let again = code.label();
/// code.place(again)?;
/// let less = Inst::build(target, Op::SSubU32, Encoding::Sop2)?.operand(Role::Sdst, s0);
/// code.push(less.operand(Role::Src0, s0).operand(Role::Src1, Operand::Int(1)).finish()?)?;
/// let compare = Inst::build(target, Op::SCmpLgU32, Encoding::Sopc)?;
/// code.push(compare.operand(Role::Src0, s0).operand(Role::Src1, Operand::Int(0)).finish()?)?;
/// code.branch(Inst::build(target, Op::SCbranchScc1, Encoding::Sopp)?, again)?;
/// let end = Inst::build(target, Op::SEndpgm, Encoding::Sopp)?;
/// code.push(end.operand(Role::Simm16, Operand::Imm(0)).finish()?)?;
/// assert_eq!(
///     code.finish()?,
///     [0xbe80008a_u32, 0x80808100, 0xbf078000, 0xbf85fffd, 0xbf810000].map(u32::to_le_bytes).concat(),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodeBuilder {
    target: Target,
    bytes: Vec<u8>,
    /// The byte offset of each label, once placed.
    labels: Vec<Option<usize>>,
    branches: Vec<Branch>,
}

impl CodeBuilder {
    /// Starts with no code.
    pub const fn new(target: Target) -> CodeBuilder {
        CodeBuilder { target, bytes: Vec::new(), labels: Vec::new(), branches: Vec::new() }
    }

    /// Bytes so far: the offset of the next instruction.
    pub const fn offset(&self) -> usize {
        self.bytes.len()
    }

    /// Adds an instruction.
    ///
    /// # Errors
    /// [`CodeError::Target`] if it is for another target.
    pub fn push(&mut self, inst: Inst) -> Result<(), CodeError> {
        if inst.target() != self.target {
            return Err(CodeError::Target { expected: self.target, found: inst.target() });
        }
        let (bytes, size) = inst.encode();
        self.bytes.extend(bytes.iter().take(size));
        Ok(())
    }

    /// A new label. Branches may name it before or after it is placed.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here.
    ///
    /// # Errors
    /// [`CodeError::Label`] if the label is already placed, or belongs to other code.
    pub fn place(&mut self, label: Label) -> Result<(), CodeError> {
        let offset = self.bytes.len();
        match self.labels.get_mut(label.0) {
            Some(place @ None) => {
                *place = Some(offset);
                Ok(())
            }
            _ => Err(CodeError::Label(label)),
        }
    }

    /// Adds a branch or call to a label. The caller gives all operands except the distance.
    ///
    /// # Errors
    /// [`CodeError::NoBranch`] if the instruction does not branch, [`CodeError::Label`] if the
    /// label belongs to other code, [`CodeError::Build`] if an operand is missing or illegal,
    /// [`CodeError::Target`] if it is for another target.
    pub fn branch(&mut self, inst: InstBuilder, label: Label) -> Result<(), CodeError> {
        if label.0 >= self.labels.len() {
            return Err(CodeError::Label(label));
        }
        let offset = self.bytes.len();
        self.push(going(inst, 0)?)?;
        self.branches.push(Branch { offset, inst, label });
        Ok(())
    }

    /// The machine code.
    ///
    /// # Errors
    /// [`CodeError::NotPlaced`] or [`CodeError::TooFar`] for the first branch at fault.
    pub fn finish(mut self) -> Result<Vec<u8>, CodeError> {
        for Branch { offset, inst, label } in self.branches {
            let place = self.labels.get(label.0).copied().flatten();
            let place = place.ok_or(CodeError::NotPlaced { label, offset })?;
            // Instructions are whole dwords, and the distance counts from the end of the branch
            // (Vega ISA 4.4, SOPP).
            let distance = (place as i64 - offset as i64) / 4 - 1;
            let near = i16::try_from(distance).map_err(|_| CodeError::TooFar { offset, distance })?;
            let (bytes, size) = going(inst, near)?.encode();
            if let Some(here) = self.bytes.get_mut(offset..offset + size) {
                here.copy_from_slice(&bytes[..size]);
            }
        }
        Ok(self.bytes)
    }
}

/// A branch with this distance in dwords.
fn going(inst: InstBuilder, distance: i16) -> Result<Inst, CodeError> {
    let op = inst.op();
    let mut operands = op.row().operands.iter();
    let spec = operands.find(|spec| spec.ty.elem == Elem::Branch).ok_or(CodeError::NoBranch(op))?;
    Ok(inst.operand(spec.role, Operand::Imm(distance.into())).finish()?)
}

#[cfg(test)]
mod tests {
    use super::super::{Encoding, Role, instructions};
    use super::*;

    const TARGET: Target = Target::Gfx906;

    fn sopp(op: Op) -> InstBuilder {
        Inst::build(TARGET, op, Encoding::Sopp).expect("every target has it")
    }

    fn nop() -> Inst {
        sopp(Op::SNop).operand(Role::Simm16, Operand::Imm(0)).finish().expect("nothing else to give")
    }

    /// The distances of the branches in some code.
    fn distances(code: &[u8]) -> Vec<(usize, i32)> {
        let branch = |(at, inst): (usize, Result<Inst, _>)| {
            let inst = inst.expect("built code decodes");
            inst.operands().find_map(|(spec, operand)| match operand {
                Operand::Imm(distance) if spec.ty.elem == Elem::Branch => Some((at, distance)),
                _ => None,
            })
        };
        instructions(TARGET, code).filter_map(branch).collect()
    }

    #[test]
    fn branches_go_both_ways_and_calls_too() {
        let mut code = CodeBuilder::new(TARGET);
        let (start, end) = (code.label(), code.label());
        code.place(start).unwrap();
        code.branch(sopp(Op::SBranch), end).unwrap();
        code.push(nop()).unwrap();
        let call = Inst::build(TARGET, Op::SCallB64, Encoding::Sopk).unwrap();
        code.branch(call.operand(Role::Sdst, Operand::Sgpr { first: 4, dwords: 2 }), start).unwrap();
        code.place(end).unwrap();
        code.branch(sopp(Op::SBranch), end).unwrap();
        assert_eq!(distances(&code.finish().unwrap()), [(0, 2), (8, -3), (12, -1)]);
    }

    #[test]
    fn a_branch_reaches_as_far_as_its_field() {
        for (nops, fits) in [(32767, true), (32768, false)] {
            let mut code = CodeBuilder::new(TARGET);
            let end = code.label();
            code.branch(sopp(Op::SBranch), end).unwrap();
            (0..nops).for_each(|_| code.push(nop()).unwrap());
            code.place(end).unwrap();
            let expected = if fits {
                Ok(vec![(0, 32767)])
            } else {
                Err(CodeError::TooFar { offset: 0, distance: 32768 })
            };
            assert_eq!(code.finish().map(|code| distances(&code)), expected);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut code = CodeBuilder::new(TARGET);
        let label = code.label();
        assert_eq!(code.branch(sopp(Op::SEndpgm), label), Err(CodeError::NoBranch(Op::SEndpgm)));
        let other = Inst::build(Target::Gfx942, Op::SBarrier, Encoding::Sopp).unwrap();
        let other = other.finish().unwrap();
        assert_eq!(code.push(other), Err(CodeError::Target { expected: TARGET, found: Target::Gfx942 }));
        let call = Inst::build(TARGET, Op::SCallB64, Encoding::Sopk).unwrap();
        assert!(matches!(code.branch(call, label), Err(CodeError::Build(BuildError::MissingOperand { .. }))));
        assert_eq!(code.offset(), 0, "what is refused leaves nothing");
        let foreign = Label(7);
        assert_eq!(code.place(foreign), Err(CodeError::Label(foreign)));
        assert_eq!(code.branch(sopp(Op::SBranch), foreign), Err(CodeError::Label(foreign)));
        code.branch(sopp(Op::SBranch), label).unwrap();
        assert_eq!(code.clone().finish(), Err(CodeError::NotPlaced { label, offset: 0 }));
        code.place(label).unwrap();
        assert_eq!(code.place(label), Err(CodeError::Label(label)));
    }

    #[test]
    fn every_byte_belongs_to_one_item() {
        let mut code = vec![0xff; 8];
        code.extend(nop().encode().0.iter().take(4));
        code.extend([1, 2, 3]);
        let mut all = instructions(TARGET, &code);
        let found: Vec<_> = all.by_ref().map(|(at, inst)| (at, inst.is_ok())).collect();
        assert_eq!(found, [(0, false), (4, false), (8, true), (12, false)]);
        assert_eq!((all.offset(), all.next().is_none()), (code.len(), true));
    }
}
