//! Writes the Rust tables.

use crate::facets::{self, SourceFacet};
use crate::forms::SourceForm;
use crate::gcn::encoding::Space;
use crate::gcn::names::{EMPTY, SLOTS, first_slot};
use crate::gcn::vocabulary::Fidelity;
use crate::table::{SourceRow, When};
use crate::target::{Target, TargetSet};
use crate::windows::{self, windows};
use std::fmt::Write;

/// `v_add_f32` as a variant name: `VAddF32`. An underscore between digits stays, so that `16x16x4_4b` is readable.
pub fn variant(name: &str) -> String {
    let mut out = String::new();
    let mut upper = true;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '_' {
            let digits = out.ends_with(|c: char| c.is_ascii_digit())
                && chars.peek().is_some_and(|c| c.is_ascii_digit());
            if digits {
                out.push('_');
            }
            upper = true;
        } else if upper {
            out.extend(c.to_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    out
}

fn set(targets: TargetSet) -> String {
    format!("TargetSet::from_bits({})", targets.bits())
}

/// A level with the names of its facets: of plain instances, and of those with a modifier ([`When`]).
type Exactness<'a> = (TargetSet, Fidelity, [Vec<&'a str>; 2]);

/// The levels of a row with their facets, on the targets that have the same ones.
fn exactness(row: &SourceRow) -> Vec<Exactness<'_>> {
    let mut all: Vec<Exactness<'_>> = Vec::new();
    for target in row.targets.iter() {
        let level = row.level(target);
        let facets = [When::Always, When::WithModifier].map(|when| row.facet_names(target, when));
        match all.iter_mut().find(|(_, other, same)| *other == level && *same == facets) {
            Some((targets, ..)) => *targets = targets.union(TargetSet::of(target)),
            None => all.push((TargetSet::of(target), level, facets)),
        }
    }
    all
}

/// The source text of the generated tables.
pub fn emit(rows: &[SourceRow], forms: &[SourceForm], facets: &[SourceFacet]) -> String {
    let mut out = String::new();
    let w = &mut out;
    // Writing to a String cannot fail.
    macro_rules! line { ($($arg:tt)*) => { writeln!(w, $($arg)*).expect("writing to a string") }; }

    line!("/// An instruction: one variant per row of the tables, in the tables' order.");
    line!("#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]");
    line!("#[repr(u16)]");
    line!("pub enum Op {{");
    for row in rows {
        line!("    /// `{}`", row.name());
        line!("    {},", variant(row.name()));
    }
    line!("}}\n");

    line!("impl Op {{");
    line!("    /// Every instruction, in the tables' order.");
    line!("    pub const ALL: &'static [Op] = &[");
    for row in rows {
        line!("        Op::{},", variant(row.name()));
    }
    line!("    ];\n}}\n");

    let mut sets = Vec::new();
    line!("{}", facets::emit(facets));

    line!("pub(super) static FORMS: [Form; {}] = [", forms.len());
    for form in forms {
        let windows: Vec<String> = windows(&rows[form.row], form, &mut sets)
            .iter()
            .map(|window| format!("Window {{ lo: {}, set: {} }}", window.lo, window.set))
            .collect();
        line!(
            "    Form {{ op: Op::{}, encoding: Encoding::{}, code: {}, targets: {}, fixed: {:#x}, value: {:#x}, used: {:#x}, checks: {:#b}, windows: [{}] }},",
            variant(rows[form.row].name()),
            form.encoding.variant(),
            form.code,
            set(form.targets),
            form.fixed,
            form.value,
            form.used,
            form.checks,
            windows.join(", ")
        );
    }
    line!("];\n");

    line!("/// The bits that a window shows.");
    line!("pub(super) const WINDOW_BITS: u32 = {};\n", windows::WIDTH);
    line!("/// The sets that each operand code is in, one bit per set.");
    line!("pub(super) static CODE_SETS: [u64; 1 << WINDOW_BITS] = {:?};\n", windows::sets_of_codes(&sets));

    let most = rows.iter().map(|row| row.operands.len()).max().unwrap_or(0);
    line!("/// The most operands that a row has.");
    line!("pub(super) const MAX_OPERANDS: usize = {most};\n");
    line!("pub(super) static ROWS: [Row; {}] = [", rows.len());
    for (index, row) in rows.iter().enumerate() {
        let start = forms.partition_point(|form| form.row < index);
        let end = forms.partition_point(|form| form.row <= index);
        line!("    Row {{");
        line!("        op: Op::{},", variant(row.name()));
        line!("        format: Format::{},", row.format.variant());
        line!("        targets: {},", set(row.targets));
        line!("        names: &[");
        for (targets, name) in &row.names {
            line!("            ({}, {name:?}),", set(*targets));
        }
        line!("        ],");
        line!("        aliases: &[");
        for (targets, name) in &row.aliases {
            line!("            ({}, {name:?}),", set(*targets));
        }
        line!("        ],");
        match row.shape {
            Some(shape) => line!("        shape: Some({shape:?}),"),
            None => line!("        shape: None,"),
        }
        line!("        operands: &[");
        for operand in &row.operands {
            line!(
                "            OperandSpec {{ role: Role::{}, access: Access::{}, ty: Type {{ elem: Elem::{}, count: {} }}, accvgpr: {}, takes: Takes::{} }},",
                operand.role.variant(),
                operand.access.variant(),
                operand.ty.elem.variant(),
                operand.ty.count,
                operand.accvgpr,
                operand.takes.variant()
            );
        }
        line!("        ],");
        line!("        reads: StateSet::from_bits({}),", row.reads.bits());
        line!("        writes: StateSet::from_bits({}),", row.writes.bits());
        line!("        memory: &[");
        for access in &row.memory {
            line!(
                "            MemAccess {{ op: MemOp::{}, space: MemSpace::{} }},",
                access.op.variant(),
                access.space.variant()
            );
        }
        line!("        ],");
        match row.data {
            Some(ty) => {
                line!(
                    "        data: Some(Type {{ elem: Elem::{}, count: {} }}),",
                    ty.elem.variant(),
                    ty.count
                );
            }
            None => line!("        data: None,"),
        }
        line!("        flags: FlagSet::from_bits({:#x}),", row.flag_set().bits());
        line!("        partial_flags: &[");
        for (flag, targets) in row.flags.iter().filter(|(_, targets)| *targets != row.targets) {
            line!("            (Flag::{}, {}),", flag.variant(), set(*targets));
        }
        line!("        ],");
        line!("        float_mods: {},", row.float_mods());
        line!("        first_form: {start},");
        line!("        form_count: {},", end - start);
        line!("        fidelity: &[");
        for (targets, level, [plain, with_modifier]) in exactness(row) {
            line!(
                "            Exactness {{ targets: {}, level: Fidelity::{}, facets: {}, with_modifier: {} }},",
                set(targets),
                level.variant(),
                facets::references(facets, plain),
                facets::references(facets, with_modifier)
            );
        }
        line!("        ],");
        line!("        section: {:?},", row.manual);
        line!("        note: {:?},", row.note.as_deref().unwrap_or(""));
        line!("    }},");
    }
    line!("];\n");

    // Aliases come after all mnemonics, so a search for a name alone finds mnemonics first.
    let spellings = |of: fn(&SourceRow) -> &[(TargetSet, String)]| {
        rows.iter().flat_map(move |row| of(row).iter().map(move |(targets, name)| (&**name, *targets, row)))
    };
    let names: Vec<(&str, TargetSet, &SourceRow)> =
        spellings(|row| &row.names).chain(spellings(|row| &row.aliases)).collect();
    let mut slots = vec![EMPTY; SLOTS];
    for (index, (name, ..)) in names.iter().enumerate() {
        let mut at = first_slot(name.as_bytes());
        while slots[at] != EMPTY {
            at = (at + 1) % SLOTS;
        }
        slots[at] = index as u16;
    }
    assert!(2 * names.len() < SLOTS, "the table of mnemonics has too few slots");
    line!("/// Every mnemonic, then every alias.");
    line!("static NAMES: [(&str, TargetSet, Op); {}] = [", names.len());
    for (name, targets, row) in &names {
        line!("    ({name:?}, {}, Op::{}),", set(*targets), variant(row.name()));
    }
    line!("];\n");
    line!("/// Indices into `NAMES`, or `EMPTY`, in the order that `first_slot` gives.");
    line!("static NAME_SLOTS: [u16; SLOTS] = {slots:?};\n");

    line!("/// Per target and opcode space: index of the form of each opcode, or `NO_FORM`.");
    line!("pub(super) static OPCODES: [[&[u16]; {}]; {}] = [", Space::ALL.len(), Target::COUNT);
    for target in Target::ALL {
        line!("    [");
        for &space in Space::ALL {
            let mut table: Vec<u16> = Vec::new();
            for (index, form) in forms.iter().enumerate() {
                if form.space == space && form.targets.contains(target) {
                    let code = usize::from(form.code);
                    if table.len() <= code {
                        table.resize(code + 1, u16::MAX);
                    }
                    table[code] = index as u16;
                }
            }
            line!("        &{table:?},");
        }
        line!("    ],");
    }
    line!("];");
    out
}
