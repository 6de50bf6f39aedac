//! CRC-32 of many messages, with and without a table.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// The polynomial, without its highest power, and with the next one in bit 0.
const POLYNOMIAL: u32 = 0xedb8_8320;

pub(crate) fn table(size: Size) -> Case {
    make("crc32_table", size.pick(70 * 64 - 9, 128 * 1024), size.pick(100, 400))
}

pub(crate) fn bitwise(size: Size) -> Case {
    make("crc32_bitwise", size.pick(65 * 64 - 5, 32 * 1024), size.pick(20, 400))
}

/// Messages of up to `longest` bytes, back to back, so that they start at arbitrary bytes.
fn make(name: &'static str, messages: u32, longest: u32) -> Case {
    let mut random = Random::new(41);
    let (mut data, mut start, mut length) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..messages {
        // First every length in turn, then arbitrary lengths.
        let bytes = if i <= longest { i } else { random.below(longest + 1) };
        start.push(data.len() as u32);
        length.push(bytes);
        data.extend(random.many(bytes as usize, |r| r.u32() as u8));
    }
    Case::new(name, "crc32", reference)
        .cover(messages, 64)
        .buffer("data", &data)
        .buffer("start", &start)
        .buffer("length", &length)
        .buffer("crc", &vec![0u32; messages as usize])
        .u32("messages", messages)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (data, start, length) =
        (case.input::<u8>("data"), case.input::<u32>("start"), case.input::<u32>("length"));
    let message = |(&start, &length): (&u32, &u32)| crc32(&data[start as usize..][..length as usize]);
    let crc: Vec<u32> = start.iter().zip(&length).map(message).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::Unchanged, Expect::values(&crc)]
}

fn crc32(message: &[u8]) -> u32 {
    !message.iter().fold(u32::MAX, |rest, &byte| {
        (0..8).fold(rest ^ u32::from(byte), |rest, _| (rest >> 1) ^ (POLYNOMIAL * (rest & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // The check value of the catalogue of parametrised CRC algorithms, and zip's value for an
        // empty file.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(&[0; 32]), 0x190a_55ad);
        assert_eq!(crc32(&[0xff; 32]), 0xff6c_ab0b);
    }

    #[test]
    fn a_message_with_its_remainder_behind_it_leaves_a_constant() {
        let mut message = Random::new(1).many(77, |r| r.u32() as u8);
        message.extend(crc32(&message).to_le_bytes());
        assert_eq!(crc32(&message), 0x2144_df1c);
    }
}
