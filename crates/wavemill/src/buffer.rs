//! Buffers of guest memory.

use std::borrow::Cow;
use std::sync::Arc;

use wavemill_machine::{MemoryError, Nearest};
use wavemill_object::printable::Echo;

use crate::Result;
use crate::guest::DeviceInner;

/// Element types whose bytes are their value.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::buffer::Plain;
/// use wavemill::{Buffer, Device, Result};
///
/// /// Doubles all elements, whatever their type is.
/// fn double<T: Plain + std::ops::Add<Output = T>>(buffer: &Buffer) -> Result<()> {
///     let doubled: Vec<T> = buffer.to_vec::<T>()?.into_iter().map(|element| element + element).collect();
///     buffer.write(0, &doubled)
/// }
///
/// # let device = given::device()?;
/// let buffer = device.buffer_from("halves", &[0.5f64, 1.5])?;
/// double::<f64>(&buffer)?;
/// assert_eq!(buffer.to_vec::<f64>()?, [1.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Plain: bytemuck::Pod + sealed::Sealed {
    /// Bytes of an element.
    const SIZE: usize;
    /// Appends the element's little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
    /// The element from its [`Plain::SIZE`] little-endian bytes.
    fn get(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for $t {}
        impl Plain for $t {
            const SIZE: usize = size_of::<$t>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$t>()];
                raw.copy_from_slice(bytes);
                <$t>::from_le_bytes(raw)
            }
        }
    )*};
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// The name of memory for messages: the beginning of a long one. Programs may have names of any
/// length, and memory is named in each report.
pub(crate) fn shown(name: &str) -> Cow<'_, str> {
    if name.len() <= Echo::LONGEST { Cow::Borrowed(name) } else { Cow::Owned(Echo::new(name).to_string()) }
}

/// A buffer of guest memory. Dropping the last clone frees it; a kernel that is running then can
/// still finish with it.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # let device = given::device()?;
/// let buffer = device.buffer("numbers", 16)?;
/// // From element 2 on.
/// buffer.write(2, &[5u32, 6])?;
/// assert_eq!(buffer.to_vec::<u32>()?, [0, 0, 5, 6]);
/// // Elements beyond the end are an error, even where another buffer is.
/// assert!(buffer.write(3, &[7u32, 8]).is_err());
/// // The address that kernels get.
/// println!("numbers: {:#x}, {} bytes", buffer.address(), buffer.size());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Buffer(Arc<BufferInner>);

#[derive(Debug)]
struct BufferInner {
    device: Arc<DeviceInner>,
    address: u64,
    size: u64,
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        // The address was handed out by `allocate` and is freed once, so this cannot fail.
        let _ = self.device.memory.free(self.address);
    }
}

impl Buffer {
    pub(crate) fn allocate(device: &Arc<DeviceInner>, name: &str, size: u64, align: u64) -> Result<Self> {
        // What is allocated beyond the size belongs to the buffer as far as kernels are concerned.
        let allocated = size.checked_next_multiple_of(device.abi.allocation_unit()).unwrap_or(size);
        let address = device.memory.allocate(&shown(name), allocated, align)?;
        Ok(Buffer(Arc::new(BufferInner { device: device.clone(), address, size })))
    }

    /// A buffer of the host's memory.
    ///
    /// # Safety
    /// As [`Device::import_buffer`](crate::Device::import_buffer).
    pub(crate) unsafe fn import(
        device: &Arc<DeviceInner>,
        name: &str,
        memory: *mut u8,
        size: u64,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let address = unsafe { device.memory.import(&shown(name), memory, size)? };
        Ok(Buffer(Arc::new(BufferInner { device: device.clone(), address, size })))
    }

    /// A buffer for the runtime's own use, far from users' buffers.
    pub(crate) fn internal(device: &Arc<DeviceInner>, name: &str, size: u64, align: u64) -> Result<Self> {
        let address = device.memory.allocate_internal(name, size, align)?;
        Ok(Buffer(Arc::new(BufferInner { device: device.clone(), address, size })))
    }

    /// Marks the buffer as unknown to users of the device.
    pub(crate) fn set_internal(&self) {
        self.0.device.memory.set_internal(self.address());
    }

    /// Makes the buffer read-only for kernels, from the next launch on. The host can still write to
    /// it. `what` names the contents in messages: `code`.
    ///
    /// # Errors
    /// None of the errors of [`Buffer::write_bytes`] can occur: the buffer exists.
    pub fn protect(&self, what: &str) -> Result<()> {
        let range = self.address()..self.address().saturating_add(self.size());
        Ok(self.0.device.memory.protect(range, what)?)
    }

    /// Guest address of the first byte.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.0.address
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.size
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceInner>) -> bool {
        Arc::ptr_eq(&self.0.device, device)
    }

    /// Guest address of a part of the buffer. A range that begins outside the buffer is an error,
    /// even where another buffer is.
    fn part(&self, offset: u64, size: usize) -> Result<u64> {
        let (address, own) = (self.address().saturating_add(offset), self.size());
        if offset.checked_add(size as u64).is_some_and(|end| end <= own) {
            return Ok(address);
        }
        let map = self.0.device.memory.snapshot();
        let name = map.find(self.address()).map_or_else(String::new, |a| a.name.to_string());
        let nearest = match offset.checked_sub(own) {
            Some(distance) => Nearest::After { name, distance, freed: false },
            None => Nearest::Inside { name, offset, size: own },
        };
        Err(MemoryError::NotMapped { address, size: size as u64, nearest }.into())
    }

    /// Copies bytes into the buffer, from byte `offset` on.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if they do not fit; then nothing is written.
    pub fn write_bytes(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.0.device.memory.write(self.part(offset, bytes.len())?, bytes)?)
    }

    /// Fills the buffer with a word, in little-endian bytes.
    ///
    /// # Errors
    /// None of the errors of [`Buffer::write_bytes`] can occur: the words always fit.
    pub fn fill(&self, word: u32) -> Result<()> {
        let piece = word.to_le_bytes().repeat(1 << 14);
        let mut at = 0;
        while at < self.size() {
            let n = (self.size() - at).min(piece.len() as u64);
            self.write_bytes(at, &piece[..n as usize])?;
            at += n;
        }
        Ok(())
    }

    /// Copies bytes out of the buffer, from byte `offset` on.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if the buffer is shorter.
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        Ok(self.0.device.memory.read(self.part(offset, into.len())?, into)?)
    }

    /// The whole contents.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if the host does not have the memory for a copy.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        self.to_vec()
    }

    /// Zeros as the destination for the contents.
    fn room<T: Plain>(&self) -> Result<Vec<T>> {
        let count = self.0.size as usize / T::SIZE;
        let mut room = Vec::new();
        if room.try_reserve_exact(count).is_err() {
            let name = format!("a copy of {} bytes", self.0.size);
            return Err(MemoryError::OutOfMemory { name, size: self.0.size }.into());
        }
        room.resize(count, T::zeroed());
        Ok(room)
    }

    /// Copies elements into the buffer, from element `first` on.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if they do not fit.
    pub fn write<T: Plain>(&self, first: u64, elements: &[T]) -> Result<()> {
        self.write_bytes(first.saturating_mul(T::SIZE as u64), &to_bytes(elements))
    }

    /// The contents as elements; bytes after the last whole element are omitted.
    ///
    /// # Errors
    /// As [`Buffer::bytes`].
    pub fn to_vec<T: Plain>(&self) -> Result<Vec<T>> {
        let mut elements = self.room::<T>()?;
        if cfg!(target_endian = "little") {
            self.read_bytes(0, bytemuck::cast_slice_mut(&mut elements))?;
            return Ok(elements);
        }
        let mut bytes = self.room::<u8>()?;
        self.read_bytes(0, &mut bytes)?;
        elements.clear();
        elements.extend(bytes.chunks_exact(T::SIZE).map(T::get));
        Ok(elements)
    }
}

/// Little-endian bytes of elements: borrowed on little-endian hosts.
pub(crate) fn to_bytes<T: Plain>(elements: &[T]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return Cow::Borrowed(bytemuck::cast_slice(elements));
    }
    let mut bytes = Vec::with_capacity(size_of_val(elements));
    for e in elements {
        e.put(&mut bytes);
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use wavemill_object::TargetId;

    use super::*;
    use crate::{Device, Error};

    #[test]
    fn a_buffer_ends_where_it_ends() {
        let device = Device::new(&TargetId::parse("gfx906").unwrap()).unwrap();
        let first = device.buffer("first", 4000).unwrap();
        let second = device.buffer("second", 4000).unwrap();
        let to_second = second.address() - first.address();
        for offset in [to_second, 3997, 4000, u64::MAX, u64::MAX - first.address()] {
            for result in [first.write_bytes(offset, &[1; 4]), first.read_bytes(offset, &mut [0; 4])] {
                match result {
                    Err(Error::Memory(MemoryError::NotMapped { nearest, .. })) => match nearest {
                        Nearest::After { name, distance, .. } => {
                            assert_eq!((name.as_str(), distance), ("first", offset - 4000));
                        }
                        Nearest::Inside { name, offset: 3997, size: 4000 } => assert_eq!(name, "first"),
                        other => panic!("{offset}: {other:?}"),
                    },
                    other => panic!("{offset}: {other:?}"),
                }
            }
        }
        assert!(second.bytes().unwrap().iter().all(|byte| *byte == 0));
        first.write_bytes(3996, &[1; 4]).unwrap();
        first.write_bytes(4000, &[]).unwrap();
        assert_eq!(first.to_vec::<u32>().unwrap()[999], 0x0101_0101);
    }
}
