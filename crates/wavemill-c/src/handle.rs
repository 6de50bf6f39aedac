//! Handles: numbers that look like pointers, in a table of what exists.
//!
//! A handle is never used as an address, so a handle of the wrong kind, one that was freed and a
//! pointer to anything are errors. No number of 64 bits is used twice.

use std::collections::HashMap;
use std::ffi::c_char;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::memory::{Filled, Out, Versioned};
use crate::message::{Failure, Result, call};

/// Something that a handle stands for.
pub(crate) trait Handled: Clone + Sized {
    /// What the handle leads to in C.
    type Opaque;
    /// What it is, for messages: `a device`.
    const WHAT: &'static str;
    /// It, as an entry of the table.
    fn into_object(self) -> Object;
    /// It, if the entry is one.
    fn of(object: &Object) -> Option<&Self>;
}

macro_rules! objects {
    ($($variant:ident($ty:ty) as $opaque:ident, $what:literal;)*) => {
        /// What a handle stands for.
        #[derive(Clone, Debug)]
        pub(crate) enum Object {
            $($variant($ty),)*
        }

        impl Object {
            fn what(&self) -> &'static str {
                match self {
                    $(Object::$variant(_) => $what,)*
                }
            }
        }

        $(
            impl Handled for $ty {
                type Opaque = crate::$opaque;
                const WHAT: &'static str = $what;
                fn into_object(self) -> Object {
                    Object::$variant(self)
                }
                fn of(object: &Object) -> Option<&Self> {
                    match object {
                        Object::$variant(value) => Some(value),
                        _ => None,
                    }
                }
            }
        )*
    };
}

objects! {
    Device(std::sync::Arc<crate::device::Entry>) as wm_device_t, "a device";
    Buffer(wavemill::Buffer) as wm_buffer_t, "a buffer";
    Module(std::sync::Arc<crate::module::Entry>) as wm_module_t, "a module";
    Kernel(std::sync::Arc<crate::kernel::Entry>) as wm_kernel_t, "a kernel";
}

/// Numbers of handles are different enough already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a handle is a usize");
    }

    fn write_usize(&mut self, number: usize) {
        // The table looks at the highest bits, too.
        self.0 = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Table = HashMap<usize, Object, BuildHasherDefault<Identity>>;

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

/// Distance of handles. It makes all of them look aligned.
const STEP: usize = 16;

static NEXT: AtomicUsize = AtomicUsize::new(STEP);

/// A new handle.
pub(crate) fn add<T: Handled>(value: T) -> *mut T::Opaque {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    loop {
        let number = NEXT.fetch_add(STEP, Ordering::Relaxed);
        // Numbers of 32 bits may come round.
        if number != 0 && !table.contains_key(&number) {
            table.insert(number, value.into_object());
            return ptr::without_provenance_mut(number);
        }
    }
}

fn wrong<T: Handled>(number: usize, found: Option<&Object>) -> Failure {
    let found = match found {
        _ if number == 0 => "NULL".to_owned(),
        Some(object) => object.what().to_owned(),
        None => format!("{number:#x}, which is no handle or was freed"),
    };
    Failure::new(format!("expected {}, found {found}", T::WHAT))
}

/// What a handle stands for.
pub(crate) fn get<T: Handled>(handle: *const T::Opaque) -> Result<T> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let found = table.get(&handle.addr());
    found.and_then(T::of).cloned().ok_or_else(|| wrong::<T>(handle.addr(), found))
}

/// An entry point that reports one fact about what a handle stands for.
///
/// # Safety
/// `out` is null, or leads to a variable.
pub(crate) unsafe fn report<T: Handled, V>(
    handle: *const T::Opaque,
    out: *mut V,
    what: &str,
    value: impl FnOnce(&T) -> Result<V>,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out, what)? };
        out.set(value(&get::<T>(handle)?)?);
        Ok(())
    })
}

/// An entry point that fills a structure with facts about what a handle stands for.
///
/// # Safety
/// `to` is null, or leads to a structure of the size that it says.
pub(crate) unsafe fn describe<T: Handled, S: Versioned>(
    handle: *const T::Opaque,
    to: *mut S,
    facts: impl FnOnce(&T) -> Result<S>,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let to = unsafe { Filled::new(to)? };
        to.set(facts(&get::<T>(handle)?)?);
        Ok(())
    })
}

/// Ends a handle. Null is no error, as for `free`.
pub(crate) fn free<T: Handled>(handle: *mut T::Opaque) -> Result<()> {
    if handle.is_null() {
        return Ok(());
    }
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let found = table.get(&handle.addr());
    if found.and_then(T::of).is_none() {
        return Err(wrong::<T>(handle.addr(), found));
    }
    let object = table.remove(&handle.addr());
    // Freeing memory may take a while.
    drop(table);
    drop(object);
    Ok(())
}
