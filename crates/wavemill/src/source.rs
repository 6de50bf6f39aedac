//! Source positions from debug information.

use std::fmt;

/// A position in the source.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Device, Launch, Module};
/// # let object = given::built("faults/source.co")?;
/// # let device = Device::for_object(&object)?;
/// # let kernel = Module::load(&device, &object)?.kernel("one_lane")?;
/// # let out = device.buffer("out", 256)?;
/// # let words = [0, out.address(), 5, 0];
/// # let kernarg: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([64, 1, 1]).kernarg(&kernarg))?;
/// // `report` of a fault in a kernel that was compiled with `-g`.
/// let at = report.source.as_ref().ok_or("no debug information")?;
/// // As compilers write it: source.cl:7:17.
/// println!("{at}");
/// assert!(at.file.ends_with("source.cl"));
/// assert_eq!(at.line, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File as the compiler recorded it.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        Ok(())
    }
}

/// A call that the compiler inlined.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Device, Launch, Module};
/// # let object = given::built("faults/source.co")?;
/// # let device = Device::for_object(&object)?;
/// # let kernel = Module::load(&device, &object)?.kernel("one_lane")?;
/// # let out = device.buffer("out", 256)?;
/// # let words = [0, out.address(), 5, 0];
/// # let kernarg: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([64, 1, 1]).kernarg(&kernarg))?;
/// // `report` of a fault in a function that the compiler inlined into a kernel.
/// for call in &report.inlined {
///     match &call.at {
///         Some(at) => println!("in {}, called at {at}", call.function),
///         None => println!("in {}", call.function),
///     }
/// }
/// assert_eq!(report.inlined[0].function, "scale");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The function, mangled for C++; empty if the debug information does not name it.
    pub function: String,
    /// The position of the call.
    pub at: Option<SourceLocation>,
}
