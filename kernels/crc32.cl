// CRC-32 of many messages (the one of Ethernet and zip: reflected polynomial 0xedb88320, all ones before and after), one
// message per work-item, byte by byte. Message i is length[i] bytes from byte start[i] of `data`, wherever that is.

// The remainder of a byte is the sum of those of its bits, as everything in this arithmetic is linear.
#define ENTRY(n)                                                                                                       \
    (((n) & 1 ? 0x77073096u : 0) ^ ((n) & 2 ? 0xee0e612cu : 0) ^ ((n) & 4 ? 0x076dc419u : 0) ^                         \
     ((n) & 8 ? 0x0edb8832u : 0) ^ ((n) & 16 ? 0x1db71064u : 0) ^ ((n) & 32 ? 0x3b6e20c8u : 0) ^                       \
     ((n) & 64 ? 0x76dc4190u : 0) ^ ((n) & 128 ? 0xedb88320u : 0))
#define ROW4(n) ENTRY(n), ENTRY((n) + 1), ENTRY((n) + 2), ENTRY((n) + 3)
#define ROW16(n) ROW4(n), ROW4((n) + 4), ROW4((n) + 8), ROW4((n) + 12)
#define ROW64(n) ROW16(n), ROW16((n) + 16), ROW16((n) + 32), ROW16((n) + 48)

constant uint TABLE[256] = {ROW64(0), ROW64(64), ROW64(128), ROW64(192)};

// With a table of 256 remainders in constant memory.
kernel void crc32_table(global const uchar *restrict data, global const uint *restrict start,
                        global const uint *restrict length, global uint *restrict crc, uint messages) {
    const uint i = get_global_id(0);
    if (i >= messages)
        return;
    global const uchar *message = data + start[i];
    uint rest = 0xffffffff;
    for (uint at = 0; at < length[i]; at++)
        rest = TABLE[(rest ^ message[at]) & 0xff] ^ rest >> 8;
    crc[i] = ~rest;
}

// Bit by bit, with a mask instead of a condition, which LLVM would take for a CRC and make a table of.
kernel void crc32_bitwise(global const uchar *restrict data, global const uint *restrict start,
                          global const uint *restrict length, global uint *restrict crc, uint messages) {
    const uint i = get_global_id(0);
    if (i >= messages)
        return;
    global const uchar *message = data + start[i];
    uint rest = 0xffffffff;
    for (uint at = 0; at < length[i]; at++) {
        rest ^= message[at];
        for (uint bit = 0; bit < 8; bit++)
            rest = rest >> 1 ^ (0xedb88320 & -(rest & 1));
    }
    crc[i] = ~rest;
}
