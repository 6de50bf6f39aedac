//! The memory of callers. All that reads or writes it is here.
//!
//! The functions check what can be checked: null, sizes, UTF-8, and that no size is larger than any
//! object. That a pointer which is not null leads to memory is the promise of the caller, which
//! the documentation of each function of the library states.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::message::{Failure, Result};

/// A structure whose first field is its size, as its caller knows it.
///
/// # Safety
/// The structure is `repr(C)`, begins with `struct_size: usize`, and has no padding at its end.
/// Every pattern of bits is a value of it.
pub(crate) unsafe trait Versioned: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Offsets of its fields, without the first: the sizes that it had before a field was added.
    const STARTS: &'static [usize];
}

/// Implements [`Versioned`] for a structure with these fields after `struct_size`.
macro_rules! versioned {
    (unsafe $name:ident { $($field:ident),* $(,)? } ends with $last:ident: $ty:ty) => {
        // SAFETY: the structure is `repr(C)` with integers and pointers alone, of which every pattern
        // of bits is a value. The assertions check the first field, and that there is no padding at the
        // end.
        unsafe impl crate::memory::Versioned for $name {
            const NAME: &'static str = stringify!($name);
            const STARTS: &'static [usize] =
                &[$(::core::mem::offset_of!($name, $field),)* ::core::mem::offset_of!($name, $last)];
        }
        const _: () = {
            assert!(::core::mem::offset_of!($name, struct_size) == 0);
            assert!(
                ::core::mem::offset_of!($name, $last) + size_of::<$ty>() == size_of::<$name>(),
                "the structure has padding at its end: add a field that is reserved"
            );
        };
    };
}
pub(crate) use versioned;

/// Largest size of a structure that a newer caller may have. A larger one was never set.
const LARGEST: usize = 4096;

/// The bytes of a structure that caller and library both know, and the bytes that only the caller
/// knows.
///
/// # Safety
/// `from` is null, or its first bytes are a `usize`.
unsafe fn known<T: Versioned>(from: *const T) -> Result<(usize, usize)> {
    if from.is_null() {
        return Err(Failure::new(format!("expected a {}, found NULL", T::NAME)));
    }
    // SAFETY: the caller's promise; the address need not be a multiple of its alignment.
    let size = unsafe { from.cast::<usize>().read_unaligned() };
    let own = size_of::<T>();
    if size > own && size <= LARGEST {
        return Ok((own, size - own));
    }
    if size != own && !T::STARTS.contains(&size) {
        return Err(Failure::new(format!(
            "struct_size of a {name} is {size}; set it to sizeof({name}), which is {own} in this version of Wavemill",
            name = T::NAME
        )));
    }
    Ok((size, 0))
}

/// The size of a structure, as its caller knows it.
///
/// # Safety
/// `from` is null, or its first bytes are a `usize`.
pub(crate) unsafe fn caller_size<T: Versioned>(from: *const T) -> Result<usize> {
    // SAFETY: the caller's promise.
    let (known, more) = unsafe { known(from)? };
    Ok(known + more)
}

/// A structure that the caller filled. Fields after its size are 0, and bytes that this version does
/// not know must be 0.
///
/// # Safety
/// `from` is null, or the first bytes are a `usize`, and as many bytes as it says can be read.
pub(crate) unsafe fn read<T: Versioned>(from: *const T) -> Result<T> {
    // SAFETY: the caller's promise.
    let (size, more) = unsafe { known(from)? };
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `known` checked that the structure has `size` bytes, at most those of T, and the
    // caller promises them.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: the caller promises `size + more` bytes.
    let rest = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(size), more) };
    if let Some(at) = rest.iter().position(|byte| *byte != 0) {
        return Err(Failure::new(format!(
            "byte {} of a {} is not 0, but this version of Wavemill knows {} bytes of it: the program needs a \
             newer version",
            size + at,
            T::NAME,
            size_of::<T>()
        )));
    }
    // SAFETY: all bytes are initialised, and every pattern of bits is a value.
    Ok(unsafe { value.assume_init() })
}

/// A structure of the caller that the library fills, checked before the work that fills it.
#[derive(Debug)]
pub(crate) struct Filled<T> {
    to: *mut T,
    size: usize,
    more: usize,
}

impl<T: Versioned> Filled<T> {
    /// # Safety
    /// `to` is null, or the first bytes are a `usize`, and as many bytes as it says can be written as
    /// long as this exists.
    pub(crate) unsafe fn new(to: *mut T) -> Result<Filled<T>> {
        // SAFETY: the caller's promise.
        let (size, more) = unsafe { known(to.cast_const())? };
        Ok(Filled { to, size, more })
    }

    /// Like [`Filled::new`], or nothing if `to` is null.
    ///
    /// # Safety
    /// As [`Filled::new`].
    pub(crate) unsafe fn optional(to: *mut T) -> Result<Option<Filled<T>>> {
        // SAFETY: the caller's promise.
        (!to.is_null()).then(|| unsafe { Filled::new(to) }).transpose()
    }

    /// Fills it, except for its size. Bytes that this version does not know become 0.
    pub(crate) fn set(&self, value: T) {
        const SIZE: usize = size_of::<usize>();
        let from = (&raw const value).cast::<u8>();
        let to = self.to.cast::<u8>();
        // SAFETY: the creator promised `size + more` bytes. Both are at least the field of the size,
        // and `size` is at most that of T. Bytes of `value` are initialised: the structures have no
        // padding at the end, and padding between fields is copied as it is.
        unsafe {
            ptr::copy_nonoverlapping(from.add(SIZE), to.add(SIZE), self.size - SIZE);
            ptr::write_bytes(to.add(self.size), 0, self.more);
        }
    }
}

/// A variable of the caller that receives a result, checked before the work.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `to` is null, or a T can be written there as long as this exists.
    pub(crate) unsafe fn new(to: *mut T, what: &str) -> Result<Out<T>> {
        if to.is_null() {
            return Err(Failure::new(format!("expected a pointer to a variable for {what}, found NULL")));
        }
        Ok(Out(to))
    }

    pub(crate) fn set(self, value: T) {
        // SAFETY: it is not null, and the creator promised that it can be written.
        unsafe { self.0.write_unaligned(value) };
    }
}

/// A string of the caller.
///
/// # Safety
/// `from` is null, or leads to bytes up to a NUL that do not change as long as the result is used.
pub(crate) unsafe fn text<'a>(from: *const c_char, what: &str) -> Result<&'a str> {
    if from.is_null() {
        return Err(Failure::new(format!("expected {what}, found NULL")));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().map_err(|error| {
        let at = error.valid_up_to();
        Failure::new(format!("expected {what} in UTF-8, but its byte {at} is not part of a character"))
    })
}

/// Like [`text`], or nothing if `from` is null.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional_text<'a>(from: *const c_char, what: &str) -> Result<Option<&'a str>> {
    // SAFETY: the caller's promise.
    (!from.is_null()).then(|| unsafe { text(from, what) }).transpose()
}

/// Checks an array of the caller. The result is whether it has any bytes.
pub(crate) fn check_array(is_null: bool, size: usize, what: &str) -> Result<bool> {
    match size {
        0 => Ok(false),
        _ if is_null => Err(Failure::new(format!("expected {size} bytes of {what}, found NULL"))),
        _ if size > isize::MAX as usize => {
            Err(Failure::new(format!("{size} bytes of {what} are more than any object has")))
        }
        _ => Ok(true),
    }
}

/// Bytes of the caller. Null is as good as any pointer to 0 bytes.
///
/// # Safety
/// `size` bytes at `from` can be read, and do not change as long as the result is used.
pub(crate) unsafe fn bytes<'a>(from: *const c_void, size: usize, what: &str) -> Result<&'a [u8]> {
    match check_array(from.is_null(), size, what)? {
        // SAFETY: the caller's promise; it is not null, and not larger than any object.
        true => Ok(unsafe { std::slice::from_raw_parts(from.cast(), size) }),
        false => Ok(&[]),
    }
}

/// Bytes of the caller to write to.
///
/// # Safety
/// `size` bytes at `to` can be written, and nothing else uses them as long as the result is used.
pub(crate) unsafe fn bytes_mut<'a>(to: *mut c_void, size: usize, what: &str) -> Result<&'a mut [u8]> {
    match check_array(to.is_null(), size, what)? {
        // SAFETY: the caller's promise; it is not null, and not larger than any object.
        true => Ok(unsafe { std::slice::from_raw_parts_mut(to.cast(), size) }),
        false => Ok(&mut []),
    }
}

/// Values of the caller, copied. The type is one of which every pattern of bits is a value.
///
/// # Safety
/// `count` values at `from` can be read.
pub(crate) unsafe fn values<T: Plain>(from: *const T, count: usize, what: &str) -> Result<Vec<T>> {
    let size = count.saturating_mul(size_of::<T>());
    if !check_array(from.is_null(), size, what)? {
        return Ok(Vec::new());
    }
    // SAFETY: the caller's promise; all of it is one object, and need not be aligned.
    Ok((0..count).map(|at| unsafe { from.add(at).read_unaligned() }).collect())
}

/// A type of which every pattern of bits is a value.
///
/// # Safety
/// It is.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: every pattern of bits is a number.
unsafe impl Plain for u32 {}

/// Structures of the caller in an array. The first says how large each is.
///
/// # Safety
/// `from` is null, or `count` structures of the size that the first one says can be read.
pub(crate) unsafe fn structures<T: Versioned>(from: *const T, count: usize, what: &str) -> Result<Vec<T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the caller's promise.
    let size = unsafe { caller_size(from)? };
    check_array(from.is_null(), count.saturating_mul(size), what)?;
    let mut all = Vec::with_capacity(count.min(1 << 10));
    for at in 0..count {
        let one = from.wrapping_byte_add(at * size);
        // SAFETY: the caller promises `count` structures of this size.
        let own = unsafe { caller_size(one)? };
        if own != size {
            return Err(Failure::new(format!(
                "struct_size of {} number {at} is {own}, and that of the first one is {size}",
                T::NAME
            )));
        }
        // SAFETY: as before.
        all.push(unsafe { read(one)? });
    }
    Ok(all)
}
