//! What shipped binaries are made of: their kernels and instructions by how often they occur, and whether all of it has a
//! meaning.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use wavemill_interpreter::{Tier, operation_costs};
use wavemill_ir::{FaultKind, Terminator};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, Op, decode};
use wavemill_lift::gcn::{Context, lift_instruction};
use wavemill_object::{CodeObject, SymbolKind};

use crate::files::{Found, for_each_object};

/// MODE as kernels start with it: denormals, DX10_CLAMP, IEEE.
const MODE: u32 = 0x3f0;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Files and folders with code objects, bundles, host programs and libraries; other files in folders are passed over
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// How many kernels and instructions to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    show: usize,
}

/// How often an instruction occurs, and how often in an instance without a meaning.
#[derive(Clone, Copy, Default)]
struct Count {
    all: u64,
    without: u64,
}

/// What there is for one instruction set.
#[derive(Default)]
struct Sums {
    objects: u64,
    kernels: u64,
    functions: BTreeSet<String>,
    instructions: BTreeMap<Op, Count>,
    unknown_words: u64,
    /// Kernels with something that has no meaning.
    kernels_without: u64,
}

/// The kernels that are instances of one function, by its name without template arguments.
#[derive(Default)]
struct Function {
    kernels: u64,
    libraries: BTreeSet<String>,
    targets: BTreeSet<String>,
    /// Libraries with the targets that they have it for.
    carriers: BTreeSet<(String, String)>,
    instructions: u64,
    rows: BTreeSet<Op>,
    /// What has no meaning in its kernels.
    without: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Histogram {
    /// By the position of the target in [`Target::ALL`].
    sums: BTreeMap<usize, Sums>,
    functions: BTreeMap<String, Function>,
    /// Instances of instructions that have been looked at.
    known: HashMap<Inst, bool>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let mut histogram = Histogram::default();
    for_each_object(&options.paths, |found| histogram.found(&found))?;
    if histogram.sums.is_empty() {
        return Err("there is no code object for any known target".into());
    }
    histogram.print(options.show);
    Ok(ExitCode::SUCCESS)
}

/// The name of a kernel's function: without return type, template arguments and parameters.
fn function_name(kernel: &str) -> String {
    let full = wavemill_object::demangle(kernel).unwrap_or_else(|| kernel.to_owned());
    let full = full.replace("(anonymous namespace)", "{anonymous}");
    let head = full.split(['<', '(']).next().unwrap_or_default();
    head.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Whether the instance runs when it is reached.
fn has_meaning(inst: &Inst) -> bool {
    let (bytes, size) = inst.encode();
    let context = Context::new(inst.target(), MODE, false);
    let block = lift_instruction(&context, 0x1000, &mut |pc, out| {
        let at = pc.saturating_sub(0x1000) as usize;
        let rest = bytes.get(at..size).unwrap_or_default();
        out[..rest.len()].copy_from_slice(rest);
        rest.len()
    });
    let faults = [FaultKind::Unsupported, FaultKind::IllegalInstruction].map(Terminator::Fault);
    !faults.contains(&block.terminator)
        && operation_costs(&block, Tier::Portable).iter().all(|cost| !cost.unsupported)
}

impl Histogram {
    fn by_target(&self) -> impl Iterator<Item = (Target, &Sums)> {
        self.sums.iter().filter_map(|(index, sums)| Some((*Target::ALL.get(*index)?, sums)))
    }

    fn found(&mut self, found: &Found<'_>) -> Result<(), Box<dyn Error>> {
        let library = found.path.file_name().unwrap_or(found.path.as_os_str()).to_string_lossy();
        self.object(&library, found.target, &CodeObject::parse(found.bytes)?);
        Ok(())
    }

    fn object(&mut self, library: &str, target: Target, object: &CodeObject<'_>) {
        let kernels: HashMap<u64, &str> =
            object.kernels().iter().map(|kernel| (kernel.entry_address, kernel.name.as_str())).collect();
        let id = object.target().to_string();
        let sums = self.sums.entry(target.index()).or_default();
        sums.objects += 1;
        let code = |kind| matches!(kind, SymbolKind::Function | SymbolKind::LegacyKernel);
        let mut seen = BTreeSet::new();
        for symbol in object.symbols().iter().filter(|s| code(s.kind) && s.is_defined() && s.size != 0) {
            if !seen.insert(symbol.address) {
                continue;
            }
            let Some(mut code) = object.read(symbol.address, symbol.size) else { continue };
            let mut counts: BTreeMap<Op, Count> = BTreeMap::new();
            while !code.is_empty() {
                let size = match decode(target, code) {
                    Ok(inst) => {
                        let known = *self.known.entry(inst).or_insert_with_key(has_meaning);
                        let count = counts.entry(inst.op()).or_default();
                        count.all += 1;
                        count.without += u64::from(!known);
                        inst.size()
                    }
                    Err(_) => {
                        sums.unknown_words += 1;
                        4
                    }
                };
                code = code.get(size..).unwrap_or_default();
            }
            for (op, count) in &counts {
                let sum = sums.instructions.entry(*op).or_default();
                sum.all += count.all;
                sum.without += count.without;
            }
            let Some(kernel) = kernels.get(&symbol.address) else { continue };
            let name = function_name(kernel);
            sums.kernels += 1;
            sums.kernels_without += u64::from(counts.values().any(|count| count.without != 0));
            sums.functions.insert(name.clone());
            let function = self.functions.entry(name).or_default();
            function.kernels += 1;
            function.libraries.insert(library.to_owned());
            function.targets.insert(id.clone());
            function.carriers.insert((library.to_owned(), id.clone()));
            for (op, count) in counts {
                function.instructions += count.all;
                function.rows.insert(op);
                if count.without != 0 {
                    *function.without.entry(op.row().name().to_owned()).or_default() += count.without;
                }
            }
        }
    }

    fn print(&self, show: usize) {
        println!(
            "| target | code objects | kernels | of functions | instructions | rows | instructions without a meaning | kernels with such |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
        for (target, sums) in self.by_target() {
            let all: u64 = sums.instructions.values().map(|count| count.all).sum();
            let without: u64 = sums.instructions.values().map(|count| count.without).sum();
            println!(
                "| {target} | {} | {} | {} | {all} | {} | {without} | {} |",
                sums.objects,
                sums.kernels,
                sums.functions.len(),
                sums.instructions.len(),
                sums.kernels_without
            );
            if sums.unknown_words != 0 {
                println!("{target}: {} words in functions are no instructions", sums.unknown_words);
            }
        }
        self.print_functions(show, "by number of kernels", |function| function.kernels);
        self.print_functions(show, "by number of libraries and targets", |f| f.carriers.len() as u64);
        for (target, sums) in self.by_target() {
            let all: u64 = sums.instructions.values().map(|count| count.all).sum();
            let mut rows: Vec<_> = sums.instructions.iter().collect();
            rows.sort_by_key(|(op, count)| (std::cmp::Reverse(count.all), op.row().name()));
            let named: Vec<String> = rows
                .iter()
                .take(show)
                .map(|(op, count)| {
                    let share = 100.0 * count.all as f64 / all.max(1) as f64;
                    format!("`{}` {share:.1}%", op.row().mnemonic(target))
                })
                .collect();
            println!("\n{target}, most frequent instructions: {}", named.join(", "));
            let without: Vec<String> = rows
                .iter()
                .filter(|(_, count)| count.without != 0)
                .map(|(op, count)| {
                    format!("`{}` {} of {}", op.row().mnemonic(target), count.without, count.all)
                })
                .collect();
            if !without.is_empty() {
                println!("{target}, without a meaning: {}", without.join(", "));
            }
        }
    }

    /// The functions that come first in an order.
    fn print_functions(&self, show: usize, order: &str, key: impl Fn(&Function) -> u64) {
        println!("\nKernels, {order}:\n");
        println!("| function | kernels | libraries | targets | instructions | rows | without a meaning |");
        println!("|---|---:|---:|---:|---:|---:|---|");
        let mut functions: Vec<_> = self.functions.iter().collect();
        functions.sort_by_key(|(name, function)| (std::cmp::Reverse(key(function)), *name));
        for (name, function) in functions.into_iter().take(show) {
            let without: Vec<String> =
                function.without.iter().map(|(name, count)| format!("`{name}` {count}")).collect();
            println!(
                "| `{name}` | {} | {} | {} | {} | {} | {} |",
                function.kernels,
                function.libraries.len(),
                function.targets.len(),
                function.instructions,
                function.rows.len(),
                if without.is_empty() { "none".to_owned() } else { without.join(", ") }
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions() {
        for (kernel, expected) in [
            ("vadd", "vadd"),
            ("_Z5scalePfi", "scale"),
            ("_Z6kernelILi64EN2ns4TypeIfEEEvPT0_", "kernel"),
            ("_ZN3jax3hip12_GLOBAL__N_16KernelEPi", "jax::hip::{anonymous}::Kernel"),
        ] {
            assert_eq!(function_name(kernel), expected);
        }
    }

    #[test]
    fn what_runs_and_what_does_not() {
        let inst = |word: u32| decode(Target::Gfx906, &word.to_le_bytes()).expect("an instruction");
        // s_add_u32 s0, s0, s0
        assert!(has_meaning(&inst(0x8000_0000)));
        // v_swap_b32 v0, s0: the instruction does not accept a scalar register.
        assert!(!has_meaning(&inst(0x7e00_a200)));
    }

    #[test]
    fn a_code_object_of_ours_is_counted() {
        let mut histogram = Histogram::default();
        let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "kernels", "bin"].iter().collect();
        for target in ["gfx906", "gfx942"] {
            let file = folder.join(target).join("vector_add.co");
            for_each_object(&[file], |found| histogram.found(&found)).expect("a code object");
        }
        let function = &histogram.functions["vector_add"];
        assert_eq!((function.kernels, function.libraries.len(), function.targets.len()), (2, 1, 2));
        assert!(function.without.is_empty() && function.instructions > 20);
        let sums = &histogram.sums[&Target::Gfx942.index()];
        assert_eq!((sums.objects, sums.kernels, sums.kernels_without), (1, 1, 0));
        assert!(sums.instructions.values().map(|count| count.all).sum::<u64>() > 10);
    }
}
