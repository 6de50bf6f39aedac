//! Addresses of buffer loads.

use wavemill_isa::gcn::{Inst, Modifiers, Op, Operand, Role};

use super::values::Random;
use super::{Builder, MODE, Start, TARGETS};
use crate::data::{Kind, LANES, Row};
use crate::model::Gap;

/// SGPRs of the resource and of the scalar offset.
const RESOURCE: u8 = 20;
const SOFFSET: u8 = 30;
/// Offset of the base in the memory.
const BASE: u32 = 256;

/// Fields of a resource (Vega ISA 8.1.8).
#[derive(Clone, Copy, Debug)]
struct Resource {
    stride: u32,
    records: u32,
    /// The code of the index stride, if the buffer is swizzled.
    stripe: Option<u32>,
    add_lane: bool,
}

impl Resource {
    fn words(self) -> [u32; 4] {
        [
            BASE,
            self.stride << 16 | u32::from(self.stripe.is_some()) << 31,
            self.records,
            // Any data format but 0, INVALID. With the lane it has bits of the stride.
            self.stripe.unwrap_or(0) << 21
                | u32::from(self.add_lane) << 23
                | if self.add_lane { 0 } else { 4 << 15 },
        ]
    }
}

/// Indices and offsets: small, at the end, beyond.
fn addresses(builder: &mut Builder, index_limit: u32, offset_limit: u32) -> usize {
    let name = format!("buffer {index_limit} {offset_limit}");
    builder.set(name.clone(), || {
        let mut random = Random::of(&name);
        let mut row = |limit: u32, step: u32| {
            std::array::from_fn(|lane| {
                let limit = limit.max(1);
                let value = match lane % 4 {
                    0 => random.below(limit as usize) as u32,
                    1 => limit.saturating_sub(random.below(4) as u32 * step),
                    2 => limit + random.below(3) as u32 * step,
                    _ => random.below(8) as u32 * step,
                };
                value / step * step
            })
        };
        let rows = [row(index_limit, 1), row(offset_limit, 4)];
        // A swizzled pair is index, then offset; either alone is in the first register.
        vec![(Row::Vgpr(4), rows[0]), (Row::Vgpr(5), rows[1]), (Row::Vgpr(6), rows[1])]
    })
}

fn instances(name: &str, idxen: bool, offen: bool, offset: i32, scalar: Option<u32>) -> Vec<Inst> {
    let Some(op) = Op::from_name(name) else { panic!("no {name}") };
    let build = |target| {
        let encoding = op.row().encodings(target).next()?;
        let mut m = Modifiers::plain(op.row().form(target, encoding)?);
        (m.idxen, m.offen, m.offset) = (idxen, offen, offset);
        let dwords = op.row().operand(Role::Vdata)?.ty.dwords();
        let address = match (idxen, offen) {
            (true, true) => Some(Operand::Vgpr { first: 4, dwords: 2 }),
            (true, false) => Some(Operand::Vgpr { first: 4, dwords: 1 }),
            (false, true) => Some(Operand::Vgpr { first: 6, dwords: 1 }),
            (false, false) => Some(Operand::Off),
        };
        let mut builder = Inst::build(target, op, encoding).ok()?.modifiers(m);
        builder = builder.operand(Role::Vdata, Operand::Vgpr { first: 12, dwords });
        builder = builder.operand(Role::Srsrc, Operand::Sgpr { first: RESOURCE, dwords: 4 });
        builder = match scalar {
            Some(_) => builder.operand(Role::Soffset, Operand::Sgpr { first: SOFFSET, dwords: 1 }),
            None => builder.operand(Role::Soffset, Operand::Int(0)),
        };
        if let Some(address) = address {
            builder = builder.operand(Role::Vaddr, address);
        }
        builder.finish().ok()
    };
    TARGETS.into_iter().filter_map(build).collect()
}

pub(super) fn tests(builder: &mut Builder) {
    let resources = [
        Resource { stride: 0, records: 1024, stripe: None, add_lane: false },
        Resource { stride: 0, records: 1022, stripe: None, add_lane: false },
        Resource { stride: 0, records: 0, stripe: None, add_lane: false },
        Resource { stride: 4, records: 64, stripe: None, add_lane: false },
        Resource { stride: 16, records: 40, stripe: None, add_lane: false },
        Resource { stride: 12, records: 33, stripe: None, add_lane: false },
        Resource { stride: 0x3fff, records: 3, stripe: None, add_lane: false },
        Resource { stride: 16, records: 64, stripe: Some(0), add_lane: false },
        Resource { stride: 16, records: 100, stripe: Some(1), add_lane: false },
        Resource { stride: 32, records: 64, stripe: Some(2), add_lane: false },
        Resource { stride: 8, records: 200, stripe: Some(3), add_lane: false },
        Resource { stride: 4, records: 64, stripe: None, add_lane: true },
        Resource { stride: 16, records: 0, stripe: Some(0), add_lane: true },
    ];
    let loads = ["buffer_load_dword", "buffer_load_dwordx2", "buffer_load_dwordx4"];
    for (n, resource) in resources.into_iter().enumerate() {
        let (index_limit, offset_limit) = match (resource.stride, resource.add_lane) {
            (0, _) => (1, resource.records.max(4)),
            (stride, true) => (8, stride.min(64)),
            (stride, false) => (resource.records, stride.min(64)),
        };
        let set = addresses(builder, index_limit, offset_limit);
        for (idxen, offen) in [(false, false), (false, true), (true, false), (true, true)] {
            for (offset, scalar) in [(0, None), (4, None), (0, Some(8)), (20, Some(16)), (4092, Some(0))] {
                let name = loads[(n + offset as usize / 4) % loads.len()];
                let mut start = Start::new(MODE, set);
                start.kind = Kind::Buffer(RESOURCE.into());
                for (word, value) in (u16::from(RESOURCE)..).zip(resource.words()) {
                    start = start.with(word, value);
                }
                if let Some(scalar) = scalar {
                    start = start.with(SOFFSET.into(), scalar);
                }
                for exec in [u64::MAX, 0xf7ff_fffd_0ff0_aa55] {
                    let instances = instances(name, idxen, offen, offset, scalar);
                    match builder.add(&start.clone().exec(exec), &instances) {
                        // The table has more than the memory holds.
                        Ok(()) | Err(Gap("the access leaves the memory")) => {}
                        Err(Gap(reason)) => panic!("{instances:?}: {reason}"),
                    }
                }
            }
        }
    }
    debug_assert_eq!(LANES, 64);
}
