//! Arguments at their offsets in the kernel argument segment (AMDGPUUsage, "Kernarg Segment").

use crate::argument::Arg;
use crate::error::ArgumentError;
use crate::module::{Kernel, Parameter, ParameterKind};
use crate::{Error, Result};

fn refuse(kernel: &Kernel, problem: ArgumentError) -> Error {
    Error::Argument { kernel: kernel.name().to_owned(), problem }
}

/// A segment of `size` bytes with the explicit arguments. LDS arguments are allocated from `lds`
/// on.
pub(super) fn segment(kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>> {
    let mut segment = vec![0; size];
    if !kernel.has_metadata() {
        return match args {
            [] => Ok(segment),
            _ => Err(refuse(kernel, ArgumentError::NoMetadata)),
        };
    }
    let parameters = kernel.declared_parameters();
    if parameters.len() != args.len() {
        let problem = ArgumentError::Count { expected: parameters.len(), found: args.len() };
        return Err(refuse(kernel, problem));
    }
    for (index, (parameter, arg)) in parameters.iter().zip(args).enumerate() {
        let bytes = bytes(kernel, index, parameter, arg, lds)?;
        if bytes.len() != parameter.size as usize {
            let (expected, found) = (parameter.size, bytes.len());
            let problem = ArgumentError::Size { index, name: parameter.name.clone(), expected, found };
            return Err(refuse(kernel, problem));
        }
        let start = parameter.offset as usize;
        match segment.get_mut(start..start.saturating_add(bytes.len())) {
            Some(slot) => slot.copy_from_slice(&bytes),
            None => {
                return Err(kernel.unusable(format!(
                    "argument {index} is at byte {start} of a kernel argument segment of {size} bytes"
                )));
            }
        }
    }
    Ok(segment)
}

/// Bytes of the segment that hold an argument.
fn bytes(kernel: &Kernel, index: usize, parameter: &Parameter, arg: &Arg, lds: &mut u32) -> Result<Vec<u8>> {
    let name = || parameter.name.clone();
    let kind = |expected: String, found| {
        Err(refuse(kernel, ArgumentError::Kind { index, name: name(), expected, found }))
    };
    match (&parameter.kind, arg) {
        (ParameterKind::Local, Arg::Local(size)) => {
            let start = parameter
                .pointee_align
                .checked_next_power_of_two()
                .and_then(|align| lds.checked_next_multiple_of(align))
                .ok_or_else(|| kernel.too_much_lds())?;
            *lds = start.checked_add(*size).ok_or_else(|| kernel.too_much_lds())?;
            Ok(start.to_le_bytes().to_vec())
        }
        (ParameterKind::Local, Arg::Buffer(_)) => kind("dynamic LDS, given by its size".into(), "a buffer"),
        (ParameterKind::Local, Arg::Image(_) | Arg::Sampler(_)) => {
            kind("dynamic LDS, given by its size".into(), "an image or a sampler")
        }
        (ParameterKind::Local, Arg::Value(_) | Arg::Aligned { .. }) => {
            kind("dynamic LDS, given by its size".into(), "a value")
        }
        (ParameterKind::Other(what), _) => kind(format!("a `{what}`, which is not supported"), "a value"),
        (_, Arg::Image(image)) if !image.belongs_to(&kernel.module.device) => {
            Err(refuse(kernel, ArgumentError::OtherDevice { index, name: name() }))
        }
        (_, Arg::Sampler(sampler)) if !sampler.belongs_to(&kernel.module.device) => {
            Err(refuse(kernel, ArgumentError::OtherDevice { index, name: name() }))
        }
        (ParameterKind::Image, Arg::Image(image)) => Ok(image.descriptor().to_le_bytes().to_vec()),
        (ParameterKind::Sampler, Arg::Sampler(sampler)) => Ok(sampler.descriptor().to_le_bytes().to_vec()),
        // A kernel in assembly may declare the address of a descriptor as a buffer or a value.
        (ParameterKind::Buffer | ParameterKind::Value, Arg::Image(image)) => {
            Ok(image.descriptor().to_le_bytes().to_vec())
        }
        (ParameterKind::Buffer | ParameterKind::Value, Arg::Sampler(sampler)) => {
            Ok(sampler.descriptor().to_le_bytes().to_vec())
        }
        (ParameterKind::Image, _) => kind("an image".into(), "not an image"),
        (ParameterKind::Sampler, _) => kind("a sampler".into(), "not a sampler"),
        (_, Arg::Local(_)) => kind("not an LDS pointer".into(), "dynamic LDS"),
        (_, Arg::Buffer(buffer)) if !buffer.belongs_to(&kernel.module.device) => {
            Err(refuse(kernel, ArgumentError::OtherDevice { index, name: name() }))
        }
        (_, Arg::Buffer(buffer)) => Ok(buffer.address().to_le_bytes().to_vec()),
        // The metadata has the offset.
        (_, Arg::Value(bytes) | Arg::Aligned { bytes, .. }) => Ok(bytes.clone()),
    }
}
