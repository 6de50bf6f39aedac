//! Text to machine code, and back.

use std::ffi::{c_char, c_void};
use std::fmt::Write as _;

use wavemill::device::TargetId;
use wavemill_asm::{InstructionSet, Options, gcn};
use wavemill_object::write::link;

use crate::device::choice;
use crate::memory::{self, Out};
use crate::message::{Failure, Result, call, keep_bytes, keep_text};

/// Assembles a source to a code object, which `wm_module_load` loads. `target` may be NULL if the
/// source has `.amdgcn_target`. The bytes live until the thread's next call of `wm_assemble`.
///
/// # Safety
/// `target` is NULL or a string, and `source` is a string; `bytes` and `size` lead to variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_assemble(
    target: *const c_char,
    source: *const c_char,
    bytes: *mut *const c_void,
    size: *mut usize,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (bytes, size, target, source) = unsafe {
            (
                Out::new(bytes, "the code object")?,
                Out::new(size, "the size of the code object")?,
                memory::optional_text(target, "the name of a target")?,
                memory::text(source, "a source")?,
            )
        };
        let object = assembled(target, source)?;
        size.set(object.len());
        bytes.set(keep_bytes(object)?.cast());
        Ok(())
    })
}

/// A target with instruction tables.
fn tables(name: &str) -> Result<(TargetId, InstructionSet)> {
    let target = choice(name)?.target().clone();
    match InstructionSet::of(&target) {
        Some(set) => Ok((target, set)),
        None => Err(Failure::new(format!("expected a target of GCN or CDNA, found {target}"))),
    }
}

fn assembled(target: Option<&str>, source: &str) -> Result<Vec<u8>> {
    let target = target.map(|name| Ok::<_, Failure>(tables(name)?.0)).transpose()?;
    let module = wavemill_asm::assemble(source, &Options { target, ..Options::default() });
    let module = module.map_err(|reports| {
        let line = |report: &wavemill_asm::Report| {
            format!("line {}, column {}: {}", report.line, report.column(), report.diagnostic.message)
        };
        Failure::new(reports.iter().map(line).collect::<Vec<_>>().join("\n"))
    })?;
    Ok(link(&module)?)
}

/// Disassembles machine code of GCN or CDNA: one instruction a line. A dword that is no instruction
/// becomes `.long`, and bytes at the end that are no dword become `.byte`. The string lives until the
/// thread's next call that returns text of that kind.
///
/// # Safety
/// `target` is a string; `size` bytes at `bytes` can be read; `text` leads to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wm_disassemble(
    target: *const c_char,
    bytes: *const c_void,
    size: usize,
    text: *mut *const c_char,
) -> *const c_char {
    call(|| {
        // SAFETY: the caller's promise.
        let (out, target, code) = unsafe {
            (
                Out::new(text, "the text")?,
                memory::text(target, "the name of a target")?,
                memory::bytes(bytes, size, "machine code")?,
            )
        };
        out.set(keep_text(disassembled(target, code)?)?);
        Ok(())
    })
}

fn disassembled(target: &str, code: &[u8]) -> Result<String> {
    let (_, set) = tables(target)?;
    let (mut text, mut at) = (String::new(), 0);
    while at < code.len() {
        let rest = &code[at..];
        match (set.decode(rest), rest.first_chunk()) {
            (Ok(inst), _) => {
                gcn::print(&mut text, &inst)?;
                at += inst.size().max(1);
            }
            (Err(_), Some(dword)) => {
                write!(text, ".long {:#010x}", u32::from_le_bytes(*dword))?;
                at += 4;
            }
            (Err(_), None) => {
                let bytes: Vec<String> = rest.iter().map(|byte| format!("{byte:#04x}")).collect();
                write!(text, ".byte {}", bytes.join(", "))?;
                at = code.len();
            }
        }
        text.push('\n');
    }
    Ok(text)
}
