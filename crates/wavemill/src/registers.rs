//! The registers of a wave, by their names in instructions: those of GCN and CDNA, and in [`cayman`]
//! those of Cayman.

use wavemill_ir::LANES;
use wavemill_machine::{CellPair, RegisterCounts, WaveSnapshot};

pub use wavemill_lift::cayman::registers as cayman;
pub use wavemill_lift::gcn::registers::*;

/// The registers of a wave with these numbers of SGPRs, VGPRs and AccVGPRs. SGPRs outside the
/// allocation read as s0 (Vega ISA 3.6.1, 5.2). FLAT_SCRATCH and the registers after it always
/// exist.
#[must_use]
pub fn counts(sgprs: u16, vgprs: u16, accs: u16) -> RegisterCounts {
    let allocated = wavemill_ir::Uni(sgprs.min(FLAT_SCRATCH.0));
    RegisterCounts {
        cells: CELLS,
        absent: (allocated, FLAT_SCRATCH),
        private_base: CellPair::new(FLAT_SCRATCH),
        rows: [vgprs, accs],
    }
}

/// The registers in a snapshot of a wave.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
/// use wavemill::registers::WaveRegisters;
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_mov_b32 s4, 7\nv_mov_b32 v1, s4\n.long 0xbfff0000\ns_endpgm")?;
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([16, 1, 1]))?;
/// // The report of a kernel that faults after `s_mov_b32 s4, 7` and `v_mov_b32 v1, s4`.
/// let registers = WaveRegisters(&report.fault.snapshot);
/// assert_eq!((registers.sgprs()[4], registers.exec()), (7, 0xffff));
/// assert_eq!(registers.vgprs()[1][..16], [7; 16]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WaveRegisters<'a>(pub &'a WaveSnapshot);

impl<'a> WaveRegisters<'a> {
    /// SGPRs; those outside the allocation are zero.
    #[must_use]
    pub fn sgprs(self) -> &'a [u32] {
        let all = &self.0.cells;
        &all[..all.len().min(FLAT_SCRATCH.0.into())]
    }

    /// VGPRs, 64 lanes each.
    #[must_use]
    pub fn vgprs(self) -> &'a [[u32; LANES]] {
        &self.0.rows[0]
    }

    /// AccVGPRs, 64 lanes each.
    #[must_use]
    pub fn accvgprs(self) -> &'a [[u32; LANES]] {
        &self.0.rows[1]
    }

    /// EXEC.
    #[must_use]
    pub fn exec(self) -> u64 {
        self.0.active
    }

    /// VCC.
    #[must_use]
    pub fn vcc(self) -> u64 {
        self.0.pair(VCC)
    }

    /// SCC.
    #[must_use]
    pub fn scc(self) -> bool {
        self.0.cell(SCC) != 0
    }

    /// M0.
    #[must_use]
    pub fn m0(self) -> u32 {
        self.0.cell(M0)
    }

    /// FLAT_SCRATCH.
    #[must_use]
    pub fn flat_scratch(self) -> u64 {
        self.0.pair(FLAT_SCRATCH)
    }

    /// XNACK_MASK.
    #[must_use]
    pub fn xnack_mask(self) -> u64 {
        self.0.pair(XNACK_MASK)
    }

    /// MODE.
    #[must_use]
    pub fn mode(self) -> u32 {
        mode(self.0.context, self.0.cell(CSP))
    }

    /// TRAPSTS.
    #[must_use]
    pub fn trapsts(self) -> u32 {
        self.0.cell(TRAPSTS)
    }

    /// STATUS, as `s_getreg_b32` reads it.
    #[must_use]
    pub fn status(self) -> u32 {
        status(self.scc(), self.exec(), self.vcc(), self.0.cell(STATUS), self.0.context)
    }
}
