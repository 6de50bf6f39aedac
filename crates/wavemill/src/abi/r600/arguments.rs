//! Arguments at their offsets. LLVM aligns arguments as their types, counting from the first argument.
//! Object files do not describe them: numbers are aligned as their size, and others say their alignment.

use crate::argument::Arg;
use crate::error::ArgumentError;
use crate::module::Kernel;
use crate::{Error, Result};

/// The largest alignment: that of a vector of 16 doubles.
const MOST: u32 = 128;
/// The alignment of local memory that arguments name.
const LOCAL: u32 = 16;

/// The arguments one after the other, in at least `size` bytes. Local memory is allocated from `lds`
/// on.
pub(super) fn segment(kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>> {
    let mut segment = Vec::new();
    for (index, argument) in args.iter().enumerate() {
        let bytes = bytes(kernel, index, argument, lds)?;
        segment.resize(segment.len().next_multiple_of(alignment(kernel, index, argument, bytes.len())?), 0);
        segment.extend(bytes);
    }
    segment.resize(segment.len().max(size), 0);
    Ok(segment)
}

/// The alignment of an argument. Values of other sizes than numbers may be vectors, which are aligned as
/// their size, or structures, which are aligned as their largest member.
fn alignment(kernel: &Kernel, index: usize, argument: &Arg, bytes: usize) -> Result<usize> {
    let problem = match argument {
        Arg::Aligned { alignment, .. } if alignment.is_power_of_two() && *alignment <= MOST => {
            return Ok(*alignment as usize);
        }
        Arg::Aligned { alignment, .. } => ArgumentError::Alignment { index, found: *alignment, most: MOST },
        _ if matches!(bytes, 1 | 2 | 4 | 8) => return Ok(bytes),
        _ => ArgumentError::UnknownAlignment { index, bytes },
    };
    Err(Error::Argument { kernel: kernel.name().to_owned(), problem })
}

fn bytes(kernel: &Kernel, index: usize, argument: &Arg, lds: &mut u32) -> Result<Vec<u8>> {
    let refuse = |problem| Error::Argument { kernel: kernel.name().to_owned(), problem };
    let kind = |found| {
        let expected =
            "a buffer, a value or local memory: LLVM's r600 has no arguments for images".to_owned();
        Err(refuse(ArgumentError::Kind { index, name: None, expected, found }))
    };
    match argument {
        Arg::Buffer(buffer) if !buffer.belongs_to(&kernel.module.device) => {
            Err(refuse(ArgumentError::OtherDevice { index, name: None }))
        }
        // All addresses fit: memory of the device has short pointers.
        Arg::Buffer(buffer) => Ok((buffer.address() as u32).to_le_bytes().to_vec()),
        Arg::Value(bytes) | Arg::Aligned { bytes, .. } => Ok(bytes.clone()),
        Arg::Local(size) => {
            let start = lds.checked_next_multiple_of(LOCAL).ok_or_else(|| kernel.too_much_lds())?;
            *lds = start.checked_add(*size).ok_or_else(|| kernel.too_much_lds())?;
            Ok(start.to_le_bytes().to_vec())
        }
        Arg::Image(_) => kind("an image"),
        Arg::Sampler(_) => kind("a sampler"),
    }
}
