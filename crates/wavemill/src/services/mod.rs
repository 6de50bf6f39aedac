//! Host services for kernels: `printf`, `assert` and `malloc`, without the runtime that serves them
//! on a GPU.

mod format;
mod hostcall;
mod printf;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use wavemill_machine::{Host, MemoryMap};
use wavemill_object::ValueKind;

use crate::buffer::Buffer;
use crate::guest::DeviceInner;
use crate::heap::Heap;
use crate::module::Kernel;
use crate::printf_formats::Formats;
use crate::{Error, Result};
use hostcall::Hostcalls;
use printf::PrintfBuffer;

/// Default size of a launch's printf buffer in bytes.
pub(crate) const PRINTF_BUFFER: u64 = 16 << 20;
/// Sizes that a launch's printf buffer can have
/// ([`Launch::printf_buffer`](crate::Launch::printf_buffer)), in bytes. The size is a 32-bit count,
/// and the buffer must hold at least one record.
pub const PRINTF_BUFFER_SIZES: RangeInclusive<u64> = 64..=0xffff_ffff;
/// Default size of a device's heap in bytes.
const HEAP: u64 = 256 << 20;

/// Output of a kernel, while it runs or after it has run
/// ([`Launch::output`](crate::Launch::output)).
///
/// ```
/// use std::sync::Mutex;
///
/// use wavemill::launch::Output;
/// use wavemill::{Arg, Device, Launch, Module};
///
/// # use wavemill_kernels::{Target, fixture};
/// # let object = fixture(Target::Gfx942, "printf").ok_or("there is no printf")?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("printf_kinds")?;
/// # let stored = device.buffer("stored", 1024)?;
/// # let args = [Arg::from(&stored), Arg::from(42i32), Arg::from(5u64), Arg::from(1.5f32), Arg::from(-2.75f64)];
/// // `kernel` calls printf.
/// let text = Mutex::new(Vec::new());
/// let receive = |output: Output<'_>| match output {
///     Output::Stdout(bytes) => text.lock().unwrap().extend_from_slice(bytes),
///     Output::Stderr(bytes) => eprint!("{}", String::from_utf8_lossy(bytes)),
///     Output::Note(note) => eprintln!("note: {note}"),
///     _ => {}
/// };
/// Launch::new(&kernel).args(args).output(&receive).run()?;
/// let text = text.into_inner()?;
/// assert!(text.starts_with(b"plain text: 100%"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output<'a> {
    /// Text for the standard output: `printf`. The bytes are those of C strings, not necessarily
    /// UTF-8.
    Stdout(&'a [u8]),
    /// Text for the standard error: the message of `assert` before the kernel traps.
    Stderr(&'a [u8]),
    /// A request of the kernel that failed, or output that was lost; one sentence.
    Note(&'a str),
}

/// The receiver of a kernel's output.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sink<'a>(pub(crate) Option<&'a (dyn Fn(Output<'_>) + Sync)>);

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Sink" } else { "no Sink" })
    }
}

impl Sink<'_> {
    fn text(&self, to_error: bool, text: &[u8]) {
        if let Some(sink) = self.0
            && !text.is_empty()
        {
            sink(if to_error { Output::Stderr(text) } else { Output::Stdout(text) });
        }
    }

    fn note(&self, text: fmt::Arguments<'_>) {
        if let Some(sink) = self.0 {
            sink(Output::Note(&text.to_string()));
        }
    }
}

/// The services that a launch needs, according to its hidden arguments.
#[derive(Debug)]
pub(crate) struct Services<'a> {
    printf: Option<(PrintfBuffer, Arc<Formats>)>,
    hostcalls: Option<Hostcalls<'a>>,
    /// Guest address of the device library's heap structure.
    heap: u64,
    sink: Sink<'a>,
}

/// Guest addresses through which device code requests services.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceAddresses {
    /// The printf buffer, 0 if there is none.
    pub printf: u64,
    /// The hostcall buffer, 0 if there is none.
    pub hostcall: u64,
    /// The device library's heap structure, 0 if there is none.
    pub heap: u64,
}

impl<'a> Services<'a> {
    /// Prepares the services that the kernel needs; up to `waves` are resident at once.
    pub(crate) fn new(kernel: &'a Kernel, waves: u64, printf_buffer: u64, sink: Sink<'a>) -> Result<Self> {
        let device = &kernel.module.device;
        let metadata = kernel.metadata();
        let wants = |kind: ValueKind| metadata.is_some_and(|m| m.args.iter().any(|a| a.value_kind == kind));
        let printf = match wants(ValueKind::HiddenPrintfBuffer) {
            true => {
                if !PRINTF_BUFFER_SIZES.contains(&printf_buffer) {
                    let (least, most) = PRINTF_BUFFER_SIZES.into_inner();
                    let problem = format!(
                        "a printf buffer of {printf_buffer} bytes is not possible; expected {least} to {most}"
                    );
                    return Err(Error::Launch { kernel: kernel.name().to_owned(), problem });
                }
                let buffer =
                    PrintfBuffer::new(Buffer::internal(device, "printf buffer", printf_buffer, 256)?)?;
                Some((buffer, kernel.module.printf.clone()))
            }
            false => None,
        };
        let hostcalls = match wants(ValueKind::HiddenHostcallBuffer) {
            true => Some(Hostcalls::new(device, waves, sink)?),
            false => None,
        };
        // Code objects up to version 4 keep the structure themselves, and do not declare that they
        // allocate.
        let old = !wants(ValueKind::HiddenBlockCountX) && hostcalls.is_some();
        let heap = match wants(ValueKind::HiddenHeapV1) || old {
            true => heap_of(device)?,
            false => 0,
        };
        Ok(Services { printf, hostcalls, heap, sink })
    }

    /// Addresses of the services for device code.
    pub(crate) fn addresses(&self) -> ServiceAddresses {
        ServiceAddresses {
            printf: self.printf.as_ref().map_or(0, |(buffer, _)| buffer.address()),
            hostcall: self.hostcalls.as_ref().map_or(0, Hostcalls::address),
            heap: self.heap,
        }
    }

    /// The host that the machine polls while the grid runs, if one is needed.
    pub(crate) fn host<'b>(&'b self, map: &'b MemoryMap) -> Option<impl Host + 'b> {
        self.hostcalls.as_ref().map(|hostcalls| Polled { hostcalls, map })
    }

    /// Serves the remaining requests after the grid has ended, in whatever way.
    pub(crate) fn finish(&self, map: &MemoryMap) -> Result<()> {
        if let Some(hostcalls) = &self.hostcalls {
            // Stopped waves may have pending requests.
            hostcalls.poll(map);
        }
        match &self.printf {
            Some((buffer, formats)) => buffer.print(formats, &self.sink),
            None => Ok(()),
        }
    }
}

/// The device's heap, created by the first launch that needs it.
fn heap_of(device: &Arc<DeviceInner>) -> Result<u64> {
    let mut heap = device.heap.lock().unwrap_or_else(|e| e.into_inner());
    match &*heap {
        Some(heap) => Ok(heap.control()),
        None => {
            let made = match device.heap_size {
                Some(size) => Heap::new(&device.memory, size)?,
                // Compilers declare the heap in many kernels that never allocate: these run even
                // without memory for it.
                None => Heap::new(&device.memory, HEAP).or_else(|_| Heap::new(&device.memory, 0))?,
            };
            Ok(heap.insert(made).control())
        }
    }
}

/// Hostcalls, and the memory that waves see.
struct Polled<'a> {
    hostcalls: &'a Hostcalls<'a>,
    map: &'a MemoryMap,
}

impl Host for Polled<'_> {
    fn poll(&self) -> bool {
        self.hostcalls.poll(self.map)
    }
}
