//! Strip code: what one IR operation on rows does to a strip of 16 lanes, in instructions of the host.
//!
//! It is a template. The emitter repeats it for each strip, with the registers of the strip.

use iced_x86::Code;
use wavemill_ir::Round;

/// A source of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Src {
    /// The row at an offset in the register file.
    Row(u32),
    /// A value of the operation's own.
    Temp(u8),
    /// The cell at an offset in the register file, in all lanes.
    Cell(u32),
    /// A constant in all lanes.
    Const(u32),
    /// The pair of cells at an offset in the register file, in all 64-bit numbers.
    CellPair(u32),
    /// A constant in all 64-bit numbers.
    ConstPair(u64),
    /// Four constants in each quarter of the strip.
    Quad([u32; 4]),
    /// The number of lanes below each that are in a range.
    Below { first: u8, end: u8 },
}

/// A destination of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dst {
    /// The row at an offset in the register file.
    Row(u32),
    /// A value of the operation's own.
    Temp(u8),
    /// A mask of the operation's own: 0, 1 or 2.
    Mask(u8),
}

/// Lanes that an instruction computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Where {
    /// All of them, or the active ones if the destination is a row.
    #[default]
    Everywhere,
    /// Those in a mask of the operation's own; the others keep their value.
    Mask(u8),
    /// The active ones. The destination is a mask, whose other bits become zero.
    Active,
}

/// An instruction of strip code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `dst = code(a, b)`, `dst = code(b)` without `a`. The destination is also a source of instructions that accumulate.
    /// Without `round`, those that round do it as the operation does.
    Vector {
        code: Code,
        dst: Dst,
        a: Option<Src>,
        b: Src,
        imm: Option<u8>,
        lanes: Where,
        round: Option<Round>,
    },
    /// `dst = code(a, b)` on masks of the operation's own.
    Mask { code: Code, dst: u8, a: u8, b: u8 },
    /// `dst` = the strip's bits of the pair of cells at an offset.
    LoadMask { dst: u8, cells: u32 },
    /// `dst` = the top bits of the bytes of a value of the operation's own: 64 bits.
    BytesToMask { dst: u8, a: Src },
    /// `dst = code(a, b)` in the bytes of a mask of 64 bits; the others keep their value.
    Bytes { code: Code, dst: u8, a: Src, b: Src, mask: u8 },
    /// Bits of lanes that are not active become zero.
    AndActive { dst: u8 },
}

/// Whether the sources of an instruction are registers.
const fn takes_no_memory(code: Code) -> bool {
    matches!(
        code,
        Code::EVEX_Vpmovdw_ymmm256_k1z_zmm
            | Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae
            | Code::EVEX_Vextractf32x8_ymmm256_k1z_zmm_imm8
    )
}

/// Whether an instruction rounds its result by a mode that can be given with it.
pub(crate) const fn rounds(code: Code) -> bool {
    matches!(
        code,
        Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er
            | Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er
            | Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er
    )
}

impl Step {
    /// Its sources but masks.
    fn sources(&self) -> impl Iterator<Item = Src> {
        let (first, second) = match *self {
            Step::Vector { a, b, .. } => (a, Some(b)),
            Step::Bytes { a, b, .. } => (Some(a), Some(b)),
            Step::BytesToMask { a, .. } => (Some(a), None),
            Step::Mask { .. } | Step::LoadMask { .. } | Step::AndActive { .. } => (None, None),
        };
        [first, second].into_iter().flatten()
    }

    /// Whether a source must be in a register: a first one, or one of an instruction that takes no memory, which those with
    /// a rounding mode of their own do not.
    fn needs_register(&self, src: Src, round: Round) -> bool {
        match *self {
            Step::Vector { a, b, code, round: own, .. } => {
                let round = own.unwrap_or(round);
                let registers_only = takes_no_memory(code) || (round != Round::NearestEven && rounds(code));
                a == Some(src) || (b == src && registers_only)
            }
            Step::Bytes { a, .. } | Step::BytesToMask { a, .. } => a == src,
            Step::Mask { .. } | Step::LoadMask { .. } | Step::AndActive { .. } => false,
        }
    }
}

/// Strip code of an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strip {
    /// Its instructions.
    pub steps: Vec<Step>,
    /// Number of values of its own.
    pub temps: u8,
    /// A mask of its own that is a result, and the pair of cells that it goes to.
    pub mask_result: Option<(u8, u32)>,
    /// It computes all lanes, active or not.
    pub all_lanes: bool,
    /// How instructions that round do it.
    pub round: Round,
    /// What is not for this code.
    pub refuses: Refused,
    /// Code for what is refused, which computes all lanes; the interpreter does if there is none.
    pub otherwise: Option<Box<Strip>>,
}

/// What an operation leaves to other code. Most of it are NaNs: hosts differ in those that they make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Refused {
    /// None.
    #[default]
    Nothing,
    /// f32 in rows that are results.
    Results,
    /// f32 in two sources.
    Sources([Src; 2]),
    /// f64 in the two rows that are results, with infinities.
    WideResults,
    /// The lanes in mask 0 of the operation's own, after its steps.
    Lanes,
    /// No NaN: numbers in a cell with one of these bits.
    Bits { cell: u32, bits: u32 },
}

impl Strip {
    /// Whether a source of an instruction must be in a register.
    pub(crate) fn needs_register(&self, src: Src) -> bool {
        self.steps.iter().any(|step| step.needs_register(src, self.round))
            || self.otherwise.as_ref().is_some_and(|otherwise| otherwise.needs_register(src))
    }

    /// Rows that it reads, each once.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let mut rows = self.otherwise.as_ref().map_or_else(Vec::new, |otherwise| otherwise.sources());
        for step in &self.steps {
            for src in step.sources() {
                if let Src::Row(row) = src
                    && !rows.contains(&row)
                {
                    rows.push(row);
                }
            }
        }
        rows
    }

    /// Rows that it writes, each once.
    pub(crate) fn results(&self) -> Vec<u32> {
        let mut rows = self.otherwise.as_ref().map_or_else(Vec::new, |otherwise| otherwise.results());
        for step in &self.steps {
            if let Step::Vector { dst: Dst::Row(row), .. } = step
                && !rows.contains(row)
            {
                rows.push(*row);
            }
        }
        rows
    }

    /// Whether it writes a row and reads one that it has written, or one that is a source, afterwards.
    pub(crate) fn reads_after_write(&self) -> bool {
        let mut written = Vec::new();
        for step in &self.steps {
            if step.sources().any(|src| matches!(src, Src::Row(row) if written.contains(&row))) {
                return true;
            }
            if let Step::Vector { dst: Dst::Row(row), .. } = step {
                written.push(*row);
            }
        }
        false
    }
}
