//! Shared by the references: the data of an instruction by its mnemonic, bytes, and lanes.

use wavemill_ir::LANES;
use wavemill_lift::gcn::registers;
use wavemill_machine::Registers;
use wavemill_oracle::SplitMix64;

/// EXEC masks that every test runs under.
pub(crate) const MASKS: [u64; 4] = [!0, 0, 0x8000_0000_0000_0001, 0x5aa5_0ff0_c33c_3c3c];

/// How a load or store treats its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Data {
    pub(crate) bytes: usize,
    signed: bool,
    /// Keeps the other half of the register (`_d16`), and works on the upper half (`_d16_hi`).
    d16: bool,
    high: bool,
}

impl Data {
    /// From a mnemonic such as `global_load_sbyte_d16_hi` or `ds_write_b16`; `None` if it names none of the kinds.
    pub(crate) fn of(mnemonic: &str) -> Option<Data> {
        let high = mnemonic.ends_with("_d16_hi");
        let d16 = high || mnemonic.ends_with("_d16");
        let stem = mnemonic.trim_end_matches("_d16_hi").trim_end_matches("_d16");
        let kind = stem.rsplit('_').next()?;
        let (bytes, signed) = match kind {
            "ubyte" | "byte" | "u8" | "b8" => (1, false),
            "sbyte" | "i8" => (1, true),
            "ushort" | "short" | "u16" | "b16" => (2, false),
            "sshort" | "i16" => (2, true),
            "dword" | "b32" => (4, false),
            "dwordx2" | "b64" => (8, false),
            "dwordx3" | "b96" => (12, false),
            "dwordx4" | "b128" => (16, false),
            _ => return None,
        };
        Some(Data { bytes, signed, d16, high })
    }

    /// The registers of one lane after loading `bytes` into them.
    pub(crate) fn load(self, bytes: &[u8], old: &[u32]) -> Vec<u32> {
        if self.bytes >= 4 {
            return bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().expect("four bytes"))).collect();
        }
        let value = match (self.bytes, self.signed) {
            (1, false) => u32::from(bytes[0]),
            (1, true) => bytes[0] as i8 as i32 as u32,
            (_, false) => u32::from(u16::from_le_bytes([bytes[0], bytes[1]])),
            (_, true) => i16::from_le_bytes([bytes[0], bytes[1]]) as i32 as u32,
        };
        vec![match (self.d16, self.high) {
            (_, true) => old[0] & 0xffff | value << 16,
            (true, false) => old[0] & 0xffff_0000 | value & 0xffff,
            (false, false) => value,
        }]
    }

    /// The bytes that one lane stores.
    pub(crate) fn store(self, registers: &[u32]) -> Vec<u8> {
        let first = if self.high { registers[0] >> 16 } else { registers[0] };
        let dwords = [&[first], &registers[1..]].concat();
        dwords.iter().flat_map(|v| v.to_le_bytes()).take(self.bytes).collect()
    }
}

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub(crate) struct Numbers(SplitMix64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }

    pub(crate) fn row(&mut self) -> [u32; LANES] {
        std::array::from_fn(|_| self.next() as u32)
    }

    /// One offset below `limit` per lane, a multiple of `align`.
    pub(crate) fn offsets(&mut self, limit: usize, align: usize) -> [usize; LANES] {
        std::array::from_fn(|_| self.next() as usize % (limit / align) * align)
    }
}

pub(crate) fn active(exec: u64, lane: usize) -> bool {
    exec >> lane & 1 != 0
}

/// Sets VGPRs from `first` on.
pub(crate) fn set_rows(regs: &mut Registers, first: u16, rows: &[[u32; LANES]]) {
    for (n, row) in rows.iter().enumerate() {
        regs.set_row(registers::vgpr(first + n as u16), row);
    }
}

/// Sets a pair of VGPRs to 64-bit values.
pub(crate) fn set_row64(regs: &mut Registers, first: u16, values: [u64; LANES]) {
    set_rows(regs, first, &[values.map(|v| v as u32), values.map(|v| (v >> 32) as u32)]);
}

pub(crate) fn set_exec(regs: &mut Registers, exec: u64) {
    regs.set_uni64(registers::EXEC, exec);
}

/// The values of a lane in consecutive rows.
pub(crate) fn column(rows: &[[u32; LANES]], lane: usize) -> Vec<u32> {
    rows.iter().map(|row| row[lane]).collect()
}
