//! Modifiers as written, after the operands. `apply.rs` converts them for a form.

use wavemill_isa::gcn::{DstUnused, SdwaSel};

use super::super::special;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Symbols, closest};

/// A modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Clamp,
    Mul,
    Div,
    OpSel,
    OpSelHi,
    NegLo,
    NegHi,
    Neg,
    Cbsz,
    Abid,
    Blgp,
    Bitop3,
    High,
    Fi,
    BoundCtrl,
    DppCtrl,
    RowMask,
    BankMask,
    DstSel,
    DstUnused,
    Src0Sel,
    Src1Sel,
    Offset,
    Offset0,
    Offset1,
    Gds,
    Offen,
    Idxen,
    Glc,
    Slc,
    Scc,
    Sc0,
    Nt,
    Sc1,
    Nv,
    Lds,
    Tfe,
    Lwe,
    Unorm,
    Da,
    A16,
    D16,
    Dmask,
    Dfmt,
    Nfmt,
    Format,
    Done,
    Compr,
    Vm,
}

/// The syntax after a modifier's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// Nothing.
    Flag,
    /// `:` and a number.
    Number(i64, i64),
    /// `:` and a list of bits: `[0,1]`.
    Bits,
    /// `:` and a part of a register.
    Part,
    /// `:` and what happens to the rest of a register.
    Unused,
    /// `:` and a number or a lane pattern.
    Offset,
    /// `:` and a list of four lanes.
    QuadPerm,
    /// A lane pattern without a number: its code.
    Lanes(i64),
    /// A lane pattern with a number: its code for 0, and the range of the number.
    LanesBy(i64, i64, i64),
    /// `:` and a format of typed buffers.
    Format,
}

/// Every modifier: its text, name and syntax.
static MODIFIERS: [(&str, Name, Syntax); 60] = [
    ("clamp", Name::Clamp, Syntax::Flag),
    ("mul", Name::Mul, Syntax::Number(1, 4)),
    ("div", Name::Div, Syntax::Number(1, 2)),
    ("op_sel", Name::OpSel, Syntax::Bits),
    ("op_sel_hi", Name::OpSelHi, Syntax::Bits),
    ("neg_lo", Name::NegLo, Syntax::Bits),
    ("neg_hi", Name::NegHi, Syntax::Bits),
    ("neg", Name::Neg, Syntax::Bits),
    ("cbsz", Name::Cbsz, Syntax::Number(0, 7)),
    ("abid", Name::Abid, Syntax::Number(0, 15)),
    ("blgp", Name::Blgp, Syntax::Number(0, 7)),
    ("bitop3", Name::Bitop3, Syntax::Number(0, 255)),
    ("high", Name::High, Syntax::Flag),
    ("fi", Name::Fi, Syntax::Number(0, 1)),
    ("bound_ctrl", Name::BoundCtrl, Syntax::Number(0, 1)),
    ("quad_perm", Name::DppCtrl, Syntax::QuadPerm),
    ("row_shl", Name::DppCtrl, Syntax::LanesBy(0x100, 1, 15)),
    ("row_shr", Name::DppCtrl, Syntax::LanesBy(0x110, 1, 15)),
    ("row_ror", Name::DppCtrl, Syntax::LanesBy(0x120, 1, 15)),
    ("wave_shl", Name::DppCtrl, Syntax::LanesBy(0x12F, 1, 1)),
    ("wave_rol", Name::DppCtrl, Syntax::LanesBy(0x133, 1, 1)),
    ("wave_shr", Name::DppCtrl, Syntax::LanesBy(0x137, 1, 1)),
    ("wave_ror", Name::DppCtrl, Syntax::LanesBy(0x13B, 1, 1)),
    ("row_mirror", Name::DppCtrl, Syntax::Lanes(0x140)),
    ("row_half_mirror", Name::DppCtrl, Syntax::Lanes(0x141)),
    ("row_bcast", Name::DppCtrl, Syntax::LanesBy(ROW_BCAST, 15, 31)),
    ("row_newbcast", Name::DppCtrl, Syntax::LanesBy(0x150, 0, 15)),
    ("row_mask", Name::RowMask, Syntax::Number(0, 15)),
    ("bank_mask", Name::BankMask, Syntax::Number(0, 15)),
    ("dst_sel", Name::DstSel, Syntax::Part),
    ("dst_unused", Name::DstUnused, Syntax::Unused),
    ("src0_sel", Name::Src0Sel, Syntax::Part),
    ("src1_sel", Name::Src1Sel, Syntax::Part),
    ("offset", Name::Offset, Syntax::Offset),
    ("offset0", Name::Offset0, Syntax::Number(0, 255)),
    ("offset1", Name::Offset1, Syntax::Number(0, 255)),
    ("gds", Name::Gds, Syntax::Flag),
    ("offen", Name::Offen, Syntax::Flag),
    ("idxen", Name::Idxen, Syntax::Flag),
    ("glc", Name::Glc, Syntax::Flag),
    ("slc", Name::Slc, Syntax::Flag),
    ("scc", Name::Scc, Syntax::Flag),
    ("sc0", Name::Sc0, Syntax::Flag),
    ("nt", Name::Nt, Syntax::Flag),
    ("sc1", Name::Sc1, Syntax::Flag),
    ("nv", Name::Nv, Syntax::Flag),
    ("lds", Name::Lds, Syntax::Flag),
    ("tfe", Name::Tfe, Syntax::Flag),
    ("lwe", Name::Lwe, Syntax::Flag),
    ("unorm", Name::Unorm, Syntax::Flag),
    ("da", Name::Da, Syntax::Flag),
    ("a16", Name::A16, Syntax::Flag),
    ("d16", Name::D16, Syntax::Flag),
    ("dmask", Name::Dmask, Syntax::Number(0, 15)),
    ("dfmt", Name::Dfmt, Syntax::Number(0, 15)),
    ("nfmt", Name::Nfmt, Syntax::Number(0, 7)),
    ("format", Name::Format, Syntax::Format),
    ("done", Name::Done, Syntax::Flag),
    ("compr", Name::Compr, Syntax::Flag),
    ("vm", Name::Vm, Syntax::Flag),
];

/// The modifiers that begin with each letter: one bit per index of [`MODIFIERS`].
static BY_LETTER: [u64; 26] = {
    let mut all = [0; 26];
    let mut index = 0;
    while index < MODIFIERS.len() {
        all[(MODIFIERS[index].0.as_bytes()[0] - b'a') as usize] |= 1 << index;
        index += 1;
    }
    all
};

/// The modifier with this name.
fn find(word: &str) -> Option<&'static (&'static str, Name, Syntax)> {
    let letter = word.bytes().next()?.wrapping_sub(b'a');
    let mut left = *BY_LETTER.get(usize::from(letter))?;
    while left != 0 {
        let found = MODIFIERS.get(left.trailing_zeros() as usize)?;
        if found.0 == word {
            return Some(found);
        }
        left &= left - 1;
    }
    None
}

/// `row_bcast:15` and `:31`, whose codes follow no rule.
const ROW_BCAST: i64 = 0x142;

/// The `count` of an offset written as a lane pattern.
pub(super) const PATTERN: u32 = 1;

/// A modifier as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Modifier {
    pub(super) name: Name,
    /// Its word.
    pub(super) word: &'static str,
    /// Whether it is a flag with the prefix `no`.
    pub(super) negated: bool,
    /// Its value: 1 for flags, 0 for flags with the prefix `no`, bit 0 upwards for lists.
    pub(super) value: i64,
    /// The length of a list.
    pub(super) count: u32,
    pub(super) span: Span,
}

impl Modifier {
    /// Whether it is one of the two halves of a typed buffer format.
    pub(super) fn is_split_format(&self) -> bool {
        matches!(self.name, Name::Dfmt | Name::Nfmt)
    }
}

/// Reads the next modifier; `Ok(None)` if there is none. `is_register`: an operand is next, and
/// `a16` and `scc` are operands. `caches`: `scc` is a modifier even then.
pub(super) fn modifier(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
    is_register: bool,
    caches: bool,
) -> Result<Option<Modifier>, Fail> {
    let start = cursor.at();
    let word = cursor.peek_name();
    if word.is_empty() {
        return Ok(None);
    }
    let negated = || word.strip_prefix("no").and_then(find).filter(|(.., syntax)| *syntax == Syntax::Flag);
    let (found, on) = match find(word) {
        Some(found) => (found, 1),
        None => match negated() {
            Some(found) => (found, 0),
            None => return unknown(cursor, word),
        },
    };
    let &(text, name, syntax) = found;
    if is_register && (word == "a16" || word == "scc" && !caches) {
        return Ok(None);
    }
    cursor.name();
    let flag = matches!(syntax, Syntax::Flag | Syntax::Lanes(_));
    if !flag {
        if cursor.peek() != Some(b':') {
            if name == Name::Neg {
                // The operand `neg(v0)`.
                cursor.go_to(start);
                return Ok(None);
            }
            return Err(cursor.expected(&format!("`:` after `{text}`")));
        }
        cursor.expect(":")?;
    }
    let mut count = 0;
    let value = match syntax {
        Syntax::Flag => on,
        Syntax::Lanes(code) => code,
        Syntax::Number(low, high) => special::number(cursor, symbols, text, (low, high))?,
        Syntax::LanesBy(ROW_BCAST, ..) => match special::number(cursor, symbols, text, (0, 31))? {
            15 => 0x142,
            31 => 0x143,
            other => {
                let span = start..cursor.end();
                return Err(Diagnostic::new(
                    span,
                    format!("expected row_bcast:15 or row_bcast:31, found {other}"),
                ));
            }
        },
        Syntax::LanesBy(code, low, high) => code + special::number(cursor, symbols, text, (low, high))?,
        Syntax::Bits => {
            let (bits, length) = list(cursor, symbols, 1, 4)?;
            count = length;
            bits
        }
        Syntax::QuadPerm => {
            let open = cursor.at();
            match list(cursor, symbols, 3, 4)? {
                (lanes, 4) => lanes,
                (_, length) => {
                    let span = open..cursor.end();
                    return Err(Diagnostic::new(span, format!("expected four lanes, found {length}")));
                }
            }
        }
        Syntax::Part => word_of(
            cursor,
            symbols,
            "a part of a register",
            |name| SdwaSel::from_name(name).filter(|part| *part != SdwaSel::Reserved).map(|part| part as i64),
            &SdwaSel::ALL
                .iter()
                .map(|part| part.name())
                .filter(|name| *name != "reserved")
                .collect::<Vec<_>>(),
        )?,
        Syntax::Unused => word_of(
            cursor,
            symbols,
            "the effect on the rest of the register",
            |name| {
                DstUnused::from_name(name).filter(|rest| *rest != DstUnused::Reserved).map(|rest| rest as i64)
            },
            &DstUnused::ALL
                .iter()
                .map(|rest| rest.name())
                .filter(|name| *name != "reserved")
                .collect::<Vec<_>>(),
        )?,
        Syntax::Offset => match special::parse_swizzle(cursor, symbols)? {
            Some(pattern) => {
                count = PATTERN;
                pattern
            }
            None => special::number(cursor, symbols, "an offset", (i32::MIN.into(), i32::MAX.into()))?,
        },
        Syntax::Format => {
            let (data, number) = special::parse_buffer_format(cursor, symbols)?;
            i64::from(data) | i64::from(number) << 4
        }
    };
    Ok(Some(Modifier { name, word: text, negated: flag && on == 0, value, count, span: start..cursor.end() }))
}

/// Handles a word that is not a modifier: an error if it resembles one.
fn unknown(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<Modifier>, Fail> {
    let start = cursor.at();
    let looks_like_one = cursor.text().as_bytes().get(start + word.len()) == Some(&b':');
    if !looks_like_one {
        return Ok(None);
    }
    let span = start..start + word.len();
    let behind = cursor.text().get(span.end + 1..).unwrap_or_default();
    if behind.trim().is_empty() {
        let message = format!("expected an operand, or a modifier and its value, found `{word}:`");
        return Err(Diagnostic::new(span.start..span.end + 1, message)
            .note("a label has its `:` only where it is defined, at the start of a line"));
    }
    Err(no_modifier(span, word))
}

/// The error for a word that should be a modifier.
pub(super) fn no_modifier(span: Span, word: &str) -> Fail {
    let names: Vec<&'static str> = MODIFIERS.iter().map(|(text, ..)| *text).collect();
    let fail = Diagnostic::new(span, format!("`{word}` is not a modifier"));
    match closest(word, &names).first() {
        Some(&similar) => fail.replace_with(similar),
        None => fail,
    }
}

/// Reads one of several words, or its number.
fn word_of(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
    what: &str,
    find: impl Fn(&str) -> Option<i64>,
    names: &[&'static str],
) -> Result<i64, Fail> {
    let word = cursor.peek_name();
    let named = word.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    match find(word) {
        Some(value) => {
            cursor.name();
            Ok(value)
        }
        None if !(named || cursor.is_done()) => {
            special::number(cursor, symbols, what, (0, names.len() as i64 - 1))
        }
        None => {
            let fail = cursor.expected(what).note(format!("expected one of {}", names.join(", ")));
            Err(match closest(word, names).first() {
                Some(&similar) => fail.replace_with(similar),
                None => fail,
            })
        }
    }
}

/// `[0,1,...]`: up to `most` numbers, as wide as `high`. The first is in the lowest bits.
fn list(cursor: &mut Cursor<'_>, symbols: &dyn Symbols, high: i64, most: u32) -> Result<(i64, u32), Fail> {
    let width = 64 - high.leading_zeros();
    cursor.expect("[")?;
    let (mut bits, mut length) = (0, 0);
    loop {
        let at = cursor.at();
        let value = special::number(cursor, symbols, "a number", (0, high))?;
        if length == most {
            return Err(Diagnostic::new(at..cursor.end(), format!("expected at most {most} numbers")));
        }
        bits |= value << (width * length);
        length += 1;
        if !cursor.eat(",") {
            break;
        }
    }
    cursor.expect("]")?;
    Ok((bits, length))
}

/// The text of `name`.
pub(super) fn text(name: Name) -> &'static str {
    MODIFIERS.iter().find(|(_, known, _)| *known == name).map_or("", |(text, ..)| text)
}

#[cfg(test)]
mod tests {
    use super::super::Parser;
    use super::MODIFIERS;
    use crate::syntax::NoSymbols;
    use wavemill_isa::Target;

    /// Only `scc` and `a16` cannot be labels, because they are registers.
    #[test]
    fn labels_may_have_the_names_of_modifiers() {
        for target in Target::GCN {
            for (word, ..) in MODIFIERS {
                for branch in ["s_branch", "s_cbranch_scc0", "s_call_b64 s[0:1],"] {
                    let text = format!("{branch} {word}");
                    let parsed = Parser::new(target.into()).parse(&text, &NoSymbols);
                    let open = parsed.is_ok_and(|parsed| parsed.fixup.is_some());
                    assert_eq!(open, !matches!(word, "scc" | "a16"), "{target}: {text}");
                }
            }
        }
    }
}
