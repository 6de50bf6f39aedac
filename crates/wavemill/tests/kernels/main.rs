//! Runs every kernel of the project on every target, and checks for right numbers, and for the same
//! bits whatever the host does.

mod launch;
mod shapes;
mod watched;

use std::process::ExitCode;

use wavemill::launch::{Engine, Tier};
use wavemill_kernels::{
    Case, FLUSHED_DENORMALS, KERNELS, KernelCase, Level, Size, Target, fault, why_absent, why_other_numbers,
};
use wavemill_oracle::{Failed, Suite, whole_suites};

use launch::{
    Code, Way, launch, launch_counted, launch_in_modes, launch_in_place, launch_stepped, launch_watched,
};
use watched::Shadows;

/// The kernel's results equal the host reference.
fn right_numbers(case: &Case, code: Code) -> Result<(), Failed> {
    let (buffers, stats) = launch(case, code, Way { threads: 2, engine: Engine::default() })?;
    assert_eq!(stats.run.workgroups, case.group_count());
    assert_eq!(stats.work_items, case.work_items());
    case.check(&buffers)?;
    Ok(())
}

/// So do the results of a launch on host memory, whose addresses the kernel receives.
fn in_place(case: &Case, code: Code) -> Result<(), Failed> {
    case.check(&launch_in_place(case, code, Way { threads: 2, engine: Engine::default() })?)?;
    Ok(())
}

/// Counts of blocks add up to the instructions that the engine ran, also one instruction at a time.
fn counts(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    let mut all = Vec::new();
    for single_steps in [false, true] {
        let (_, stats) = launch_counted(case, code, way, single_steps)?;
        let (mix, fidelity) = (stats.mix.expect("counted"), stats.fidelity.expect("counted"));
        let operations = stats.operations.expect("counted");
        let instructions = stats.run.instructions;
        assert_eq!(
            (mix.total(), fidelity.total(), operations.guest),
            (instructions, instructions, instructions)
        );
        assert!(operations.ir > 0 && operations.host >= operations.ir - instructions);
        assert_eq!(fidelity.unsupported, 0);
        let rows = stats.rows.expect("counted");
        assert_eq!(rows.list().iter().map(|row| row.count).sum::<u64>(), instructions);
        assert!(rows.list().iter().all(|row| row.lanes <= 64 * row.count));
        all.push((mix, fidelity, operations.opaque, rows));
    }
    assert_eq!(all[0], all[1]);
    Ok(())
}

/// 1, 2 and 16 threads and all tiers of the host give the same bits; the launch really used them.
fn same_bits(case: &Case, code: Code) -> Result<(), Failed> {
    let base = Way { threads: 1, engine: Engine::default() };
    let (expected, stats) = launch(case, code, base)?;
    assert_eq!(stats.run.threads, 1);
    let threads = [2, 16].map(|threads| Way { threads, ..base });
    let tiers = Tier::ALL
        .into_iter()
        .filter(|t| t.is_available())
        .map(|tier| Way { engine: Engine::Interpreter(Some(tier)), ..base });
    let compiled = [1, 2].map(|threads| Way { engine: Engine::Jit, threads });
    for way in threads.into_iter().chain(tiers).chain(compiled) {
        let (found, stats) = launch(case, code, way)?;
        assert_eq!(stats.engine, way.engine.on_this_host());
        assert_eq!(stats.run.threads as u64, (way.threads as u64).min(case.group_count()));
        if found != expected {
            return Err(format!("{way:?} gives other bits than {base:?}").into());
        }
    }
    Ok(())
}

/// One instruction at a time gives the same bits and counts as whole blocks: no intermediate state
/// of a block's operations shows between instructions.
fn same_steps(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    let (expected, blocks) = launch(case, code, way)?;
    let (found, steps) = launch_stepped(case, code, way)?;
    if !case.spins {
        assert_eq!(steps.run.instructions, blocks.run.instructions);
        assert!(steps.run.blocks > blocks.run.blocks, "a block for each instruction");
    }
    if found != expected { Err("single steps give other bits than blocks".into()) } else { Ok(()) }
}

/// Watching waves changes no bits and no counts, and observers receive every register change.
fn same_watched(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    let (expected, alone) = launch(case, code, way)?;
    let shadows = Shadows::default();
    let (found, stats) = launch_watched(case, code, way, &shadows)?;
    if !case.spins {
        assert_eq!(stats.run.instructions, alone.run.instructions);
    }
    shadows.check(case.group_count(), code.target != Target::Cayman)?;
    if found != expected { Err("a watched run gives other bits".into()) } else { Ok(()) }
}

/// The reference engine gives the same bits and counts as the interpreter.
fn same_reference(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    let (expected, interpreted) = launch(case, code, way)?;
    let (found, stats) = launch(case, code, Way { engine: Engine::Reference, ..way })?;
    assert_eq!(stats.engine, Engine::Reference);
    assert_eq!(stats.run.waves, interpreted.run.waves);
    if !case.spins {
        assert_eq!(stats.run.instructions, interpreted.run.instructions);
        assert_eq!(stats.run.out_of_range, interpreted.run.out_of_range);
    }
    if found != expected { Err("the reference engine gives other bits".into()) } else { Ok(()) }
}

/// Which cases to run.
#[derive(Clone, Copy)]
enum Share {
    /// Every kernel's numbers on every target at -O2, and everything else on one target.
    Sample,
    /// Everything at -O2, and a third of -O0 and -O3, another one every day (`WAVEMILL_TESTS=all`).
    Third(u64),
    /// Everything (`WAVEMILL_KERNELS=all`).
    All,
}

impl Share {
    fn of_today() -> Share {
        match std::env::var("WAVEMILL_KERNELS").as_deref() {
            Ok("all") => Share::All,
            Ok(text) if !text.is_empty() => match text.parse() {
                Ok(third @ 0..3) => Share::Third(third),
                _ => panic!("WAVEMILL_KERNELS is `{text}`; expected all, 0, 1 or 2"),
            },
            _ if whole_suites() => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                Share::Third(now.map_or(0, |time| time.as_secs() / (24 * 60 * 60)) % 3)
            }
            _ => Share::Sample,
        }
    }

    /// Whether the share includes a group of tests of an object. `number` is the kernel's.
    fn has(self, group: Group, number: usize, level: usize, target: usize) -> bool {
        let usual = Level::ALL[level] == Level::O2;
        match self {
            Share::All => true,
            // Each day has a third of every kernel's objects, of every target's and of every level's.
            Share::Third(third) => usual || (number + level + target) as u64 % 3 == third,
            // Every fourth kernel, as the engine is slow, each on another target.
            Share::Sample if group == Group::SameReference => {
                usual && number % 4 == 1 && number / 4 % 4 == target
            }
            // Each group has a quarter of every target's objects, and another one than its neighbours.
            Share::Sample => {
                usual && (group == Group::RightNumbers || (number + group as usize) % 4 == target)
            }
        }
    }
}

/// A group of tests of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    RightNumbers,
    InPlace,
    Counts,
    SameBits,
    SameSteps,
    SameWatched,
    SameReference,
    Shapes,
}

/// The check of a group for one case.
type Check = fn(&Case, Code) -> Result<(), Failed>;

impl Group {
    const ALL: [(Group, &str, Check); 8] = [
        (Group::RightNumbers, "right_numbers", right_numbers),
        (Group::InPlace, "in_place", in_place),
        (Group::Counts, "counts", counts),
        (Group::SameBits, "same_bits", same_bits),
        (Group::SameSteps, "same_steps", same_steps),
        (Group::SameWatched, "same_watched", same_watched),
        (Group::SameReference, "same_reference", same_reference),
        (Group::Shapes, "shapes", shapes::shapes),
    ];

    /// Whether the group applies to a kernel at a level.
    fn fits(self, kernel: &KernelCase, racy: bool, level: Level) -> bool {
        match self {
            Group::RightNumbers => true,
            Group::InPlace => level == Level::O2,
            Group::Counts => ["vector_add", "reduction", "callee_round"].contains(&kernel.name),
            Group::SameBits | Group::SameSteps => !racy,
            // One level is enough for the slow engine: it runs the same operations on others.
            Group::SameWatched | Group::SameReference => !racy && level == Level::O2,
            Group::Shapes => !racy,
        }
    }
}

/// Kernels that run in workgroups of any size.
const ANY_SIZE: [&str; 22] = [
    "bitonic_sort_step",
    "black_scholes",
    "blend_half_storage",
    "call_chain",
    "crc32_bitwise",
    "crc32_table",
    "divide_constant",
    "divide_i64",
    "divide_u64",
    "histogram_global",
    "life_bits",
    "mandelbrot",
    "queens",
    "quicksort",
    "scratch_bytes",
    "scratch_sort",
    "sgemm_naive",
    "sha256",
    "string_search",
    "vector_add",
    "xorshift",
    "xorshift64star",
];

/// The kernels' results equal the host reference in workgroups of other sizes too: with waves and
/// workgroups that are partial.
fn other_sizes(case: &Case, code: Code) -> Result<(), Failed> {
    let sizes = if case.dims == 1 {
        [[37, 1, 1], [100, 1, 1], [250, 1, 1]]
    } else {
        [[5, 7, 1], [9, 11, 1], [64, 3, 1]]
    };
    for local in sizes {
        let mut other = case.clone();
        other.local = local;
        right_numbers(&other, code)?;
    }
    Ok(())
}

/// The kernel gives what its code says, and that is not what its source says: numbers or a fault. If it
/// gives what its source says, it belongs to the others.
fn wrong_numbers(case: &Case, code: Code) -> Result<(), Failed> {
    let launched = launch(case, code, Way { threads: 2, engine: Engine::default() });
    match (launched, fault(code.target, case.name)) {
        (Ok(_), Some(_)) => Err("there is no fault: take the kernel off the list".into()),
        (Ok((buffers, _)), None) if case.check(&buffers).is_ok() => {
            Err("the numbers are right: take the kernel off the list".into())
        }
        (Ok((buffers, _)), None) => Ok(case.check_as_compiled(code.target, &buffers)?),
        (Err(error), Some(words)) if error.to_string().contains(words) => Ok(()),
        (Err(error), _) => Err(error.into()),
    }
}

/// The modes of floats that keep denormals of single floats too.
const KEEPS_DENORMALS: u32 = 0xcc;

/// Only denormals are why a kernel has other numbers: where they are kept, its numbers are right.
fn right_with_denormals(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    case.check(&launch_in_modes(case, code, way, KEEPS_DENORMALS)?.0)?;
    Ok(())
}

/// The most operations of the IR for a slot of a group.
const MOST_OPERATIONS: f64 = 1.2;

/// Kernels of Cayman whose groups are more operations: how many at most, and why.
const MANY_OPERATIONS: [(&str, f64, &str); 12] = [
    ("bitonic_sort_local", 1.26, "an access to LDS ignores the low bits of its address"),
    ("histogram_local", 1.21, "an access to LDS ignores the low bits of its address"),
    ("layer_norm", 1.32, "LDS under a predicate"),
    ("lockstep_scan", 1.40, "LDS under a predicate"),
    ("norm_first_pass", 1.43, "LDS under a predicate"),
    ("norm_second_pass", 1.37, "LDS under a predicate"),
    ("queens", 1.79, "registers with an index"),
    ("reduction", 1.53, "LDS under a predicate"),
    ("scan_groups", 1.23, "LDS under a predicate"),
    ("scratch_sort", 1.68, "registers with an index"),
    ("softmax", 1.31, "LDS under a predicate"),
    ("spmv_vector", 1.40, "LDS under a predicate"),
];

/// The groups of a kernel are few operations, however often each of them runs.
fn few_operations(case: &Case, code: Code) -> Result<(), Failed> {
    let way = Way { threads: 2, engine: Engine::default() };
    let (_, stats) = launch_counted(case, code, way, false)?;
    let groups = stats.operations.expect("counted").groups;
    assert!(groups.slots >= groups.groups && groups.groups > 0, "{groups:?}");
    let limit = MANY_OPERATIONS.iter().find(|(name, ..)| *name == case.name).map(|(_, limit, _)| *limit);
    match groups.ir_per_slot() {
        found if limit.is_some() && found <= MOST_OPERATIONS => {
            Err("few operations: take the kernel off the list".into())
        }
        found if found > limit.unwrap_or(MOST_OPERATIONS) => {
            Err(format!("{found:.3} operations for a slot, of {groups:?}").into())
        }
        _ => Ok(()),
    }
}

/// Kernels of Cayman.
fn cayman(share: Share, suite: &mut Suite) {
    let code = Code { target: Target::Cayman, level: Level::O2 };
    for (number, kernel) in KERNELS.iter().enumerate() {
        let case = kernel.make(Size::Small);
        if why_absent(code.target, case.object, case.kernel).is_some() {
            continue;
        }
        let mut add = |name: &str, test: Check| {
            let name = format!("{name}::{}::cayman::O2", kernel.name);
            suite.test(name, move || test(&kernel.make(Size::Small), code));
        };
        if ANY_SIZE.contains(&kernel.name) {
            add("other_sizes", other_sizes);
        }
        let ends = fault(code.target, kernel.name).is_none();
        if ends {
            add("few_operations", few_operations);
        }
        let reason = why_other_numbers(code.target, kernel.name);
        let is_other = reason.is_some();
        if is_other {
            add("wrong_numbers", wrong_numbers);
        }
        if reason == Some(FLUSHED_DENORMALS) {
            add("right_with_denormals", right_with_denormals);
        }
        for (group, name, test) in Group::ALL {
            // Its addresses have 32 bits, and memory of the host may have others. Each slot of a
            // group counts, while a group is one instruction of the engine.
            let is_of_gcn = matches!(group, Group::InPlace | Group::Counts | Group::Shapes);
            let fits = !is_of_gcn && group.fits(kernel, case.racy, Level::O2);
            let runs = if group == Group::RightNumbers { !is_other } else { ends };
            if !fits || !runs {
                continue;
            }
            // A half of each group, and a quarter of those with the slow engine.
            let part = if group == Group::SameReference { 4 } else { 2 };
            let is_sample = group == Group::RightNumbers || (number + group as usize).is_multiple_of(part);
            if matches!(share, Share::Sample) && !is_sample {
                suite.left_out(1);
                continue;
            }
            let name = format!("{name}::{}::cayman::O2", kernel.name);
            suite.test(name, move || test(&kernel.make(Size::Small), code));
        }
    }
}

fn main() -> ExitCode {
    let share = Share::of_today();
    let mut suite = Suite::from_args();
    if !matches!(share, Share::Sample) {
        suite.runs_all_with("WAVEMILL_KERNELS=all");
    }
    for (number, kernel) in KERNELS.iter().enumerate() {
        let racy = kernel.make(Size::Small).racy;
        for (level_number, level) in Level::ALL.into_iter().enumerate() {
            for (target_number, target) in Target::GCN.into_iter().enumerate() {
                for (group, name, test) in Group::ALL {
                    if !group.fits(kernel, racy, level) {
                        continue;
                    }
                    if !share.has(group, number, level_number, target_number) {
                        suite.left_out(1);
                        continue;
                    }
                    let name = format!("{name}::{}::{}::{}", kernel.name, target.name(), level.name());
                    suite.test(name, move || test(&kernel.make(Size::Small), Code { target, level }));
                }
            }
        }
    }
    cayman(share, &mut suite);
    let missing: Vec<&str> = Tier::ALL.iter().filter(|t| !t.is_available()).map(|t| t.name()).collect();
    let code = suite.run();
    if !missing.is_empty() {
        println!("not run, because this host lacks the instructions: {}", missing.join(", "));
    }
    if let Share::Third(third) = share {
        println!("of -O0 and -O3, third {third} was run; WAVEMILL_KERNELS=all runs all");
    }
    code
}
