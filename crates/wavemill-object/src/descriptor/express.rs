//! Turns the bytes of a kernel descriptor into directives.

use std::fmt;

use wavemill_isa::SGPR_UNIT;

use super::bits::{Field, KernargPreload, KernelCodeProperties, Rsrc1, Rsrc2, Rsrc3Gfx90a};
use super::builder::{DescriptorBuilder, DirectiveError};
use super::directive::{ACCUM_OFFSET, ACCUM_UNIT, Directive, Effect, Input, SGPR_COUNT, VGPR_COUNT};
use super::{SpecialSgprs, at, register_units};
use crate::target::TargetId;

/// A directive with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The directive.
    pub directive: &'static Directive,
    /// Its value.
    pub value: u32,
}

impl Setting {
    /// Whether the value is the default on `target`, so that the directive can be omitted.
    pub fn is_default(&self, target: &TargetId) -> bool {
        self.directive.default_for(target) == Some(self.value)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.directive.name, self.value)
    }
}

/// Why no directives produce the bytes of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no directives produce this kernel descriptor: {}", .reasons.join("; "))]
pub struct Inexpressible {
    /// The words and bits that no directive sets, or the contradictions of the directives.
    pub reasons: Vec<String>,
}

/// The directives that make exactly these bytes when given to a [`DescriptorBuilder`] for `target`,
/// in the order of [`Directive::all`]. The distance to the code (at
/// [`KernelDescriptor::ENTRY_OFFSET`](super::KernelDescriptor::ENTRY_OFFSET)) is ignored: a
/// relocation fills it in.
///
/// All directives that the target has are listed, except `.amdhsa_user_sgpr_count` if it follows
/// from the others. [`Setting::is_default`] says which of them can be omitted.
///
/// # Errors
/// [`Inexpressible`] names the bits that no directive sets. An assembler can write such a
/// descriptor only as data.
pub fn express(bytes: &[u8; 64], target: &TargetId) -> Result<Vec<Setting>, Inexpressible> {
    let refused = |errors: Vec<DirectiveError>| Inexpressible {
        reasons: errors.iter().map(ToString::to_string).collect(),
    };
    let mut builder = DescriptorBuilder::new(target).map_err(|error| refused(vec![error]))?;
    let settings = settings(bytes, target);
    let mut errors = Vec::new();
    for setting in &settings {
        errors.extend(builder.set(setting.directive.name, setting.value.into()).err());
    }
    if !errors.is_empty() {
        return Err(refused(errors));
    }
    let made = builder.finish().map_err(refused)?;
    let reasons = differences(bytes, &made);
    if reasons.is_empty() { Ok(settings) } else { Err(Inexpressible { reasons }) }
}

/// The directives that the fields suggest; the caller checks that they reproduce all bytes.
fn settings(bytes: &[u8; 64], target: &TargetId) -> Vec<Setting> {
    let word = |at| super::word(bytes, at);
    let field = |at, field: Field| field.of(word(at));
    let granule = register_units(&target.processor).map_or(1, |units| units.vgprs);
    let encoded_sgprs = (field(at::RSRC1, SGPR_COUNT) + 1) * SGPR_UNIT;
    let mut enabled = 0;
    let mut count = None;
    let mut out = Vec::new();
    for directive in Directive::all().iter().filter(|row| row.support.includes(&target.processor)) {
        let value = match directive.effect {
            Effect::Word(at) => word(at),
            Effect::Bits(at, bits) => field(at, bits),
            Effect::UserSgprs(at, bits, registers) => {
                enabled += field(at, bits) * registers;
                field(at, bits)
            }
            Effect::Preload(at, bits) => {
                enabled += field(at, bits);
                field(at, bits)
            }
            Effect::Nothing => continue,
            Effect::Computed(input) => match input {
                Input::UserSgprCount => {
                    count = Some((out.len(), directive));
                    continue;
                }
                Input::NextFreeVgpr => (field(at::RSRC1, VGPR_COUNT) + 1) * granule,
                Input::NextFreeSgpr => {
                    encoded_sgprs.saturating_sub(special(target, encoded_sgprs)).min(addressable(target))
                }
                Input::AccumOffset => (field(at::RSRC3, ACCUM_OFFSET) + 1) * ACCUM_UNIT,
                Input::ReserveVcc => 0,
                Input::ReserveFlatScratch => crowded(target, encoded_sgprs).into(),
                Input::ReserveXnackMask => directive.default_for(target).unwrap_or(0),
            },
        };
        out.push(Setting { directive, value });
    }
    let user_sgprs = field(at::RSRC2, super::directive::USER_SGPR_COUNT);
    if let Some((place, directive)) = count
        && user_sgprs != enabled
    {
        out.insert(place, Setting { directive, value: user_sgprs });
    }
    out
}

/// Whether this number of scalar registers covers all that instructions can name and those for
/// FLAT_SCRATCH.
fn crowded(target: &TargetId, sgprs: u32) -> bool {
    sgprs > addressable(target).next_multiple_of(SGPR_UNIT)
}

/// Scalar registers that instructions can name.
fn addressable(target: &TargetId) -> u32 {
    register_units(&target.processor).map_or(0, |units| units.addressable_sgprs)
}

/// Scalar registers that count although no instruction names them, if VCC is not reserved.
fn special(target: &TargetId, sgprs: u32) -> u32 {
    let mask = Directive::find(".amdhsa_reserve_xnack_mask").and_then(|row| row.default_for(target));
    let special =
        SpecialSgprs { vcc: false, xnack_mask: mask == Some(1), flat_scratch: crowded(target, sgprs) };
    special.count(&target.processor)
}

/// The words of a descriptor, with their fields if they have any.
const WORDS: [(usize, usize, &str, &[Field]); 13] = [
    (at::GROUP_SEGMENT_FIXED_SIZE, 4, "GROUP_SEGMENT_FIXED_SIZE", &[]),
    (at::PRIVATE_SEGMENT_FIXED_SIZE, 4, "PRIVATE_SEGMENT_FIXED_SIZE", &[]),
    (at::KERNARG_SIZE, 4, "KERNARG_SIZE", &[]),
    (at::KERNARG_SIZE + 4, 4, "the reserved bytes 12 to 15", &[]),
    (at::ENTRY_OFFSET + 8, 16, "the reserved bytes 24 to 39", &[]),
    (at::RSRC3 - 4, 4, "the reserved bytes 40 to 43", &[]),
    (at::RSRC3, 4, "COMPUTE_PGM_RSRC3", Rsrc3Gfx90a::FIELDS),
    (at::RSRC1, 4, "COMPUTE_PGM_RSRC1", Rsrc1::FIELDS),
    (at::RSRC2, 4, "COMPUTE_PGM_RSRC2", Rsrc2::FIELDS),
    (at::PROPERTIES, 2, "KERNEL_CODE_PROPERTIES", KernelCodeProperties::FIELDS),
    (at::KERNARG_PRELOAD, 2, "KERNARG_PRELOAD", KernargPreload::FIELDS),
    (at::KERNARG_PRELOAD + 2, 2, "the reserved bytes 60 to 61", &[]),
    (at::KERNARG_PRELOAD + 4, 2, "the reserved bytes 62 to 63", &[]),
];

/// Names the fields in which two descriptors differ.
fn differences(bytes: &[u8; 64], made: &[u8; 64]) -> Vec<String> {
    let mut out = Vec::new();
    for (at, size, name, fields) in WORDS {
        let number = |bytes: &[u8; 64]| {
            bytes[at..at + size].iter().rev().fold(0, |word: u128, &byte| word << 8 | u128::from(byte))
        };
        let differing = number(bytes) ^ number(made);
        if fields.is_empty() {
            if differing != 0 {
                out.push(format!("{name} should be {:#x}, but is {:#x}", number(made), number(bytes)));
            }
            continue;
        }
        let mut rest = differing as u32;
        for field in fields {
            let mask = field.max() << field.shift;
            if rest & mask != 0 {
                rest &= !mask;
                let value = field.of(number(bytes) as u32);
                out.push(format!("{} of {name} is {value}", field.name));
            }
        }
        if rest != 0 {
            out.push(format!("{name} has the reserved bits {rest:#x}"));
        }
    }
    out
}
