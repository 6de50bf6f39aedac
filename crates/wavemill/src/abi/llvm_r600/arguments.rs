//! Arguments at their offsets. Object files do not describe them, so each argument is aligned as a
//! value of its size: LLVM aligns arguments as their types, counting from the first argument.

use crate::argument::Arg;
use crate::error::ArgumentError;
use crate::module::Kernel;
use crate::{Error, Result};

/// The largest alignment: that of a vector of 16 dwords.
const MOST: usize = 64;
/// The alignment of local memory that arguments name.
const LOCAL: u32 = 16;

/// The arguments one after the other, in at least `size` bytes. Local memory is allocated from `lds`
/// on.
pub(super) fn segment(kernel: &Kernel, args: &[Arg], size: usize, lds: &mut u32) -> Result<Vec<u8>> {
    let mut segment = Vec::new();
    for (index, argument) in args.iter().enumerate() {
        let bytes = bytes(kernel, index, argument, lds)?;
        segment.resize(segment.len().next_multiple_of(alignment(bytes.len())), 0);
        segment.extend(bytes);
    }
    segment.resize(segment.len().max(size), 0);
    Ok(segment)
}

/// The alignment of a value: its size if that is a power of two, or else the largest power of two
/// that divides it, as for a structure.
fn alignment(bytes: usize) -> usize {
    (1usize << bytes.trailing_zeros().min(usize::BITS - 1)).clamp(1, MOST)
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
        Arg::Value(bytes) => Ok(bytes.clone()),
        Arg::Local(size) => {
            let start = lds.checked_next_multiple_of(LOCAL).ok_or_else(|| kernel.too_much_lds())?;
            *lds = start.checked_add(*size).ok_or_else(|| kernel.too_much_lds())?;
            Ok(start.to_le_bytes().to_vec())
        }
        Arg::Image(_) => kind("an image"),
        Arg::Sampler(_) => kind("a sampler"),
    }
}

#[cfg(test)]
mod tests {
    use super::alignment;

    #[test]
    fn alignments() {
        assert_eq!([1, 2, 4, 8, 16, 64, 128].map(alignment), [1, 2, 4, 8, 16, 64, 64]);
        assert_eq!([3, 12, 20, 24].map(alignment), [1, 4, 4, 8]);
        assert_eq!(alignment(0), MOST_OF_NOTHING);
    }

    /// A value without bytes takes no room wherever it is.
    const MOST_OF_NOTHING: usize = super::MOST;
}
