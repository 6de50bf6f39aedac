//! The fetch program of a vertex shader: CALL_FS calls it, and it loads the attributes of vertices
//! (HD 6900 ISA 2.1, 3.7.6).
//!
//! A driver makes it from the layout of vertices. Here, a launch makes it from the attributes that it
//! binds. As with Mesa, attribute n goes to register n + 1, and r0.x has the number of the vertex.

use wavemill_isa::cayman::{FieldError, FieldId as F, Inst, Op};
use wavemill_object::r600::{R600Config, R600Program, R600Stage, write_r600};

use super::object;
use crate::Error;
use crate::binding::{Binding, Location};
use crate::device::Device;
use crate::module::{Kernel, Module};

/// The most attributes: a fetch program has 16 resources (HD 6900 ISA 9.4).
pub(super) const ATTRIBUTES: u16 = 16;
/// Its first resource, behind those of the stage.
const FIRST: u16 = 160;
const NAME: &str = "fetch program";

/// The resource of an attribute.
pub(super) const fn resource(attribute: u16) -> u16 {
    FIRST + attribute % ATTRIBUTES
}

/// The register that receives an attribute.
pub(super) const fn register(attribute: u16) -> u32 {
    attribute as u32 + 1
}

/// The fetch program of the attributes that a launch binds, loaded; `None` if it binds none.
pub(super) fn program(kernel: &Kernel, bindings: &[Binding]) -> Result<Option<Module>, Error> {
    let mut attributes: Vec<u16> = bindings.iter().filter_map(attribute).collect();
    if attributes.is_empty() {
        return Ok(None);
    }
    attributes.sort_unstable();
    let wrong = |error: FieldError| kernel.unusable(format!("its fetch program has no code: {error}"));
    let bytes = code(&attributes).map_err(wrong)?;
    let config = object(kernel)?.config;
    let config = R600Config { stage: R600Stage::Vertex, lds: 0, kills: false, ..config };
    let program = R600Program {
        name: NAME.to_owned(),
        bytes,
        alignment: 1,
        config: Some(config),
        relocations: Vec::new(),
    };
    Module::load(&Device(kernel.module.device.clone()), &write_r600(&[program])?).map(Some)
}

/// The guest address of a fetch program.
pub(super) fn address(module: &Module) -> Result<u64, Error> {
    Ok(module.kernel(NAME)?.entry())
}

/// The number of an attribute.
pub(super) fn attribute(binding: &Binding) -> Option<u16> {
    match binding.location {
        Location::Attribute { number, .. } => Some(number),
        _ => None,
    }
}

/// The words: a clause of fetches behind two control flow words, which have 8 bytes each.
fn code(attributes: &[u16]) -> Result<Vec<u8>, FieldError> {
    let count = attributes.len() as u32;
    let mut words = vec![
        Inst::new(Op::Tex).with(F::Addr, 2)?.with(F::Count, count.saturating_sub(1))?,
        Inst::new(Op::Return),
    ];
    for &attribute in attributes {
        let fields = [
            (F::BufferId, resource(attribute).into()),
            (F::DstGpr, register(attribute)),
            (F::DstSelX, 0),
            (F::DstSelY, 1),
            (F::DstSelZ, 2),
            (F::DstSelW, 3),
            // The resource has the format.
            (F::UseConstFields, 1),
            // No offset is added to the index.
            (F::FetchType, 2),
        ];
        let fetch = Inst::new(Op::VtxRead);
        words.push(fields.into_iter().try_fold(fetch, |fetch, (id, value)| fetch.with(id, value))?);
    }
    let bytes = words.iter().flat_map(|word| {
        let (bytes, size) = word.encode();
        bytes.into_iter().take(size)
    });
    Ok(bytes.collect())
}

#[cfg(test)]
mod tests {
    use wavemill_isa::cayman::decode_program;

    use super::*;

    /// Every number of attributes is a program that breaks no rule.
    #[test]
    fn programs_are_whole() {
        for count in 1..=ATTRIBUTES {
            let all: Vec<u16> = (0..count).collect();
            let program = decode_program(&code(&all).expect("it fits"), 0);
            assert_eq!(program.problems, []);
            assert_eq!(program.broken_rules(), []);
            // A call of the clause, the return, and the fetches.
            assert_eq!(program.items.len(), 2 + usize::from(count));
        }
    }
}
