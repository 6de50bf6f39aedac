//! Turns the records that kernels write for `printf` into text.
//!
//! Text arrives in two ways. OpenCL's `printf` (LLVM's `AMDGPUPrintfRuntimeBinding`) and HIP's with
//! `-mprintf-kind=buffered` (`AMDGPUEmitPrintf`) write records into a buffer, which is read when
//! the launch is over. HIP's usual `printf` sends messages to the host while the kernel runs
//! ([`super::hostcall`]). The messages have the form of HIP's records.
//!
//! The buffer begins with two dwords: bytes of records, and bytes of capacity. An OpenCL record is
//! the number of its format in the metadata `amdhsa.printf`, then the arguments one after the
//! other, in the sizes from the metadata. (LLVM up to 22 counts 4 bytes too many for strings whose
//! length is a multiple of 4. Every reader then finds the rest of such a record at the wrong
//! offset.) A HIP record is a control dword (bit 0: standard error; bit 1: constant format; from
//! bit 2 on: bytes of the record), the format (the hash of a constant one, otherwise the text), and
//! the arguments in pieces of 8 bytes.

use half::f16;

use super::Sink;
use super::format::{Conversion, Length, Piece, pieces, wide_character};
use crate::Result;
use crate::buffer::{Buffer, Plain};
use crate::printf_formats::{Format, Formats};

/// An argument as memory holds it.
enum Argument<'a> {
    /// A value, or the elements of a vector.
    Bytes(&'a [u8]),
    /// A copied string.
    Text(&'a [u8]),
}

/// Source of arguments.
trait Arguments<'a> {
    /// The next argument, which the conversion will print.
    fn next(&mut self, conversion: &Conversion<'_>) -> Option<Argument<'a>>;
    /// The next argument as a width or a precision.
    fn star(&mut self) -> Option<i32>;
}

/// OpenCL's arguments: one after the other, in known sizes.
struct Sized<'a> {
    sizes: std::slice::Iter<'a, u32>,
    bytes: &'a [u8],
}

impl<'a> Sized<'a> {
    fn take(&mut self) -> Option<&'a [u8]> {
        let size = *self.sizes.next()? as usize;
        let (argument, rest) = self.bytes.split_at_checked(size)?;
        self.bytes = rest;
        Some(argument)
    }
}

impl<'a> Arguments<'a> for Sized<'a> {
    fn next(&mut self, conversion: &Conversion<'_>) -> Option<Argument<'a>> {
        match conversion.kind {
            // LLVM stores nothing for it.
            b'n' => Some(Argument::Bytes(&[])),
            b's' => self.take().map(Argument::Text),
            _ => self.take().map(Argument::Bytes),
        }
    }

    fn star(&mut self) -> Option<i32> {
        self.take()?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
    }
}

/// HIP's arguments: 8 bytes each; strings include their zero, padded to a multiple of 8.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (argument, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(argument)
    }

    /// A string up to its zero, or all remaining bytes.
    fn text(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let length = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        let text = &self.0[..length];
        self.0 = self.0.get((length + 1).next_multiple_of(8)..).unwrap_or_default();
        Some(text)
    }
}

impl<'a> Arguments<'a> for Words<'a> {
    fn next(&mut self, conversion: &Conversion<'_>) -> Option<Argument<'a>> {
        // `int`, and narrower types promoted to it, fill the lower half of their word.
        let narrow = !conversion.is_float()
            && !matches!(conversion.kind, b'p' | b'n')
            && conversion.length != Length::Long;
        match conversion.kind {
            b's' => self.text().map(Argument::Text),
            _ => self.take(8).map(|word| Argument::Bytes(if narrow { &word[..4] } else { word })),
        }
    }

    fn star(&mut self) -> Option<i32> {
        self.take(8)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
    }
}

/// Prints a format with its arguments. Conversions without an argument are printed as they are.
fn render<'a>(out: &mut Vec<u8>, format: &[u8], arguments: &mut dyn Arguments<'a>) {
    for piece in pieces(format) {
        let conversion = match piece {
            Piece::Text(text) => {
                out.extend_from_slice(text);
                continue;
            }
            Piece::Conversion(conversion) => conversion,
        };
        if convert(out, &conversion, arguments).is_none() {
            out.extend_from_slice(conversion.text);
        }
    }
}

fn convert<'a>(out: &mut Vec<u8>, c: &Conversion<'_>, arguments: &mut dyn Arguments<'a>) -> Option<()> {
    let field = c.field(|| arguments.star())?;
    let bytes = match arguments.next(c)? {
        Argument::Text(text) => {
            field.string(out, text);
            return Some(());
        }
        Argument::Bytes(bytes) => bytes,
    };
    let elements = c.vector.unwrap_or(1);
    // Vectors of three occupy the room of four.
    let room = if elements == 3 { 4 } else { elements };
    let size = match bytes.len() / room {
        size if c.vector.is_none() && size > 8 => 8,
        size => size,
    };
    for n in 0..elements {
        if n > 0 {
            out.push(b',');
        }
        let element = bytes.get(n * size..(n + 1) * size)?;
        if c.is_float() {
            let value = match *element {
                [a, b] => f16::from_le_bytes([a, b]).to_f64(),
                [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
                _ => f64::from_le_bytes(*element.first_chunk()?),
            };
            field.float(out, c.kind, value);
            continue;
        }
        // Arguments have their own size; `h` and `hh` narrow them.
        let used = match c.length {
            Length::Char => 1,
            Length::Short => 2,
            _ => 8,
        };
        let used = used.min(element.len());
        let mut value = [0; 8];
        value[..used].copy_from_slice(&element[..used]);
        let value = u64::from_le_bytes(value);
        match c.kind {
            _ if c.is_signed() => {
                let unused = 64 - 8 * used as u32;
                field.signed(out, (value.unbounded_shl(unused) as i64).checked_shr(unused).unwrap_or(0));
            }
            b'c' if c.length == Length::Long => field.character(out, &wide_character(value as u32)),
            b'c' => field.character(out, &[value as u8]),
            b'p' => field.pointer(out, value),
            // Nothing is written to the guest.
            b'n' => {}
            kind => field.unsigned(out, kind, value),
        }
    }
    Some(())
}

/// Prints a HIP message: a format, then its arguments. Returns the number of bytes printed.
pub(crate) fn message(sink: &Sink<'_>, to_error: bool, bytes: &[u8]) -> usize {
    let mut words = Words(bytes);
    let mut out = Vec::new();
    if let Some(format) = words.text() {
        render(&mut out, format, &mut words);
    }
    sink.text(to_error, &out);
    out.len()
}

/// A buffer that a kernel writes records into.
#[derive(Clone, Debug)]
pub(crate) struct PrintfBuffer(Buffer);

/// Bytes before the records.
const HEADER: u64 = 8;
/// Bytes of text to pass on at once.
const PORTION: usize = 1 << 16;

impl PrintfBuffer {
    /// Writes the two dwords at the start of a buffer.
    pub(crate) fn new(buffer: Buffer) -> Result<PrintfBuffer> {
        let room = u32::try_from(buffer.size() - HEADER).unwrap_or(u32::MAX);
        buffer.write::<u32>(0, &[0, room])?;
        Ok(PrintfBuffer(buffer))
    }

    /// Guest address.
    pub(crate) fn address(&self) -> u64 {
        self.0.address()
    }

    fn word<T: Plain>(&self, offset: u64) -> Option<T> {
        let mut bytes = [0; 8];
        self.0.read_bytes(offset, &mut bytes[..T::SIZE]).ok()?;
        Some(T::get(&bytes[..T::SIZE]))
    }

    /// Passes the text of all records on, in order.
    pub(crate) fn print(&self, formats: &Formats, sink: &Sink<'_>) -> Result<()> {
        // Device code stays 8 bytes below the capacity in the header.
        let room = self.0.size().saturating_sub(2 * HEADER).min(u64::from(u32::MAX) - HEADER);
        let filled = u64::from(self.word::<u32>(0).unwrap_or(0));
        let end = HEADER + filled.min(room);
        let mut at = HEADER;
        let mut largest = formats.numbered.values().map(Format::record).max().unwrap_or(12);
        let mut text = Vec::new();
        let mut to_error = false;
        let mut unfinished = 0;
        while at + 4 <= end {
            let head = self.word::<u32>(at).unwrap_or(0);
            // A wave stopped between reserving and writing leaves zeros; records of other waves
            // follow them.
            if head == 0 {
                unfinished += 4;
                at += 4;
                continue;
            }
            let size = match formats.is_hip() {
                true => u64::from(head >> 2),
                false => formats.numbered.get(&head).map_or(0, Format::record),
            };
            let least = if !formats.is_hip() {
                4
            } else if head & 2 != 0 {
                12
            } else {
                5
            };
            if size < least || size > end - at {
                sink.text(to_error, &std::mem::take(&mut text));
                sink.note(format_args!(
                    "the printf buffer is invalid from byte {} on ({head:#x} is not a record): the rest of the output \
                     is lost",
                    at - HEADER
                ));
                unfinished = 0;
                break;
            }
            largest = largest.max(size);
            let mut record = vec![0; size as usize - 4];
            self.0.read_bytes(at + 4, &mut record)?;
            at += size;
            let stream = formats.is_hip() && head & 1 != 0;
            if stream != to_error || text.len() > PORTION {
                sink.text(to_error, &std::mem::take(&mut text));
                to_error = stream;
            }
            if !formats.is_hip() {
                let Some(format) = formats.numbered.get(&head) else { continue };
                let mut arguments = Sized { sizes: format.sizes.iter(), bytes: &record };
                render(&mut text, &format.text, &mut arguments);
            } else if head & 2 != 0 {
                let hash = u64::get(&record[..8]);
                match formats.hashed.get(&hash) {
                    Some(format) => render(&mut text, format, &mut Words(&record[8..])),
                    None => {
                        sink.text(to_error, &std::mem::take(&mut text));
                        sink.note(format_args!(
                            "printf with a format that is not in the code object ({hash:#x})"
                        ));
                    }
                }
            } else {
                let mut words = Words(&record);
                if let Some(format) = words.text() {
                    render(&mut text, format, &mut words);
                }
            }
        }
        sink.text(to_error, &text);
        if unfinished > 0 {
            sink.note(format_args!(
                "waves were stopped in the middle of printf: {unfinished} bytes of output were reserved, but not written"
            ));
        }
        if filled > room || room - filled < largest {
            sink.note(format_args!(
                "the printf buffer of {} bytes is full: output may have been lost",
                self.0.size()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Output;
    use super::*;
    use crate::printf_formats::unescape;

    fn opencl(entry: &str, arguments: &[u8]) -> String {
        let formats = Formats::parse(&[entry.to_owned()]);
        let format = formats.numbered.values().next().expect("the entry is one");
        let mut out = Vec::new();
        render(&mut out, &format.text, &mut Sized { sizes: format.sizes.iter(), bytes: arguments });
        String::from_utf8_lossy(&out).into_owned()
    }

    fn hip(format: &str, words: &[u64]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut out = Vec::new();
        render(&mut out, format.as_bytes(), &mut Words(&bytes));
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn entries_of_the_metadata() {
        let entries = [
            "1:2:4:8:a\\72 %d\\n%f".to_owned(),
            "2:0:plain".to_owned(),
            "0:0:1f2e,%s: %d\\n".to_owned(),
            "nonsense".to_owned(),
            "3:x:y:z".to_owned(),
            "99999999999:0:x".to_owned(),
            String::new(),
        ];
        let formats = Formats::parse(&entries);
        let format = |sizes: &[u32], text: &str| Format { sizes: sizes.to_vec(), text: text.into() };
        assert_eq!(
            formats,
            Formats {
                numbered: [(1, format(&[4, 8], "a: %d\n%f")), (2, format(&[], "plain"))].into(),
                hashed: [(0x1f2e, b"%s: %d\\n".to_vec())].into(),
            }
        );
        assert_eq!(unescape("\\a\\b\\f\\n\\r\\v\\72\\7\\x\\"), b"\x07\x08\x0c\n\r\x0b:\\7\\x\\");
    }

    #[test]
    fn arguments_of_opencl() {
        assert_eq!(opencl("1:1:4:%d", &(-5i32).to_le_bytes()), "-5");
        assert_eq!(opencl("1:1:4:%u", &(-5i32).to_le_bytes()), "4294967291");
        assert_eq!(opencl("1:1:4:%hhd %d", &0x1ffi32.to_le_bytes()), "-1 %d");
        assert_eq!(opencl("1:1:4:%hx", &(-1i32).to_le_bytes()), "ffff");
        assert_eq!(opencl("1:1:8:%ld", &i64::MIN.to_le_bytes()), i64::MIN.to_string());
        // The size of the argument counts, not the size in the format.
        assert_eq!(opencl("1:1:8:%d", &i64::MIN.to_le_bytes()), i64::MIN.to_string());
        assert_eq!(opencl("1:1:4:%.2f", &1.5f32.to_le_bytes()), "1.50");
        assert_eq!(opencl("1:1:8:%g", &1e100f64.to_le_bytes()), "1e+100");
        assert_eq!(opencl("1:1:8:%s|", b"abc\0\0\0\0\0"), "abc|");
        assert_eq!(opencl("1:1:8:%s|", b"abcdefgh"), "abcdefgh|");
        assert_eq!(opencl("1:1:4:%s|", &0xffff_ff00u32.to_le_bytes()), "|");
        assert_eq!(opencl("1:1:4:%c%%", &65i32.to_le_bytes()), "A%");
        assert_eq!(opencl("1:2:4:8:%d %p", &[1, 0, 0, 0, 0x20, 0, 0, 0, 1, 0, 0, 0]), "1 0x100000020");
    }

    #[test]
    fn vectors_of_opencl() {
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(
            opencl("1:1:16:%v4hlf", &bytes(&[1.0, -2.0, 0.5, 4.0])),
            "1.000000,-2.000000,0.500000,4.000000"
        );
        assert_eq!(opencl("1:1:16:%5.1v3hlf|", &bytes(&[1.0, -2.0, 0.5, 9.0])), "  1.0, -2.0,  0.5|");
        assert_eq!(opencl("1:1:4:%#v4hhx", &[1, 0xff, 0, 0x80]), "0x1,0xff,0,0x80");
        assert_eq!(opencl("1:1:4:%v4hhd", &[1, 0xff, 0, 0x80]), "1,-1,0,-128");
        let halves: Vec<u8> = [1.5, -0.25].iter().flat_map(|v| f16::from_f64(*v).to_le_bytes()).collect();
        assert_eq!(opencl("1:1:4:%v2hg", &halves), "1.5,-0.25");
        let longs: Vec<u8> = [1i64, -1].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(opencl("1:1:16:%v2ld", &longs), "1,-1");
    }

    #[test]
    fn arguments_of_hip() {
        assert_eq!(hip("%d %ld %u", &[0xffff_fffe, u64::MAX, 0xffff_fffe]), "-2 -1 4294967294");
        assert_eq!(
            hip("%lld %zu %hhd %hu", &[1 << 40, u64::MAX, 0xff, 0x1_0001]),
            "1099511627776 18446744073709551615 -1 1"
        );
        assert_eq!(hip("%.1f|%e", &[2.25f64.to_bits(), (-1f64).to_bits()]), "2.2|-1.000000e+00");
        assert_eq!(hip("%*d|%-*.*f|", &[5, 7, 8, 2, 1f64.to_bits()]), "    7|1.00    |");
        assert_eq!(hip("%s %d", &[u64::from_le_bytes(*b"exactly7"), 0, 9]), "exactly7 9");
        assert_eq!(hip("%s%d", &[u64::from_le_bytes(*b"ab\0\0\0\0\0\0"), 9]), "ab9");
        assert_eq!(hip("%c%p %n%d", &[65, 0x10, 7, 8]), "A0x10 8");
        assert_eq!(hip("%d %s", &[1]), "1 %s");
        assert_eq!(hip("%d %*d", &[1]), "1 %*d");
    }

    /// Prints the contents of a buffer: the number of bytes in use, and the dwords after the
    /// header.
    fn printed(entries: &[&str], used: u32, records: &[u32]) -> Vec<String> {
        let heard = std::sync::Mutex::new(Vec::new());
        let listen = |output: Output<'_>| {
            heard.lock().unwrap().push(match output {
                Output::Stdout(text) => format!("out {}", String::from_utf8_lossy(text)),
                Output::Stderr(text) => format!("err {}", String::from_utf8_lossy(text)),
                Output::Note(text) => format!("note {text}"),
            });
        };
        let device = crate::Device::new(&crate::TargetId::parse("gfx942").unwrap()).unwrap();
        let buffer = device.buffer("printf buffer", 256).unwrap();
        let printf = PrintfBuffer::new(buffer.clone()).unwrap();
        assert_eq!(buffer.to_vec::<u32>().unwrap()[..2], [0, 248]);
        buffer.write(0, &[used]).unwrap();
        buffer.write(2, records).unwrap();
        let formats = Formats::parse(&entries.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>());
        printf.print(&formats, &Sink(Some(&listen))).unwrap();
        heard.into_inner().unwrap()
    }

    #[test]
    fn records_one_after_the_other() {
        let formats = ["1:1:4:%d;", "2:0:two;"];
        assert_eq!(printed(&formats, 0, &[]), [""; 0]);
        assert_eq!(printed(&formats, 20, &[1, 7, 2, 1, 8, 1, 9]), ["out 7;two;8;"]);
        // A stopped wave has left zeros.
        assert_eq!(
            printed(&formats, 24, &[1, 7, 0, 0, 1, 8]),
            [
                "out 7;8;",
                "note waves were stopped in the middle of printf: 8 bytes of output were reserved, but not written"
            ]
        );
        assert_eq!(
            printed(&formats, 20, &[2, 99, 1, 7, 2]),
            [
                "out two;",
                "note the printf buffer is invalid from byte 4 on (0x63 is not a record): the rest of the output is lost"
            ]
        );
        let full = "note the printf buffer of 256 bytes is full: output may have been lost";
        assert_eq!(printed(&formats, 240, &[2; 60]), [format!("out {}", "two;".repeat(60)), full.to_owned()]);
        assert_eq!(printed(&formats, u32::MAX, &[2; 60]).len(), 2);
        // There is room only for one more record of the smaller kind.
        assert_eq!(printed(&formats, 236, &[2; 59])[1], full);
        assert_eq!(printed(&formats, 232, &[2; 58]).len(), 1);
    }

    #[test]
    fn records_of_hip() {
        let formats = ["0:0:100000002,%d "];
        // Control dwords: bytes of the record, constant format, standard error.
        let control = |bytes: u32, constant: bool, error: bool| {
            bytes << 2 | u32::from(constant) << 1 | u32::from(error)
        };
        let constant = |error| [control(20, true, error), 2, 1, 42, 0];
        let own = [control(20, false, false), u32::from_le_bytes(*b"x%d "), 0, 5, 0];
        let records = [&constant(false)[..], &own, &constant(true), &constant(true)].concat();
        assert_eq!(printed(&formats, 80, &records), ["out 42 x5 ", "err 42 42 "]);
        assert_eq!(
            printed(&formats, 20, &[control(20, true, false), 3, 1, 42, 0]),
            ["note printf with a format that is not in the code object (0x100000003)"]
        );
        for bytes in [1, 4, 8, 84, u32::MAX >> 2] {
            let heard = printed(&formats, 80, &[control(bytes, true, false), 2, 1, 42]);
            assert!(heard[0].starts_with("note the printf buffer is invalid from byte 0 on"), "{heard:?}");
        }
    }

    #[test]
    fn forged_buffers_do_no_harm() {
        let mut state = 0x9e37_79b9u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let entries =
            [&["1:3:4:8:16:%d%s%v4f%*.*e%v3hhd", "2:2:0:4294967295:%s", "7:0:"][..], &["0:0:1,%s%s%d%n%*s"]];
        for round in 0..4000 {
            let records: Vec<u32> =
                (0..60).map(|_| if random() % 2 == 0 { random() % 256 } else { random() }).collect();
            printed(entries[round % 2], random() % 300, &records);
        }
    }

    #[test]
    fn hostile_records_have_an_end() {
        assert_eq!(opencl("1:1:4:%f %s %v16d %d", &[1, 2]), "%f %s %v16d %d");
        assert_eq!(opencl("1:1:3:%f", &[1, 2, 3]), "%f");
        assert_eq!(opencl("1:1:0:%d", &[]), "0");
        assert_eq!(opencl("1:1:0:%v4d", &[]), "0,0,0,0");
        assert_eq!(hip("%s", &[u64::MAX]).chars().count(), 8);
    }
}
