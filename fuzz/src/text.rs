//! Mutations of text that keep most of its form: numbers, words and lines.

use std::ops::Range;

use libfuzzer_sys::fuzzer_mutate;
use wavemill_oracle::SplitMix64;

/// Numbers at which programs change their behaviour.
const EDGES: [&str; 16] = [
    "0",
    "1",
    "2",
    "64",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1",
    "0.5",
];

/// The positions of the longest runs of bytes for which `belongs` holds.
fn runs(text: &[u8], belongs: impl Fn(&u8) -> bool) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.iter().enumerate().filter(|(_, byte)| belongs(byte)) {
        match runs.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// The mutator of targets with text inputs: half of the time the fuzzer's own, otherwise a mutation
/// of text.
pub fn mutate_text(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = SplitMix64::new(seed.into());
    if random.below(2) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut text = data[..size].to_vec();
    change_text(&mut text, &mut random);
    text.truncate(max_size);
    data[..text.len()].copy_from_slice(&text);
    text.len()
}

/// Mutates a number, a word or a line, if there is one.
fn change_text(text: &mut Vec<u8>, random: &mut SplitMix64) {
    let mut pick = |places: &[Range<usize>]| {
        let n = random.below(places.len() as u64) as usize;
        places.get(n).cloned()
    };
    let number = pick(&runs(text, u8::is_ascii_digit));
    let words = runs(text, |byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte));
    let (word, other) = (pick(&words), pick(&words));
    let lines = runs(text, |byte| *byte != b'\n');
    let (line, place) = (pick(&lines), pick(&lines));
    let edge = EDGES[random.below(EDGES.len() as u64) as usize];
    match random.below(8) {
        0..3 => {
            if let Some(number) = number {
                text.splice(number, edge.bytes());
            }
        }
        3 | 4 => {
            if let Some(number) = number {
                let behind = [b",", edge.as_bytes()].concat();
                text.splice(number.end..number.end, behind);
            }
        }
        5 => {
            if let (Some(word), Some(other)) = (word, other) {
                let copy = text[other].to_vec();
                text.splice(word, copy);
            }
        }
        6 => {
            if let (Some(line), Some(place)) = (line, place) {
                let copy = [&text[line], b"\n"].concat();
                text.splice(place.start..place.start, copy);
            }
        }
        _ => {
            if let Some(line) = line {
                text.drain(line);
            }
        }
    }
}
