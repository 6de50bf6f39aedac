//! `wavemill bench` on small launches: its report, not its speed.

#[path = "schemas/strict.rs"]
mod strict;

use std::process::{Command, ExitCode, Output};

use serde_json::Value;
use wavemill_kernels::{Size, twin};
use wavemill_oracle::{Failed, Suite, Tool};

/// Libraries for the comparison with pocl.
const POCL: [Tool; 2] = [Tool::Library("libOpenCL.so.1"), Tool::Library("libpocl.so.2")];

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("json has every kernel with its runs", json_has_every_kernel_with_its_runs);
    suite.test("instructions are counted, not measured", instructions_are_counted_not_measured);
    suite.test("every target has the kernels", every_target_has_the_kernels);
    suite.test("groups are counted on cayman", groups_are_counted_on_cayman);
    suite.test("the table has a row for each kernel", the_table_has_a_row_for_each_kernel);
    suite.test("one thread is timed beside all", one_thread_is_timed_beside_all);
    suite.test("instructions with machine code are counted", instructions_with_machine_code_are_counted);
    suite.test("the list names what can be asked for", the_list_names_what_can_be_asked_for);
    suite.test("without pocl there is no comparison", without_pocl_there_is_no_comparison);
    suite.oracle_test("pocl gives the same results", &POCL, pocl_gives_the_same_results);
    suite.oracle_test("twins give the same results", &POCL, twins_in_opencl_1_2_give_the_same_results);
    suite.oracle_test("what pocl cannot do is said", &POCL, what_pocl_cannot_do_is_said);
    suite.run()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavemill"));
    command.args(["bench", "--small", "--runs", "3"]).args(args);
    command
}

fn success(output: &Output) -> Result<String, Failed> {
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout.clone())?),
        false => Err(format!("{output:?}").into()),
    }
}

/// The report, validated with its schema.
fn json(args: &[&str]) -> Result<Value, Failed> {
    let report = serde_json::from_str(&success(&command(args).arg("--json").output()?)?)?;
    strict::Schemas::read().check("bench.schema.json", &report)?;
    Ok(report)
}

fn rows(report: &Value) -> Result<&Vec<Value>, Failed> {
    report["kernels"].as_array().ok_or_else(|| Failed::from(format!("no kernels in {report}")))
}

/// Fails with both sides if they are not equal.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Failed> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: found {found:?}, expected {expected:?}").into()),
    }
}

fn json_has_every_kernel_with_its_runs() -> Result<(), Failed> {
    let report = json(&["--kernel", "vector_add", "sgemm", "--threads", "1", "--check"])?;
    for (key, value) in [("target", "gfx942"), ("version", env!("CARGO_PKG_VERSION"))] {
        same(key, &report[key], &Value::from(value))?;
    }
    same("threads", &report["threads"], &Value::from(1))?;
    same("checked", &report["checked"], &Value::from(true))?;
    let names: Vec<_> = rows(&report)?.iter().map(|row| row["kernel"].clone()).collect();
    same("kernels", &names, &vec![Value::from("vector_add"), Value::from("sgemm")])?;
    for row in rows(&report)? {
        let times: Vec<u64> = serde_json::from_value(row["times_ns"].clone())?;
        let median: u64 = serde_json::from_value(row["time_ns"].clone())?;
        same("runs", &times.len(), &3)?;
        same("median", &median, &times[1])?;
        if !times.is_sorted() || times[0] == 0 {
            return Err(format!("times {times:?}").into());
        }
        same("no comparison", &row.get("pocl"), &None)?;
    }
    Ok(())
}

/// vector_add ends, which the interpreter does, and all else of it has machine code. Hosts without AVX-512 have none.
fn instructions_with_machine_code_are_counted() -> Result<(), Failed> {
    let report = json(&["--kernel", "vector_add", "--threads", "1", "--engine", "jit"])?;
    let instructions = &rows(&report)?[0]["instructions"];
    if wavemill::launch::Tier::detect().name() != "avx512" {
        eprintln!("not compared: this host has no machine code");
        return same("no share", &instructions.get("machine_code"), &None);
    }
    let waves = rows(&report)?[0]["work_items"].as_u64().unwrap_or_default() / 64;
    let all = instructions["all"].as_u64().unwrap_or_default();
    let share = instructions["machine_code"].as_f64().unwrap_or_default();
    same("instructions without machine code", &((1.0 - share) * all as f64).round(), &(waves as f64))?;
    let interpreted = json(&["--kernel", "vector_add", "--threads", "1"])?;
    same("no share", &rows(&interpreted)?[0]["instructions"].get("machine_code"), &None)
}

fn one_thread_is_timed_beside_all() -> Result<(), Failed> {
    let args = ["--kernel", "sgemm", "--threads", "2", "--scaling"];
    let report = json(&args)?;
    same("scaling", &report["scaling"], &Value::from(true))?;
    same("threads", &report["threads"], &Value::from(2))?;
    let row = &rows(&report)?[0];
    let alone: Vec<u64> = serde_json::from_value(row["one_thread"]["times_ns"].clone())?;
    same("runs on one thread", &alone.len(), &3)?;
    let medians = [&row["one_thread"]["time_ns"], &row["time_ns"]].map(|ns| ns.as_f64().unwrap_or_default());
    let ratio = row["one_thread"]["ratio"].as_f64().unwrap_or_default();
    if (ratio * medians[1] / medians[0] - 1.0).abs() > 1e-9 {
        return Err(format!("ratio {ratio} of {medians:?}").into());
    }
    let table = success(&command(&args).output()?)?;
    if !table.contains("| times faster |") {
        return Err(format!("no column in {table}").into());
    }
    let refused = command(&["--threads", "1", "--scaling"]).output()?;
    same("exit code for one thread", &refused.status.code(), &Some(2))?;
    let message = String::from_utf8(refused.stderr)?;
    match message.contains("--scaling compares one thread with several") && message.contains("--threads") {
        true => Ok(()),
        false => Err(message.into()),
    }
}

fn instructions_are_counted_not_measured() -> Result<(), Failed> {
    let counts = |tier: &str, threads: &str| -> Result<Vec<Value>, Failed> {
        let report = json(&["--kernel", "mandelbrot", "scan_groups", "--tier", tier, "--threads", threads])?;
        same("tier", &report["tier"], &Value::from(tier))?;
        Ok(rows(&report)?.iter().map(|row| row["instructions"].clone()).collect())
    };
    let one = counts("portable", "1")?;
    if one.iter().any(|n| n["all"].as_u64() <= n["valu"].as_u64() || n["scalar"].as_u64() < Some(1)) {
        return Err(format!("{one:?}").into());
    }
    same("instructions", &counts("portable", "2")?, &one)
}

fn every_target_has_the_kernels() -> Result<(), Failed> {
    for target in ["gfx906", "gfx90a", "gfx942", "gfx950"] {
        let report = json(&["--kernel", "reduction", "--target", target, "--check"])?;
        same("target", &report["target"], &Value::from(target))?;
    }
    Ok(())
}

fn groups_are_counted_on_cayman() -> Result<(), Failed> {
    // LLVM has no doubles there.
    let output = command(&["--kernel", "daxpy", "--target", "cayman"]).output()?;
    let said = String::from_utf8(output.stderr)?;
    if output.status.success() || !said.contains("there is no kernel `daxpy` for cayman: llc: ") {
        return Err(said.into());
    }
    let report = json(&["--kernel", "xorshift", "--target", "cayman", "--check"])?;
    let instructions = &rows(&report)?[0]["instructions"];
    let [groups, slots, operations] =
        ["count", "slots", "ir_operations"].map(|key| instructions["groups"][key].as_u64().unwrap_or(0));
    // 256 waves of 100 rounds: the six operations of a round use the results of one another.
    let is_right = groups > 256 * 100 * 6 && groups <= slots && slots <= 4 * groups;
    match is_right && Some(slots) == instructions["valu"].as_u64() && operations > 0 {
        true => Ok(()),
        false => Err(format!("{instructions}").into()),
    }
}

fn the_table_has_a_row_for_each_kernel() -> Result<(), Failed> {
    let text = success(&command(&["--kernel", "life_bits", "crc32_table"]).output()?)?;
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let cells: Vec<usize> = table.iter().map(|line| line.matches('|').count()).collect();
    same("columns", &cells, &vec![8; 4])?;
    let names: Vec<&str> = table
        .iter()
        .map(|line| line.trim_start_matches('|').split('|').next().unwrap_or("").trim())
        .collect();
    same("first column", &names[2..].to_vec(), &vec!["life_bits", "crc32_table"])
}

fn the_list_names_what_can_be_asked_for() -> Result<(), Failed> {
    let list = success(&command(&["--list"]).output()?)?;
    let known: Vec<&str> = wavemill_kernels::KERNELS.iter().map(|kernel| kernel.name).collect();
    same("list", &list.lines().collect::<Vec<_>>(), &known)
}

fn without_pocl_there_is_no_comparison() -> Result<(), Failed> {
    let nowhere = env!("CARGO_TARGET_TMPDIR");
    // The loader finds platforms through these; without a loader, nothing is found either.
    let output = command(&["--kernel", "vector_add", "--against", "pocl"])
        .env("OCL_ICD_VENDORS", nowhere)
        .env_remove("OCL_ICD_FILENAMES")
        .output()?;
    same("exit code", &output.status.code(), &Some(3))?;
    same("output", &String::from_utf8(output.stdout)?, &String::new())?;
    let said = String::from_utf8(output.stderr)?;
    match said.starts_with("error: --against pocl: ") && said.contains("apt install pocl-opencl-icd") {
        true => Ok(()),
        false => Err(said.into()),
    }
}

fn pocl_gives_the_same_results() -> Result<(), Failed> {
    let kernels = ["vector_add", "sgemm", "mandelbrot", "transpose", "softmax", "flushed"];
    let args = [&["--against", "pocl", "--threads", "1", "--kernel"], &kernels[..]].concat();
    let report = json(&args)?;
    same("threads of pocl", &report["against"]["threads"], &Value::from(1))?;
    same("rows", &rows(&report)?.len(), &kernels.len())?;
    for row in rows(&report)? {
        let (ours, theirs) = (row["time_ns"].as_f64(), row["pocl"]["time_ns"].as_f64());
        let quotient = ours.zip(theirs).map(|(ours, theirs)| ours / theirs);
        same("outcome", &row["pocl"]["outcome"], &Value::from("matches"))?;
        // Numbers that are parsed from JSON may be off in their last bit.
        let ratio = row["pocl"]["ratio"].as_f64();
        match (ratio, quotient) {
            (Some(found), Some(expected)) if (found / expected - 1.0).abs() < 1e-12 => {}
            _ => return Err(format!("ratio: found {ratio:?}, expected {quotient:?}").into()),
        }
        same("runs", &row["pocl"]["times_ns"].as_array().map(Vec::len), &Some(3))?;
        same("twin", &row["pocl"]["twin"], &Value::from(false))?;
    }
    Ok(())
}

/// All that `wavemill bench` runs by itself, except launches with workgroups of different sizes.
fn twins_in_opencl_1_2_give_the_same_results() -> Result<(), Failed> {
    let cases = wavemill_kernels::KERNELS.iter().map(|kernel| kernel.make(Size::Small));
    let with_twin: Vec<&str> = cases
        .filter(|case| twin(case.object).is_some() && !case.spins)
        .filter(|case| case.global.iter().zip(case.local).all(|(items, group)| items % group == 0))
        .map(|case| case.name)
        .collect();
    let report = json(&[&["--against", "pocl", "--kernel"], &with_twin[..]].concat())?;
    same("rows", &rows(&report)?.len(), &23)?;
    for row in rows(&report)? {
        let pocl = &row["pocl"];
        same(&format!("outcome of {row}"), &pocl["outcome"], &Value::from("matches"))?;
        same("twin", &pocl["twin"], &Value::from(true))?;
    }
    Ok(())
}

fn what_pocl_cannot_do_is_said() -> Result<(), Failed> {
    // Builtins of the target, workgroups of different sizes, workgroups that wait for one another.
    let report = json(&["--against", "pocl", "--kernel", "printf_kinds", "launch_state_3d", "handoff_ring"])?;
    let outcomes: Vec<_> = rows(&report)?.iter().map(|row| row["pocl"]["outcome"].clone()).collect();
    same("outcomes", &outcomes, &["not-built", "not-run", "not-run"].map(Value::from).to_vec())?;
    for row in rows(&report)? {
        same("ratio", &row["pocl"]["ratio"], &Value::Null)?;
        if row["pocl"]["message"].as_str().is_none_or(str::is_empty) {
            return Err(format!("no reason in {row}").into());
        }
    }
    Ok(())
}
