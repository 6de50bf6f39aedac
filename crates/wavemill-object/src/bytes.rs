//! Checked little-endian reads.

use crate::error::{Error, Result};

/// The bytes `offset..offset + len` of `data`, or [`Error::Truncated`] naming `what`.
pub(crate) fn slice<'a>(data: &'a [u8], offset: u64, len: u64, what: &'static str) -> Result<&'a [u8]> {
    let truncated = || Error::Truncated { what, offset, needed: len, end: data.len() as u64 };
    let end = offset.checked_add(len).ok_or_else(truncated)?;
    let start = usize::try_from(offset).map_err(|_| truncated())?;
    let end = usize::try_from(end).map_err(|_| truncated())?;
    data.get(start..end).ok_or_else(truncated)
}

/// The `N` bytes at `offset`.
pub(crate) fn array<const N: usize>(data: &[u8], offset: u64, what: &'static str) -> Result<[u8; N]> {
    let mut out = [0; N];
    out.copy_from_slice(slice(data, offset, N as u64, what)?);
    Ok(out)
}

/// The 16-bit number at `offset`.
pub(crate) fn u16(data: &[u8], offset: u64, what: &'static str) -> Result<u16> {
    Ok(u16::from_le_bytes(array(data, offset, what)?))
}

/// The 32-bit number at `offset`.
pub(crate) fn u32(data: &[u8], offset: u64, what: &'static str) -> Result<u32> {
    Ok(u32::from_le_bytes(array(data, offset, what)?))
}

/// The 64-bit number at `offset`.
pub(crate) fn u64(data: &[u8], offset: u64, what: &'static str) -> Result<u64> {
    Ok(u64::from_le_bytes(array(data, offset, what)?))
}
