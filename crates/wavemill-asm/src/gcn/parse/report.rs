//! Errors for a text that no form accepts.

use std::ops::RangeInclusive;

use wavemill_isa::gcn::{
    BrokenRule, BuildError, Elem, Encoding, FieldId, Form, Op, Operand, OperandFault, OperandSpec, Role,
    Special,
};
use wavemill_isa::{Family, Target, TargetSet};

use super::super::mnemonic::Suffix;
use super::bind::{Attempt, most_of_address};
use super::constant::Misfit;
use super::mnemonic::{self, Named};
use super::modifier::{self, Modifier};
use super::operand::{Argument, Constant, Value};
use super::register::{File, special_register};
use super::{Parser, written};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Cursor, DIRECTIONAL, Expression, LOWER_CASE, NoSymbols, source_text};

/// Targets as a list: `gfx90a, gfx942 and gfx950`.
pub(super) fn list(targets: TargetSet) -> String {
    let names: Vec<&'static str> = targets.iter().map(Target::name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "no target".to_owned(),
    }
}

/// The error if no instruction of any target is called `word`.
pub(super) fn unknown_mnemonic(set: InstructionSet, word: &str, span: Span) -> Fail {
    if let Some(fail) = source_text::unseen(word, span.start) {
        return fail;
    }
    let fail = Diagnostic::new(span, format!("there is no instruction `{word}`"));
    match mnemonic::similar(word, set).as_slice() {
        [] => {
            let fail = match mnemonic::with_part(word, set).as_slice() {
                [] => fail,
                names => fail.note(format!("there are {}", names.join(", "))),
            };
            fail.note(format!("`wavemill isa` lists the instructions of {}", set.target()))
        }
        [one] => fail.replace_with(*one),
        [first, rest @ ..] => fail.note(format!("also similar: {}", rest.join(", "))).replace_with(*first),
    }
}

/// The error if only other targets have the instruction, or its name.
pub(super) fn not_on_target(set: InstructionSet, word: &str, named: Named, span: Span) -> Fail {
    let plain = written(&named, word);
    if set.has(named.op) {
        let name = named.op.row().mnemonic(set.target());
        let message = format!("{set} has no `{plain}`");
        let suffix = named.suffix.map_or("", Suffix::text);
        return Diagnostic::new(span, message)
            .note(format!("{set} calls the instruction `{name}`"))
            .replace_with(format!("{name}{suffix}"));
    }
    let targets = named.op.row().targets;
    let mut fail = Diagnostic::new(span, format!("{set} has no `{plain}`"));
    if set.members().difference(targets).is_empty() {
        fail = fail.note(format!("{} read its 8-bit floats in different formats", list(set.members())));
    }
    let have = if targets.iter().count() > 1 { "have" } else { "has" };
    let fail = fail.note(format!("{} {have} it", list(targets)));
    match mnemonic::similar(&plain, set).first() {
        Some(similar) => fail.note(format!("similar on {set}: {similar}")),
        None => fail,
    }
}

/// The error if the instruction has no encoding of the kind that the suffix names.
pub(super) fn no_such_form(target: Target, word: &str, op: Op, named: Named, span: Span) -> Fail {
    let plain = written(&named, word);
    let suffix = named.suffix.map_or("", Suffix::text);
    let encodings: Vec<&'static str> = op.row().encodings(target).map(|encoding| encoding.name()).collect();
    Diagnostic::new(span, format!("`{plain}` has no encoding `{suffix}` on {target}"))
        .note(format!("it has {}", encodings.join(", ")))
        .replace_with(plain)
}

/// The error if an operand is followed by neither a comma nor a modifier.
pub(super) fn unexpected(cursor: &mut Cursor<'_>, modifiers: &[Modifier]) -> Fail {
    let behind = cursor.text().get(..cursor.at()).map_or(0, |before| before.trim_end().len());
    let (span, found) = cursor.token();
    let word = found.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let start = cursor.at();
    let register = super::operand::argument(cursor, None, Family::Gcn.newest(), &NoSymbols)
        .is_ok_and(|argument| matches!(argument.value, super::operand::Value::Operand(_)));
    cursor.go_to(start);
    // A call such as `neg(v0)` or `hwreg(1)`, a number, an attribute.
    let call = word && cursor.text().as_bytes().get(span.end) == Some(&b'(');
    let other = found.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || b"-~!('|".contains(&byte));
    let attribute = found.starts_with("attr") && found.contains('.') || matches!(found, "p0" | "p10" | "p20");
    if register || call || other || attribute {
        let fail = Diagnostic::new(span, format!("expected `,` before `{found}`"));
        return if modifiers.is_empty() { with_commas(fail, cursor, behind) } else { fail };
    }
    if word {
        return modifier::no_modifier(span, found);
    }
    Diagnostic::new(span, format!("expected `,`, a modifier or the end of the instruction, found `{found}`"))
}

/// Suggests a comma at `first`, and between all later operands.
fn with_commas(fail: Fail, cursor: &mut Cursor<'_>, first: usize) -> Fail {
    let mut gaps = vec![first];
    // Operands are read for the newest target, which has all registers.
    while super::operand::argument(cursor, None, Family::Gcn.newest(), &NoSymbols).is_ok() {
        let end = cursor.end();
        let names_register = cursor.peek().is_some_and(|byte| b"vsatelmx0123456789-|[".contains(&byte));
        if cursor.eat(",") || !names_register {
            break;
        }
        gaps.push(end);
    }
    let (text, last) = (cursor.text(), gaps.last().copied().unwrap_or(first));
    let mut replacement = String::new();
    let mut from = first;
    for gap in gaps {
        replacement += text.get(from..gap).unwrap_or_default();
        replacement.push(',');
        from = gap;
    }
    fail.fix_at(first..last, replacement)
}

/// Describes the operands allowed for `spec`.
pub(super) fn expectation(attempt: &Attempt<'_>, spec: &OperandSpec) -> String {
    if let Some(range) = address_of_image(attempt, spec) {
        return addresses(&range);
    }
    kinds(attempt.form, attempt.target, spec, spec.ty.dwords())
}

/// How many VGPRs a text may name for `spec`, if it is the address of an image instruction.
fn address_of_image(attempt: &Attempt<'_>, spec: &OperandSpec) -> Option<RangeInclusive<u8>> {
    (attempt.form.encoding == Encoding::Mimg && spec.role == Role::Vaddr)
        .then(|| spec.ty.dwords()..=most_of_address(attempt.form.op.row()))
}

/// Describes the address of an image instruction.
fn addresses(range: &RangeInclusive<u8>) -> String {
    let (least, most) = (range.start(), range.end());
    format!("{least} to {most} VGPRs such as `v[0:{}]`, as the image requires", most - 1)
}

fn tuple(dwords: u8, one: &str, many: &str, example: impl Fn(u8) -> String) -> String {
    match dwords {
        1 => format!("one {one}"),
        _ => format!("{dwords} {many} such as `{}`", example(dwords)),
    }
}

/// Whether the encoding has only scalar operands, apart from memory.
fn is_scalar(encoding: Encoding) -> bool {
    use Encoding as E;
    matches!(encoding, E::Sop1 | E::Sop2 | E::Sopc | E::Sopk | E::SopkLiteral | E::Sopp | E::Smem)
}

/// Whether `spec` accepts a constant: fields that only name a register do not.
fn takes_constants(form: &Form, target: Target, spec: &OperandSpec) -> bool {
    let field = form.encoding.field_of(spec.role).and_then(|id| form.encoding.field(target, id));
    field.is_some_and(|field| match is_scalar(form.encoding) {
        true => field.width == 8,
        false => field.width == 9,
    })
}

/// Describes the operands allowed for `spec`, which has this many registers.
fn kinds(form: &Form, target: Target, spec: &OperandSpec, dwords: u8) -> String {
    let elem = spec.ty.elem;
    let field = form.encoding.field_of(spec.role).and_then(|id| form.encoding.field(target, id));
    let vgprs = |dwords: u8| match spec.accvgpr {
        true => tuple(dwords, "accumulation VGPR", "accumulation VGPRs", |n| format!("a[0:{}]", n - 1)),
        false => tuple(dwords, "VGPR", "VGPRs", |n| format!("v[0:{}]", n - 1)),
    };
    let sgprs = |dwords: u8| tuple(dwords, "SGPR", "SGPRs", |n| format!("s[0:{}]", n - 1));
    match (elem, field) {
        (Elem::Branch, _) => "a label or a distance in dwords".to_owned(),
        (Elem::Waitcnt, _) => "counters such as `vmcnt(0)`, or a number".to_owned(),
        (Elem::Hwreg, _) => "a hardware register such as `hwreg(HW_REG_MODE)`, or a number".to_owned(),
        (Elem::Sendmsg, _) => "a message such as `sendmsg(MSG_INTERRUPT)`, or a number".to_owned(),
        (Elem::GprIdx, _) => "operands such as `gpr_idx(SRC0)`, or a number".to_owned(),
        (Elem::ExpTgt, _) => "an export target such as `mrt0`".to_owned(),
        (Elem::InterpSlot, _) => "p10, p20 or p0".to_owned(),
        (Elem::Attr, _) => "an attribute such as `attr0.x`".to_owned(),
        (Elem::Simm16 | Elem::Uimm16, _) => "a 16-bit number".to_owned(),
        (Elem::Imm8, _) => "a number from 0 to 127".to_owned(),
        (Elem::Soffset, _) => "a number or one SGPR".to_owned(),
        (Elem::Addr, _) => "address VGPRs, as the addressing mode requires, or `off`".to_owned(),
        (Elem::Saddr, _) => "address SGPRs or `off`".to_owned(),
        (Elem::Texel, _) => "data VGPRs".to_owned(),
        (_, None) => "`vcc`".to_owned(),
        (_, Some(field)) => match (is_scalar(form.encoding), takes_constants(form, target, spec)) {
            (true, true) => format!("{}, or a constant", sgprs(dwords)),
            (true, false) => sgprs(dwords),
            (false, true) => format!("{}, {}, or a constant", vgprs(dwords), sgprs(dwords)),
            _ if spec.role == Role::Sdst
                || matches!(field.id, FieldId::Sdst | FieldId::Srsrc | FieldId::Ssamp | FieldId::Soffset) =>
            {
                sgprs(dwords)
            }
            _ => vgprs(dwords),
        },
    }
}

/// The error for too many or too few operands.
pub(super) fn wrong_count(attempt: &Attempt<'_>, specs: &[Option<&'static OperandSpec>]) -> Fail {
    let mnemonic = attempt.form.op.row().mnemonic(attempt.target);
    let (expected, found) = (specs.len(), attempt.arguments.len());
    let names: Vec<String> = specs.iter().flatten().map(|spec| spec.role.name().to_owned()).collect();
    let operands = match expected {
        0 => format!("{mnemonic} has no operands"),
        1 => format!("{mnemonic} has one operand, {}", names.join(", ")),
        _ => format!("{mnemonic} has {expected} operands, {}", names.join(", ")),
    };
    let scalar = |argument: &Argument| {
        matches!(argument.value, Value::Operand(Operand::Sgpr { .. } | Operand::Special { .. }))
    };
    let carry = specs.iter().flatten().position(|spec| spec.role == Role::Sdst).unwrap_or_default();
    if found + 1 == expected
        && carry != 0
        && let Some(argument) = attempt.arguments.get(carry)
        && !scalar(argument)
    {
        let start = argument.span.start;
        return Diagnostic::new(argument.span.clone(), format!("{operands}; sdst is missing"))
            .note("sdst has one bit per lane: `vcc`, or a pair of SGPRs")
            .fix_at(start..start, "vcc, ");
    }
    // Before GFX9, additions that write carries had the names of additions that do not.
    if found == expected + 1
        && carry == 0
        && attempt.arguments.get(1).is_some_and(scalar)
        && let Some(name) = carrying(mnemonic)
    {
        return Diagnostic::new(attempt.mnemonic.clone(), format!("{operands}; found {found}"))
            .note(format!("{name} writes carries"))
            .replace_with(name);
    }
    // `scc` is a modifier, too.
    if found + 1 == expected
        && let (Some(modifier), Some(last)) = (attempt.modifiers.first(), attempt.arguments.last())
        && special_register(modifier.word).is_some()
        && !modifier.negated
        && modifier.span.start >= last.span.end
    {
        let message = format!("expected `,` before `{}`", modifier.word);
        return Diagnostic::new(modifier.span.clone(), message).fix_at(last.span.end..last.span.end, ",");
    }
    if found < expected {
        let missing: Vec<String> = specs
            .iter()
            .flatten()
            .skip(found)
            .map(|spec| format!("{} ({})", spec.role.name(), expectation(attempt, spec)))
            .collect();
        let end = attempt.arguments.last().map_or(attempt.mnemonic.end, |argument| argument.span.end);
        let span = attempt.arguments.first().map_or(attempt.mnemonic.start, |first| first.span.start)..end;
        return Diagnostic::new(span, format!("{operands}; found {found}"))
            .note(format!("missing: {}", missing.join(", ")));
    }
    let first = attempt.arguments.get(expected).map_or(0, |argument| argument.span.start);
    let last = attempt.arguments.last().map_or(first, |argument| argument.span.end);
    let before = match expected.checked_sub(1).and_then(|index| attempt.arguments.get(index)) {
        Some(argument) => argument.span.end,
        None => attempt.mnemonic.end,
    };
    Diagnostic::new(first..last, format!("{operands}; found {found}")).fix_at(before..last, "")
}

/// The instruction that does the same and also writes carries.
fn carrying(mnemonic: &str) -> Option<&'static str> {
    let (operation, ty) = mnemonic.rsplit_once('_')?;
    Op::from_name(&format!("{operation}_co_{ty}")).map(|op| op.row().name())
}

/// Describes an operand.
fn describe(operand: Operand) -> String {
    let several = |dwords: u8, one: &str| match dwords {
        1 => format!("one {one}"),
        _ => format!("{dwords} {one}s"),
    };
    match operand {
        Operand::Sgpr { dwords, .. } => several(dwords, "SGPR"),
        Operand::Ttmp { dwords, .. } => several(dwords, "trap handler register"),
        Operand::Vgpr { dwords, .. } => several(dwords, "VGPR"),
        Operand::Agpr { dwords, .. } => several(dwords, "accumulation VGPR"),
        Operand::Special { dwords, .. } => several(dwords, "special register"),
        Operand::Int(_) | Operand::Float(_) | Operand::Imm(_) => "a constant".to_owned(),
        Operand::Literal(_) => "a literal".to_owned(),
        Operand::Attr { .. } => "an attribute".to_owned(),
        Operand::Off => "`off`".to_owned(),
    }
}

/// The error if the builder or the decoder rejects an operand or a modifier.
pub(super) fn build_error(
    attempt: &Attempt<'_>,
    specs: &[Option<&'static OperandSpec>],
    error: BuildError,
) -> Fail {
    match error {
        BuildError::Operand { role, operand, fault, .. } => {
            let spec = specs.iter().flatten().find(|spec| spec.role == role);
            let span = attempt
                .argument(specs, role)
                .map_or(attempt.mnemonic.clone(), |argument| argument.span.clone());
            match spec {
                Some(spec) => operand_fault(attempt, spec, operand, fault, span),
                None => Diagnostic::new(span, fault.to_string()),
            }
        }
        BuildError::Modifier { field, .. } => {
            let modifier =
                attempt.modifiers.iter().find(|modifier| modifier::text(modifier.name) == field.name());
            let span = modifier.map_or(attempt.mnemonic.clone(), |modifier| modifier.span.clone());
            Diagnostic::new(span, format!("this value of the {} field cannot be encoded", field.name()))
        }
        other => Diagnostic::new(attempt.mnemonic.clone(), other.to_string()),
    }
}

fn operand_fault(
    attempt: &Attempt<'_>,
    spec: &OperandSpec,
    operand: Operand,
    fault: OperandFault,
    span: Span,
) -> Fail {
    let expected = expectation(attempt, spec);
    let role = spec.role.name();
    let resized = |first: u8, dwords: u8, file: File| match dwords {
        1 => format!("{}{first}", file.name()),
        _ => format!("{}[{first}:{}]", file.name(), u16::from(first) + u16::from(dwords) - 1),
    };
    let file = match operand {
        Operand::Sgpr { first, .. } => Some((File::Sgpr, first)),
        Operand::Vgpr { first, .. } => Some((File::Vgpr, first)),
        Operand::Agpr { first, .. } => Some((File::Agpr, first)),
        Operand::Ttmp { first, .. } => Some((File::Ttmp, first)),
        _ => None,
    };
    let argument = attempt.arguments.iter().find(|argument| argument.span == span);
    if let Some(Value::Symbolic(Expression::Symbol { name, .. })) = argument.map(|argument| &argument.value)
        && !takes_constants(attempt.form, attempt.target, spec)
    {
        let name = name.trim_start_matches(DIRECTIONAL);
        return symbol(format!("{role} is {expected}, found the symbol `{name}`"), name, span);
    }
    match (fault, file) {
        (OperandFault::Width { .. }, Some((File::Vgpr, first)))
            if let Some(range) = address_of_image(attempt, spec) =>
        {
            let (named, most) = (operand.dwords(), *range.end());
            // The number is right, so the first register is wrong.
            if range.contains(&named) {
                return operand_fault(attempt, spec, operand, OperandFault::Alignment(2), span);
            }
            let fail = Diagnostic::new(span, format!("{role} is {expected}, found {}", describe(operand)));
            // How many are missing depends on the image.
            if named > most { fail.replace_with(resized(first, most, File::Vgpr)) } else { fail }
        }
        (OperandFault::Width { expected: dwords, .. }, Some((file, first))) => {
            let expected = match spec.ty.dwords() {
                0 if dwords == 1 => "one register with these modifiers".to_owned(),
                0 => format!("{dwords} registers with these modifiers"),
                _ => kinds(attempt.form, attempt.target, spec, dwords),
            };
            Diagnostic::new(span, format!("{role} is {expected}, found {}", describe(operand)))
                .replace_with(resized(first, dwords, file))
        }
        (OperandFault::Alignment(align), Some((file, first))) => {
            let aligned = first - first % align.max(1);
            Diagnostic::new(
                span,
                format!(
                    "{role} begins at a register whose number is a multiple of {align}, found {}{first}",
                    file.name()
                ),
            )
            .replace_with(resized(aligned, operand.dwords(), file))
        }
        (OperandFault::Range, None) if spec.ty.elem.is_immediate() => {
            let field = attempt.form.encoding.field_of(spec.role);
            let width = field
                .and_then(|id| attempt.form.encoding.field(attempt.target, id))
                .map_or(0, |field| field.width);
            Diagnostic::new(span, format!("expected a number from 0 to {}", (1u64 << width) - 1))
        }
        (OperandFault::SecondLiteral, _) => Diagnostic::new(span, "an instruction can have only one literal")
            .note("constants from -16 to 64 and 0.5, 1.0, 2.0, 4.0 with either sign need no literal"),
        (OperandFault::Kind, _) if matches!(operand, Operand::Literal(_)) => no_literal(attempt, spec, span),
        _ => Diagnostic::new(span, format!("{role} is {expected}, found {}", describe(operand))),
    }
}

/// The error for a symbol in place of a register, which may only differ in case.
fn symbol(message: String, name: &str, span: Span) -> Fail {
    let fail = Diagnostic::new(span, message);
    match register_but_for_case(name) {
        Some(register) => fail.note(LOWER_CASE).replace_with(register),
        None => fail,
    }
}

/// The register whose name differs from a symbol only in case.
pub(crate) fn register_but_for_case(symbol: &str) -> Option<String> {
    let lower = symbol.to_ascii_lowercase();
    let is_register = File::of(&lower).is_some_and(|(_, digits)| !digits.is_empty());
    (is_register || special_register(&lower).is_some()).then_some(lower)
}

/// The error if the encoding cannot hold a literal.
fn no_literal(attempt: &Attempt<'_>, spec: &OperandSpec, span: Span) -> Fail {
    let (role, encoding) = (spec.role.name(), attempt.form.encoding.name());
    if !takes_constants(attempt.form, attempt.target, spec) {
        let expected = expectation(attempt, spec);
        return Diagnostic::new(span, format!("{role} is {expected}, found a literal"));
    }
    Diagnostic::new(span, format!("{role} cannot be a literal: {encoding} cannot hold one"))
        .note("constants from -16 to 64 and 0.5, 1.0, 2.0, 4.0 with either sign are allowed; move others to a register first")
}

/// The error if a part of the destination is written, and the text does not define the rest.
pub(super) fn rest_of_destination(modifier: &Modifier) -> Fail {
    let end = modifier.span.end;
    Diagnostic::new(modifier.span.clone(), "expected `dst_unused:` too, for the rest of the destination")
        .note("UNUSED_PAD clears it, UNUSED_SEXT extends the sign, UNUSED_PRESERVE keeps it; LLVM assumes UNUSED_PRESERVE")
        .fix_at(end..end, " dst_unused:UNUSED_PRESERVE")
}

/// The error if a number does not fit the operand.
pub(super) fn misfit(attempt: &Attempt<'_>, spec: &OperandSpec, argument: &Argument, fault: Misfit) -> Fail {
    let span = argument.span.clone();
    if matches!(fault, Misfit::LowHalfLost(_) | Misfit::NegativeForUnsigned)
        && !attempt.form.encoding.takes_literal()
    {
        return no_literal(attempt, spec, span);
    }
    match fault {
        Misfit::Bits(bits) => Diagnostic::new(span, format!("the number does not fit into {bits} bits")),
        Misfit::FloatForInteger => {
            Diagnostic::new(span, "the operand is an integer, and this float is not an inline constant")
                .note("0.5, 1.0, 2.0 and 4.0 with either sign are inline constants")
        }
        Misfit::NegativeForUnsigned => {
            Diagnostic::new(span, "the 64-bit operand zero-extends a literal: it would not be negative")
                .note("numbers from -16 to -1 need no literal")
        }
        Misfit::SignOfDouble => {
            Diagnostic::new(span, "expected a float, found an integer with a changed sign")
                .note("write 3.0 instead of 3")
        }
        Misfit::LowHalfLost(nearest) => Diagnostic::new(
            span,
            "a literal holds the upper 32 bits of a double; here the lower 32 bits are not zero",
        )
        .replace_with(format!("{nearest:?}")),
        Misfit::Range(bits) => {
            Diagnostic::new(span, format!("the number is out of range for floats of {bits} bits"))
        }
    }
}

/// Checks the constant offset of a scalar load or store.
pub(super) fn scalar_offset(argument: &Argument, value: Constant, _target: Target) -> Result<Operand, Fail> {
    let (low, high) = (-0x10_0000, 0xF_FFFF);
    match value {
        Constant::Int(value) if (low..=high).contains(&value) => Ok(Operand::Imm(value as i32)),
        Constant::Int(value) => {
            let message = format!("expected an offset from {low} to {high}, found {value}");
            Err(Diagnostic::new(argument.span.clone(), message))
        }
        Constant::Float(_) => {
            Err(Diagnostic::new(argument.span.clone(), "expected an integer, found a float"))
        }
    }
}

/// The error if an operand does not accept negation, absolute value or sign extension.
pub(super) fn no_source_modifier(attempt: &Attempt<'_>, spec: &OperandSpec, argument: &Argument) -> Fail {
    let what = match (argument.neg, argument.abs) {
        _ if argument.sext => "sign extension",
        (true, true) => "negation or absolute value",
        (true, false) => "negation",
        _ => "absolute value",
    };
    let mnemonic = attempt.form.op.row().mnemonic(attempt.target);
    Diagnostic::new(
        argument.span.clone(),
        format!("{} of {mnemonic} does not accept {what}", spec.role.name()),
    )
}

/// The error for a rule that the instruction breaks although the encoding can express it.
pub(super) fn broken_rule(
    attempt: &Attempt<'_>,
    specs: &[Option<&'static OperandSpec>],
    broken: BrokenRule,
) -> Fail {
    let argument =
        broken.role.and_then(|role| attempt.argument(specs, role)).map(|argument| argument.span.clone());
    let modifier = broken.field.and_then(|field| {
        attempt.modifiers.iter().find(|modifier| modifier::text(modifier.name) == field.name())
    });
    let span = argument.or_else(|| modifier.map(|modifier| modifier.span.clone()));
    Diagnostic::new(span.unwrap_or(attempt.mnemonic.clone()), broken.rule.to_string())
}

/// Adds the targets on which the text would be legal.
pub(super) fn enrich(fail: Fail, target: Target, _form: &Form, named: Named, text: &str) -> Fail {
    let mut elsewhere = TargetSet::EMPTY;
    for other in Target::GCN {
        if other != target && named.on(other.into()).is_some() && other_takes(other, text) {
            elsewhere = elsewhere.union(TargetSet::of(other));
        }
    }
    match elsewhere.is_empty() {
        true => fail,
        false => fail.note(format!("legal on {}", list(elsewhere))),
    }
}

fn other_takes(target: Target, text: &str) -> bool {
    // The parser for another target must not query further targets.
    thread_local!(static ASKING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    if ASKING.replace(true) {
        return false;
    }
    let taken = Parser::new(target.into()).parse(text, &NoSymbols).is_ok();
    ASKING.set(false);
    taken
}

/// A special register's name, for messages.
#[allow(dead_code)]
pub(super) fn special(reg: Special) -> &'static str {
    reg.name()
}

/// Fails if symbols decide more than one operand, or one literal next to another. An instruction
/// has one literal, whose value is unknown until all symbols are.
pub(super) fn one_symbolic(arguments: &[Argument], specs: &[OperandSpec]) -> Result<(), Fail> {
    let mut symbolic =
        arguments.iter().zip(specs).filter(|(argument, _)| matches!(argument.value, Value::Symbolic(_)));
    let Some((first, spec)) = symbolic.next() else { return Ok(()) };
    let literal = || {
        let other = |argument: &&Argument| matches!(argument.value, Value::Literal(_));
        arguments.iter().find(other).filter(|_| !spec.ty.elem.is_immediate())
    };
    match symbolic.next().map(|(second, _)| second).or_else(literal) {
        None => Ok(()),
        Some(other) => {
            let later = if other.span.start > first.span.start { other } else { first };
            Err(Diagnostic::new(later.span.clone(), "an instruction can have only one literal, and another operand already is one")
                .note("each operand with an unresolved symbol is a literal, even if two have the same value in the end"))
        }
    }
}

/// The error for a symbol in an operand that does not have the 32 bits of a relocation.
pub(super) fn symbol_of_other_width(argument: &Argument, bits: u32) -> Fail {
    let message =
        format!("expected a number that is known here, because the operand has {bits} bits; found a symbol");
    let note = "symbols that are set later, and addresses, are 32-bit literals, which need 32-bit operands";
    let fail = Diagnostic::new(argument.span.clone(), message).note(note);
    let register = match &argument.value {
        Value::Symbolic(Expression::Symbol { name, .. }) => register_but_for_case(name),
        _ => None,
    };
    match register {
        Some(register) => fail.note(LOWER_CASE).replace_with(register),
        None => fail,
    }
}
