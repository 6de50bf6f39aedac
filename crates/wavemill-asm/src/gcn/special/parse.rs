//! Parses these immediates: from their texts to their values.
//!
//! Each function returns `Ok(None)`, and reads nothing, if the text does not begin with its syntax.
//! The text is then an ordinary number.

use wavemill_isa::Target;
use wavemill_isa::gcn::Operand;

use super::{
    DATA_FORMATS, DEFAULT_FORMAT, GS_OPERATIONS, HARDWARE_REGISTERS, HARDWARE_REGISTERS_CDNA3, INDEX_MODES,
    MESSAGE_GS, MESSAGE_GS_DONE, MESSAGE_SYSTEM, MESSAGES, NUMBER_FORMATS, Names, SYSTEM_OPERATIONS,
    WAIT_COUNTERS,
};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Symbols, closest, expression};

/// Reads a number from `low` to `high`; `what` names it in the message.
pub(in crate::gcn) fn number(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
    what: &str,
    (low, high): (i64, i64),
) -> Result<i64, Fail> {
    let start = cursor.at();
    let value = expression(cursor, symbols)?.value();
    let span = start..cursor.end();
    match value {
        Some(value) if (low..=high).contains(&value) => Ok(value),
        Some(value) => {
            let nearest = value.clamp(low, high);
            let message = format!("expected {what} from {low} to {high}, found {value}");
            Err(Diagnostic::new(span, message).replace_with(nearest.to_string()))
        }
        None => Err(Diagnostic::new(
            span,
            format!("expected {what} from {low} to {high}, found a symbol that has no value here"),
        )
        .note("set it above with `.set name, number`")),
    }
}

/// Reads one of `names` or, if none matches, a number up to `high`.
fn named_or_number(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
    what: &str,
    names: &[Names],
    high: i64,
) -> Result<u16, Fail> {
    let name = cursor.peek_name();
    let mut all = names.iter().flat_map(|names| names.iter());
    if let Some(&(value, _)) = all.find(|(_, known)| *known == name) {
        cursor.name();
        return Ok(value);
    }
    if !name.is_empty() && symbols.absolute(name).is_none() {
        let known: Vec<&'static str> =
            names.iter().flat_map(|names| names.iter()).map(|(_, name)| *name).collect();
        return Err(unknown(cursor, what, &known));
    }
    // The limits belong to fields of at most 16 bits.
    Ok(number(cursor, symbols, what, (0, high))? as u16)
}

/// The error for a word that is not one of `known`.
fn unknown(cursor: &mut Cursor<'_>, what: &str, known: &[&'static str]) -> Fail {
    let (span, found) = cursor.token();
    let found = if found.is_empty() { "the end of the line".to_owned() } else { format!("`{found}`") };
    let fail = Diagnostic::new(span, format!("expected {what}, found {found}"));
    let similar = closest(cursor.peek_name(), known);
    let fail =
        if known.len() <= 24 { fail.note(format!("expected one of {}", known.join(", "))) } else { fail };
    match similar.first() {
        Some(&similar) => fail.replace_with(similar),
        None => fail,
    }
}

/// `vmcnt(0) expcnt(1) & lgkmcnt(2)`: counters that are not named are not waited for.
pub(in crate::gcn) fn parse_wait_counts(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
) -> Result<Option<i32>, Fail> {
    let counter = |name: &str| WAIT_COUNTERS.iter().position(|(counter, _)| *counter == name);
    let plain = |name: &str| name.strip_suffix("_sat").unwrap_or(name).to_owned();
    let first = cursor.peek_name();
    if counter(&plain(first)).is_none() {
        let start = cursor.at();
        cursor.name();
        let call = !first.is_empty() && cursor.peek_raw() == Some(b'(');
        cursor.go_to(start);
        if call {
            let names: Vec<&'static str> = WAIT_COUNTERS.iter().map(|(name, _)| *name).collect();
            return Err(unknown(cursor, "the name of a counter", &names));
        }
        return Ok(None);
    }
    let mut counts = WAIT_COUNTERS.map(|(_, maximum)| maximum);
    let mut given = [false; WAIT_COUNTERS.len()];
    loop {
        let (span, _) = cursor.token();
        let name = cursor.name();
        let Some(index) = counter(&plain(name)) else {
            cursor.go_to(span.start);
            let names: Vec<&'static str> = WAIT_COUNTERS.iter().map(|(name, _)| *name).collect();
            return Err(unknown(cursor, "the name of a counter", &names));
        };
        if std::mem::replace(&mut given[index], true) {
            return Err(Diagnostic::new(span, format!("{name} is given twice")));
        }
        cursor.expect("(")?;
        let maximum = i64::from(WAIT_COUNTERS[index].1);
        let saturates = name.ends_with("_sat");
        let limit = if saturates { i64::MAX } else { maximum };
        let start = cursor.at();
        let count = number(cursor, symbols, "a count", (0, limit)).map_err(|fail| {
            if cursor.end() > start && !saturates {
                fail.note(format!("{name} counts to {maximum}; the maximum means no wait"))
                    .replace_with(maximum.to_string())
            } else {
                fail
            }
        })?;
        counts[index] = count.min(maximum) as u16;
        cursor.expect(")")?;
        let separator = cursor.eat("&") || cursor.eat(",");
        if !separator && cursor.peek_name().is_empty() {
            break;
        }
    }
    let [vm, exp, lgkm] = counts;
    Ok(Some(i32::from(vm & 0xF | (vm & 0x30) << 10 | exp << 4 | lgkm << 8)))
}

/// `hwreg(HW_REG_MODE, 0, 32)`.
pub(in crate::gcn) fn parse_hardware_register(
    cursor: &mut Cursor<'_>,
    target: Target,
    symbols: &dyn Symbols,
) -> Result<Option<i32>, Fail> {
    if cursor.peek() == Some(b'{') {
        return register_fields(cursor, symbols).map(Some);
    }
    if !call(cursor, "hwreg") {
        return Ok(None);
    }
    let added = if target.facts().xcc_registers { HARDWARE_REGISTERS_CDNA3 } else { &[] };
    let names = [HARDWARE_REGISTERS, added];
    let register = named_or_number(cursor, symbols, "the name of a hardware register", &names, 63)?;
    let (mut offset, mut width) = (0, 32);
    if cursor.eat(",") {
        offset = number(cursor, symbols, "the lowest bit", (0, 31))?;
        cursor.expect(",")?;
        width = number(cursor, symbols, "a number of bits", (1, 32))?;
    }
    cursor.expect(")")?;
    Ok(Some(hardware_register_value(register.into(), offset, width)))
}

/// The field of an instruction for a range of bits of a hardware register.
fn hardware_register_value(register: i64, offset: i64, width: i64) -> i32 {
    (register | offset << 6 | (width - 1) << 11) as i32
}

/// `{id: 1, offset: 0, size: 32}`, in any order. The defaults select the whole of register 0.
fn register_fields(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<i32, Fail> {
    const FIELDS: [(&str, &str, (i64, i64)); 3] = [
        ("id", "the number of a hardware register", (0, 63)),
        ("offset", "the lowest bit", (0, 31)),
        ("size", "a number of bits", (1, 32)),
    ];
    let mut values: [Option<i64>; 3] = [None; 3];
    cursor.expect("{")?;
    if !cursor.eat("}") {
        loop {
            let (span, name) = cursor.token();
            let found = FIELDS.iter().zip(&mut values).find(|((field, ..), _)| *field == name);
            let Some(((_, what, range), value)) = found else {
                return Err(cursor.expected("`id`, `offset` or `size`"));
            };
            if value.is_some() {
                return Err(Diagnostic::new(span, format!("`{name}` is given twice")));
            }
            cursor.name();
            cursor.expect(":")?;
            *value = Some(number(cursor, symbols, what, *range)?);
            if !cursor.eat(",") {
                break;
            }
        }
        cursor.expect("}")?;
    }
    let [register, offset, width] = values;
    Ok(hardware_register_value(register.unwrap_or(0), offset.unwrap_or(0), width.unwrap_or(32)))
}

/// `sendmsg(MSG_GS, GS_OP_EMIT, 0)`.
pub(in crate::gcn) fn parse_message(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
) -> Result<Option<i32>, Fail> {
    if !call(cursor, "sendmsg") {
        return Ok(None);
    }
    // As numbers, every combination is accepted. Names accept only their own operations.
    let named = !cursor.peek_name().is_empty();
    let message = named_or_number(cursor, symbols, "the name of a message", &[MESSAGES], 15)?;
    let (mut operation, mut stream) = (0, 0);
    let operations: &[Names] = match message {
        MESSAGE_GS | MESSAGE_GS_DONE => &[GS_OPERATIONS],
        MESSAGE_SYSTEM => &[SYSTEM_OPERATIONS],
        _ => &[],
    };
    if cursor.peek() == Some(b',') {
        if named && operations.is_empty() {
            let (span, _) = cursor.token();
            return Err(Diagnostic::new(span, "expected `)`: this message has no operations"));
        }
        cursor.eat(",");
        let start = cursor.at();
        operation = named_or_number(cursor, symbols, "an operation", operations, 7)?;
        if named && operation == 0 && message != MESSAGE_GS_DONE {
            let span = start..cursor.end();
            return Err(Diagnostic::new(span, "expected an operation of this message; 0 is not one"));
        }
        let geometry = matches!(message, MESSAGE_GS | MESSAGE_GS_DONE);
        if named && cursor.peek() == Some(b',') && !(geometry && operation != 0) {
            return Err(cursor.expected("`)`: this operation has no stream"));
        }
        if cursor.eat(",") {
            stream = number(cursor, symbols, "a stream", (0, 3))?;
        }
    } else if named && !operations.is_empty() {
        return Err(cursor.expected("`,` and an operation: this message has several"));
    }
    cursor.expect(")")?;
    Ok(Some(i32::from(message | operation << 4) | (stream << 8) as i32))
}

/// `gpr_idx(SRC0,DST)`.
pub(in crate::gcn) fn parse_index_mode(cursor: &mut Cursor<'_>) -> Result<Option<i32>, Fail> {
    if !call(cursor, "gpr_idx") {
        return Ok(None);
    }
    let mut bits = 0;
    while !cursor.eat(")") {
        if bits != 0 {
            cursor.expect(",")?;
        }
        let (span, name) = cursor.token();
        match INDEX_MODES.iter().position(|mode| *mode == name) {
            Some(bit) if bits >> bit & 1 != 0 => {
                return Err(Diagnostic::new(span, format!("{name} is given twice")));
            }
            Some(bit) => bits |= 1 << bit,
            None => return Err(unknown(cursor, "an indexed operand", &INDEX_MODES)),
        }
        cursor.name();
    }
    Ok(Some(bits))
}

/// `mrt0`, `mrtz`, `null`, `pos0`, `param0`.
pub(in crate::gcn) fn parse_export_target(cursor: &mut Cursor<'_>) -> Result<Option<i32>, Fail> {
    let name = cursor.peek_name();
    let numbered = |prefix: &str, base: i32, count: i32| {
        let digits = name.strip_prefix(prefix)?;
        let number: i32 = digits.parse().ok()?;
        (number < count && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(base + number)
    };
    let value = match name {
        "mrtz" => Some(8),
        "null" => Some(9),
        _ => numbered("mrt", 0, 8).or_else(|| numbered("pos", 12, 4)).or_else(|| numbered("param", 32, 32)),
    };
    match value {
        Some(value) => {
            cursor.name();
            Ok(Some(value))
        }
        None => Err(cursor
            .expected("an export target")
            .note("targets are mrt0 to mrt7, mrtz, null, pos0 to pos3 and param0 to param31")),
    }
}

/// `p10`, `p20`, `p0`.
pub(in crate::gcn) fn parse_interpolation_slot(cursor: &mut Cursor<'_>) -> Result<Option<i32>, Fail> {
    let value = match cursor.peek_name() {
        "p10" => 0,
        "p20" => 1,
        "p0" => 2,
        _ => return Err(cursor.expected("a parameter: p10, p20 or p0")),
    };
    cursor.name();
    Ok(Some(value))
}

/// `attr0.x`.
pub(in crate::gcn) fn parse_attribute(cursor: &mut Cursor<'_>) -> Result<Operand, Fail> {
    let name = cursor.peek_name();
    let parts = name.strip_prefix("attr").and_then(|rest| rest.split_once('.'));
    let attribute = parts.and_then(|(digits, channel)| {
        let chan = ["x", "y", "z", "w"].iter().position(|name| *name == channel)?;
        let attr: u8 = digits.parse().ok().filter(|attr| *attr < 64)?;
        Some(Operand::Attr { attr, chan: chan as u8 })
    });
    match attribute {
        Some(attribute) => {
            cursor.name();
            Ok(attribute)
        }
        None => Err(cursor.expected("an attribute and its channel, attr0.x to attr63.w")),
    }
}

/// Reads `name(` if it comes next.
fn call(cursor: &mut Cursor<'_>, name: &str) -> bool {
    let at = cursor.at();
    let found = cursor.eat_name(name) && cursor.eat("(");
    if !found {
        cursor.go_to(at);
    }
    found
}

/// `swizzle(MODE, ...)`, the lane pattern of `ds_swizzle_b32`.
pub(in crate::gcn) fn parse_swizzle(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
) -> Result<Option<i64>, Fail> {
    const MODES: [&str; 7] = ["QUAD_PERM", "BITMASK_PERM", "BROADCAST", "SWAP", "REVERSE", "FFT", "ROTATE"];
    if !call(cursor, "swizzle") {
        return Ok(None);
    }
    let (_, mode) = cursor.token();
    if !MODES.contains(&mode) {
        return Err(unknown(cursor, "a lane pattern", &MODES));
    }
    cursor.name();
    cursor.expect(",")?;
    let number = |cursor: &mut Cursor<'_>, what, low, high| number(cursor, symbols, what, (low, high));
    let value = match mode {
        "QUAD_PERM" => {
            let mut value = 0x8000;
            for lane in 0..4 {
                if lane != 0 {
                    cursor.expect(",")?;
                }
                value |= number(cursor, "a lane", 0, 3)? << (2 * lane);
            }
            value
        }
        "BITMASK_PERM" => bit_mask(cursor)?,
        "BROADCAST" => {
            let group = power_of_two(cursor, symbols, "the size of a group", 2, 32)?;
            cursor.expect(",")?;
            let lane = number(cursor, "a lane of the group", 0, group - 1)?;
            (0x20 - group) | (lane << 5)
        }
        "SWAP" => 0x1F | power_of_two(cursor, symbols, "the size of a group", 1, 16)? << 10,
        "REVERSE" => 0x1F | (power_of_two(cursor, symbols, "the size of a group", 2, 32)? - 1) << 10,
        "FFT" => 0xE000 | number(cursor, "a pattern", 0, 31)?,
        _ => {
            let direction = number(cursor, "a direction", 0, 1)?;
            cursor.expect(",")?;
            0xC000 | direction << 10 | number(cursor, "a distance", 0, 31)? << 5
        }
    };
    cursor.expect(")")?;
    Ok(Some(value))
}

fn power_of_two(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
    what: &str,
    low: i64,
    high: i64,
) -> Result<i64, Fail> {
    let start = cursor.at();
    let value = number(cursor, symbols, what, (low, high))?;
    match value.count_ones() {
        1 => Ok(value),
        _ => {
            let span = start..cursor.end();
            Err(Diagnostic::new(span, format!("expected {what}, a power of two, found {value}")))
        }
    }
}

/// Five characters, one per bit of the lane number, highest first: clear, set, keep or invert.
fn bit_mask(cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
    let start = cursor.at();
    let wrong = |span: Span| {
        Diagnostic::new(
            span,
            "expected five characters in quotes, each 0, 1, p (keep) or i (invert), such as \"00p11\"",
        )
    };
    let rest = cursor.rest();
    let Some((mask, _)) = rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) else {
        return Err(wrong(cursor.token().0));
    };
    let span = start..start + mask.len() + 2;
    if mask.len() != 5 {
        return Err(wrong(span));
    }
    let (mut and, mut or, mut xor) = (0, 0, 0);
    for (index, character) in mask.bytes().enumerate() {
        let bit = 1 << (4 - index);
        match character {
            b'0' => {}
            b'1' => or |= bit,
            b'p' => and |= bit,
            b'i' => {
                and |= bit;
                xor |= bit;
            }
            _ => return Err(wrong(span)),
        }
    }
    cursor.go_to(span.end);
    Ok(and | or << 5 | xor << 10)
}

/// The text after `format:`: both numbers in one, or their names in brackets.
pub(in crate::gcn) fn parse_buffer_format(
    cursor: &mut Cursor<'_>,
    symbols: &dyn Symbols,
) -> Result<(u8, u8), Fail> {
    if !cursor.eat("[") {
        // 7 bits: data format in the lower four.
        let both = number(cursor, symbols, "a format", (0, 127))?;
        return Ok(((both & 15) as u8, (both >> 4) as u8));
    }
    let (mut data, mut kind) = (None, None);
    loop {
        let (span, name) = cursor.token();
        let position = |names: &[&str], prefix: &str| {
            let name = name.strip_prefix(prefix)?;
            names.iter().position(|known| *known == name).map(|at| at as u8)
        };
        let twice = if let Some(found) = position(&DATA_FORMATS, "BUF_DATA_FORMAT_") {
            data.replace(found).is_some()
        } else if let Some(found) = position(&NUMBER_FORMATS, "BUF_NUM_FORMAT_") {
            kind.replace(found).is_some()
        } else {
            return Err(cursor
                .expected("a format such as BUF_DATA_FORMAT_32 or BUF_NUM_FORMAT_FLOAT")
                .note(format!("data formats end in {}", DATA_FORMATS.join(", ")))
                .note(format!("number formats end in {}", NUMBER_FORMATS.join(", "))));
        };
        if twice {
            return Err(Diagnostic::new(span, format!("`{name}` is the second format of its kind")));
        }
        cursor.name();
        if !cursor.eat(",") {
            break;
        }
    }
    cursor.expect("]")?;
    Ok((data.unwrap_or(DEFAULT_FORMAT.0), kind.unwrap_or(DEFAULT_FORMAT.1)))
}
