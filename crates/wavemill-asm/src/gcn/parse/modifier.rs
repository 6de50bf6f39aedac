//! Modifiers: what stands behind the operands.

use wavemill_isa::Target;
use wavemill_isa::gcn::{DstUnused, Elem, Encoding, FieldId, Flag, Form, Modifiers, Role, SdwaSel};

use super::super::special;
use super::mnemonic::closest;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Symbols};

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

/// What stands behind a modifier's name.
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
    /// A lane pattern with a number: its code for 0, and the limits of the number.
    LanesBy(i64, i64, i64),
    /// `:` and a format of typed buffers.
    Format,
}

/// Every modifier: its text, what it is, and what stands behind it.
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

/// The modifiers that begin with each letter: a bit for each place in [`MODIFIERS`].
static BY_LETTER: [u64; 26] = {
    let mut all = [0; 26];
    let mut index = 0;
    while index < MODIFIERS.len() {
        all[(MODIFIERS[index].0.as_bytes()[0] - b'a') as usize] |= 1 << index;
        index += 1;
    }
    all
};

/// The modifier of this name.
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

/// `row_bcast:15` and `:31`, which follow no rule.
const ROW_BCAST: i64 = 0x142;

/// The `count` of an offset that is written as a lane pattern.
const PATTERN: u32 = 1;

/// A modifier as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Modifier {
    pub(super) name: Name,
    /// The word that stands for it.
    pub(super) word: &'static str,
    /// Whether it is a flag with `no` before it.
    pub(super) negated: bool,
    /// Its value: 1 for flags, 0 for flags with `no` before them, bit 0 upwards for lists.
    pub(super) value: i64,
    /// The length of a list.
    pub(super) count: u32,
    pub(super) span: Span,
}

/// Reads the modifier that comes next; `Ok(None)` if none does. `is_register`: an operand comes, and `a16` and
/// `scc` are some; `caches`: the instruction has a bit `scc`.
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
            return Err(cursor.expected(&format!("`:` behind `{text}`")));
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
            "what happens to the rest of the register",
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

/// A word that is no modifier: an error if it looks like one.
fn unknown(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<Modifier>, Fail> {
    let start = cursor.at();
    let looks_like_one = cursor.text().as_bytes().get(start + word.len()) == Some(&b':');
    if !looks_like_one {
        return Ok(None);
    }
    let span = start..start + word.len();
    Err(no_modifier(span, word))
}

/// The message for a word that should be a modifier and is none.
pub(super) fn no_modifier(span: Span, word: &str) -> Fail {
    let names: Vec<&'static str> = MODIFIERS.iter().map(|(text, ..)| *text).collect();
    let fail = Diagnostic::new(span, format!("`{word}` is no modifier"));
    match closest(word, &names).first() {
        Some(&similar) => fail.replace_with(similar),
        None => fail,
    }
}

/// One of several words.
fn word_of(
    cursor: &mut Cursor<'_>,
    what: &str,
    find: impl Fn(&str) -> Option<i64>,
    names: &[&'static str],
) -> Result<i64, Fail> {
    let word = cursor.peek_name();
    match find(word) {
        Some(value) => {
            cursor.name();
            Ok(value)
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

/// `[0,1,...]`: up to `most` numbers of as many bits as `high` has, the first in the lowest bits.
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

/// Whether a field of `form` is the text's to set: it exists, means something, and is not fixed.
pub(super) fn settable(form: &Form, target: Target, id: FieldId) -> bool {
    form.encoding.field(target, id).is_some_and(|field| {
        let mask = field.mask();
        form.used & mask != 0 && form.fixed & mask != mask
    })
}

/// Whether a one-bit field must be 1.
pub(super) fn always_set(form: &Form, target: Target, id: FieldId) -> bool {
    form.encoding.field(target, id).is_some_and(|field| form.fixed & form.value & field.mask() != 0)
}

/// The text of `name` on `target` in `encoding`.
pub(super) fn text(name: Name) -> &'static str {
    MODIFIERS.iter().find(|(_, known, _)| *known == name).map_or("", |(text, ..)| text)
}

/// The cache bits by the names that the target's generation gives them.
fn cache_field(name: Name, form: &Form, target: Target) -> Result<FieldId, Option<Name>> {
    let scopes = target >= Target::Gfx942 && form.encoding != Encoding::Smem;
    let other = |old: Name, new: Name| Err(Some(if scopes { new } else { old }));
    match (name, scopes) {
        (Name::Glc, false) | (Name::Sc0, true) => Ok(FieldId::Glc),
        (Name::Slc, false) | (Name::Nt, true) => Ok(FieldId::Slc),
        (Name::Scc, false) | (Name::Sc1, true) => Ok(FieldId::Scc),
        (Name::Glc | Name::Sc0, _) => other(Name::Glc, Name::Sc0),
        (Name::Slc | Name::Nt, _) => other(Name::Slc, Name::Nt),
        _ => other(Name::Scc, Name::Sc1),
    }
}

/// Why a form does not take a modifier.
pub(super) enum Refusal {
    /// It has no place for it.
    Misplaced(Fail),
    /// It has, but not for this value.
    Wrong(Fail),
}

/// Puts `modifier` into `all`.
pub(super) fn apply(
    modifier: &Modifier,
    form: &'static Form,
    target: Target,
    all: &mut Modifiers,
) -> Result<(), Refusal> {
    let row = form.op.row();
    let value = modifier.value;
    let flag = value != 0;
    let small = value as u8;
    let id = match modifier.name {
        Name::Clamp => FieldId::Clamp,
        Name::Mul | Name::Div => FieldId::Omod,
        Name::OpSel => FieldId::OpSel,
        Name::Fi if row.has(Flag::Dppctl, target) => FieldId::OpSel,
        Name::BoundCtrl if row.has(Flag::Dppctl, target) => FieldId::OpSel,
        Name::Fi => return Err(Refusal::Misplaced(misplaced(modifier, form, target))),
        Name::OpSelHi => FieldId::OpSelHi,
        Name::NegLo => FieldId::Neg,
        Name::NegHi => FieldId::NegHi,
        Name::Cbsz => FieldId::Cbsz,
        Name::Abid => FieldId::Abid,
        Name::Blgp | Name::Neg => FieldId::Blgp,
        Name::Bitop3 => FieldId::Omod,
        Name::High => FieldId::High,
        Name::BoundCtrl => FieldId::BoundCtrl,
        Name::DppCtrl => FieldId::DppCtrl,
        Name::RowMask => FieldId::RowMask,
        Name::BankMask => FieldId::BankMask,
        Name::DstSel => FieldId::DstSel,
        Name::DstUnused => FieldId::DstUnused,
        Name::Src0Sel => FieldId::Src0Sel,
        Name::Src1Sel => FieldId::Src1Sel,
        Name::Offset if form.encoding == Encoding::Ds => FieldId::Offset1,
        Name::Offset => FieldId::Offset,
        Name::Offset0 => FieldId::Offset0,
        Name::Offset1 => FieldId::Offset1,
        Name::Gds => FieldId::Gds,
        Name::Offen => FieldId::Offen,
        Name::Idxen => FieldId::Idxen,
        Name::Nv => FieldId::Nv,
        Name::Lds => FieldId::Lds,
        Name::Tfe => FieldId::Tfe,
        Name::Lwe => FieldId::Lwe,
        Name::Unorm => FieldId::Unorm,
        Name::Da => FieldId::Da,
        Name::A16 => FieldId::A16,
        Name::D16 => FieldId::D16,
        Name::Dmask => FieldId::Dmask,
        Name::Dfmt | Name::Nfmt | Name::Format => FieldId::Dfmt,
        Name::Done => FieldId::Done,
        Name::Compr => FieldId::Compr,
        Name::Vm => FieldId::Vm,
        name @ (Name::Glc | Name::Slc | Name::Scc | Name::Sc0 | Name::Nt | Name::Sc1) => {
            match cache_field(name, form, target) {
                Ok(id) => id,
                Err(other) => {
                    let fail = misplaced(modifier, form, target);
                    return Err(Refusal::Misplaced(match other {
                        Some(other) if flag => fail
                            .note(format!("{target} calls this bit `{}`", text(other)))
                            .replace_with(text(other)),
                        _ => fail,
                    }));
                }
            }
        }
    };
    let two_offsets = row.has(Flag::TwoOffsets, target);
    let mixed = row.has(Flag::Mix, target);
    let doubles = row.operand(Role::Src0).is_some_and(|spec| spec.ty.elem == Elem::F64);
    let takes = match modifier.name {
        // Memory-to-LDS instructions of their own have the bit always; so do those that only reach the other memory.
        Name::Lds | Name::Gds if flag && always_set(form, target, id) => true,
        Name::Offset if modifier.count == PATTERN => row.has(Flag::Swizzle, target),
        Name::Offset if form.encoding == Encoding::Ds => !two_offsets && settable(form, target, id),
        Name::Offset0 | Name::Offset1 => two_offsets && settable(form, target, id),
        Name::NegLo => {
            let packed = form.encoding == Encoding::Vop3p && !mixed && row.operand(Role::Vdst).is_some();
            packed && settable(form, target, id)
        }
        Name::NegHi => !mixed && row.operand(Role::Vdst).is_some() && settable(form, target, id),
        // The memory went with CDNA 2; what orders its waves is left.
        Name::Gds if target.has_unified_vgprs() => !flag,
        Name::Neg => doubles && target >= Target::Gfx942 && settable(form, target, id),
        Name::Blgp => !(doubles && target >= Target::Gfx942) && settable(form, target, id),
        Name::Bitop3 => row.has(Flag::Bitop3, target) && form.encoding == Encoding::Vop3a,
        Name::Mul | Name::Div => !row.has(Flag::Bitop3, target) && settable(form, target, id),
        Name::OpSel if matches!(form.encoding, Encoding::Vop3a) => {
            (row.has(Flag::Opsel, target)) && settable(form, target, id)
        }
        _ => settable(form, target, id),
    };
    // What is not there anyhow may be said not to be.
    let absent = modifier.negated && !row.memory.is_empty() && form.encoding.field(target, id).is_some();
    if !takes && !absent {
        return Err(Refusal::Misplaced(misplaced(modifier, form, target)));
    }
    match modifier.name {
        Name::Clamp => all.clamp = flag,
        Name::Mul => match value {
            1 => all.omod = 0,
            2 => all.omod = 1,
            4 => all.omod = 2,
            _ => {
                let message = "expected mul:2 or mul:4, found mul:3";
                return Err(Refusal::Wrong(Diagnostic::new(modifier.span.clone(), message)));
            }
        },
        Name::Div => all.omod = if value == 2 { 3 } else { 0 },
        Name::OpSel => all.op_sel = half_selects(modifier, form, target).map_err(Refusal::Wrong)?,
        Name::OpSelHi => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            // Sources that the list leaves out are 0; those that the instruction lacks keep what they have.
            let sources = (1u8 << source_count(form)) - 1;
            all.op_sel_hi = all.op_sel_hi & !sources | small;
        }
        Name::NegLo => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.neg = small;
        }
        Name::NegHi => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.neg_hi = small;
        }
        Name::Neg => {
            sources_of(modifier, form).map_err(Refusal::Wrong)?;
            all.blgp = small;
        }
        Name::Fi => all.op_sel |= small,
        // Older texts have 0 here where the bit is 1: both mean that it is set.
        Name::BoundCtrl if row.has(Flag::Dppctl, target) => all.op_sel |= 1 << 1,
        Name::Cbsz => all.cbsz = small,
        Name::Abid => all.abid = small,
        Name::Blgp => all.blgp = small,
        Name::Bitop3 => all.bitop3 = small,
        Name::High => all.high = flag,
        Name::BoundCtrl | Name::DppCtrl | Name::RowMask | Name::BankMask => {
            if let Some(dpp) = &mut all.dpp {
                match modifier.name {
                    // 0 too, as above.
                    Name::BoundCtrl => dpp.bound_ctrl = true,
                    Name::DppCtrl => dpp.ctrl = value as u16,
                    Name::RowMask => dpp.row_mask = small,
                    _ => dpp.bank_mask = small,
                }
            }
        }
        Name::DstSel | Name::DstUnused | Name::Src0Sel | Name::Src1Sel => {
            if let Some(sdwa) = &mut all.sdwa {
                let part = SdwaSel::ALL.get(value as usize).copied().unwrap_or(SdwaSel::Dword);
                match modifier.name {
                    Name::DstSel => sdwa.dst_sel = part,
                    Name::Src0Sel => sdwa.src0_sel = part,
                    Name::Src1Sel => sdwa.src1_sel = part,
                    _ => {
                        sdwa.dst_unused =
                            DstUnused::ALL.get(value as usize).copied().unwrap_or(DstUnused::Pad);
                    }
                }
            }
        }
        Name::Offset => {
            let limits = offset_limits(form, target);
            if !(limits.0..=limits.1).contains(&value) {
                let message = format!("expected an offset from {} to {}, found {value}", limits.0, limits.1);
                return Err(Refusal::Wrong(Diagnostic::new(modifier.span.clone(), message)));
            }
            all.offset = value as i32;
            if form.encoding == Encoding::Smem {
                // The register stands in a field of its own.
                (all.imm, all.soffset_en) = (true, true);
            }
        }
        Name::Offset0 => all.offset = value as i32,
        Name::Offset1 => all.offset1 = small,
        Name::Gds => all.gds = flag,
        Name::Offen => all.offen = flag,
        Name::Idxen => all.idxen = flag,
        Name::Glc | Name::Sc0 => all.glc = flag,
        Name::Slc | Name::Nt => all.slc = flag,
        Name::Scc | Name::Sc1 => all.scc = flag,
        Name::Nv => all.nv = flag,
        Name::Lds => all.lds = flag,
        Name::Tfe => all.tfe = flag,
        Name::Lwe => all.lwe = flag,
        Name::Unorm => all.unorm = flag,
        Name::Da => all.da = flag,
        Name::A16 => all.a16 = flag,
        Name::D16 => all.d16 = flag,
        Name::Dmask => all.dmask = small,
        Name::Dfmt => all.dfmt = small,
        Name::Nfmt => all.nfmt = small,
        Name::Format => (all.dfmt, all.nfmt) = (small & 15, small >> 4),
        Name::Done | Name::Compr | Name::Vm => {
            if let Some(export) = &mut all.export {
                match modifier.name {
                    Name::Done => export.done = flag,
                    Name::Compr => export.compr = flag,
                    _ => export.vm = flag,
                }
            }
        }
    }
    Ok(())
}

/// The lowest and the highest offset of a form.
pub(super) fn offset_limits(form: &Form, target: Target) -> (i64, i64) {
    let bits = |id| form.encoding.field(target, id).map_or(0, |field| u32::from(field.width));
    match form.encoding {
        Encoding::Ds => (0, 0xFFFF),
        Encoding::Flat if form.op.row().format == wavemill_isa::gcn::Format::Flat => (0, 0xFFF),
        Encoding::Flat | Encoding::Smem => {
            let limit = 1 << (bits(FieldId::Offset).max(1) - 1);
            (-limit, limit - 1)
        }
        _ => (0, (1 << bits(FieldId::Offset)) - 1),
    }
}

/// The bits of `op_sel`: those of the sources, and the destination's, which comes last in the text of VOP3.
fn half_selects(modifier: &Modifier, form: &Form, target: Target) -> Result<u8, Fail> {
    let bits = modifier.value as u8;
    if form.encoding == Encoding::Vop3p || form.encoding == Encoding::MaiScaled {
        sources_of(modifier, form)?;
        return Ok(bits);
    }
    let sources = half_select_sources(form, target);
    if modifier.count > sources + 1 {
        let message = format!("expected at most {} numbers, found {}", sources + 1, modifier.count);
        return Err(Diagnostic::new(modifier.span.clone(), message)
            .note("one for each source, and one for the destination"));
    }
    let destination = bits >> sources & 1;
    Ok(bits & ((1 << sources) - 1) | destination << 3)
}

/// How many sources of a VOP3 form select halves.
fn half_select_sources(form: &Form, target: Target) -> u32 {
    let free = match form.encoding.field(target, FieldId::OpSel) {
        Some(field) => ((form.used & !form.fixed & field.mask()) >> field.lo) as u8,
        None => 0,
    };
    (free & 7).checked_ilog2().map_or(0, |last| last + 1)
}

/// How many bits the lists with one per source have.
fn source_count(form: &Form) -> u32 {
    let operands = form.op.row().operands.iter();
    operands.filter(|spec| matches!(spec.role, Role::Src0 | Role::Src1 | Role::Src2)).count() as u32
}

/// Lists with a bit per source may be shorter than there are sources, but not longer.
fn sources_of(modifier: &Modifier, form: &Form) -> Result<(), Fail> {
    let count = source_count(form);
    if modifier.count > count {
        let message =
            format!("expected at most {count} numbers, one for each source, found {}", modifier.count);
        return Err(Diagnostic::new(modifier.span.clone(), message));
    }
    Ok(())
}

/// The instruction does not take the modifier in this encoding.
fn misplaced(modifier: &Modifier, form: &Form, target: Target) -> Fail {
    let row = form.op.row();
    let message = format!("{} takes no `{}` on {target}", row.mnemonic(target), modifier.word);
    Diagnostic::new(modifier.span.clone(), message)
}
