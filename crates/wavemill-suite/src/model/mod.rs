//! The effect of one instruction on a wave.
//!
//! Operations come from `wavemill_reference::rows`. The modules here say which bits an operation reads and where its
//! result goes: operands, selects, lane permutations, halves, masks, addresses. They follow the manuals, and share no
//! code with the lifter.

mod buffer;
pub mod cayman;
mod lanes;
mod operands;
mod scalar;
mod small;
mod vector;

use wavemill_isa::gcn::{Format, Inst, Role};

use crate::data::{Cell, LANES, Lanes, Row};

pub use buffer::{MEMORY_BYTES, memory_dword};

/// The operand codes of VCC, M0 and EXEC.
pub const VCC: u16 = 106;
/// See [`VCC`].
pub const M0: u16 = 124;
/// See [`VCC`].
pub const EXEC: u16 = 126;

/// VGPRs of a wave here, and accumulation VGPRs.
pub const VGPRS: u16 = 128;
/// See [`VGPRS`].
pub const AGPRS: u16 = 8;

/// The registers of a wave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wave {
    /// VGPRs.
    pub vgprs: Vec<Lanes>,
    /// Accumulation VGPRs.
    pub agprs: Vec<Lanes>,
    /// Scalar registers by operand code.
    pub scalars: [u32; 128],
    /// SCC.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
}

impl Wave {
    /// A wave whose registers are zero and whose lanes are all active.
    #[must_use]
    pub fn new(mode: u32) -> Wave {
        let mut scalars = [0; 128];
        scalars[usize::from(EXEC)..].fill(u32::MAX);
        Wave {
            vgprs: vec![[0; LANES]; usize::from(VGPRS)],
            agprs: vec![[0; LANES]; usize::from(AGPRS)],
            scalars,
            scc: false,
            mode,
        }
    }

    /// A pair of scalar registers.
    #[must_use]
    pub fn pair(&self, code: u16) -> u64 {
        let at = usize::from(code);
        u64::from(self.scalars[at]) | u64::from(self.scalars[at + 1]) << 32
    }

    /// Sets a pair of scalar registers.
    pub fn set_pair(&mut self, code: u16, value: u64) {
        let at = usize::from(code);
        self.scalars[at] = value as u32;
        self.scalars[at + 1] = (value >> 32) as u32;
    }

    /// Sets a register with a value a lane.
    ///
    /// # Panics
    /// If the wave has no such register.
    pub fn set_row(&mut self, row: Row, lanes: &Lanes) {
        match row {
            Row::Vgpr(n) => self.vgprs[usize::from(n)] = *lanes,
            Row::Agpr(n) => self.agprs[usize::from(n)] = *lanes,
            other => panic!("{other} is no vector register"),
        }
    }

    /// Sets a scalar register.
    ///
    /// # Panics
    /// If the wave has no such register.
    pub fn set_cell(&mut self, cell: Cell, value: u32) {
        match cell {
            Cell::Scalar(code) => self.scalars[usize::from(code)] = value,
            Cell::Scc => self.scc = value != 0,
            mask @ Cell::Lanes(..) => panic!("{mask} is a register of Cayman"),
        }
    }

    /// The registers that differ from those of a wave before: with a value a lane, and scalar ones.
    #[must_use]
    #[allow(clippy::type_complexity, reason = "two lists")]
    pub fn changes(&self, before: &Wave) -> (Vec<(Row, Lanes)>, Vec<(Cell, u32)>) {
        let vgprs = (0..).map(Row::Vgpr).zip(self.vgprs.iter().zip(&before.vgprs));
        let agprs = (0..).map(Row::Agpr).zip(self.agprs.iter().zip(&before.agprs));
        let rows = vgprs.chain(agprs).filter(|(_, (now, old))| now != old).map(|(row, (now, _))| (row, *now));
        let scalars = (0..).map(Cell::Scalar).zip(self.scalars.iter().zip(&before.scalars));
        let mut cells: Vec<_> =
            scalars.filter(|(_, (now, old))| now != old).map(|(cell, (now, _))| (cell, *now)).collect();
        if self.scc != before.scc {
            cells.push((Cell::Scc, self.scc.into()));
        }
        (rows.collect(), cells)
    }
}

/// Why the model has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap(pub &'static str);

/// Runs an instruction.
///
/// # Errors
/// The reason if the model does not know the instruction, or this use of it.
pub fn execute(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    let row = inst.row();
    match row.format {
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p | Format::Vopc => {
            if lanes::execute(inst, wave)? || small::execute(inst, wave)? {
                return Ok(());
            }
            vector::execute(inst, wave)
        }
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => scalar::execute(inst, wave),
        Format::Ds if lanes::execute(inst, wave)? => Ok(()),
        Format::Mubuf if row.operand(Role::Vdata).is_some() => buffer::execute(inst, wave),
        _ => Err(Gap("no reference for this format")),
    }
}

/// The largest error that the manual allows for a result, in units of the last place (Vega ISA 12.8).
#[must_use]
pub fn manual_ulps(name: &str) -> u64 {
    match name {
        "v_rcp_f64" | "v_rsq_f64" | "v_sqrt_f64" => 1 << 29,
        "v_rcp_f32" | "v_rcp_iflag_f32" | "v_rsq_f32" | "v_sqrt_f32" => 1,
        "v_rcp_f16" | "v_rsq_f16" | "v_sqrt_f16" => 1,
        // Functions of one source.
        _ => ["v_exp_", "v_log_", "v_sin_", "v_cos_"].iter().any(|stem| name.starts_with(stem)).into(),
    }
}
