//! Variable-length numbers (DWARF 5, section 7.6).

/// Appends an unsigned number.
pub(super) fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = (value & 0x7F) as u8;
        value >>= 7;
        out.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return;
        }
    }
}

/// Appends a signed number.
pub(super) fn signed(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let low = (value & 0x7F) as u8;
        value >>= 7;
        // The sign of the last byte is the sign of the number.
        let last = value == if low & 0x40 == 0 { 0 } else { -1 };
        out.push(if last { low } else { low | 0x80 });
        if last {
            return;
        }
    }
}

/// The number of bytes that [`unsigned`] appends.
pub(super) fn unsigned_size(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}
