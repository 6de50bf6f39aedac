//! Bank conflicts of LDS.
//!
//! The model: LDS has banks of one dword a cycle; dword `n` is in bank `n` modulo their number. The
//! lanes of a wave form groups: as many lanes as fill all banks once with the dwords that each lane
//! requests. A group takes as many cycles as the busiest bank has different dwords to read or
//! write. Lanes that share a dword of a load or store share the access; lanes of an atomic do not.
//!
//! Banks, conflicts and groups of 32 dwords follow the manual (Vega ISA 10.1 and 10.3.3: 32 banks,
//! at best two cycles for a wave, at worst 64; CDNA4 ISA: 64 banks). No manual says which lanes of
//! wide accesses form a group, or that a shared dword is free: *modelled*. `ds_read2_b32` and its
//! variants count as two accesses.

use wavemill_ir::LANES;
use wavemill_isa::Target;
use wavemill_machine::{Access, MemoryAccess, MemoryLocation};

/// Bytes of a bank's dword.
const DWORD: u32 = 4;

/// Counts conflicts for LDS with this many banks.
#[derive(Debug)]
pub(crate) struct Banks {
    banks: u32,
    /// The current group: the number of dwords that each bank has to access, and the dwords.
    counts: [u8; MAX_BANKS],
    dwords: Box<[[u32; LANES]; MAX_BANKS]>,
}

const MAX_BANKS: usize = 64;

impl Banks {
    pub(crate) fn new(target: Target) -> Self {
        Banks { banks: target.lds_banks(), counts: [0; MAX_BANKS], dwords: Box::new([[0; LANES]; MAX_BANKS]) }
    }

    /// Cycles of an access to LDS, and its cycles without conflicts; `None` if no lane accesses
    /// LDS.
    pub(crate) fn cycles(&mut self, access: &MemoryAccess<'_>) -> Option<(u64, u64)> {
        let width = access.size.max(DWORD).next_power_of_two();
        let lanes_at_once = (self.banks * DWORD / width).clamp(1, LANES as u32);
        let shared = access.access != Access::Atomic;
        let (mut all, mut least) = (0, 0);
        let mut group = None;
        for piece in access.pieces {
            let MemoryLocation::Lds(at) = piece.location else { continue };
            let own = u32::from(piece.lane) / lanes_at_once;
            if group.is_some_and(|group| group != own) {
                all += self.finish();
            }
            if group != Some(own) {
                least += 1;
                group = Some(own);
            }
            for dword in at / DWORD..=(at + u32::from(piece.size) - 1) / DWORD {
                self.add(dword, shared);
            }
        }
        group?;
        Some((all + self.finish(), least))
    }

    /// Adds a dword to the group. A dword that is already there counts again if lanes cannot share
    /// it.
    fn add(&mut self, dword: u32, shared: bool) {
        let bank = (dword % self.banks) as usize % MAX_BANKS;
        let count = usize::from(self.counts[bank]);
        let known = &mut self.dwords[bank];
        if shared && known[..count].contains(&dword) {
            return;
        }
        // A group has at most as many dwords as lanes, except for unaligned accesses.
        if let Some(slot) = known.get_mut(count) {
            *slot = dword;
            self.counts[bank] += 1;
        }
    }

    /// Ends the group and returns its cycles.
    fn finish(&mut self) -> u64 {
        let busiest = self.counts.iter().max().copied().unwrap_or(0);
        self.counts = [0; MAX_BANKS];
        busiest.into()
    }
}
