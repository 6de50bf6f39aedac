//! Runs random programs of Cayman, and mutations of their bytes and of programs that compilers made.
//! All ways of running give the same end and the same memory, and no program harms the host.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use wavemill_fuzz::cayman::{HEADER, Machine, program};
use wavemill_fuzz::fences::Fenced;
use wavemill_fuzz::share;
use wavemill_oracle::SplitMix64;

#[global_allocator]
static ALLOCATOR: Fenced = Fenced;

fuzz_target!(|input: &[u8]| {
    if let Some(machine) = Machine::of(input) {
        share::note(machine.check());
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = SplitMix64::new(seed.into());
    // Mutated bytes end most programs early. New programs keep more than half of all inputs running.
    if size > HEADER && random.below(3) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut input = (random.next_u64() as u32).to_le_bytes().to_vec();
    // Generated programs use this many registers.
    input[0] |= 7;
    input.extend(program(&mut random));
    input.truncate(max_size);
    data[..input.len()].copy_from_slice(&input);
    input.len()
});
