//! The blocks of a kernel as IR, with what analyses say of each operation.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use wavemill_ir::analysis::{
    Effect, Entry, Exits, Full, Graph, Limits, Liveness, Loop, RegisterSet, STRIP, Shape, Shapes, Walk,
    WaveFacts,
};
use wavemill_ir::{Block, Inst, LANES, Names, Op, Operand, Row, Space};
use wavemill_isa::Target;
use wavemill_kernels::{KERNELS, Level, Size, fixture_at};
use wavemill_lift::Lift;
use wavemill_lift::gcn::{Gcn, MatrixRule};
use wavemill_object::CodeObject;

use crate::files::for_each_object;

/// MODE as kernels start with it: denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;
/// How often a loop counts as running, for a weighted sum.
const ITERATIONS: u64 = 8;

#[derive(Args)]
pub(crate) struct Options {
    /// A kernel of the project by name, or a file with code objects; with --summary, all kernels if absent
    kernel: Option<String>,
    /// Target of a kernel of the project
    #[arg(long, default_value = "gfx942")]
    target: String,
    /// Optimisation level of a kernel of the project
    #[arg(long, default_value = "O2")]
    level: String,
    /// Kernel in a file with several
    #[arg(long)]
    name: Option<String>,
    /// Size of the workgroups of a file's kernels, as X,Y,Z
    #[arg(long, value_delimiter = ',', default_values_t = [64u32, 1, 1])]
    workgroup: Vec<u32>,
    /// Some lanes may be inactive at the start
    #[arg(long)]
    partial: bool,
    /// Count memory operations by the shapes of their addresses
    #[arg(long)]
    summary: bool,
}

/// A kernel, and how it is launched.
struct Program {
    name: String,
    bytes: Vec<u8>,
    target: Target,
    workgroup: [u32; 3],
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let mut tally = Tally::default();
    let mut out = String::new();
    for program in programs(options)? {
        let analysed = match Analysis::new(&program, options.partial) {
            Ok(analysed) => analysed,
            // Some kernels are not there on every target.
            Err(error) if options.kernel.is_none() => {
                eprintln!("{}: {error}", program.name);
                continue;
            }
            Err(error) => return Err(error),
        };
        if options.summary {
            analysed.count(&mut tally);
        } else {
            analysed.print(&program, &mut out)?;
        }
    }
    if options.summary {
        tally.print(&mut out)?;
    }
    print!("{out}");
    Ok(ExitCode::SUCCESS)
}

/// The kernels that the options name.
fn programs(options: &Options) -> Result<Vec<Program>, Box<dyn Error>> {
    let chosen = |name: &str| options.kernel.as_deref().is_none_or(|kernel| kernel == name);
    let mut programs = Vec::new();
    if let Some(path) = options.kernel.as_deref().filter(|name| Path::new(name).is_file()) {
        let workgroup: [u32; 3] =
            std::array::from_fn(|d| options.workgroup.get(d).copied().unwrap_or(1).max(1));
        for_each_object(&[PathBuf::from(path)], |found| {
            let object = CodeObject::parse(found.bytes)?;
            for kernel in object.kernels() {
                if options.name.as_ref().is_none_or(|name| *name == kernel.name) {
                    let (name, bytes) = (kernel.name.clone(), found.bytes.to_vec());
                    programs.push(Program { name, bytes, target: found.target, workgroup });
                }
            }
            Ok(())
        })?;
    } else {
        let target = wavemill_kernels::Target::from_name(&options.target)
            .filter(|target| wavemill_kernels::Target::GCN.contains(target))
            .ok_or_else(|| format!("no target `{}` of GCN or CDNA", options.target))?;
        let isa = Target::GCN.into_iter().find(|isa| isa.name() == target.name());
        let isa = isa.ok_or("no instruction set of that name")?;
        let level =
            Level::from_name(&options.level).ok_or_else(|| format!("no level `{}`", options.level))?;
        for maker in KERNELS.iter().filter(|kernel| chosen(kernel.name)) {
            let case = maker.make(Size::Small);
            let bytes = fixture_at(target, level, case.object)?.into_owned();
            programs.push(Program {
                name: case.kernel.to_owned(),
                bytes,
                target: isa,
                workgroup: case.local,
            });
        }
    }
    match programs.is_empty() {
        true => {
            Err(format!("no kernel `{}`, and no file with one", options.kernel.as_deref().unwrap_or(""))
                .into())
        }
        false => Ok(programs),
    }
}

/// The rows with the ids of work-items at the start of a wave, for all waves of a workgroup.
fn ids([nx, ny, nz]: [u32; 3], packed: bool) -> Vec<(Row, Shape)> {
    let items = nx * ny * nz;
    let id = |item: u32, d: usize| [item % nx, item / nx % ny, item / nx / ny][d];
    let waves = 0..items.div_ceil(LANES as u32);
    let shape = |value: &dyn Fn(u32) -> u32| {
        let of_wave = |wave: u32| {
            let first = wave * LANES as u32;
            let active = (0..LANES as u32)
                .filter(|lane| first + lane < items)
                .fold(0, |mask, lane| mask | (1u64 << lane));
            Shape::exact_in(&std::array::from_fn(|lane| value(first + lane as u32)), active)
        };
        waves.clone().map(of_wave).reduce(Shape::join).unwrap_or(Shape::varying(32))
    };
    match packed {
        true => vec![(Row(0), shape(&|item| id(item, 0) | (id(item, 1) << 10) | (id(item, 2) << 20)))],
        false => (0..3).map(|d| (Row(d as u16), shape(&|item| id(item, d)))).collect(),
    }
}

/// A kernel's graph, and what a wave has.
struct Analysis {
    graph: Graph<Box<Block>>,
    wave: WaveFacts,
    entry: Entry,
    full: bool,
    names: &'static dyn Names,
}

impl Analysis {
    fn new(program: &Program, partial: bool) -> Result<Analysis, Box<dyn Error>> {
        let object = CodeObject::parse(&program.bytes)?;
        let kernel = object
            .kernels()
            .iter()
            .find(|kernel| kernel.name == program.name)
            .ok_or("the object has no such kernel")?;
        let image = object.image(&wavemill_object::Limits::default())?;
        let lifter = Gcn { target: program.target, sramecc: true, matrix: MatrixRule::Exact };
        let mut fetch = |pc: u64, into: &mut [u8; 16]| {
            let rest =
                pc.checked_sub(image.start).and_then(|at| image.bytes.get(at as usize..)).unwrap_or(&[]);
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        };
        let graph = Graph::new(kernel.entry_address, Limits::default(), |at| {
            Box::new(lifter.block(at, MODE, &mut fetch))
        });
        let rows = ids(program.workgroup, program.target.facts().packed_work_item_ids);
        let entry = Entry { rows, ..Entry::default() };
        let full = !partial && program.workgroup.iter().product::<u32>().is_multiple_of(LANES as u32);
        Ok(Analysis { graph, wave: WaveFacts::default(), entry, full, names: lifter.names() })
    }

    fn print(&self, program: &Program, out: &mut String) -> Result<(), Box<dyn Error>> {
        let Analysis { graph, wave, entry, .. } = self;
        let full = Full::new(graph, wave, self.full);
        let live = Liveness::new(graph, wave, &full, Exits::Continuing);
        let begin = Instant::now();
        let shapes = Shapes::new(graph, wave, &full, entry);
        let time = begin.elapsed();
        let insts: usize = graph.nodes().iter().map(|node| node.block.insts.len()).sum();
        writeln!(
            out,
            "{} on {}, workgroups of {:?}: {} blocks, {insts} operations, {} loops; shapes took {time:.1?}",
            program.name,
            program.target.name(),
            program.workgroup,
            graph.nodes().len(),
            graph.loops().len(),
        )?;
        for (row, shape) in &entry.rows {
            writeln!(out, "  {} = {shape}", Operand::Row(*row).text(self.names))?;
        }
        for number in graph.order() {
            self.print_node(*number, &shapes, &full, &live, out)?;
        }
        out.push('\n');
        Ok(())
    }

    fn print_node(
        &self,
        number: usize,
        shapes: &Shapes<'_, Box<Block>>,
        full: &Full,
        live: &Liveness,
        out: &mut String,
    ) -> Result<(), Box<dyn Error>> {
        let node = &self.graph.nodes()[number];
        let list = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        write!(out, "\nblock {number} at {:#x}, from [{}]", node.block.start, list(&node.predecessors))?;
        if let Some(innermost) = node.innermost {
            let Loop { header, innermost, members, .. } = &self.graph.loops()[innermost];
            let kind = if *innermost { "innermost loop" } else { "loop" };
            write!(out, ", depth {} in the {kind} of block {header} ({} blocks)", node.depth, members.len())?;
        }
        writeln!(out, "\n  live: {}", self.registers(&live.at(number, 0)))?;
        let Some(mut walk) = shapes.walk(number) else {
            writeln!(out, "  (no path leads here)")?;
            return Ok(());
        };
        while let Some(inst) = walk.operation() {
            let place = walk.place();
            let offset = node.block.position(inst.guest as usize).wrapping_sub(node.block.start);
            let text = inst.text(self.names);
            let before = self.before(inst, &walk);
            walk.step();
            let facts = [before, self.after(inst, &walk, live, number)].concat();
            let full = if full.at(number, place) { '*' } else { ' ' };
            writeln!(out, "  {offset:5x}:{full} {text:<58} ; {}", facts.join("; "))?;
        }
        let exits: Vec<String> = node.exits.iter().map(|exit| format!("{exit:?}")).collect();
        let end = node.block.terminator.text(self.names);
        writeln!(out, "         {end:<58} ; to [{}] {}", list(&node.successors), exits.join(" "))?;
        Ok(())
    }

    /// Facts in front of an operation.
    fn before(&self, inst: &Inst, walk: &Walk<'_, '_, Box<Block>>) -> Vec<String> {
        let effect = Effect::of(inst, &self.wave);
        let mut facts = Vec::new();
        if let Some(address) = walk.address() {
            facts.push(format!("address {address}"));
        }
        if let Some(lanes) = walk.compared() {
            facts.push(format!("{lanes:?}"));
        }
        let memory = effect.memory.is_some_and(|memory| memory.coherent);
        let flags = [
            (effect.leaves, "leaves"),
            (memory, "coherent"),
            (effect.crosses_lanes, "crosses"),
            (effect.stays, "stays"),
        ];
        facts.extend(flags.into_iter().filter(|flag| flag.0).map(|flag| flag.1.to_owned()));
        facts
    }

    /// Facts behind an operation.
    fn after(
        &self,
        inst: &Inst,
        walk: &Walk<'_, '_, Box<Block>>,
        live: &Liveness,
        node: usize,
    ) -> Vec<String> {
        let (state, place) = (walk.state(), walk.place());
        let mut facts = Vec::new();
        let mut pairs = Vec::new();
        for register in inst.writes() {
            match register {
                Operand::Row(row) => {
                    let wide = state.pair(row);
                    let is_wide = wide.stride().is_some() && inst.writes().any(|to| to == row.plus(1).into());
                    if is_wide {
                        pairs.push(row);
                        facts.push(format!("{}:2 {wide}", register.text(self.names)));
                    } else if row.0.checked_sub(1).is_none_or(|low| !pairs.contains(&Row(low))) {
                        facts.push(format!("{} {}", register.text(self.names), state.row(row)));
                    }
                }
                Operand::Uni(cell) => {
                    let shape = state.cell(cell);
                    if shape != Shape::uniform(32) {
                        facts.push(format!("{} {shape}", register.text(self.names)));
                    }
                }
                _ => {}
            }
        }
        let dead: RegisterSet = inst.writes().filter(|to| !live.at(node, place).contains(*to)).collect();
        if !dead.is_empty() {
            facts.push(format!("dead {}", self.registers(&dead)));
        }
        let dies = live.at(node, place - 1).without(live.at(node, place));
        if !dies.is_empty() {
            facts.push(format!("last use {}", self.registers(&dies)));
        }
        facts
    }

    /// Names of registers; a run of rows as one name.
    fn registers(&self, set: &RegisterSet) -> String {
        let all: Vec<Operand> = set.iter().collect();
        let next = |a: &Operand, b: &Operand| a.dword(1) == *b;
        let runs = all.chunk_by(next).map(|run| {
            let name = |at: usize| run[at].text(self.names);
            if run.len() == 1 { name(0) } else { format!("{}-{}", name(0), name(run.len() - 1)) }
        });
        runs.collect::<Vec<_>>().join(" ")
    }

    fn count(&self, tally: &mut Tally) {
        let Analysis { graph, wave, entry, .. } = self;
        let begin = Instant::now();
        let full = Full::new(graph, wave, self.full);
        let shapes = Shapes::new(graph, wave, &full, entry);
        tally.time += begin.elapsed();
        tally.kernels += 1;
        for (number, node) in graph.nodes().iter().enumerate() {
            tally.guests += node.block.guest.len() as u64;
            let weight = ITERATIONS.saturating_pow(node.depth as u32);
            let Some(mut walk) = shapes.walk(number) else { continue };
            while let Some(inst) = walk.operation() {
                tally.full[usize::from(walk.is_full())] += 1;
                if let Some(space) = space(inst) {
                    let kind = walk.address().map_or(Kind::Varying, |shape| Kind::of(&shape, inst));
                    let counts = tally.counts.entry(space).or_default();
                    counts[kind as usize].0 += 1;
                    counts[kind as usize].1 += weight;
                }
                walk.step();
            }
        }
    }
}

/// The name of the space of an operation with addresses of lanes.
fn space(inst: &Inst) -> Option<&'static str> {
    match inst.op {
        Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(_, space, _) => Some(match space {
            Space::Global => "global",
            Space::Flat => "flat",
            Space::Lds => "lds",
            Space::Scratch => "scratch",
            Space::Gds => "gds",
        }),
        op => op.buffer_address().map(|_| "buffer"),
    }
}

/// How addresses of lanes relate.
#[derive(Clone, Copy)]
enum Kind {
    Uniform,
    StripUniform,
    Contiguous,
    Affine,
    Varying,
}

impl Kind {
    const NAMES: [&'static str; 5] = ["uniform", "strip-uniform", "contiguous", "other affine", "varying"];

    fn of(shape: &Shape, inst: &Inst) -> Kind {
        let size = match inst.op {
            Op::Load(_, ty) | Op::Store(_, ty) | Op::BufferLoad(ty, _) | Op::BufferStore(ty, _) => ty.bytes(),
            _ => 4,
        };
        match shape.stride() {
            _ if shape.is_uniform() => Kind::Uniform,
            Some(0) => Kind::StripUniform,
            Some(stride) if stride == u64::from(size) => Kind::Contiguous,
            Some(_) => Kind::Affine,
            None => Kind::Varying,
        }
    }
}

/// Counts of memory operations: static ones, and with loops weighted.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, [(u64, u64); 5]>,
    kernels: u64,
    guests: u64,
    /// Operations where lanes may be inactive, and where all are active.
    full: [u64; 2],
    time: Duration,
}

impl Tally {
    fn print(&self, out: &mut String) -> Result<(), Box<dyn Error>> {
        let Tally { kernels, guests, full: [partial, full], time, .. } = self;
        writeln!(out, "{kernels} kernels, {guests} guest instructions, analysed in {time:.1?}.")?;
        let share = 100.0 * *full as f64 / (*full + *partial).max(1) as f64;
        writeln!(out, "All lanes are known to be active at {share:.1} % of operations.")?;
        writeln!(
            out,
            "Addresses of the lanes of strips of {STRIP}; weighted: a loop counts {ITERATIONS} times.\n"
        )?;
        for (title, weighted) in [("static", false), ("weighted", true)] {
            writeln!(out, "| {title} | operations | {} |", Kind::NAMES.join(" | "))?;
            writeln!(out, "|---|---:|{}", "---:|".repeat(Kind::NAMES.len()))?;
            let mut all = [0; 5];
            for (space, counts) in &self.counts {
                let counts = counts.map(|count| if weighted { count.1 } else { count.0 });
                (0..5).for_each(|n| all[n] += counts[n]);
                line(out, space, counts)?;
            }
            line(out, "all", all)?;
            out.push('\n');
        }
        Ok(())
    }
}

fn line(out: &mut String, name: &str, counts: [u64; 5]) -> Result<(), Box<dyn Error>> {
    let sum: u64 = counts.iter().sum();
    let shares = counts.map(|count| format!("{:.1} %", 100.0 * count as f64 / sum.max(1) as f64));
    writeln!(out, "| {name} | {sum} | {} |", shares.join(" | "))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(kernel: &str) -> Options {
        Options {
            kernel: Some(kernel.to_owned()),
            target: "gfx942".to_owned(),
            level: "O2".to_owned(),
            name: None,
            workgroup: vec![64, 1, 1],
            partial: false,
            summary: false,
        }
    }

    /// The addresses of a kernel of the project, by hand: consecutive floats.
    #[test]
    fn a_kernel_is_printed_with_its_addresses() {
        let programs = programs(&options("vector_add")).expect("a kernel of the project");
        let analysis = Analysis::new(&programs[0], false).expect("the object has it");
        let mut text = String::new();
        analysis.print(&programs[0], &mut text).expect("writing to a string");
        let accesses: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("load.global") || line.contains("store.global"))
            .collect();
        assert_eq!(accesses.len(), 3, "{text}");
        assert!(accesses.iter().all(|line| line.contains("address lane*4")), "{text}");
        let mut tally = Tally::default();
        analysis.count(&mut tally);
        assert_eq!(tally.counts["global"][Kind::Contiguous as usize], (3, 3));
    }

    #[test]
    fn names_that_are_not_there_are_refused() {
        assert!(programs(&options("no_such_kernel")).is_err());
        assert!(programs(&Options { target: "cayman".to_owned(), ..options("vector_add") }).is_err());
    }

    #[test]
    fn ids_of_work_items() {
        let [x, y, z] = ids([32, 8, 1], false).try_into().expect("three rows");
        assert_eq!((x.1.stride(), y.1.stride(), z.1.value()), (Some(1), Some(0), Some(0)));
        // Lanes beyond the workgroup do not count.
        let ids = ids([100, 1, 1], false);
        let [x, ..] = &ids[..] else { panic!("expected rows of ids") };
        assert_eq!((x.1.stride(), x.1.is_uniform()), (Some(1), false));
    }
}
