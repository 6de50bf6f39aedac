//! Runs a failing launch through the command and through the library.

use std::num::NonZeroUsize;
use std::path::Path;

use wavemill::device::{AddressMode, TargetChoice};
use wavemill::launch::Strict;
use wavemill::stats::LaunchStats;
use wavemill::{Buffer, Device, Error, Launch, Module, RunOptions};

use crate::common::{Folder, repository};

/// Contents of the buffers around the accessed one.
const BEFORE: u8 = 0x5a;
const AFTER: u8 = 0xa5;
/// Contents of the accessed buffer.
pub(crate) const DATA: u8 = 0x11;
/// Bytes of each surrounding buffer: not a multiple of any alignment.
const AROUND: usize = 301;

/// An argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// A buffer of this many bytes, all [`DATA`].
    Buffer(usize),
    /// A buffer of this many zeros.
    Zeros(usize),
    I64(i64),
    U64(u64),
    U32(u32),
    I32(i32),
}

/// A run. The kernel's arguments are a buffer called `before`, these arguments, and a buffer called
/// `after`.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) object: &'static str,
    pub(crate) kernel: &'static str,
    pub(crate) args: Vec<(&'static str, Value)>,
    /// Workgroups, and work-items of each.
    pub(crate) grid: (u32, u32),
    pub(crate) strict: Strict,
    pub(crate) max_instructions: Option<u64>,
    pub(crate) exit: i32,
    /// Whether the first line reports a distance from a buffer that is not near.
    pub(crate) far: bool,
}

impl Case {
    pub(crate) fn new(
        name: &'static str,
        object: &'static str,
        kernel: &'static str,
        args: &[(&'static str, Value)],
    ) -> Case {
        Case {
            name,
            object,
            kernel,
            args: args.to_vec(),
            grid: (1, 64),
            strict: Strict::default(),
            max_instructions: None,
            exit: 4,
            far: false,
        }
    }

    /// The command line after `wavemill`.
    pub(crate) fn line(&self, mode: AddressMode) -> Vec<String> {
        let text = |value: Value| match value {
            Value::Buffer(bytes) => format!("u8[{bytes}]={DATA}"),
            Value::Zeros(bytes) => format!("u8[{bytes}]=zeros"),
            Value::I64(n) => format!("i64={n}"),
            Value::U64(n) => format!("u64={n:#x}"),
            Value::U32(n) => format!("u32={n:#x}"),
            Value::I32(n) => format!("i32={n}"),
        };
        let mut line: Vec<String> =
            ["run", &format!("{}.co", self.object), "--kernel", self.kernel].map(str::to_owned).to_vec();
        let (groups, items) = self.grid;
        line.extend(["--grid", &groups.to_string(), "--block", &items.to_string()].map(str::to_owned));
        line.push("--deterministic".to_owned());
        match self.strict {
            Strict { lds: true, .. } => line.push("--strict".to_owned()),
            Strict { buffers: true, .. } => line.push("--strict=buffers".to_owned()),
            _ => {}
        }
        if let Some(limit) = self.max_instructions {
            line.push(format!("--max-instructions={limit}"));
        }
        if mode == AddressMode::Identity {
            line.push("--address-mode=identity".to_owned());
        }
        line.push(format!("before:u8[{AROUND}]={BEFORE}"));
        line.extend(self.args.iter().map(|(name, value)| {
            // Metadata also has the types of buffers.
            let ty = match (self.object, value) {
                ("source" | "recursion" | "stack", Value::Buffer(bytes)) => {
                    format!("i32[{}]={:#x}", bytes / 4, 0x1111_1111)
                }
                ("source" | "recursion" | "stack", Value::Zeros(bytes)) => {
                    format!("i32[{}]=zeros", bytes / 4)
                }
                _ => text(*value),
            };
            format!("{name}:{ty}")
        }));
        line.push(format!("after:u8[{AROUND}]={AFTER}"));
        line
    }

    /// Initial contents of the accessed buffer; `None` if there is none.
    pub(crate) fn contents(&self) -> Option<Vec<u8>> {
        self.args.iter().find_map(|(_, value)| match *value {
            Value::Buffer(size) => Some(vec![DATA; size]),
            Value::Zeros(size) => Some(vec![0; size]),
            _ => None,
        })
    }

    /// Runs the command, which must end with the case's exit code; returns its standard error.
    pub(crate) fn command(&self, folder: &Folder, mode: AddressMode, more: &[&str]) -> String {
        let line = self.line(mode);
        let output = folder.command().args(&line).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // A process killed by a signal has no code.
        assert_eq!(output.status.code(), Some(self.exit), "{}: {line:?}\n{said}", self.name);
        // With the advice, a terminal shows all of it.
        let report = said.split_once("error: ").map_or("", |(_, report)| report).lines().count();
        assert!(report <= 12 || more.contains(&"--registers"), "{}: {report} lines\n{said}", self.name);
        said
    }

    /// Runs the case through the library. Returns the result, and the final contents of the
    /// accessed buffer, if there is one. The surrounding buffers must be unchanged.
    pub(crate) fn library(
        &self,
        target: &str,
        mode: AddressMode,
        poison: Option<u32>,
    ) -> (Result<LaunchStats, Error>, Option<Vec<u8>>) {
        self.launch(target, mode, poison, false)
    }

    /// Like [`Case::library`], with the accessed buffer freed before.
    pub(crate) fn after_free(&self, target: &str, mode: AddressMode) -> Result<LaunchStats, Error> {
        self.launch(target, mode, None, true).0
    }

    fn launch(
        &self,
        target: &str,
        mode: AddressMode,
        poison: Option<u32>,
        free: bool,
    ) -> (Result<LaunchStats, Error>, Option<Vec<u8>>) {
        let file = std::fs::read(path(target, self.object)).unwrap();
        let choice = TargetChoice::parse(target).unwrap();
        let device = Device::builder(choice).addresses(mode).build().unwrap();
        let module = Module::load(&device, &file).unwrap();
        let kernel = module.kernel(self.kernel).unwrap();
        let around = |name, byte| device.buffer_from(name, &[byte; AROUND]).unwrap();
        let before = around("before", BEFORE);
        let mut kernarg = before.address().to_le_bytes().to_vec();
        let mut data: Option<Buffer> = None;
        for (name, value) in &self.args {
            let bytes = match value {
                Value::Buffer(_) | Value::Zeros(_) => {
                    assert!(data.is_none(), "{}: there is one accessed buffer", self.name);
                    let buffer = device.buffer_from(name, &self.contents().unwrap_or_default()).unwrap();
                    data.insert(buffer).address().to_le_bytes().to_vec()
                }
                Value::I64(n) => n.to_le_bytes().to_vec(),
                Value::U64(n) => n.to_le_bytes().to_vec(),
                Value::U32(n) => n.to_le_bytes().to_vec(),
                Value::I32(n) => n.to_le_bytes().to_vec(),
            };
            kernarg.resize(kernarg.len().next_multiple_of(bytes.len()), 0);
            kernarg.extend(bytes);
        }
        let after = around("after", AFTER);
        kernarg.resize(kernarg.len().next_multiple_of(8), 0);
        kernarg.extend(after.address().to_le_bytes());
        if free {
            data = None;
        }
        let (groups, items) = self.grid;
        let options = RunOptions {
            threads: NonZeroUsize::new(1),
            deterministic: true,
            find_stalls: true,
            strict: self.strict,
            max_instructions: self.max_instructions,
            poison,
            ..RunOptions::default()
        };
        let result = Launch::new(&kernel)
            .workgroups([groups, 1, 1])
            .workgroup_size([items, 1, 1])
            .kernarg(&kernarg)
            .options(options)
            .run();
        for (buffer, byte) in [(&before, BEFORE), (&after, AFTER)] {
            assert!(
                buffer.bytes().unwrap().iter().all(|b| *b == byte),
                "{}: a buffer was touched",
                self.name
            );
        }
        (result, data.map(|data| data.bytes().unwrap()))
    }
}

/// An object of `kernels/faults`.
pub(crate) fn path(target: &str, object: &str) -> impl AsRef<Path> {
    repository().join("kernels/bin").join(target).join("faults").join(format!("{object}.co"))
}

/// A folder with all objects of a target.
pub(crate) fn folder(name: &str, target: &str) -> Folder {
    let folder = Folder::new(&format!("faults_{name}_{target}"));
    for object in ["access", "private", "freed", "control", "jumps", "stack", "absurd", "source", "recursion"]
    {
        folder.file(&format!("{object}.co"), std::fs::read(path(target, object)).unwrap());
    }
    folder
}

/// The text common to both address modes: without addresses, and without registers and distances
/// that depend on them. For an address `far` from all buffers, also without the nearest buffer.
pub(crate) fn without_addresses(text: &str, far: bool) -> String {
    let mut out = String::new();
    let mut memory = false;
    for (n, line) in text.lines().enumerate() {
        let registers = line.starts_with("    s[")
            || line.starts_with("    m0 ")
            || (line.starts_with("    v") || line.starts_with("  * v")) && !line.contains("vgprs");
        let continued = memory && line.starts_with("               ");
        memory = line.starts_with("  memory ") || continued;
        if memory {
            if !continued && !far {
                out += "<memory>\n";
            }
            continue;
        }
        let line = match line.rsplit_once(": ") {
            Some((what, _)) if n == 0 && far => what,
            _ => line,
        };
        let words = line.split_inclusive([' ', '(', ')', ':', ',']);
        for word in words {
            let digits = word.trim_end_matches([' ', '(', ')', ':', ',']);
            let hexadecimal = |text: &str| text.chars().all(|c| c.is_ascii_hexdigit());
            let address = digits.strip_prefix("0x").is_some_and(|rest| rest.len() > 8 && hexadecimal(rest));
            let register = registers && digits.len() >= 8 && hexadecimal(digits);
            match address || register {
                true => out += &format!("<address>{}", &word[digits.len()..]),
                false => out += word,
            }
        }
        out.push('\n');
    }
    out
}
