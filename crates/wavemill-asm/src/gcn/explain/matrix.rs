//! Tables of where a matrix instruction holds the elements of its matrices.

use std::collections::BTreeMap;
use std::fmt;

use wavemill_isa::gcn::{
    Inst, Matrix, MatrixLayout, MatrixLayoutError, MatrixLocation, Modifiers, Op, Operand,
};

use super::super::print::operand_text;
use super::text::Table;

/// An element of a matrix and its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ElementFacts {
    /// Block.
    pub block: u32,
    /// Row: i of A, C and D, k of B.
    pub row: u32,
    /// Column: k of A, j of B, C and D.
    pub column: u32,
    /// Lane.
    pub lane: u8,
    /// Register, counted from the first of the operand.
    pub register: u16,
    /// Its lowest bit in this register.
    pub bit: u16,
    /// Its width in bits, which may go beyond the register.
    pub bits: u8,
}

/// A matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MatrixTable {
    /// Its name, such as `A`.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// The operand that holds it.
    pub role: &'static str,
    /// The operand's text, if there is an instance.
    pub operand: Option<String>,
    /// Whether all elements are one constant, which is not in registers.
    pub constant: bool,
    /// Type of the elements; `index` and `scale` for elements without a numeric type.
    pub r#type: &'static str,
    /// Width of an element in bits.
    pub bits: u32,
    /// Number of registers.
    pub registers: u32,
    /// Blocks.
    pub blocks: u32,
    /// Rows of a block.
    pub rows: u32,
    /// Columns of a block.
    pub columns: u32,
    /// Every element, by block, row and column.
    pub elements: Vec<ElementFacts>,
    /// The prefix of register names, and the number of the first register.
    #[cfg_attr(feature = "serde", serde(skip))]
    naming: (&'static str, u16),
}

/// Where a matrix instruction holds the elements of its matrices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MatrixReport {
    /// The instruction: the text of the instance, or else the newest mnemonic.
    pub instruction: String,
    /// Rows of A and D: M.
    pub rows: u32,
    /// Columns of B and D: N.
    pub columns: u32,
    /// Columns of A and rows of B: K.
    pub depth: u32,
    /// Blocks.
    pub blocks: u32,
    /// Whether A is sparse: two of every four consecutive elements of a row are stored.
    pub sparse: bool,
    /// The matrices.
    pub matrices: Vec<MatrixTable>,
}

impl MatrixReport {
    /// The report of an instance: with its registers, and with the effect of its modifiers.
    ///
    /// # Errors
    /// [`MatrixLayoutError`] if it does not multiply matrices, or has modifiers that the manual
    /// leaves undefined.
    pub fn of(inst: &Inst) -> Result<MatrixReport, MatrixLayoutError> {
        Ok(MatrixReport::new(MatrixLayout::of(inst)?, Some(inst)))
    }

    /// The report of an instruction with these modifiers. Registers are counted from the first of
    /// each operand.
    ///
    /// # Errors
    /// As [`MatrixReport::of`].
    pub fn with(op: Op, modifiers: &Modifiers) -> Result<MatrixReport, MatrixLayoutError> {
        Ok(MatrixReport::new(MatrixLayout::with(op, modifiers)?, None))
    }

    fn new(layout: MatrixLayout, inst: Option<&Inst>) -> MatrixReport {
        let shape = layout.shape();
        MatrixReport {
            instruction: match inst {
                Some(inst) => super::text_of(inst),
                None => layout.op().row().name().to_owned(),
            },
            rows: shape.rows,
            columns: shape.columns,
            depth: shape.depth,
            blocks: shape.blocks,
            sparse: layout.is_sparse(),
            matrices: layout.matrices().map(|matrix| table(&layout, matrix, inst)).collect(),
        }
    }

    /// Tables by registers and lanes.
    pub fn by_lanes(&self) -> impl fmt::Display + '_ {
        ByLanes(self)
    }

    /// Tables by rows and columns of the matrices.
    pub fn by_elements(&self) -> impl fmt::Display + '_ {
        ByElements(self)
    }
}

fn table(layout: &MatrixLayout, matrix: Matrix, inst: Option<&Inst>) -> MatrixTable {
    let role = MatrixLayout::role(matrix);
    let extent = layout.extent(matrix);
    let operand = inst.and_then(|inst| inst.operand(role));
    let text = inst.zip(operand).zip(layout.op().row().operand(role));
    let element = |(block, row, column, location): (u32, u32, u32, MatrixLocation)| ElementFacts {
        block,
        row,
        column,
        lane: location.lane,
        register: location.register(),
        bit: location.bit % 32,
        bits: location.bits,
    };
    let naming = match operand {
        Some(Operand::Agpr { first, .. }) => ("a", u16::from(first)),
        Some(Operand::Vgpr { first, .. }) => ("v", u16::from(first)),
        _ => ("v", 0),
    };
    let constant = !matches!(operand, None | Some(Operand::Agpr { .. } | Operand::Vgpr { .. }));
    MatrixTable {
        name: matrix.name(),
        description: matrix.description(),
        role: role.name(),
        operand: text.map(|((inst, operand), spec)| operand_text(inst, spec, operand)),
        constant,
        r#type: match (matrix, layout.elem(matrix)) {
            (_, Some(elem)) => elem.name(),
            (Matrix::Indices, None) => "index",
            (_, None) => "scale",
        },
        bits: layout.bits(matrix),
        registers: layout.registers(matrix),
        blocks: extent.blocks,
        rows: extent.rows,
        columns: extent.columns,
        elements: if constant { Vec::new() } else { layout.elements(matrix).map(element).collect() },
        naming,
    }
}

impl MatrixTable {
    fn register(&self, index: u16) -> String {
        let (prefix, first) = self.naming;
        format!("{prefix}{}", first + index)
    }

    /// The location of an element: `v4{12}`, with the bits unless it fills its registers.
    fn location(&self, element: &ElementFacts) -> String {
        let last = element.register + (element.bit + u16::from(element.bits) - 1) / 32;
        let lane = element.lane;
        let end = element.bit + u16::from(element.bits) - 1;
        match (last == element.register, element.bits) {
            (true, 32) => format!("{}{{{lane}}}", self.register(element.register)),
            (true, _) => format!("{}{{{lane}}}.[{end}:{}]", self.register(element.register), element.bit),
            (false, 64) => format!("{}:{}{{{lane}}}", self.register(element.register), self.register(last)),
            (false, _) => format!(
                "{}.[31:{}]+{}.[{}:0]{{{lane}}}",
                self.register(element.register),
                element.bit,
                self.register(last),
                end - 32
            ),
        }
    }

    /// The line above the tables of a matrix.
    fn heading(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{}  {}", self.name, self.role)?;
        if let Some(operand) = &self.operand {
            write!(f, " {operand}")?;
        }
        write!(f, ", ")?;
        if self.blocks != 1 {
            write!(f, "{} blocks of ", self.blocks)?;
        }
        let plural = if self.registers == 1 { "" } else { "s" };
        writeln!(
            f,
            "{}x{} {} in {} register{plural}: {}",
            self.rows, self.columns, self.r#type, self.registers, self.description
        )
    }
}

fn intro(f: &mut fmt::Formatter<'_>, report: &MatrixReport, what: &str) -> fmt::Result {
    let MatrixReport { instruction, rows, columns, depth, blocks, .. } = report;
    writeln!(f, "{instruction}")?;
    writeln!(
        f,
        "  M {rows}, N {columns}, K {depth}, blocks {blocks}{}",
        if report.sparse { ", A sparse" } else { "" }
    )?;
    writeln!(f, "  {what}")?;
    if report.matrices.iter().all(|matrix| matrix.operand.is_none()) {
        writeln!(f, "  Register numbers count from the first register of each operand.")?;
    }
    if report.sparse {
        writeln!(
            f,
            "  Columns 2n and 2n+1 of A store two of columns 4n to 4n+3; the indices of the same row and columns select \
             them."
        )?;
    }
    Ok(())
}

struct ByElements<'a>(&'a MatrixReport);

impl fmt::Display for ByElements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        intro(f, self.0, "v4{12}.[15:0] is register v4 in lane 12, bits 15 to 0.")?;
        for matrix in &self.0.matrices {
            matrix.heading(f)?;
            if matrix.constant {
                writeln!(f, "  the same constant everywhere")?;
                continue;
            }
            for block in 0..matrix.blocks {
                if matrix.blocks != 1 {
                    writeln!(f, "  block {block}")?;
                }
                let mut head = vec![format!("{}[row][column]", matrix.name)];
                head.extend((0..matrix.columns).map(|column| column.to_string()));
                let mut table = Table::new(head);
                for row in 0..matrix.rows {
                    let mut line = vec![row.to_string()];
                    let wanted = matrix.elements.iter().filter(|e| e.block == block && e.row == row);
                    line.extend(wanted.map(|element| matrix.location(element)));
                    table.row(line);
                }
                table.write(f)?;
            }
        }
        Ok(())
    }
}

/// Block, row and column.
type Indices = [u32; 3];

/// The index in which one element is one step after another, if all other indices are equal.
fn step(from: &Indices, to: &Indices) -> Option<usize> {
    let changed: Vec<usize> = (0..3).filter(|&n| from.get(n) != to.get(n)).collect();
    match changed[..] {
        [index] if from.get(index).map(|n| n + 1).as_ref() == to.get(index) => Some(index),
        _ => None,
    }
}

/// The common step of two lists of elements.
fn common_step<'a>(pairs: impl Iterator<Item = (&'a Vec<Indices>, &'a Vec<Indices>)>) -> Option<usize> {
    let mut found = None;
    for (from, to) in pairs {
        if from.len() != to.len() {
            return None;
        }
        for (from, to) in from.iter().zip(to) {
            let index = step(from, to)?;
            if *found.get_or_insert(index) != index {
                return None;
            }
        }
    }
    found
}

/// The contents of a lane: elements by their lowest bit, counted across the registers. A broadcast
/// gives several.
type Lane = BTreeMap<u16, Vec<Indices>>;

/// Lanes whose elements differ by the same step from each lane to the next.
struct Run {
    first: usize,
    last: usize,
    step: Option<usize>,
}

fn runs(lanes: &[Lane]) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for (lane, held) in lanes.iter().enumerate() {
        let before = lane.checked_sub(1).and_then(|before| lanes.get(before));
        let fits = match (all.last(), before) {
            (Some(run), Some(before)) => {
                let same_places = before.keys().eq(held.keys());
                let step = common_step(before.values().zip(held.values()));
                let both_empty = before.is_empty() && held.is_empty();
                let same_step = run.first == run.last || run.step == step;
                (both_empty || same_places && step.is_some() && same_step).then_some(step)
            }
            _ => None,
        };
        match (fits, all.last_mut()) {
            (Some(step), Some(run)) => (run.last, run.step) = (lane, step),
            _ => all.push(Run { first: lane, last: lane, step: None }),
        }
    }
    all
}

/// `3`, or `3-5`.
fn range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

struct ByLanes<'a>(&'a MatrixReport);

impl fmt::Display for ByLanes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices = if self.0.blocks == 1 { "[row][column]" } else { "[block][row][column]" };
        let legend = format!(
            "Indices are {indices}. If an entry has two ranges, one follows the lanes and the other the bits, lowest first."
        );
        intro(f, self.0, &legend)?;
        for matrix in &self.0.matrices {
            matrix.heading(f)?;
            if matrix.constant {
                writeln!(f, "  the same constant everywhere")?;
            } else {
                by_lanes(matrix).write(f)?;
            }
        }
        Ok(())
    }
}

/// The registers of each line: one, or all of them where elements span two.
fn parts(matrix: &MatrixTable) -> Vec<(u16, u16)> {
    let all = matrix.registers as u16;
    match matrix.bits {
        64 => (0..all / 2).map(|pair| (2 * pair, 2 * pair + 1)).collect(),
        bits if bits != 0 && 32 % bits == 0 => (0..all).map(|register| (register, register)).collect(),
        _ => vec![(0, all.saturating_sub(1))],
    }
}

fn by_lanes(matrix: &MatrixTable) -> Table {
    let mut lanes: Vec<Lane> = vec![Lane::new(); 64];
    for element in &matrix.elements {
        if let Some(lane) = lanes.get_mut(usize::from(element.lane)) {
            let bit = 32 * element.register + element.bit;
            lane.entry(bit).or_default().push([element.block, element.row, element.column]);
        }
    }
    let (runs, parts) = (runs(&lanes), parts(matrix));
    let lane_name = |run: &Run| format!("lanes {}", range(run.first as u32, run.last as u32));
    let part_name = |&(first, last): &(u16, u16)| {
        let names = match first == last {
            true => matrix.register(first),
            false => format!("{}-{}", matrix.register(first), matrix.register(last)),
        };
        // The bits in use, where a matrix does not use all bits of its registers.
        let bits = lanes.iter().flat_map(Lane::keys).filter(|&&bit| (first..=last).contains(&(bit / 32)));
        let (low, high) = (bits.clone().min(), bits.max());
        match low.zip(high) {
            Some((low, high)) if u32::from(high - low) + matrix.bits < 32 => {
                format!("{names}.[{}:{}]", u32::from(high % 32) + matrix.bits - 1, low % 32)
            }
            _ => names,
        }
    };
    let cell = |run: &Run, part: &(u16, u16)| {
        lanes.get(run.first).map_or(String::new(), |lane| held(matrix, lane, run, part))
    };
    // The longer dimension goes down the page.
    if runs.len() > 4 {
        let mut table =
            Table::new(std::iter::once(String::new()).chain(parts.iter().map(part_name)).collect());
        for run in &runs {
            table.row(
                std::iter::once(lane_name(run)).chain(parts.iter().map(|part| cell(run, part))).collect(),
            );
        }
        return table;
    }
    let mut table = Table::new(std::iter::once(String::new()).chain(runs.iter().map(lane_name)).collect());
    for part in &parts {
        table.row(std::iter::once(part_name(part)).chain(runs.iter().map(|run| cell(run, part))).collect());
    }
    table
}

/// The contents of some registers in the lanes of a run.
fn held(matrix: &MatrixTable, lane: &Lane, run: &Run, part: &(u16, u16)) -> String {
    let items: Vec<&Vec<Indices>> = lane
        .iter()
        .filter(|(bit, _)| (part.0..=part.1).contains(&(*bit / 32)))
        .map(|(_, items)| items)
        .collect();
    // Consecutive items with the same step.
    let mut groups: Vec<(&Vec<Indices>, u32, Option<usize>)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| items.get(before));
        let step = before.and_then(|before| common_step(std::iter::once((*before, *item))));
        match groups.last_mut() {
            Some((_, count, known)) if step.is_some() && (known.is_none() || *known == step) => {
                *count += 1;
                *known = step;
            }
            _ => groups.push((item, 1, None)),
        }
    }
    let texts = groups.into_iter().flat_map(|(first, count, along)| {
        first.iter().map(move |indices| {
            let text = |n: usize| {
                let start = indices.get(n).copied().unwrap_or(0);
                let lanes = if run.step == Some(n) { (run.last - run.first) as u32 } else { 0 };
                let items = if along == Some(n) { count - 1 } else { 0 };
                range(start, start + lanes + items)
            };
            match matrix.blocks {
                1 => format!("{}[{}][{}]", matrix.name, text(1), text(2)),
                _ => format!("{}[{}][{}][{}]", matrix.name, text(0), text(1), text(2)),
            }
        })
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(" ") }
}
