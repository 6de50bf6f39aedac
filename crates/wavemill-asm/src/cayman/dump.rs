//! Dumps of shaders by Mesa's r600 driver (`R600_DEBUG=vs,ps,cs`).
//!
//! A dump has a header with the number of dwords, and a line for each word: the number of its first
//! dword in decimal digits, the dwords in hexadecimal digits, and a text. Only the numbers count.
//! Clauses are listed behind the control flow word that calls them, so numbers do not ascend.

use wavemill_isa::cayman::Stage;

use crate::diagnostic::Diagnostic;

/// A shader of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpedShader {
    /// Its machine code.
    pub bytes: Vec<u8>,
    /// Registers, if the header gives them.
    pub gprs: Option<u32>,
    /// Entries of the stack, if the header gives them.
    pub stack: Option<u32>,
    /// Its stage, if a line in front of the header names it.
    pub stage: Option<Stage>,
}

/// The most dwords of a shader.
const MOST_DWORDS: usize = 1 << 22;

/// Whether a text is a dump: it has the header of a shader.
pub fn is_dump(text: &str) -> bool {
    text.lines().any(|line| header(line).is_some())
}

/// The dwords, registers and stack entries of a header: `bytecode 52 dw -- 5 gprs -- 1 nstack`, or
/// `===== 52 dw ===== 5 gprs ===== 1 stack`.
fn header(line: &str) -> Option<(usize, Option<u32>, Option<u32>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |unit: &[&str]| {
        let at = words.iter().position(|word| unit.contains(word))?;
        words.get(at.checked_sub(1)?)?.parse::<u32>().ok()
    };
    if !matches!(words.first(), Some(first) if *first == "bytecode" || first.starts_with("=====")) {
        return None;
    }
    Some((before(&["dw"])? as usize, before(&["gprs"]), before(&["nstack", "stack"])))
}

/// The stage of the next shader: `shader: MESA_SHADER_FRAGMENT`, or `===== SHADER #3 ===== PS/CAYMAN
/// =====`. Compute shaders have none.
fn stage(line: &str) -> Option<Option<Stage>> {
    if let Some(name) = line.trim().strip_prefix("shader: MESA_SHADER_") {
        return Some(match name {
            "FRAGMENT" => Some(Stage::Ps),
            "VERTEX" => Some(Stage::Vs),
            "GEOMETRY" => Some(Stage::Gs),
            "TESS_CTRL" => Some(Stage::Hs),
            _ => None,
        });
    }
    let (name, _) = line.strip_prefix("=====")?.split_once('/')?;
    let name = name.rsplit(' ').next()?.to_lowercase();
    Some(Stage::from_name(&name))
}

/// The number and the dwords of a line of words.
fn dwords(line: &str) -> Option<(usize, Vec<u32>)> {
    let mut words = line.split_whitespace();
    let number =
        words.next().filter(|word| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit()))?;
    let is_dword = |word: &&str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let values: Vec<u32> =
        words.take_while(is_dword).take(4).filter_map(|word| u32::from_str_radix(word, 16).ok()).collect();
    (!values.is_empty()).then_some(())?;
    Some((number.parse().ok()?, values))
}

/// Reads the shaders of a dump. Lines that are neither headers nor words do not count.
///
/// # Errors
/// The line (from 1), and the error: words before a header, or a number beyond the size of the
/// shader.
pub fn read_dump(text: &str) -> Result<Vec<DumpedShader>, (usize, Diagnostic)> {
    let mut shaders: Vec<DumpedShader> = Vec::new();
    let mut next_stage = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(stage) = stage(line) {
            next_stage = stage;
        }
        let fail = |message: String| Err((index + 1, *Diagnostic::new(0..line.len(), message)));
        if let Some((size, gprs, stack)) = header(line) {
            if size > MOST_DWORDS {
                return fail(format!("expected a shader of at most {MOST_DWORDS} dwords, found {size}"));
            }
            shaders.push(DumpedShader { bytes: vec![0; 4 * size], gprs, stack, stage: next_stage.take() });
            continue;
        }
        let Some((number, values)) = dwords(line) else { continue };
        let Some(shader) = shaders.last_mut() else {
            return fail(
                "expected the header of a shader before its words, such as `bytecode 52 dw -- 5 gprs`"
                    .to_owned(),
            );
        };
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let size = shader.bytes.len() / 4;
        match number.checked_mul(4).and_then(|at| shader.bytes.get_mut(at..at + bytes.len())) {
            Some(room) => room.copy_from_slice(&bytes),
            None => {
                return fail(format!("expected dwords from 0 to {}, found {number}", size.saturating_sub(1)));
            }
        }
    }
    Ok(shaders)
}
