//! The bytes that a buffer load reaches (Vega ISA 8.1.5).

use wavemill_isa::gcn::{Inst, Operand, Role};

use super::operands::uniform;
use super::{EXEC, Gap, Wave};

/// Size of the memory of a buffer test.
pub const MEMORY_BYTES: u32 = 64 << 10;

/// The dword of that memory at a byte offset which is a multiple of four.
#[must_use]
pub fn memory_dword(offset: u32) -> u32 {
    0xa500_0000 | offset
}

/// A byte of the memory; `None` if it is beyond.
fn byte(at: u64) -> Option<u8> {
    let at = u32::try_from(at).ok().filter(|at| *at < MEMORY_BYTES)?;
    Some(memory_dword(at & !3).to_le_bytes()[at as usize % 4])
}

/// A buffer resource (Vega ISA 8.1.8). The base is an offset in the memory.
struct Resource {
    base: u64,
    stride: u64,
    swizzled: bool,
    records: u64,
    index_stride: u64,
    add_lane: bool,
}

impl Resource {
    fn of(words: [u32; 4]) -> Resource {
        let add_lane = words[3] >> 23 & 1 != 0;
        let stride = u64::from(words[1] >> 16 & 0x3fff);
        // The data format extends the stride of a resource that adds the lane.
        let more = if add_lane { u64::from(words[3] >> 15 & 15) << 14 } else { 0 };
        Resource {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride: stride + more,
            swizzled: words[1] >> 31 != 0,
            records: words[2].into(),
            index_stride: 8 << (words[3] >> 21 & 3),
            add_lane,
        }
    }

    /// The offset of an element from the base. Elements of a swizzled buffer are dwords on these targets.
    fn place(&self, index: u64, offset: u64) -> u64 {
        if !self.swizzled {
            return index * self.stride + offset;
        }
        let (major, minor) = (index / self.index_stride, index % self.index_stride);
        let (dword, rest) = (offset / 4, offset % 4);
        (major * self.stride + dword * 4) * self.index_stride + minor * 4 + rest
    }
}

pub(super) fn execute(inst: &Inst, wave: &mut Wave) -> Result<(), Gap> {
    let (row, m) = (inst.row(), inst.modifiers());
    let dwords: u64 = match row.name() {
        "buffer_load_dword" => 1,
        "buffer_load_dwordx2" => 2,
        "buffer_load_dwordx3" => 3,
        "buffer_load_dwordx4" => 4,
        _ => return Err(Gap("an access other than the loads of dwords")),
    };
    let (Some(Operand::Sgpr { first: resource, .. }), Some(Operand::Vgpr { first: to, .. })) =
        (inst.operand(Role::Srsrc), inst.operand(Role::Vdata))
    else {
        return Err(Gap("the resource is not in SGPRs"));
    };
    let at = usize::from(resource);
    let words = [0, 1, 2, 3].map(|n| wave.scalars[at + n]);
    let resource = Resource::of(words);
    if !resource.add_lane && words[3] >> 15 & 15 == 0 {
        return Err(Gap("a resource whose data format is INVALID"));
    }
    let scalar = match (row.operand(Role::Soffset), inst.operand(Role::Soffset)) {
        (Some(spec), Some(operand)) => uniform(inst, spec, operand, wave)?.unwrap_or(0) as u32,
        _ => 0,
    };
    let address = match inst.operand(Role::Vaddr) {
        Some(Operand::Vgpr { first, .. }) => usize::from(first),
        _ => 0,
    };
    let exec = wave.pair(EXEC);
    let before = wave.clone();
    for lane in (0..64usize).filter(|lane| exec >> lane & 1 != 0) {
        let register = |n: usize| u64::from(before.vgprs[address + n][lane]);
        let index = if m.idxen { register(0) } else { 0 } + if resource.add_lane { lane as u64 } else { 0 };
        let offset = if m.offen { register(usize::from(m.idxen)) } else { 0 } + m.offset as u64;
        for n in 0..dwords {
            let offset = offset + 4 * n;
            // Structured buffers count records, raw ones bytes: observed on gfx950 (`ROCm/rocm-systems` pull request
            // 10928; the manual's condition differs).
            let inside = if resource.add_lane {
                true
            } else if m.idxen && resource.stride != 0 {
                index < resource.records
            } else {
                offset + u64::from(scalar) + 4 <= resource.records
            };
            let value = if inside {
                let at = resource.base + u64::from(scalar) + resource.place(index, offset);
                let bytes: Option<Vec<u8>> = (0..4).map(|n| byte(at + n)).collect();
                let bytes = bytes.ok_or(Gap("the access leaves the memory"))?;
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
            } else {
                0
            };
            wave.vgprs[usize::from(to) + n as usize][lane] = value;
        }
    }
    Ok(())
}
