//! Bank conflicts of LDS.
//!
//! The model: LDS has banks of one dword a cycle; dword `n` is in bank `n` modulo their number. The lanes of a wave go
//! in groups, as many lanes as would fill all banks once with what each of them asks for. A group takes as many cycles as
//! the busiest bank has different dwords to read or write; lanes that share a dword of a load or store share the access,
//! those of an atomic do not.
//!
//! Banks, conflicts and groups of 32 dwords are the manual's (Vega ISA 10.1 and 10.3.3: 32 banks, at best two cycles for a
//! wave, at worst 64; CDNA4 ISA: 64 banks). Which lanes of wide accesses go together, and that a shared dword is free, no
//! manual says: *modelled*. `ds_read2_b32` and its like count as two accesses.

use wavemill_engine::{Access, MemoryAccess, Place};
use wavemill_ir::LANES;
use wavemill_isa::Target;

/// Bytes of a bank's dword.
const DWORD: u32 = 4;

/// Number of banks that LDS has.
pub(crate) fn banks_of(target: Target) -> u32 {
    match target {
        // CDNA4 ISA 1.2: 64 banks of 640 dwords.
        Target::Gfx950 => 64,
        // Vega ISA 10.1, CDNA3 ISA 1.2: 32 banks of 512 dwords.
        _ => 32,
    }
}

/// Cycles that an access to LDS takes, and those that it would take without conflicts; `None` if no lane accesses LDS.
pub(crate) fn cycles(access: &MemoryAccess<'_>, banks: u32) -> Option<(u64, u64)> {
    let lanes_at_once = (banks * DWORD / access.size.max(DWORD).next_power_of_two()).clamp(1, LANES as u32);
    let shared = access.access != Access::Atomic;
    let (mut all, mut least) = (0, 0);
    let mut dwords: Vec<u32> = Vec::with_capacity(LANES);
    let mut group = None;
    let mut finish = |dwords: &mut Vec<u32>| {
        if shared {
            dwords.sort_unstable();
            dwords.dedup();
        }
        let mut busy = [0u64; 64];
        for dword in dwords.drain(..) {
            busy[(dword % banks) as usize % 64] += 1;
        }
        let busiest = busy.into_iter().max().unwrap_or(0);
        all += busiest;
        least += busiest.min(1);
    };
    for piece in access.pieces {
        let Place::Lds(at) = piece.place else { continue };
        let own = u32::from(piece.lane) / lanes_at_once;
        if group != Some(own) {
            finish(&mut dwords);
            group = Some(own);
        }
        dwords.extend(at / DWORD..=(at + u32::from(piece.size) - 1) / DWORD);
    }
    finish(&mut dwords);
    (all > 0).then_some((all, least))
}
