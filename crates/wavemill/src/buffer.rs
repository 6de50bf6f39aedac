//! Buffers of guest memory.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Result;
use crate::device::DeviceInner;

/// Element types whose bytes are their value.
pub trait Plain: bytemuck::Pod + sealed::Sealed {
    /// Bytes of an element.
    const SIZE: usize;
    /// The element's little-endian bytes, appended.
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

/// A buffer of guest memory. It is freed when the last clone of it is dropped; a kernel that runs at that moment may
/// still finish with it.
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
        let address = device.memory.allocate(name, size, align)?;
        Ok(Buffer(Arc::new(BufferInner { device: device.clone(), address, size })))
    }

    /// A buffer of the runtime's own.
    pub(crate) fn internal(device: &Arc<DeviceInner>, name: &str, size: u64, align: u64) -> Result<Self> {
        let buffer = Buffer::allocate(device, name, size, align)?;
        device.memory.set_internal(buffer.address());
        Ok(buffer)
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

    /// Copies bytes into the buffer, from byte `offset` on.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if they do not fit.
    pub fn write_bytes(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        Ok(self.0.device.memory.write(self.0.address.saturating_add(offset), bytes)?)
    }

    /// Fills the buffer with a word, in little-endian bytes.
    ///
    /// # Errors
    /// None of those that [`Buffer::write_bytes`] has: all of it fits.
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
    /// [`Error::Memory`](crate::Error::Memory) if the buffer has not that many.
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        Ok(self.0.device.memory.read(self.0.address.saturating_add(offset), into)?)
    }

    /// The whole contents.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if the host has not the memory for a copy.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut all = vec![0; self.0.size as usize];
        self.read_bytes(0, &mut all)?;
        Ok(all)
    }

    /// Copies elements into the buffer, from element `first` on.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if they do not fit.
    pub fn write<T: Plain>(&self, first: u64, elements: &[T]) -> Result<()> {
        self.write_bytes(first.saturating_mul(T::SIZE as u64), &to_bytes(elements))
    }

    /// The contents as elements; bytes behind the last whole one are left out.
    ///
    /// # Errors
    /// As [`Buffer::bytes`].
    pub fn to_vec<T: Plain>(&self) -> Result<Vec<T>> {
        if cfg!(target_endian = "little") {
            let mut elements = vec![T::zeroed(); self.0.size as usize / T::SIZE];
            self.read_bytes(0, bytemuck::cast_slice_mut(&mut elements))?;
            return Ok(elements);
        }
        Ok(self.bytes()?.chunks_exact(T::SIZE).map(T::get).collect())
    }
}

/// Little-endian bytes of elements: on most hosts those that they are.
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
