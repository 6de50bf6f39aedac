//! SHA-256 of many messages, with an independent implementation that is tested against another one.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// The longest message in bytes: one to four blocks occur.
const LONGEST: u32 = 200;

pub(crate) fn case(size: Size) -> Case {
    let messages = size.pick(64 * 64 - 3, 64 * 1024);
    let mut random = Random::new(6);
    let (mut data, mut start, mut length) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..messages {
        // First every length in turn, then arbitrary lengths.
        let bytes = if i <= LONGEST { i } else { random.below(LONGEST + 1) };
        start.push((data.len() / 4) as u32);
        length.push(bytes);
        // The bytes between the end of the message and the end of its last word are not 0: the
        // kernel must mask them.
        data.extend(random.many(bytes.next_multiple_of(4) as usize, |r| r.u32() as u8));
    }
    Case::new("sha256", "sha256", reference)
        .cover(messages, 64)
        .buffer("data", &data)
        .buffer("start", &start)
        .buffer("length", &length)
        .buffer("digest", &vec![0u8; 32 * messages as usize])
        .u32("messages", messages)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (data, start, length) =
        (case.input::<u8>("data"), case.input::<u32>("start"), case.input::<u32>("length"));
    let mut digests = Vec::with_capacity(32 * start.len());
    for (&start, &length) in start.iter().zip(&length) {
        digests.extend(sha256(&data[4 * start as usize..][..length as usize]));
    }
    vec![Expect::Unchanged, Expect::Unchanged, Expect::Unchanged, Expect::values(&digests)]
}

/// The first 64 primes, whose roots give all constants of SHA-256.
const PRIMES: [u32; 64] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223,
    227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311,
];

/// The first 32 bits after the binary point of the `power`th root of `n` (FIPS 180-4, sections
/// 4.2.2 and 5.3.3), in integers: the largest r with r^power <= n * 2^(32 * power).
const fn root_bits(n: u32, power: u32) -> u32 {
    let mut root: u128 = 0;
    let mut bit = 36;
    while bit > 0 {
        bit -= 1;
        let next = root | 1 << bit;
        // A root of 36 bits has a cube of 108 bits: no overflow.
        let (mut product, mut times) = (1u128, 0);
        while times < power {
            product *= next;
            times += 1;
        }
        if product <= (n as u128) << (32 * power) {
            root = next;
        }
    }
    root as u32
}

/// The round constants.
const K: [u32; 64] = {
    let mut k = [0; 64];
    let mut i = 0;
    while i < 64 {
        k[i] = root_bits(PRIMES[i], 3);
        i += 1;
    }
    k
};

fn sha256(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());

    let mut state: [u32; 8] = std::array::from_fn(|i| root_bits(PRIMES[i], 2));
    for block in padded.as_chunks::<64>().0 {
        let mut w = [0u32; 64];
        for (w, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
            *w = u32::from_be_bytes(*bytes);
        }
        for t in 16..64 {
            let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
            let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
            w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
        for t in 0..64 {
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(K[t]).wrapping_add(w[t]);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let majority = (a & b) ^ (a & c) ^ (b & c);
            (h, g, f, e, d, c, b, a) =
                (g, f, e, d.wrapping_add(t1), c, b, a, t1.wrapping_add(s0).wrapping_add(majority));
        }
        for (state, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *state = state.wrapping_add(add);
        }
    }
    let mut digest = [0; 32];
    for (out, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *out = word.to_be_bytes();
    }
    digest
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn hex(bytes: [u8; 32]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn published_digests() {
        assert_eq!(hex(sha256(b"")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(sha256(b"abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hex(sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }

    #[test]
    fn another_implementation_agrees_at_every_length() {
        let message = Random::new(99).many(300, |r| r.u32() as u8);
        for length in 0..=message.len() {
            let expected: [u8; 32] = Sha256::digest(&message[..length]).into();
            assert_eq!(sha256(&message[..length]), expected, "{length} bytes");
        }
    }
}
