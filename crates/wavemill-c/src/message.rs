//! The edge of the library: errors and panics become messages.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use wavemill_object::printable::PrintableLines;

/// Why a call failed, for its caller to read.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

thread_local! {
    /// The last message of the thread.
    static MESSAGE: RefCell<CString> = RefCell::default();
    /// The last text of the thread that is no message: a report, a listing.
    static TEXT: RefCell<CString> = RefCell::default();
    /// The last bytes of the thread: a code object.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A text for C. A NUL would end it early, and becomes U+FFFD.
pub(crate) fn c_string(text: impl Into<String>) -> CString {
    let text: String = text.into();
    let text = if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    // It has no NUL.
    CString::new(text).unwrap_or_default()
}

/// Keeps a message for the thread, and returns where it is. A thread that is ending keeps nothing.
fn keep_message(text: impl Into<String>) -> *const c_char {
    let text = c_string(text);
    let keep = |slot: &RefCell<CString>| {
        let previous = slot.replace(text);
        drop(previous);
        slot.borrow().as_ptr()
    };
    MESSAGE.try_with(keep).unwrap_or(c"the call failed while its thread was ending".as_ptr())
}

/// Keeps a text for the thread until the next one, and returns where it is.
pub(crate) fn keep_text(text: impl Into<String>) -> Result<*const c_char> {
    let text = c_string(text);
    let keep = |slot: &RefCell<CString>| {
        slot.replace(text);
        slot.borrow().as_ptr()
    };
    TEXT.try_with(keep).map_err(Failure::from)
}

/// Keeps bytes for the thread until the next ones, and returns where they are.
pub(crate) fn keep_bytes(bytes: Vec<u8>) -> Result<*const u8> {
    let keep = |slot: &RefCell<Vec<u8>>| {
        slot.replace(bytes);
        slot.borrow().as_ptr()
    };
    BYTES.try_with(keep).map_err(Failure::from)
}

/// The text of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Runs the body of an entry point. The result is null, or the message of its error or panic.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> *const c_char {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => ptr::null(),
        Ok(Err(Failure(message))) => keep_message(PrintableLines(&message).bounded()),
        Err(panic) => {
            let message =
                format!("internal error of Wavemill, please report it: panic: {}", panic_text(&*panic));
            // Its drop could panic, too.
            std::mem::forget(panic);
            keep_message(message)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn text(message: *const c_char) -> String {
        assert!(!message.is_null());
        // SAFETY: a message is a string until the next one of this thread.
        unsafe { CStr::from_ptr(message) }.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn a_panic_becomes_a_message() {
        let expected = "internal error of Wavemill, please report it: panic: ";
        assert_eq!(text(call(|| panic!("one"))), format!("{expected}one"));
        let number = 2;
        assert_eq!(text(call(|| panic!("number {number}"))), format!("{expected}number 2"));
        assert_eq!(text(call(|| std::panic::panic_any(3))), format!("{expected}without a message"));
        /// What panics once more when it is dropped.
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        assert_eq!(text(call(|| std::panic::panic_any(Again))), format!("{expected}without a message"));
        assert!(call(|| Ok(())).is_null());
    }

    #[test]
    fn a_nul_does_not_end_a_message() {
        assert_eq!(text(call(|| Err(Failure::new("before\0after")))), "before\u{fffd}after");
    }
}
