//! Disassembles programs: object files of LLVM, dumps of Mesa, machine code alone.

use wavemill_asm::cayman::{
    Code, Listing, Options, assemble, disassemble, is_dump, print_program, read_dump,
};
use wavemill_isa::cayman::{Stage, decode_program};
use wavemill_object::Container;
use wavemill_object::r600::{R600Object, is_r600};

use super::stage_of;
use crate::dis::hex;
use crate::failure::Failure;

/// The text of all programs of a file.
///
/// # Errors
/// [`Failure`] if the file is damaged, for another processor, or has no program of the name.
pub(crate) fn dis(bytes: &[u8], raw: bool, kernel: Option<&str>, comments: bool) -> Result<String, Failure> {
    let listing = Listing { addresses: comments };
    let mut programs = programs(bytes, raw)?;
    if let Some(kernel) = kernel {
        let known: Vec<String> = programs.iter().filter_map(|program| program.name.clone()).collect();
        programs.retain(|program| program.name.as_deref() == Some(kernel));
        if programs.is_empty() {
            let message = format!("there is no program `{kernel}`");
            return Err(match known.is_empty() {
                true => Failure::usage(message).help("The programs of this file have no names."),
                false => Failure::usage(message).help(format!("Its programs: {}.", known.join(", "))),
            });
        }
    }
    Ok(programs.iter().map(|program| print_program(program, &listing)).collect::<Vec<_>>().join("\n"))
}

/// The programs of a file.
pub(super) fn programs(bytes: &[u8], raw: bool) -> Result<Vec<Code>, Failure> {
    if raw {
        return Ok(vec![code(bytes.to_vec())]);
    }
    if is_r600(bytes) {
        return of_object(bytes);
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(Failure::input("the file is a 64-bit ELF file; code for cayman is in 32-bit ones")
            .help("Omit --target to read it for its own target."));
    }
    if let Some(shaders) = dump(bytes)? {
        return Ok(shaders);
    }
    if !hex::looks_like_text(bytes) {
        return Ok(vec![code(bytes.to_vec())]);
    }
    let mut digits = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        hex::line(line, &mut digits).map_err(|message| {
            Failure::input(format!("line {}: {message}", number + 1)).help(
                "A dump of Mesa has a header such as `bytecode 52 dw -- 5 gprs`. Pass --raw for raw machine code that looks like text.",
            )
        })?;
    }
    Ok(vec![code(digits)])
}

/// The shaders of a dump of Mesa; `None` if the file is no dump.
pub(super) fn dump(bytes: &[u8]) -> Result<Option<Vec<Code>>, Failure> {
    let Some(text) = core::str::from_utf8(bytes).ok().filter(|text| is_dump(text)) else { return Ok(None) };
    let shaders = read_dump(text)
        .map_err(|(line, error)| Failure::input(format!("line {line} of the dump: {}", error.message)))?;
    let named = shaders.into_iter().enumerate();
    Ok(Some(
        named
            .map(|(index, shader)| {
                let code = code(shader.bytes);
                Code {
                    name: Some(format!("shader{index}")),
                    stack: shader.stack,
                    stage: shader.stage.or(code.stage),
                    gprs: shader.gprs.unwrap_or(code.gprs),
                    ..code
                }
            })
            .collect(),
    ))
}

/// A program of which only the words are known.
fn code(bytes: Vec<u8>) -> Code {
    let Code { gprs, kills, stage, .. } = assembled(&bytes);
    Code { bytes, gprs, kills, stage, ..Code::default() }
}

/// What the assembler knows of machine code: the registers that its words name, its stack, and whether
/// it is of pixels.
fn assembled(bytes: &[u8]) -> Code {
    let text = disassemble(bytes, &Listing { addresses: false });
    let code = assemble(text.as_bytes(), &Options::default()).programs.into_iter().next().unwrap_or_default();
    // Only pixels are killed, so a program that kills is one of pixels.
    Code { stage: code.stage.or(code.kills.then_some(Stage::Ps)), ..code }
}

/// The error of a file without a known format, which may be machine code; `None` for other files.
pub(super) fn unknown_format(bytes: &[u8]) -> Option<wavemill_object::Error> {
    let is_known = bytes.is_empty() || bytes.starts_with(b"\x7fELF") || hex::looks_like_text(bytes);
    (!is_known).then(|| Container::parse(bytes).err())?
}

/// The program whose machine code a file is, ready to run: with the registers and the stack that the
/// assembler computes.
///
/// # Errors
/// [`Failure`] with `error` if control flow reaches something else than instructions, or if the stack is
/// not known.
pub(super) fn machine_code(bytes: &[u8], error: &wavemill_object::Error) -> Result<Code, Failure> {
    let decoded = decode_program(bytes, 0);
    if let Some(problem) = decoded.problems.first() {
        return Err(Failure::input(error.to_string()).help(format!(
            "It is no machine code of Cayman either, as `wavemill asm --target cayman -o k.bin` writes it: {problem}."
        )));
    }
    let need = decoded.stack_need(0).map_err(|error| {
        let message = format!("the stack that the machine code needs is not known: {error}");
        Failure::input(message).help("Run an object file (`-o k.o`) of a source with `.stack N` instead.")
    })?;
    Ok(Code { bytes: bytes.to_vec(), stack: Some(need.size()), ..assembled(bytes) })
}

fn of_object(bytes: &[u8]) -> Result<Vec<Code>, Failure> {
    let object = R600Object::parse(bytes).map_err(|error| Failure::input(error.to_string()))?;
    let processor = object.processor.name();
    if processor != wavemill_isa::Target::Cayman.name() {
        return Err(Failure::input(format!("the object is for {processor}, not for cayman")));
    }
    let mut programs = Vec::new();
    for part in &object.parts {
        let inside = object.relocations.iter().filter(|offset| part.range.contains(offset));
        let config = part.config.unwrap_or_default();
        programs.push(Code {
            name: Some(part.name.clone()),
            bytes: object.text.get(part.range.clone()).unwrap_or_default().to_vec(),
            stack: part.config.map(|config| config.stack),
            gprs: config.gprs,
            lds: config.lds,
            stage: part.config.as_ref().and_then(stage_of),
            labels: Vec::new(),
            relocations: inside.map(|offset| offset - part.range.start).collect(),
            alignment: part.alignment,
            is_table: part.config.is_none(),
            kills: config.kills,
        });
    }
    Ok(programs)
}
