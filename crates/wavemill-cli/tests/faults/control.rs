//! Waves that jump to where there is no code, and waves that never end.

use wavemill::device::AddressMode;

use crate::faults::case::Value::{Buffer, U64, Zeros};
use crate::faults::case::{Case, folder};
use crate::faults::{TARGETS, check};

/// A kernel of `control.s` whose argument is an address.
fn at(name: &'static str, kernel: &'static str, address: u64) -> Case {
    Case::new(name, "control", kernel, &[("target", U64(address))])
}

/// A kernel of `control.s` whose argument is a buffer.
fn on_data(name: &'static str, kernel: &'static str) -> Case {
    Case::new(name, "control", kernel, &[("target", Buffer(64))])
}

fn jumps() -> Vec<Case> {
    vec![
        on_data("jump_into_data", "jump"),
        on_data("call_of_data", "call"),
        Case { far: true, ..at("jump_to_an_unmapped_page", "jump", 0x12_3456_7000) },
        at("jump_to_null", "jump", 0),
        at("jump_into_the_lds_aperture", "jump", 0x1_0000_0000_0040),
        at("jump_into_an_instruction", "jump_into_instruction", 0),
        Case { far: true, ..at("branch_beyond_the_code", "branch_away", 0) },
        at("no_end", "falls_off", 0),
        at("no_end_with_data_behind_it", "falls_into_data", 0),
        at("illegal_instruction", "illegal", 0),
        at("trap", "trap", 0),
    ]
}

/// Jumps between instructions, and functions without an end.
fn ends() -> Vec<Case> {
    let kernels = [
        "misaligned",
        "branch_to_illegal",
        "behind_another_kernel",
        "open_end",
        "open_end_behind_data",
        "to_the_end_of_the_code",
    ];
    kernels.map(in_jumps).to_vec()
}

/// A kernel of `jumps.s`.
fn in_jumps(kernel: &'static str) -> Case {
    Case { object: "jumps", ..at(kernel, kernel, 0) }
}

/// Accesses to the 24-byte segment that holds the arguments.
fn arguments() -> Vec<Case> {
    vec![
        at("load_past_the_end", "loads_past_the_arguments", 0),
        at("store", "stores_to_the_arguments", 0),
        in_jumps("loads_before_the_arguments"),
        in_jumps("load_straddles_the_start"),
    ]
}

fn waits() -> Vec<Case> {
    let limited = |case: Case| Case { max_instructions: Some(1_000_000), exit: 124, ..case };
    let two_waves = |case: Case| Case { grid: (1, 128), ..case };
    vec![
        at("endless", "endless", 0),
        on_flag("spin", "spin"),
        Case::new("spin_of_compiled_code", "source", "wait_for_flag", &[("flag", Zeros(64))]),
        limited(on_flag("spin_with_a_limit", "spin")),
        limited(at("counting", "counting", 0)),
        two_waves(on_flag("barrier_that_a_spinning_wave_does_not_reach", "half_barrier")),
        two_waves(limited(at("barrier_that_a_counting_wave_does_not_reach", "half_barrier_counting", 0))),
    ]
}

/// A flag that no wave sets.
fn on_flag(name: &'static str, kernel: &'static str) -> Case {
    Case::new(name, "control", kernel, &[("target", Zeros(64))])
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    [jumps(), ends(), arguments(), waits()].concat()
}

#[test]
fn jumps_to_where_no_code_is() {
    TARGETS.iter().for_each(|target| check("jumps", target, &jumps()));
}

#[test]
fn ends_of_code_and_jumps_beside_instructions() {
    TARGETS.iter().for_each(|target| check("ends", target, &ends()));
}

/// A function end is reported as missing only if a wave reached it sequentially.
#[test]
fn an_end_is_missed_where_no_jump_leads() {
    for target in TARGETS {
        let folder = folder("missed", target);
        for case in jumps().into_iter().chain(ends()) {
            let ends_nowhere = ["no_end", "no_end_with_data_behind_it", "open_end", "open_end_behind_data"]
                .contains(&case.name);
            for steps in [&[][..], &["--trace"]] {
                let said = case.command(&folder, AddressMode::Sandbox, steps);
                let missed = said.contains("`s_endpgm` missing?");
                assert_eq!(missed, ends_nowhere, "{} on {target}: {said}", case.name);
            }
        }
    }
}

#[test]
fn accesses_to_kernel_arguments() {
    TARGETS.iter().for_each(|target| check("arguments", target, &arguments()));
}

#[test]
fn waves_that_never_end() {
    TARGETS.iter().for_each(|target| check("waits", target, &waits()));
}

/// The same kernels, stopped by the time limit.
#[test]
fn time_is_over() {
    for target in TARGETS {
        let case = Case { exit: 124, ..at("counting", "counting", 0) };
        let said = case.command(&folder("time", target), AddressMode::Sandbox, &["--timeout", "2"]);
        assert!(said.contains("error: --timeout: 2 s have passed: `counting` was stopped after "), "{said}");
        assert!(said.contains("workgroup (0, 0, 0), wave 0: runs\n        counting + 0x"), "{said}");
    }
}

/// A grid of almost 2^32 work-items.
#[test]
fn grids_of_four_billion() {
    let grid = |name, groups, exit| {
        let case = Case::new(name, "control", "store_ids", &[("target", Buffer(4 * 64 * 5))]);
        Case { grid: (groups, 64), exit, ..case }
    };
    let groups = u32::MAX / 64;
    let mut all = String::new();
    for target in TARGETS {
        let folder = folder("grids", target);
        let mut say = |case: Case, more: &[&str]| {
            all += &format!(
                "# {} on {target}\n{}\n",
                case.name,
                case.command(&folder, AddressMode::Sandbox, more)
            );
        };
        // The buffer is for five workgroups.
        say(grid("faults_in_the_sixth_workgroup", groups, 4), &[]);
        say(grid("more_than_32_bits", groups + 1, 2), &[]);
        let endless = Case::new("with_a_limit", "absurd", "normal", &[]);
        let limited = Case { grid: (groups, 64), max_instructions: Some(100_000), exit: 124, ..endless };
        say(limited, &[]);
    }
    insta::assert_snapshot!("grids", all);
}
