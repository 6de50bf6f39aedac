//! Runs valid programs generated from the rows, and mutations of their bytes. They run until they
//! end, fault, or exhaust their instructions. All ways of running give the same registers and
//! memory, and no program harms the host.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use wavemill_fuzz::fences::Fenced;
use wavemill_fuzz::machine::{HEADER, Machine, target};
use wavemill_fuzz::program::{Generator, boundaries};
use wavemill_fuzz::share;
use wavemill_oracle::SplitMix64;

#[global_allocator]
static ALLOCATOR: Fenced = Fenced;

fuzz_target!(|input: &[u8]| {
    if let Some(machine) = Machine::of(input) {
        share::note(machine.check());
    }
});

/// Approximate size of a new program in bytes.
const BYTES: u64 = 160;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = SplitMix64::new(seed.into());
    let mut input = data[..size].to_vec();
    // Mutated bytes end most programs early, and the fuzzer continues from the survivors. New
    // programs keep half of all inputs running.
    match random.below(16) {
        _ if size <= HEADER => input = fresh(&mut random),
        0..5 => input = fresh(&mut random),
        5..11 => return fuzzer_mutate(data, size, max_size),
        _ => change(&mut input, &mut random),
    }
    input.truncate(max_size);
    data[..input.len()].copy_from_slice(&input);
    input.len()
});

/// A new program.
fn fresh(random: &mut SplitMix64) -> Vec<u8> {
    let mut input = (random.next_u64() as u32).to_le_bytes().to_vec();
    let mut generator = Generator::new(target(&input), random.next_u64());
    input.extend(generator.program(16 + random.below(BYTES) as usize));
    input
}

/// Inserts, removes, duplicates or replaces an instruction.
fn change(input: &mut Vec<u8>, random: &mut SplitMix64) {
    let target = target(input);
    let starts = boundaries(target, &input[HEADER..]);
    let pick = |random: &mut SplitMix64| {
        let n = random.below(starts.len() as u64) as usize;
        let start = HEADER + starts[n];
        start..starts.get(n + 1).map_or(input.len(), |next| HEADER + next)
    };
    let place = pick(random);
    let other = pick(random);
    let new = Generator::new(target, random.next_u64()).instruction();
    match random.below(4) {
        0 => drop(input.splice(place.start..place.start, new)),
        1 => drop(input.drain(place)),
        2 => {
            let copy = input[other].to_vec();
            drop(input.splice(place.start..place.start, copy));
        }
        _ => drop(input.splice(place, new)),
    }
}
