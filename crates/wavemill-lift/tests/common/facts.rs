//! Facts about instructions as tables: assembly text, registers before, registers after.

#![allow(dead_code, unused_imports, unused_macros, reason = "every test binary uses what it needs")]

use wavemill_ir::Uni;
use wavemill_isa::Target;
use wavemill_lift::gcn::registers;

use super::{Machine, Outcome};
use Register::{S, Scc, V};

/// A register and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Register {
    /// A VGPR, the same in all lanes.
    V(u16, u32),
    /// An SGPR; VCC is 106.
    S(u16, u32),
    /// SCC.
    Scc(bool),
}

/// One fact.
pub(crate) struct Fact {
    pub(crate) source: &'static str,
    pub(crate) targets: &'static [Target],
    pub(crate) modes: &'static [u32],
    /// Instructions, one on each line.
    pub(crate) code: &'static str,
    pub(crate) before: &'static [Register],
    pub(crate) after: &'static [Register],
}

/// The words of instructions, one on each line.
pub(crate) fn words(target: Target, code: &str) -> Vec<u32> {
    let lines = code.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .flat_map(|line| {
            let inst = wavemill_asm::gcn::parse(target, line)
                .unwrap_or_else(|error| panic!("`{line}` on {}: {error:?}", target.name()));
            inst.words()[..inst.size() / 4].to_vec()
        })
        .collect()
}

fn run(target: Target, mode: u32, fact: &Fact) -> Outcome {
    let mut machine = Machine::new(target);
    machine.mode = mode;
    machine.run(&words(target, fact.code), |regs, _| {
        regs.set_uni64(registers::EXEC, u64::MAX);
        for register in fact.before {
            match *register {
                V(n, value) => regs.set_row(registers::vgpr(n), &[value; 64]),
                S(n, value) => regs.set_uni(Uni(n), value),
                Scc(value) => regs.set_uni(registers::SCC, u32::from(value)),
            }
        }
    })
}

/// Runs every fact on its targets in its modes, and compares the registers.
pub(crate) fn check(facts: &[Fact]) {
    for fact in facts {
        for &target in fact.targets {
            for &mode in fact.modes {
                let outcome = run(target, mode, fact);
                let what =
                    format!("`{}` on {} in mode {mode:#x} ({})", fact.code, target.name(), fact.source);
                for register in fact.after {
                    match *register {
                        V(n, value) => {
                            let found = outcome.wave.vgprs[usize::from(n)];
                            assert!(
                                found == [value; 64],
                                "v{n} after {what}: {:#010x} instead of {value:#010x}",
                                found[0]
                            );
                        }
                        S(n, value) => assert_eq!(outcome.sgpr(usize::from(n)), value, "s{n} after {what}"),
                        Scc(value) => assert_eq!(outcome.wave.scc, value, "SCC after {what}"),
                    }
                }
            }
        }
    }
}

/// A fact in a line or two: source, targets, modes, code, registers before and after.
macro_rules! facts {
    ($($source:literal, $targets:expr, $modes:expr, $code:literal, [$($before:expr),*] => [$($after:expr),*];)*) => {
        &[$(Fact {
            source: $source,
            targets: $targets,
            modes: $modes,
            code: $code,
            before: &[$($before),*],
            after: &[$($after),*],
        }),*]
    };
}

pub(crate) use facts;
