//! Parsers and ranges of numbers, shared by options and the keys of launch files.

use crate::input::Shown as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::text::whole_number;
use wavemill::launch::{MAX_THREADS, PRINTF_BUFFER_SIZES};

/// Bytes of the heap: at least a page.
const HEAP_SIZES: RangeInclusive<u64> = 4096..=u64::MAX;

/// The number at the start of a text, and the rest.
fn number_and_unit(text: &str) -> (Option<u64>, &str) {
    let (digits, radix, is_digit): (&str, u32, fn(char) -> bool) =
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => (digits, 16, |c| c.is_ascii_hexdigit()),
            None => (text, 10, |c| c.is_ascii_digit()),
        };
    let end = digits.find(|c| !is_digit(c) && c != '_').unwrap_or(digits.len());
    let (digits, unit) = digits.split_at(end);
    (u64::from_str_radix(&digits.replace('_', ""), radix).ok(), unit)
}

/// The end of a message: what to write instead of a malformed size. Empty if nothing is close.
fn nearly(text: &str, number: Option<u64>, unit: &str) -> String {
    let letter = unit.get(..1).unwrap_or_default();
    match (number, unit.to_ascii_uppercase().as_str()) {
        (Some(number), "KB" | "MB" | "GB") => {
            format!("; {unit} may count in 1000s or 1024s: write {number}{letter} for units of 1024")
        }
        _ => whole_number(text),
    }
}

/// Parses a number of bytes such as `4096`, `0x1000`, `64K`, `64KiB`, `16M` or `1G`: units are
/// powers of 1024.
fn bytes(text: &str, sizes: &RangeInclusive<u64>) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let power = match unit.to_ascii_uppercase().as_str() {
        "" => Some(1u64),
        "K" | "KIB" => Some(1 << 10),
        "M" | "MIB" => Some(1 << 20),
        "G" | "GIB" => Some(1 << 30),
        _ => None,
    };
    let size = number.zip(power).and_then(|(number, power)| number.checked_mul(power));
    let size = size.ok_or_else(|| {
        format!(
            "`{}` is not a number of bytes; expected a number such as 65536, 64K, 64KiB, 16M, 1G or 0x10000{}",
            text.shown(),
            nearly(text, number, unit)
        )
    })?;
    match (sizes.contains(&size), *sizes.end()) {
        (true, _) => Ok(size),
        (false, u64::MAX) => Err(format!("{size} bytes is too small; expected {} or more", sizes.start())),
        (false, most) => Err(format!("{size} bytes is out of range; expected {} to {most}", sizes.start())),
    }
}

/// A number of bytes as options accept it, in the largest unit that keeps it whole.
pub(crate) fn bytes_text(size: u64) -> String {
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let unit = units.into_iter().find(|(unit, _)| size != 0 && size.is_multiple_of(*unit));
    unit.map_or_else(|| size.to_string(), |(unit, name)| format!("{}{name}", size / unit))
}

/// Parses the bytes of `--printf-buffer`.
pub(crate) fn printf_buffer(text: &str) -> Result<u64, String> {
    bytes(text, &PRINTF_BUFFER_SIZES)
}

/// Parses the bytes of `--heap`.
pub(crate) fn heap(text: &str) -> Result<u64, String> {
    bytes(text, &HEAP_SIZES)
}

/// Parses the bytes of `--stack`.
pub(crate) fn stack(text: &str) -> Result<u32, String> {
    lds(text)
}

/// Parses the bytes of `--dynamic-lds` and of dynamic LDS as an argument.
pub(crate) fn lds(text: &str) -> Result<u32, String> {
    let size = bytes(text, &(0..=u64::from(u32::MAX)))?;
    u32::try_from(size).map_err(|_| format!("{size} bytes do not fit into 32 bits"))
}

/// Parses the bytes of `--max-decompressed`.
pub(crate) fn decompressed(text: &str) -> Result<u64, String> {
    bytes(text, &(1..=u64::MAX))
}

/// Parses the number of `--threads`.
pub(crate) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number: Option<NonZeroUsize> = text.parse().ok();
    number.filter(|number| number.get() <= MAX_THREADS).ok_or_else(|| {
        format!("expected a number of threads from 1 to {MAX_THREADS}, found `{text}`", text = text.shown())
    })
}

/// Parses a number of instructions.
pub(crate) fn instructions(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    digits.parse().map_err(|_| {
        format!("expected a whole number of at most 64 bits, found `{text}`", text = text.shown())
    })
}

/// Parses a number of repetitions.
pub(crate) fn times(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("expected a 32-bit number, 1 or more, found `{text}`", text = text.shown()))
}

/// Parses the seconds of `--timeout`, for clap.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    let seconds: f64 =
        text.parse().map_err(|_| "expected a number of seconds such as 10 or 0.5".to_owned())?;
    seconds_to_run(seconds)
}

/// The time after which a run is stopped, from its seconds.
pub(crate) fn seconds_to_run(seconds: f64) -> Result<Duration, String> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ if seconds.is_finite() && seconds > 1.0 => {
            Err(format!("{seconds:e} seconds is too long for a clock; omit the limit"))
        }
        _ if seconds.is_finite() && seconds.abs() < 1e-3 && seconds != 0.0 => Err(format!(
            "{seconds:e} seconds is not a valid time; expected a number above 0, such as 10 or 0.5"
        )),
        _ if seconds.is_finite() && seconds.abs() > 1e9 => {
            Err("it is not a valid time; expected a number above 0, such as 10 or 0.5".to_owned())
        }
        _ => Err(format!(
            "{seconds} seconds is not a valid time; expected a number above 0, such as 10 or 0.5"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, size) in [
            ("4096", 4096),
            ("65_536", 65_536),
            ("64K", 65_536),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("0x1_0000", 65_536),
            ("0X1000", 4096),
            ("0x10K", 16_384),
            ("16m", 16 << 20),
            ("16MiB", 16 << 20),
            ("3G", 3 << 30),
            ("3GiB", 3 << 30),
        ] {
            assert_eq!((heap(text), printf_buffer(text)), (Ok(size), Ok(size)), "{text}");
        }
        for text in [
            "",
            "0",
            "K",
            "-1",
            "1T",
            "1.5M",
            "99999999999G",
            "1 K",
            "1\u{e4}",
            "0x",
            "0xK",
            "64KB",
            "64B",
            "1e3",
            "Ki",
            "64Ki",
        ] {
            assert!(heap(text).is_err() && printf_buffer(text).is_err(), "{text}");
        }
        for (text, proposal) in [
            ("64KB", "write 64K for units of 1024"),
            ("64kb", "write 64k for units of 1024"),
            ("0x10GB", "write 16G for units of 1024"),
            ("1e3", "; write 1000 for 1e3"),
        ] {
            assert!(heap(text).unwrap_err().ends_with(proposal), "{text}");
        }
        assert_eq!((printf_buffer("64"), printf_buffer("4294967295")), (Ok(64), Ok(0xffff_ffff)));
        assert_eq!(
            printf_buffer("63"),
            Err("63 bytes is out of range; expected 64 to 4294967295".to_owned())
        );
        assert_eq!((instructions("1_000"), instructions("18446744073709551615")), (Ok(1000), Ok(u64::MAX)));
        let wrong = |text| instructions(text).unwrap_err();
        for text in ["18446744073709551616", "-1", "", "1e6"] {
            assert_eq!(wrong(text), format!("expected a whole number of at most 64 bits, found `{text}`"));
        }
        for (size, text) in [(0, "0"), (1000, "1000"), (65_536, "64K"), (3 << 30, "3G"), (1 << 20, "1M")] {
            assert_eq!(bytes_text(size), text);
        }
        assert_eq!((lds("64K"), lds("0"), lds("4G").is_err()), (Ok(65_536), Ok(0), true));
        assert!(printf_buffer("4G").is_err() && heap("4G").is_ok() && heap("4095").is_err());
        assert_eq!((threads("1024").map(NonZeroUsize::get), threads("1025").is_ok()), (Ok(1024), false));
    }
}
