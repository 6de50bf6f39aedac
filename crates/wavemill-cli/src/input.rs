//! Files that the user names.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use memmap2::Mmap;
use wavemill::TargetId;
use wavemill::device::{PRODUCTS, TargetChoice};
use wavemill_asm::InstructionSet;
use wavemill_isa::Target;
use wavemill_object::Limits;
use wavemill_object::printable::{Echo, Printable};
use wavemill_object::write::{LinkError, LinkProblem};

use crate::amount;
use crate::cayman;
use crate::failure::Failure;
use crate::logging;
use crate::names;
use crate::text::all_closest;

/// Options of the commands that read files with code objects.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct LimitArgs {
    /// Most bytes that all offload bundles of a file together may decompress to, such as 4G; by default 16M plus 128 times
    /// their size, and at most 2G for each bundle
    #[arg(long, value_name = "BYTES", value_parser = amount::decompressed, hide_short_help = true)]
    max_decompressed: Option<u64>,
}

impl LimitArgs {
    /// The limits for reading files.
    pub(crate) fn limits(self) -> Limits {
        self.max_decompressed.map_or_else(Limits::default, Limits::with_decompressed)
    }
}

/// Advice on a limit that was exceeded, if it can be raised.
pub(crate) fn how_to_raise(limit: Option<(&'static str, u64)>) -> Option<String> {
    let (_, size) = limit.filter(|(parameter, _)| *parameter == "max_decompressed")?;
    Some(format!("If the file is valid, raise the limit with `--max-decompressed {size}`."))
}

/// Most reasons that a message lists why a file cannot be linked.
const REASONS: usize = 100;

/// A relocatable file that cannot be linked.
fn unlinkable(error: &LinkError, problems: &[LinkProblem]) -> Failure {
    const WHAT: &str = "the relocatable file cannot be linked";
    let reasons = problems.iter().map(|problem| Printable(&problem.to_string()).to_string());
    let (message, mut help) = match problems.len() {
        1 => (format!("{WHAT}: {}", reasons.collect::<String>()), Vec::new()),
        count => (format!("{WHAT}, for {count} reasons"), reasons.take(REASONS).collect()),
    };
    if let Some(more) = problems.len().checked_sub(REASONS + 1) {
        help.push(format!("and {} more", more + 1));
    }
    if error.needs_symbols() {
        let command = "ld.lld -shared -o LINKED.co FILE.o OTHER.o";
        help.push(format!("Link it with the files that define the symbols: `{command}`."));
    }
    match help.is_empty() {
        true => Failure::input(message),
        false => Failure::input(message).help(help.join("\n")),
    }
}

/// A file with code objects that cannot be read.
pub(crate) fn unreadable(error: &wavemill_object::Error) -> Failure {
    if let wavemill_object::Error::Unlinkable(error) = error
        && let LinkError::Problems(problems) = &**error
    {
        return unlinkable(error, problems);
    }
    let failure = Failure::input(Printable(&error.to_string()).to_string());
    match how_to_raise(error.over_limit()) {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// The bytes of a file: mapped, so that only the used parts are read.
#[derive(Debug)]
pub(crate) enum FileBytes {
    Mapped(Mmap),
    /// Files that cannot be mapped (pipes) or are empty.
    Read(Vec<u8>),
    /// The standard input, which is read once.
    Stdin(&'static [u8]),
}

impl std::ops::Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped(map) => map,
            FileBytes::Read(bytes) => bytes,
            FileBytes::Stdin(bytes) => bytes,
        }
    }
}

/// Opens a file for reading.
///
/// # Errors
/// A message that names the file.
pub(crate) fn open(path: &Path) -> Result<FileBytes, Failure> {
    let fail = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::input(format!("there is no file `{}`", path.shown())),
        _ => Failure::input(format!("cannot read `{}`: {error}", path.shown())),
    };
    logging::refuse(path)?;
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Failure::input(format!("`{}` is a directory, not a file", path.shown())));
    }
    if metadata.is_file() && metadata.len() > 0 {
        // SAFETY: if another process shortens the file while we read it, the access ends this
        // process with a signal, as in every tool that maps its input. Nothing is written through
        // the mapping, and its contents are treated as untrusted bytes.
        if let Ok(map) = unsafe { Mmap::map(&file) } {
            return Ok(FileBytes::Mapped(map));
        }
    }
    if is_device(&metadata) {
        return Err(Failure::input(format!("`{}` is a device, not a file", path.shown())));
    }
    read_limited(file, MAX_READ, &format!("`{}`", path.shown())).map(FileBytes::Read)
}

/// Opens a file for reading, or reads the standard input for `-`.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_or_stdin(path: &Path) -> Result<FileBytes, Failure> {
    if !is_stdin(path) {
        return open(path);
    }
    static STDIN: OnceLock<StdinBytes> = OnceLock::new();
    if STDIN.get().is_none() {
        // Commands read their input on one thread, so it is still unset.
        let _ = STDIN.set(read_stdin()?);
    }
    Ok(FileBytes::Stdin(STDIN.get().map_or(&[], StdinBytes::bytes)))
}

/// The kind of the standard input.
enum StdinBytes {
    /// A file and its position: the program that started this one may have read the beginning.
    #[cfg(unix)]
    Mapped(Mmap, usize),
    Read(Vec<u8>),
}

impl StdinBytes {
    fn bytes(&self) -> &[u8] {
        match self {
            #[cfg(unix)]
            StdinBytes::Mapped(map, start) => map.get(*start..).unwrap_or_default(),
            StdinBytes::Read(bytes) => bytes,
        }
    }
}

/// Whether a path means the standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read_stdin() -> Result<StdinBytes, Failure> {
    #[cfg(unix)]
    if let Some(mapped) = map_stdin() {
        return Ok(mapped);
    }
    read_limited(std::io::stdin().lock(), MAX_READ, "the standard input").map(StdinBytes::Read)
}

/// Maps the standard input, if it is a file.
#[cfg(unix)]
fn map_stdin() -> Option<StdinBytes> {
    use std::io::Seek as _;
    use std::os::fd::AsFd as _;
    let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return None;
    }
    let start = usize::try_from(file.stream_position().ok()?).ok()?;
    // SAFETY: as in `open`.
    let map = unsafe { Mmap::map(&file) }.ok()?;
    Some(StdinBytes::Mapped(map, start))
}

/// Reads an input that cannot be mapped, such as a pipe, whose length is unknown.
///
/// # Errors
/// The input has more than `limit` bytes.
fn read_limited(input: impl Read, limit: u64, name: &str) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::input(format!("cannot read {name}: {error}"));
    let mut bytes = Vec::new();
    let mut input = input.take(limit);
    input.read_to_end(&mut bytes).map_err(failed)?;
    // One byte more shows whether there is more.
    input.set_limit(1);
    match input.read(&mut [0]).map_err(failed)? {
        0 => Ok(bytes),
        _ => Err(Failure::input(format!(
            "{name} has more than {limit} bytes, the limit for input that is not a file"
        ))
        .help("Save it as a file, and pass its path: files have no limit.")),
    }
}

/// Text of the user's or of a file's in messages: on one line, without characters that a terminal
/// would obey, and shortened. All quoted text in messages goes through it.
pub(crate) trait Shown {
    /// The text for messages.
    fn shown(&self) -> String;
}

impl Shown for str {
    fn shown(&self) -> String {
        Echo::new(self).to_string()
    }
}

impl Shown for Path {
    fn shown(&self) -> String {
        /// Longest path in bytes that systems accept: the name of an existing file is never cut.
        const LONGEST: usize = 4 << 10;
        Echo::up_to(&self.to_string_lossy(), LONGEST).to_string()
    }
}

/// Whether a file begins like an ELF file.
pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// A file's name in messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.shown() }
}

/// Most bytes to read of an input that cannot be mapped: they stay in memory.
const MAX_READ: u64 = 1 << 30;

/// Whether it is a device without an end, such as `/dev/zero`.
#[cfg(unix)]
pub(crate) fn is_device(metadata: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
pub(crate) fn is_device(_: &Metadata) -> bool {
    false
}

/// Parses a target of `wavemill run`, for clap: a target id, or a product.
pub(crate) fn parse_choice(text: &str) -> Result<TargetChoice, String> {
    let known = |choice: &TargetChoice| choice.target().processor.info().is_some();
    TargetChoice::parse(text).filter(known).ok_or_else(|| unknown_target(text))
}

/// Parses a target id, or a product that stands for its target, for clap.
pub(crate) fn parse_target(text: &str) -> Result<TargetId, String> {
    parse_choice(text).map(|choice| choice.target().clone())
}

/// Parses a target of `wavemill run` whose instructions are known, for clap.
pub(crate) fn parse_choice_to_run(text: &str) -> Result<TargetChoice, String> {
    let choice = parse_choice(text)?;
    if !cayman::is_cayman(choice.target()) {
        instruction_set(choice.target())?;
    }
    Ok(choice)
}

/// Parses a target id, or a product, whose instructions are known, for clap.
pub(crate) fn parse_target_with_text(text: &str) -> Result<TargetId, String> {
    parse_choice_to_run(text).map(|choice| choice.target().clone())
}

/// Parses a target or product and returns its instructions, as [`parse_instruction_set`]; Cayman
/// too.
pub(crate) fn parse_target_to_describe(text: &str) -> Result<Target, String> {
    match parse_target(text)? {
        id if cayman::is_cayman(&id) => Ok(Target::Cayman),
        _ => parse_instruction_set(text),
    }
}

/// Advice on which targets there are.
pub(crate) const LIST: &str = "`wavemill targets` lists all targets";

/// The instructions of a target that the user names.
fn instruction_set(id: &TargetId) -> Result<InstructionSet, String> {
    InstructionSet::of(id).ok_or_else(|| {
        let hint = names::did_you_mean(&near_targets(&id.processor.name()));
        format!("Wavemill does not know the instructions of {id}{hint} ({LIST})")
    })
}

/// Parses a target or product and returns the target whose instructions it has, for clap.
pub(crate) fn parse_instruction_set(text: &str) -> Result<Target, String> {
    let id = parse_target(text)?;
    let set = instruction_set(&id)?;
    let members: Vec<&str> = set.members().iter().map(Target::name).collect();
    match members[..] {
        [_] => Ok(set.target()),
        _ => Err(format!("{id} covers {}: name one of them", members.join(", "))),
    }
}

/// Names of targets and products that a text may mean: the ones that begin or end with it, or else
/// the ones with a similar spelling.
fn near_targets(text: &str) -> Vec<String> {
    /// Fewest letters of a text that count as the start or end of a name.
    const LEAST: usize = 3;
    // Words are joined in several ways.
    let joined = |name: &str| name.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let text = joined(text);
    let known = || {
        let targets = Target::ALL.iter().map(|target| target.name());
        targets.chain(PRODUCTS.iter().map(|product| product.name))
    };
    let holds = |name: &&str| {
        let name = joined(name);
        text.len() >= LEAST && (name.starts_with(&text) || name.ends_with(&text))
    };
    let mut near: Vec<&str> = known().filter(holds).collect();
    if near.is_empty() {
        near = all_closest(&text, known());
    }
    near.into_iter().map(str::to_owned).collect()
}

/// The error for a text that names no target.
fn unknown_target(text: &str) -> String {
    let (name, features) = text.split_at(text.find(':').unwrap_or(text.len()));
    if TargetChoice::parse(name).is_some_and(|choice| choice.target().processor.info().is_some()) {
        return format!(
            "`{features}` is not a setting of target features; expected the features that {name} has, each once, such as :xnack- or :sramecc+:xnack-",
            features = features.shown(),
            name = name.shown()
        );
    }
    let hint = names::did_you_mean(&near_targets(name));
    format!(
        "expected a target such as gfx942 or gfx90a:xnack-, or a product such as mi210, found `{}`{hint} ({LIST})",
        text.shown()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_read_up_to_the_limit() {
        let mut taken = 0;
        let endless = std::io::repeat(7).take(u64::MAX);
        let counted = Counted(endless, &mut taken);
        let failure = read_limited(counted, 1000, "the standard input").unwrap_err();
        assert_eq!(
            failure.message,
            "the standard input has more than 1000 bytes, the limit for input that is not a file"
        );
        assert_eq!(taken, 1001);
        assert_eq!(read_limited(&[7_u8; 1000][..], 1000, "").unwrap(), [7; 1000]);
    }

    struct Counted<'c, R>(R, &'c mut u64);

    impl<R: Read> Read for Counted<'_, R> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.read(out)?;
            *self.1 += count as u64;
            Ok(count)
        }
    }
}
