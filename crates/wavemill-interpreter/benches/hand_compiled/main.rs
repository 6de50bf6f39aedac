//! Can the wave IR be compiled to fast machine code? The inner loops of three kernels, lifted from their code objects,
//! run by the interpreter and by AVX-512 code translated from the IR operation by operation (`compile.rs`).
//!
//! `cargo bench -p wavemill-interpreter --bench hand_compiled` prints the IR of the loops and their rates; run as a test it
//! only compares final registers, bit for bit. Times are processor time of the thread, the minimum of many runs; `--test`
//! runs each once.

#[cfg(target_arch = "x86_64")]
mod compile;
#[cfg(target_arch = "x86_64")]
mod loops;

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("skipped: the translator makes code for x86-64");
}

#[cfg(target_arch = "x86_64")]
fn main() {
    if !wavemill_interpreter::Tier::Avx512.is_available() {
        println!("skipped: the translator makes code for AVX-512, which this host has not");
        return;
    }
    check::all();
    let asked = |option: &str| std::env::args().any(|a| a == option);
    if asked("--bench") {
        measure::all(if asked("--test") { 1 } else { measure::RUNS });
    }
}

/// Compiled code against the interpreter.
#[cfg(target_arch = "x86_64")]
mod check {
    use wavemill_interpreter::Tier;
    use wavemill_ir::Uni;
    use wavemill_lift::gcn::registers;
    use wavemill_machine::GuestMemory;

    use crate::compile::{Compiled, Settings, State, compile};
    use crate::loops::{LDS_SIZE, Work};

    /// All lanes; holes that leave the first lane of every strip; holes anywhere.
    const MASKS: [u64; 3] = [!0, 0x0f0f_8001_ffff_1235, 0x0000_fffe_1234_5678];

    pub(crate) fn build(work: &Work, settings: Settings) -> Compiled {
        compile(&work.block, settings, &work.state, LDS_SIZE)
            .unwrap_or_else(|e| panic!("expected code for the loop of {}, found {e:?}", work.name))
    }

    /// What tells two final states apart, if anything does.
    fn difference(state: &State, snapshot: &wavemill_machine::WaveSnapshot) -> Option<String> {
        for (n, (ours, theirs)) in state.rows.iter().zip(&snapshot.rows[0]).enumerate() {
            if let Some(l) = (0..64).find(|l| ours.0[*l] != theirs[*l]) {
                return Some(format!("v{n} lane {l}: {:#x}, interpreter {:#x}", ours.0[l], theirs[l]));
            }
        }
        let cells = (0..registers::CELLS).map(Uni).chain([registers::EXEC, registers::EXEC.plus(1)]);
        for cell in cells {
            let (ours, theirs) = (state.cells[usize::from(cell.0)], snapshot.cell(cell));
            if ours != theirs {
                return Some(format!("cell {cell:?}: {ours:#x}, interpreter {theirs:#x}"));
            }
        }
        None
    }

    pub(crate) fn same(work: &Work, settings: Settings) {
        let memory = GuestMemory::default();
        let snapshot = work.interpret(&memory.snapshot(), Tier::Portable);
        let code = build(work, settings);
        let mut state = work.state.clone();
        assert!(
            work.run_compiled(&code, &mut state).is_some(),
            "{}: a guard failed, {settings:?}",
            work.name
        );
        if let Some(difference) = difference(&state, &snapshot) {
            panic!("{}: {difference}, {settings:?}", work.name);
        }
    }

    pub(crate) fn all() {
        for exec in MASKS {
            for strips in [Some(1), None] {
                let full = exec == !0;
                let settings = Settings { full, strips, shapes: true };
                same(&Work::new("xorshift", 37, exec), settings);
                same(&Work::new("mandelbrot", 90, exec), Settings { full: false, ..settings });
                let shapes = exec != MASKS[2];
                same(&Work::new("sgemm", 40, exec), Settings { shapes, ..settings });
                same(&Work::new("sgemm", 40, exec), Settings { full: false, shapes: false, ..settings });
            }
        }
        guards();
        documented();
    }

    /// The handbook shows the loops as they are lifted, and the first of the four equal steps of SGEMM.
    fn documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/compiled-loops.md");
        let page = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        for name in ["xorshift", "mandelbrot", "sgemm"] {
            let work = Work::new(name, 1, !0);
            let text = work.block.text(&registers::RegisterNames);
            let shown =
                work.block.insts.iter().map(|i| work.block.position(i.guest as usize) - work.block.start);
            let shown = shown.filter(|offset| name != "sgemm" || *offset < 0x74).count();
            let expected: String = text.lines().take(1 + shown).flat_map(|l| [l, "\n"]).collect();
            assert!(
                page.contains(&expected),
                "{path} should show the loop of {name} as it is lifted now:\n{expected}"
            );
        }
    }

    /// What a guard must notice; the registers are then as before.
    fn guards() {
        let settings = Settings { full: false, strips: None, shapes: true };
        type Spoil = fn(&mut State);
        let cases: [(&str, bool, Spoil); 5] = [
            ("mandelbrot", true, |s| s.rows[0].0[7] = 0x7fc0_0001),
            ("sgemm", true, |s| s.rows[14].0[3] += 4),
            ("sgemm", true, |s| s.rows[39].0[33] ^= 16),
            ("sgemm", true, |s| s.rows[39].0[16..32].iter_mut().for_each(|a| *a += LDS_SIZE)),
            ("sgemm", false, |s| s.rows[39].0[63] = LDS_SIZE - 4),
        ];
        for (name, shapes, spoil) in cases {
            let work = Work::new(name, 40, !0);
            let code = build(&work, Settings { shapes, ..settings });
            let mut state = work.state.clone();
            spoil(&mut state);
            let before = state.clone();
            assert_eq!(work.run_compiled(&code, &mut state), None, "{name}: no guard failed");
            assert!(
                state.rows == before.rows && state.cells == before.cells,
                "{name}: registers have changed"
            );
        }
    }
}

/// Rates.
#[cfg(target_arch = "x86_64")]
mod measure {
    use std::time::Duration;

    use cpu_time::ThreadTime;
    use wavemill_interpreter::Tier;
    use wavemill_machine::GuestMemory;

    use crate::check::{build, same};
    use crate::compile::Settings;
    use crate::loops::Work;

    /// Runs of each.
    pub(crate) const RUNS: usize = 200;

    /// The least time of so many runs, without what each needs beforehand.
    fn best<T>(runs: usize, prepare: impl Fn() -> T, run: impl Fn(T)) -> Duration {
        let times = (0..runs).map(|_| {
            let prepared = prepare();
            let start = ThreadTime::now();
            run(prepared);
            start.elapsed()
        });
        times.min().unwrap_or_default()
    }

    pub(crate) fn all(runs: usize) {
        let memory = GuestMemory::default();
        let map = memory.snapshot();
        let mut lines = Vec::new();
        for (name, iterations) in [("xorshift", 100_000), ("mandelbrot", 50_000), ("sgemm", 4_000)] {
            let work = Work::new(name, iterations, !0);
            let (operations, guest) = work.counts();
            println!("{name}: {operations} operations for {guest} guest instructions\n{}", work.block);
            let full = Settings { full: true, strips: None, shapes: true };
            let masked = Settings { full: false, ..full };
            let mut ways =
                vec![("all strips that fit", masked), ("one strip", Settings { strips: Some(1), ..masked })];
            if name != "mandelbrot" {
                ways.push(("EXEC known full", full));
            }
            if name == "sgemm" {
                ways.remove(1);
                ways.push(("EXEC known full, LDS gathered", Settings { shapes: false, ..full }));
            }
            let mut total = 0;
            for (what, settings) in ways {
                same(&work, settings);
                let code = build(&work, settings);
                let mut once = work.state.clone();
                total = work.iterations(work.run_compiled(&code, &mut once).expect("no guard fails"));
                let time = best(
                    runs,
                    || work.state.clone(),
                    |mut state| {
                        assert!(work.run_compiled(&code, &mut state).is_some(), "{name}: a guard failed")
                    },
                );
                let size = format!(
                    "{} x {} rows, {} uniform values, {} host instructions",
                    code.strips, code.rows, code.uniforms, code.instructions
                );
                lines.push((name, format!("compiled, {what}"), size, total, guest, time));
            }
            for tier in [Tier::Avx512, Tier::Avx2] {
                let time = best(
                    runs,
                    || (),
                    |()| {
                        work.interpret(&map, tier);
                    },
                );
                lines.push((name, format!("interpreter, {tier}"), String::new(), total, guest, time));
            }
        }
        println!("| loop | way | registers | M wave-instr/s | ns per iteration |\n|---|---|---|---:|---:|");
        for (name, way, size, iterations, guest, time) in lines {
            let rate = iterations as f64 * guest as f64 / time.as_secs_f64() / 1e6;
            let each = time.as_secs_f64() * 1e9 / iterations as f64;
            println!("| {name} | {way} | {size} | {rate:.0} | {each:.2} |");
        }
    }
}
