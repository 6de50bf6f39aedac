//! Resources by their location: how a launch gives shaders of Cayman what a driver would set up.
//!
//! Kernels have arguments, and a convention says where they are. Shaders have constant buffers,
//! resources and registers with numbers instead. A launch with [bindings](crate::Launch::bindings)
//! has no arguments.

use std::fmt;

use wavemill_asm::cayman::EXPORTS;
use wavemill_ir::ExportTarget;
use wavemill_lift::cayman::export_target;

use crate::argument::Arg;
use crate::image::ImageFormat;

/// Where a program finds a resource. Numbers are those of the instructions (HD 6900 ISA 9).
///
/// ```
/// use wavemill::binding::Location;
///
/// // The names that `wavemill run --bind` takes.
/// assert_eq!(Location::from_name("rat1"), Some(Location::Target { number: 1, unit: 4, format: None }));
/// assert_eq!(Location::Register { register: 2, channel: 0 }.to_string(), "r2.x");
/// // Strides are not part of a name.
/// let elements = Location::Buffer { number: 3, stride: 16 };
/// assert_eq!(elements.to_string(), "buf3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Location {
    /// A constant buffer, 0 to 15. The resource is a buffer.
    Constants(u16),
    /// A buffer of fetches, 0 to 175. The resource is a buffer.
    Buffer {
        /// Its number.
        number: u16,
        /// Bytes from one element to the next.
        stride: u32,
    },
    /// A random access target, 0 to 11. The resource is a buffer or an image.
    Target {
        /// Its number.
        number: u16,
        /// Bytes from one index to the next, for atomic operations and typed stores; 4 for an image.
        unit: u32,
        /// The format of typed stores; dwords if there is none. An image has its own.
        format: Option<ImageFormat>,
    },
    /// An attribute of vertices, 0 to 15, of a vertex shader that calls a fetch program: the launch
    /// makes that program. Attribute n goes to register n + 1, from the element whose index is in
    /// r0.x: the number of the work-item, unless r0.x is bound. The resource is a buffer.
    Attribute {
        /// Its number.
        number: u16,
        /// Bytes from one vertex to the next.
        stride: u32,
        /// Its format.
        format: ImageFormat,
    },
    /// The buffer that receives old values of atomic operations. The resource is a buffer.
    Returns,
    /// A texture, 0 to 175. The resource is an image.
    Texture(u16),
    /// A sampler, 0 to 17.
    Sampler(u16),
    /// A channel of a register. A buffer has a dword for each work-item, in the order of their
    /// workgroups; a value of four bytes is the same for all.
    Register {
        /// The register, 0 to 127.
        register: u16,
        /// The channel, 0 to 3.
        channel: u16,
    },
    /// A buffer of a stream. The resource is a buffer.
    Stream {
        /// The stream, 0 to 3.
        stream: u16,
        /// The buffer, 0 to 3.
        buffer: u16,
        /// Bytes from the elements of one index to those of the next.
        stride: u32,
    },
    /// A ring, 0 to 3. The resource is a buffer.
    Ring {
        /// The ring.
        number: u16,
        /// Bytes from the elements of one index to those of the next.
        stride: u32,
    },
    /// The memory that MEM_EXPORT writes and MEM_RD_SCATTER reads. The resource is a buffer.
    Scatter {
        /// Bytes from the elements of one index to those of the next.
        stride: u32,
    },
    /// LDS at the start of each workgroup: the first bytes. The resource is a buffer.
    Lds,
    /// The parameters of pixels: a value of four bytes as
    /// [`PARAMETERS`](crate::registers::cayman::PARAMETERS). Without it, they are at byte 0 of LDS,
    /// and each wave is one primitive.
    Parameters,
    /// The 32 boolean constants: a value of four bytes.
    Booleans,
    /// A loop constant, 0 to 31: a value of four bytes as
    /// [`LOOP_CONSTANTS`](crate::registers::cayman::LOOP_CONSTANTS).
    Loop(u16),
    /// The register that fetches of a semantic write, 0 to 127: a value of four bytes.
    Semantic(u16),
    /// A constant of jump tables, 0 to 31: a value of four bytes, an entry of the table in each. Bits 7:0
    /// are element A.
    JumpTable(u16),
    /// The modes of floats at the start: a value of four bytes. Bits 3:0 are those of single floats,
    /// bits 7:4 those of doubles, each as a source of SET_MODE (HD 6900 ISA 8.2).
    Modes,
    /// What lanes export to a target. The resource is a buffer with four dwords (x, y, z, w) for each
    /// work-item, in the order of their workgroups. Components that a lane does not export keep what
    /// the buffer has.
    Export(ExportTarget),
}

/// Channels of a register.
const CHANNELS: [&str; 4] = ["x", "y", "z", "w"];

impl Location {
    /// The words that names of locations begin with.
    pub const KINDS: [&str; 21] = [
        "cb",
        "buf",
        "rat",
        "attrib",
        "returns",
        "tex",
        "smp",
        "r",
        "stream",
        "ring",
        "scatter",
        "lds",
        "parameters",
        "booleans",
        "loop",
        "semantic",
        "jumptable",
        "modes",
        "pix",
        "pos",
        "param",
    ];

    /// The location with a name, as [`Display`](fmt::Display) writes it. Strides and units are 4
    /// bytes, and attributes have four floats.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Location> {
        let split = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (kind, numbers) = name.split_at(split);
        let pair = || {
            let (first, second) = numbers.split_once('.')?;
            Some((first.parse::<u16>().ok()?, second))
        };
        let alone = match kind {
            "returns" => Some(Location::Returns),
            "scatter" => Some(Location::Scatter { stride: 4 }),
            "lds" => Some(Location::Lds),
            "parameters" => Some(Location::Parameters),
            "booleans" => Some(Location::Booleans),
            "modes" => Some(Location::Modes),
            _ => None,
        };
        if alone.is_some() {
            return alone.filter(|_| numbers.is_empty());
        }
        match kind {
            "r" => {
                let (register, channel) = pair()?;
                let channel = CHANNELS.iter().position(|name| *name == channel)? as u16;
                return Some(Location::Register { register, channel });
            }
            "stream" => {
                let (stream, buffer) = pair()?;
                return Some(Location::Stream { stream, buffer: buffer.parse().ok()?, stride: 4 });
            }
            _ => {}
        }
        let number: u16 = numbers.parse().ok()?;
        Some(match kind {
            "cb" => Location::Constants(number),
            "buf" => Location::Buffer { number, stride: 4 },
            "rat" => Location::Target { number, unit: 4, format: None },
            "attrib" => {
                let format = ImageFormat::from_name("rgba32f")?;
                Location::Attribute { number, stride: format.texel.data.bytes(), format }
            }
            "tex" => Location::Texture(number),
            "smp" => Location::Sampler(number),
            "ring" => Location::Ring { number, stride: 4 },
            "loop" => Location::Loop(number),
            "semantic" => Location::Semantic(number),
            "jumptable" => Location::JumpTable(number),
            _ => {
                let kind = EXPORTS.iter().position(|name| *name == kind)?;
                Location::Export(export_target(kind as u32, number.into())?)
            }
        })
    }
}

/// The name of an export's target in the text of a program.
fn export_name(target: ExportTarget) -> Option<(&'static str, u32)> {
    let all = EXPORTS.iter().zip(0..).flat_map(|(name, kind)| (0..64).map(move |base| (*name, kind, base)));
    let named = all.into_iter().find(|(_, kind, base)| export_target(*kind, *base) == Some(target));
    named.map(|(name, _, base)| (name, base))
}

/// The names of the command line: `cb0`, `buf168`, `r2.x`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Location::Constants(n) => write!(f, "cb{n}"),
            Location::Buffer { number, .. } => write!(f, "buf{number}"),
            Location::Target { number, .. } => write!(f, "rat{number}"),
            Location::Attribute { number, .. } => write!(f, "attrib{number}"),
            Location::Returns => f.write_str("returns"),
            Location::Texture(n) => write!(f, "tex{n}"),
            Location::Sampler(n) => write!(f, "smp{n}"),
            Location::Register { register, channel } => {
                let channel = CHANNELS.get(usize::from(channel)).unwrap_or(&"?");
                write!(f, "r{register}.{channel}")
            }
            Location::Stream { stream, buffer, .. } => write!(f, "stream{stream}.{buffer}"),
            Location::Ring { number, .. } => write!(f, "ring{number}"),
            Location::Scatter { .. } => f.write_str("scatter"),
            Location::Lds => f.write_str("lds"),
            Location::Parameters => f.write_str("parameters"),
            Location::Booleans => f.write_str("booleans"),
            Location::Loop(n) => write!(f, "loop{n}"),
            Location::Semantic(n) => write!(f, "semantic{n}"),
            Location::JumpTable(n) => write!(f, "jumptable{n}"),
            Location::Modes => f.write_str("modes"),
            Location::Export(target) => match export_name(target) {
                Some((name, base)) => write!(f, "{name}{base}"),
                None => write!(f, "{target}"),
            },
        }
    }
}

/// A resource at its location.
///
/// ```
/// use wavemill::binding::{Binding, Location};
/// use wavemill::{Arg, Device, Launch, Module};
///
/// # use wavemill_kernels::{Target, fixture};
/// # let object = fixture(Target::Cayman, "vector_add").ok_or("there is no vector_add")?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("vector_add")?;
/// let tiny = f32::from_bits(1);
/// let [a, b] = [device.buffer_from("a", &[tiny])?, device.buffer_from("b", &[0.0f32])?];
/// let c = device.buffer("c", 4)?;
/// let args = [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(1u32)];
/// // Keeps denormals, which Cayman flushes at first.
/// let modes = Binding { location: Location::Modes, resource: Arg::from(0xccu32) };
/// Launch::new(&kernel).args(args).bindings([modes]).run()?;
/// assert_eq!(c.to_vec::<f32>()?, [tiny]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Binding {
    /// The location.
    pub location: Location,
    /// The resource.
    pub resource: Arg,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let names = "cb15 buf168 rat1 attrib15 returns tex3 smp17 r12.w stream1.2 ring0 scatter lds parameters booleans \
                     loop31 semantic255 jumptable0 modes pix0 pix7 pix61 pos60 pos63 param0 param31";
        for name in names.split_whitespace() {
            assert_eq!(Location::from_name(name).map(|location| location.to_string()).as_deref(), Some(name));
        }
        for name in
            ["cb", "cbx", "r0", "r0.q", "lds0", "stream1", "pix8", "pos0", "param32", "type3_0", "tec0"]
        {
            assert_eq!(Location::from_name(name), None, "{name}");
        }
        for kind in Location::KINDS {
            assert!(names.split_whitespace().any(|name| name.starts_with(kind)), "{kind}");
        }
    }
}
