//! Maps the registers of a wave to cells and rows of the IR, and names them for texts.
//!
//! Scalar registers have the numbers of their operand codes (Vega ISA 5.1, table 9), except EXEC,
//! which is the IR's mask of active lanes. Registers that instructions do not name as operands
//! follow them.

use wavemill_ir::{CellRange, Names, Row, Uni};
use wavemill_isa::Target;

/// FLAT_SCRATCH, low half. SGPRs end here.
pub const FLAT_SCRATCH: Uni = Uni(102);
/// XNACK_MASK, low half.
pub const XNACK_MASK: Uni = Uni(104);
/// VCC, low half.
pub const VCC: Uni = Uni(106);
/// First trap temporary.
pub const TTMP0: Uni = Uni(108);
/// M0. Trap temporaries end here.
pub const M0: Uni = Uni(124);
/// EXEC, low half.
pub const EXEC: Uni = Uni::ACTIVE;
/// Operand code of the low half of EXEC.
const EXEC_CODE: u16 = 126;
/// The scalar condition code, 0 or 1.
pub const SCC: Uni = Uni(128);
/// TRAPSTS (Vega ISA 3.10).
pub const TRAPSTS: Uni = Uni(129);
/// HW_ID (Vega ISA 5.8).
pub const HW_ID: Uni = Uni(130);
/// GPR_ALLOC (Vega ISA 5.8).
pub const GPR_ALLOC: Uni = Uni(131);
/// LDS_ALLOC (Vega ISA 5.8).
pub const LDS_ALLOC: Uni = Uni(132);
/// XCC_ID (CDNA3 ISA 5.8).
pub const XCC_ID: Uni = Uni(133);
/// MODE.CSP: the number of entries on the stack of forks (Vega ISA 3.4).
pub const CSP: Uni = Uni(134);
/// The bits of STATUS that only a trap handler writes (Vega ISA 3.3).
pub const STATUS: Uni = Uni(135);
/// TBA, low half: the address of the trap handler (Vega ISA 3.10).
pub const TBA: Uni = Uni(136);
/// TMA, low half: the address of the trap handler's memory (Vega ISA 3.10).
pub const TMA: Uni = Uni(138);
/// Address of the instruction that raised an enabled exception, low half: it completes before the
/// wave enters its trap handler.
pub const RAISED_PC: Uni = Uni(140);
/// Number of cells that belong to registers, without the IR's own cells.
pub const CELLS: u16 = 142;
/// SGPRs that a wave can have, the special ones included.
pub const MAX_SGPRS: u16 = 112;

/// The cell of a scalar operand with this code.
#[must_use]
pub const fn scalar(code: u16) -> Uni {
    match code {
        EXEC_CODE.. if code <= EXEC_CODE + 1 => EXEC.plus(code - EXEC_CODE),
        _ => Uni(code),
    }
}

/// The operand code of a cell, as a sort key for texts; registers that are not operands sort last.
#[must_use]
pub const fn code(cell: Uni) -> u16 {
    match cell.0.checked_sub(EXEC.0) {
        Some(half) if half < 2 => EXEC_CODE + half,
        _ => cell.0,
    }
}

/// VGPR `n` (0..=255).
#[must_use]
pub const fn vgpr(n: u16) -> Row {
    Row(n)
}

/// AccVGPR `n` (0..=255).
#[must_use]
pub const fn acc(n: u16) -> Row {
    Row::second(n)
}

/// The range of registers of the same kind; an index does not leave it (Vega ISA 3.6.1).
#[must_use]
pub fn of_the_same_kind(cell: Uni) -> Option<CellRange> {
    const KINDS: [(Uni, Uni); 7] = [
        (Uni(0), FLAT_SCRATCH),
        (FLAT_SCRATCH, XNACK_MASK),
        (XNACK_MASK, VCC),
        (VCC, TTMP0),
        (TTMP0, M0),
        (M0, Uni(EXEC_CODE)),
        (EXEC, Uni(EXEC.0 + 2)),
    ];
    let (first, end) = KINDS.into_iter().find(|(first, end)| (*first..*end).contains(&cell))?;
    Some(CellRange { first, end })
}

/// STATUS (Vega ISA 3.3) of a wave with this context; `handled` are the bits of [`STATUS`].
#[must_use]
pub const fn status(scc: bool, exec: u64, vcc: u64, handled: u32, context: u32) -> u32 {
    (scc as u32) << STATUS_SCC
        | ((exec == 0) as u32) << STATUS_EXECZ
        | ((vcc == 0) as u32) << STATUS_VCCZ
        | handled
        | status_of_context(context)
}

/// The bits of STATUS that depend on the context: PRIV, TRAP_EN, VALID.
pub(super) const fn status_of_context(context: u32) -> u32 {
    let privileged = (context & PRIVILEGED != 0) as u32;
    let handled = (context & HANDLED != 0) as u32;
    STATUS_VALID | privileged << STATUS_PRIV | handled << STATUS_TRAP_EN
}

/// Bit of a context: the wave is in its trap handler (STATUS.PRIV). The three bits of MODE.CSP are
/// not part of a context, and these flags replace them.
pub const PRIVILEGED: u32 = 1 << 31;
/// Bit of a context: there is a trap handler (STATUS.TRAP_EN).
pub const HANDLED: u32 = 1 << 30;
/// Bit of a context: the next instruction completes although it raises enabled exceptions, and then
/// the wave enters its trap handler.
pub const COMPLETES: u32 = 1 << 29;
/// MODE.DEBUG: the wave enters its trap handler after each instruction (Vega ISA 3.4).
pub const MODE_DEBUG: u32 = 1 << 11;
/// First bit of MODE.EXCP_EN, in the order of TRAPSTS.EXCP (Vega ISA 3.4).
pub const MODE_EXCP_EN: u32 = 12;
/// MODE.CSP in a context: it has a cell of its own.
const CONTEXT_FLAGS: u32 = PRIVILEGED | HANDLED | COMPLETES;

/// MODE of a wave with this context and this number of entries on its stack of forks.
#[must_use]
pub const fn mode(context: u32, csp: u32) -> u32 {
    context & !CONTEXT_FLAGS | csp << 29
}

/// Whether a wave with this context stops after its next instruction to enter its trap handler.
#[must_use]
pub const fn steps(context: u32) -> bool {
    let single = context & (MODE_DEBUG | HANDLED | PRIVILEGED) == MODE_DEBUG | HANDLED;
    single || context & COMPLETES != 0
}

/// The exceptions that stop a wave with this context before the operation that raises them, as bits
/// of TRAPSTS. In the trap handler there are none (modelled).
#[must_use]
pub const fn trapping(context: u32) -> u8 {
    if context & (PRIVILEGED | COMPLETES) != 0 { 0 } else { (context >> MODE_EXCP_EN) as u8 & 0x7f }
}

/// Bit of STATUS with SCC.
pub(super) const STATUS_SCC: u32 = 0;
/// Bit of STATUS that says that EXEC is zero.
pub(super) const STATUS_EXECZ: u32 = 9;
/// Bit of STATUS that says that VCC is zero.
pub(super) const STATUS_VCCZ: u32 = 10;
/// Bit of STATUS of a wave in its trap handler.
const STATUS_PRIV: u32 = 5;
/// Bit of STATUS that says that there is a trap handler.
const STATUS_TRAP_EN: u32 = 6;
/// Bit of MODE that turns VGPR indexing on (Vega ISA 3.4).
pub const GPR_IDX_EN: u8 = 27;
/// Bit of STATUS that halts the wave outside its trap handler.
pub const STATUS_HALT: u32 = 13;
/// STATUS of a wave that runs, without its conditions.
pub(super) const STATUS_VALID: u32 = 1 << 16;
/// Bits of STATUS for conditional branches of debuggers, user and system.
pub(super) const STATUS_COND_DBG: [u32; 2] = [20, 21];
/// The bits of STATUS in [`STATUS`]: priorities, HALT, SKIP_EXPORT, conditions of debuggers,
/// ALLOW_REPLAY.
pub(super) const STATUS_HANDLED: u32 = 0x1e | 1 << STATUS_HALT | 1 << 18 | 0x70_0000;

/// The location of a wave on a chip, and its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// The XCC: the die, for chips of several.
    pub xcc: u32,
    /// The compute unit, counted in the XCC.
    pub compute_unit: u32,
    /// The SIMD of the compute unit.
    pub simd: u32,
    /// The slot of the SIMD.
    pub slot: u32,
    /// The workgroup, counted in the compute unit.
    pub workgroup: u32,
}

impl Location {
    /// HW_ID (Vega ISA 5.8, CDNA2 ISA and CDNA4 ISA 3.12). Pipe, queue and process are 0.
    #[must_use]
    pub const fn hw_id(self, target: Target) -> u32 {
        let facts = target.facts();
        let (engines, arrays) = (facts.shader_engines, facts.shader_arrays);
        let engine = self.compute_unit % engines;
        let array = self.compute_unit / engines % arrays;
        let unit = self.compute_unit / (engines * arrays);
        self.slot & 0xf
            | (self.simd & 3) << 4
            | (unit & 0xf) << 8
            | (array & 1) << 12
            | (engine & 3) << 13
            | (self.workgroup & 0xf) << 16
    }

    /// GPR_ALLOC of a wave with these registers. All waves of its SIMD have as many, and each base
    /// is the one of the wave's slot. VGPRs count in units of four, and the bases of SGPRs in units
    /// of eight (Vega ISA 5.8). Where both kinds of VGPRs share a file, there is a field for the
    /// first AccVGPR. Sizes of SGPRs then count in units of 16 (CDNA4 ISA 5.8). A number that does
    /// not fit its field loses its upper bits.
    #[must_use]
    pub fn gpr_alloc(self, target: Target, sgprs: u16, vgprs: u16, accs: u16) -> u32 {
        let unified = target.has_unified_vgprs();
        let first_acc = u32::from(vgprs).div_ceil(4);
        let vgprs = if unified { first_acc + u32::from(accs).div_ceil(4) } else { first_acc }.max(1);
        let sgprs = u32::from(sgprs).next_multiple_of(16).max(16);
        let base = (self.slot * vgprs) & 0x3f;
        let sgpr_base = (self.slot * sgprs / 8) & 0x3f;
        match unified {
            false => base | ((vgprs - 1) & 0x3f) << 8 | sgpr_base << 16 | ((sgprs / 8 - 1) & 0xf) << 24,
            true => {
                let acc = if accs > 0 { first_acc & 0x3f } else { 0 };
                let sizes = ((vgprs - 1) & 0x3f) << 6 | ((sgprs / 16 - 1) & 0xf) << 24;
                base | sizes | acc << 12 | sgpr_base << 18
            }
        }
    }

    /// LDS_ALLOC of a wave whose workgroup has this many bytes, as all workgroups of its compute
    /// unit. Its fields count units of 64 dwords (Vega ISA 5.8, CDNA4 ISA 5.8).
    #[must_use]
    pub const fn lds_alloc(self, bytes: u32) -> u32 {
        let size = bytes.div_ceil(256);
        size << 12 | ((self.workgroup * size) & 0xff)
    }
}

/// The names of registers as in assembly text.
#[derive(Clone, Copy, Debug)]
pub struct RegisterNames;

impl Names for RegisterNames {
    fn cell(&self, cell: Uni) -> Option<String> {
        let half = |name: &str, first: Uni| {
            let half = if cell == first { "lo" } else { "hi" };
            format!("{name}_{half}")
        };
        Some(match code(cell) {
            n @ 0..=101 => format!("s{n}"),
            102 | 103 => half("flat_scratch", FLAT_SCRATCH),
            104 | 105 => half("xnack_mask", XNACK_MASK),
            106 | 107 => half("vcc", VCC),
            n @ 108..=123 => format!("ttmp{}", n - 108),
            124 => "m0".to_owned(),
            126 | 127 => half("exec", EXEC),
            128 => "scc".to_owned(),
            129 => "trapsts".to_owned(),
            130 => "hw_id".to_owned(),
            131 => "gpr_alloc".to_owned(),
            132 => "lds_alloc".to_owned(),
            133 => "xcc_id".to_owned(),
            134 => "csp".to_owned(),
            135 => "status".to_owned(),
            136 | 137 => half("tba", TBA),
            138 | 139 => half("tma", TMA),
            140 | 141 => half("raised_pc", RAISED_PC),
            _ => return None,
        })
    }

    fn row(&self, row: Row) -> Option<String> {
        row.bank().map(|(bank, n)| format!("{}{n}", if bank == 0 { 'v' } else { 'a' }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields as the manuals list them (Vega ISA 5.8, CDNA2 ISA 3.12).
    #[test]
    fn gpr_alloc_has_bases_and_sizes() {
        let wave = Location { slot: 2, ..Location::default() };
        // Six groups of four VGPRs; 90 SGPRs take 96, twelve groups of eight.
        let [vgpr_base, vgpr_size, sgpr_base, sgpr_size] = [12, 5 << 8, 24 << 16, 11 << 24];
        let vega = vgpr_base | vgpr_size | sgpr_base | sgpr_size;
        assert_eq!(wave.gpr_alloc(Target::Gfx906, 90, 24, 0), vega);
        // Ten groups with 16 AccVGPRs, which begin at the sixth; 32 SGPRs are two groups of sixteen.
        let [vgpr_base, vgpr_size, acc_offset] = [20, 9 << 6, 6 << 12];
        let [sgpr_base, sgpr_size] = [8 << 18, 1 << 24];
        let unified = vgpr_base | vgpr_size | acc_offset | sgpr_base | sgpr_size;
        assert_eq!(wave.gpr_alloc(Target::Gfx90a, 20, 24, 16), unified);
        // One AccVGPR takes a group of its own; without any, none begins behind the others.
        let sgprs = sgpr_base | sgpr_size;
        assert_eq!(wave.gpr_alloc(Target::Gfx90a, 20, 24, 1), 14 | 6 << 6 | acc_offset | sgprs);
        assert_eq!(wave.gpr_alloc(Target::Gfx90a, 20, 24, 20), 22 | 10 << 6 | acc_offset | sgprs);
        assert_eq!(wave.gpr_alloc(Target::Gfx90a, 20, 24, 0), 12 | 5 << 6 | sgprs);
    }
}
