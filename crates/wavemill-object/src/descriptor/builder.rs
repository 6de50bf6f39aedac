//! Turns directives into the bytes of a kernel descriptor.

use std::ops::RangeInclusive;

use wavemill_isa::SGPR_UNIT;

use super::directive::{
    ACCUM_OFFSET, ACCUM_UNIT, Directive, Effect, Input, SGPR_COUNT, Support, USER_SGPR_COUNT, VGPR_COUNT,
};
use super::{SpecialSgprs, at, register_units};
use crate::target::{Generation, TargetId};

/// Builds a kernel descriptor from the directives of `.amdhsa_kernel`, as LLVM's assembler does.
///
/// ```
/// use wavemill_object::DescriptorBuilder;
///
/// let target = "gfx906".parse().unwrap();
/// let mut descriptor = DescriptorBuilder::new(&target).unwrap();
/// descriptor.set(".amdhsa_next_free_vgpr", 8).unwrap();
/// descriptor.set(".amdhsa_next_free_sgpr", 16).unwrap();
/// let error = descriptor.set(".amdhsa_dx10_clanp", 1).unwrap_err();
/// assert!(error.to_string().contains("`.amdhsa_dx10_clamp`"));
/// let bytes: [u8; 64] = descriptor.finish().unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct DescriptorBuilder {
    target: TargetId,
    given: Vec<(&'static Directive, u32)>,
}

/// An error in the directives of `.amdhsa_kernel`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectiveError {
    /// No descriptors can be built for the target.
    #[error(
        "kernel descriptors for {target} are not supported; gfx900, gfx906, gfx908, gfx90a, gfx942 and gfx950 are"
    )]
    Target {
        /// The requested target.
        target: String,
    },
    /// No directive has the name.
    #[error("`{name}` is not a kernel descriptor directive{}", Suggestion(.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// A directive with a similar name.
        nearest: Option<&'static str>,
    },
    /// The target does not have the directive.
    #[error("`{name}` is not supported on {target}, only on {support}")]
    NotOnTarget {
        /// The directive.
        name: &'static str,
        /// The target.
        target: String,
        /// The targets that have it.
        support: Support,
    },
    /// The value does not fit.
    #[error("the value of `{name}` is {value}, but should be {} to {}{}", .range.start(), .range.end(), Step(*.step))]
    OutOfRange {
        /// The directive.
        name: &'static str,
        /// The value that was given.
        value: i64,
        /// The values that the directive accepts on the target.
        range: RangeInclusive<u32>,
        /// The value must be a multiple of this.
        step: u32,
    },
    /// The directive was given before.
    #[error("`{name}` is given twice; its first value is {first}")]
    Repeated {
        /// The directive.
        name: &'static str,
        /// The first value.
        first: u32,
    },
    /// A required directive is missing.
    #[error("`{name}` is missing: {summary}")]
    Missing {
        /// The directive.
        name: &'static str,
        /// The meaning of the directive.
        summary: &'static str,
    },
    /// `.amdhsa_reserve_xnack_mask` contradicts the target id.
    #[error("`.amdhsa_reserve_xnack_mask` is {value}, but the target id {target} makes it {expected}")]
    Xnack {
        /// The value that was given.
        value: u32,
        /// The value that follows from the target id.
        expected: u32,
        /// The target id.
        target: String,
    },
    /// The accumulation registers begin after the last vector register.
    #[error(
        "`.amdhsa_accum_offset` is {offset}, but `.amdhsa_next_free_vgpr` {vgprs} allows {limit} at most, \
         which is rounded up to a multiple of 4"
    )]
    AccumOffset {
        /// The offset that was given.
        offset: u32,
        /// `.amdhsa_next_free_vgpr`.
        vgprs: u32,
        /// The largest offset for this number of vector registers.
        limit: u32,
    },
    /// More user SGPRs are enabled than the given number, or than the maximum.
    #[error("the enabled user SGPRs need {needed}, but {available} are available")]
    UserSgprs {
        /// The number of SGPRs that the enabled ones need.
        needed: u32,
        /// `.amdhsa_user_sgpr_count`, or the maximum.
        available: u32,
    },
    /// Kernel arguments are loaded from beyond their end.
    #[error(
        "cannot preload {length} words of kernel arguments from word {offset} on: the arguments have {size} bytes; \
         correct `.amdhsa_kernarg_size` or the `.amdhsa_user_sgpr_kernarg_preload` directives"
    )]
    Preload {
        /// `.amdhsa_user_sgpr_kernarg_preload_length`.
        length: u32,
        /// `.amdhsa_user_sgpr_kernarg_preload_offset`.
        offset: u32,
        /// `.amdhsa_kernarg_size`.
        size: u32,
    },
}

/// Prints a similar name, if any.
struct Suggestion<'a>(&'a Option<&'static str>);

impl std::fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |name| write!(f, "; did you mean `{name}`?"))
    }
}

/// Prints that the value must be a multiple.
struct Step(u32);

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 > 1 { write!(f, ", a multiple of {}", self.0) } else { Ok(()) }
    }
}

impl DescriptorBuilder {
    /// A descriptor for `target` without any directives.
    ///
    /// # Errors
    /// [`DirectiveError::Target`] unless the target is one of the Vega or CDNA families.
    pub fn new(target: &TargetId) -> Result<Self, DirectiveError> {
        match target.processor.generation() {
            Some(Generation::Gfx9 | Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx940) => {
                Ok(DescriptorBuilder { target: target.clone(), given: Vec::new() })
            }
            _ => Err(DirectiveError::Target { target: target.to_string() }),
        }
    }

    /// Gives the directive `name` (with its leading dot) a value.
    ///
    /// # Errors
    /// Fails if the name or the value is invalid; the descriptor is then unchanged.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), DirectiveError> {
        let Some(directive) = Directive::find(name) else {
            return Err(DirectiveError::Unknown { name: name.to_owned(), nearest: nearest(name) });
        };
        let name = directive.name;
        let target = || self.target.to_string();
        if !directive.support.includes(&self.target.processor) {
            return Err(DirectiveError::NotOnTarget { name, target: target(), support: directive.support });
        }
        if let Some(first) = self.given(directive) {
            return Err(DirectiveError::Repeated { name, first });
        }
        let range = directive.range(&self.target.processor);
        let step = if directive.effect == Effect::Computed(Input::AccumOffset) { ACCUM_UNIT } else { 1 };
        let fits = |value: &u32| range.contains(value) && value.is_multiple_of(step);
        let Some(number) = u32::try_from(value).ok().filter(fits) else {
            return Err(DirectiveError::OutOfRange { name, value, range, step });
        };
        if directive.effect == Effect::Computed(Input::ReserveXnackMask)
            && let Some(expected) = directive.default_for(&self.target).filter(|&expected| expected != number)
        {
            return Err(DirectiveError::Xnack { value: number, expected, target: target() });
        }
        self.given.push((directive, number));
        Ok(())
    }

    /// The 64 bytes of the descriptor. The distance to the code, eight bytes at
    /// [`KernelDescriptor::ENTRY_OFFSET`](super::KernelDescriptor::ENTRY_OFFSET), is 0.
    ///
    /// # Errors
    /// Fails if required directives are missing or directives contradict one another.
    pub fn finish(&self) -> Result<[u8; 64], Vec<DirectiveError>> {
        let processor = &self.target.processor;
        let mut bytes = [0; 64];
        let mut errors = Vec::new();
        let mut enabled = 0;
        for directive in Directive::all().iter().filter(|row| row.support.includes(processor)) {
            let given = self.given(directive);
            if given.is_none() && directive.default == super::DirectiveDefault::Required {
                let (name, summary) = (directive.name, directive.summary);
                errors.push(DirectiveError::Missing { name, summary });
            }
            let value = given.or_else(|| directive.default_for(&self.target)).unwrap_or(0);
            match directive.effect {
                Effect::Word(at) => bytes[at..at + 4].copy_from_slice(&value.to_le_bytes()),
                Effect::Bits(at, field) => put(&mut bytes, at, field, value),
                Effect::UserSgprs(at, field, count) => {
                    put(&mut bytes, at, field, value);
                    enabled += count * value;
                }
                Effect::Preload(at, field) => {
                    put(&mut bytes, at, field, value);
                    enabled += value;
                }
                Effect::Computed(_) | Effect::Nothing => {}
            }
        }
        let available = self.input(Input::UserSgprCount);
        let most = USER_SGPR_COUNT.max();
        if enabled > available.unwrap_or(most) {
            let available = available.unwrap_or(most);
            errors.push(DirectiveError::UserSgprs { needed: enabled, available });
        }
        let user_sgprs = available.unwrap_or(enabled);
        put(&mut bytes, at::RSRC2, USER_SGPR_COUNT, user_sgprs);
        let preloaded = self.preload(&mut errors);
        self.registers(&mut bytes, if preloaded { user_sgprs } else { 0 }, &mut errors);
        if errors.is_empty() { Ok(bytes) } else { Err(errors) }
    }

    /// Checks that the preloaded kernel arguments are within the kernel arguments; returns whether
    /// there are any.
    fn preload(&self, errors: &mut Vec<DirectiveError>) -> bool {
        let value = |name| Directive::find(name).and_then(|row| self.given(row)).unwrap_or(0);
        let length = value(".amdhsa_user_sgpr_kernarg_preload_length");
        let offset = value(".amdhsa_user_sgpr_kernarg_preload_offset");
        let size = value(".amdhsa_kernarg_size");
        if length != 0 && size != 0 && (length + offset) * 4 > size {
            errors.push(DirectiveError::Preload { length, offset, size });
        }
        length != 0
    }

    /// Register counts, in the units of the descriptor. At least `least_sgprs` scalar ones are needed.
    fn registers(&self, bytes: &mut [u8; 64], least_sgprs: u32, errors: &mut Vec<DirectiveError>) {
        let vgprs = self.input(Input::NextFreeVgpr).unwrap_or(0);
        if let Some(units) = register_units(&self.target.processor) {
            put(bytes, at::RSRC1, VGPR_COUNT, vgprs.max(1).div_ceil(units.vgprs) - 1);
        }
        let sgprs = self.input(Input::NextFreeSgpr).unwrap_or(0).max(least_sgprs) + self.special_sgprs();
        put(bytes, at::RSRC1, SGPR_COUNT, sgprs.max(1).div_ceil(SGPR_UNIT) - 1);
        if let Some(offset) = self.input(Input::AccumOffset) {
            let limit = vgprs.max(1).next_multiple_of(ACCUM_UNIT);
            if offset > limit && self.input(Input::NextFreeVgpr).is_some() {
                errors.push(DirectiveError::AccumOffset { offset, vgprs, limit });
            }
            put(bytes, at::RSRC3, ACCUM_OFFSET, offset / ACCUM_UNIT - 1);
        }
    }

    /// The number of registers that the directives reserve after the wave's own.
    fn special_sgprs(&self) -> u32 {
        let reserved = |input| self.input(input).unwrap_or(0) != 0;
        let special = SpecialSgprs {
            vcc: reserved(Input::ReserveVcc),
            xnack_mask: reserved(Input::ReserveXnackMask),
            flat_scratch: reserved(Input::ReserveFlatScratch),
        };
        special.count(&self.target.processor)
    }

    fn given(&self, directive: &Directive) -> Option<u32> {
        self.given.iter().find(|(other, _)| other.name == directive.name).map(|&(_, value)| value)
    }

    /// The value, or the default, of the directive that is the `input` of computed fields. `None`
    /// if it has neither, or if the target does not have the directive.
    fn input(&self, input: Input) -> Option<u32> {
        let row = Directive::all().iter().find(|row| row.effect == Effect::Computed(input))?;
        if !row.support.includes(&self.target.processor) {
            return None;
        }
        self.given(row).or_else(|| row.default_for(&self.target))
    }
}

/// Sets a field of the word at `at`. The bits are 0 before, and the value has been checked to fit.
fn put(bytes: &mut [u8; 64], at: usize, field: super::Field, value: u32) {
    let bits = (value & field.max()) << field.shift;
    for (byte, bits) in bytes[at..at + 4].iter_mut().zip(bits.to_le_bytes()) {
        *byte |= bits;
    }
}

/// The directive with the name most similar to `name`, if one is similar enough.
fn nearest(name: &str) -> Option<&'static str> {
    let short = |name: &str| name.trim_start_matches(".amdhsa_").chars().take(80).collect::<String>();
    let wanted = short(name);
    let score = |row: &Directive| strsim::jaro_winkler(&wanted, &short(row.name));
    let best = Directive::all().iter().max_by(|left, right| score(left).total_cmp(&score(right)))?;
    (score(best) > 0.8).then_some(best.name)
}
