// SHA-256 (FIPS 180-4) of one message per work-item. Message i is length[i] bytes from byte 4 * start[i] of `data`;
// the buffer reaches to the end of the message's last word.
constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint big_endian(uint x) { return as_uint(as_uchar4(x).wzyx); }

// Word w of the padded message without its length field.
static uint padded_word(global const uint *message, uint length, uint w) {
    const uint whole = length / 4, tail = length % 4;
    if (w > whole)
        return 0;
    const uint marker = 0x80000000u >> (8 * tail);
    if (w < whole)
        return big_endian(message[w]);
    return tail == 0 ? marker : (big_endian(message[w]) & ~(2 * marker - 1)) | marker;
}

kernel void sha256(global const uint *restrict data, global const uint *restrict start,
                   global const uint *restrict length, global uint8 *restrict digest, uint messages) {
    const uint i = get_global_id(0);
    if (i >= messages)
        return;

    global const uint *message = data + start[i];
    const uint bytes = length[i];
    const uint blocks = (bytes + 8) / 64 + 1;
    uint h0 = 0x6a09e667, h1 = 0xbb67ae85, h2 = 0x3c6ef372, h3 = 0xa54ff53a;
    uint h4 = 0x510e527f, h5 = 0x9b05688c, h6 = 0x1f83d9ab, h7 = 0x5be0cd19;

    for (uint block = 0; block < blocks; block++) {
        uint w[16];
#pragma unroll
        for (uint t = 0; t < 16; t++)
            w[t] = padded_word(message, bytes, block * 16 + t);
        if (block == blocks - 1) {
            w[14] = bytes >> 29;
            w[15] = bytes << 3;
        }

        uint a = h0, b = h1, c = h2, d = h3, e = h4, f = h5, g = h6, h = h7;
#pragma nounroll
        for (uint round = 0; round < 64; round += 16) {
#pragma unroll
            for (uint t = 0; t < 16; t++) {
                const uint s1 = rotate(e, 26u) ^ rotate(e, 21u) ^ rotate(e, 7u);
                const uint s0 = rotate(a, 30u) ^ rotate(a, 19u) ^ rotate(a, 10u);
                const uint t1 = h + s1 + bitselect(g, f, e) + K[round + t] + w[t];
                const uint t2 = s0 + bitselect(a, b, a ^ c);
                h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;

                // The schedule of the next sixteen rounds takes the place of the word just used.
                const uint w1 = w[(t + 1) % 16], w14 = w[(t + 14) % 16];
                w[t] += w[(t + 9) % 16] + (rotate(w1, 25u) ^ rotate(w1, 14u) ^ (w1 >> 3)) +
                        (rotate(w14, 15u) ^ rotate(w14, 13u) ^ (w14 >> 10));
            }
        }
        h0 += a, h1 += b, h2 += c, h3 += d, h4 += e, h5 += f, h6 += g, h7 += h;
    }
    digest[i] = (uint8)(big_endian(h0), big_endian(h1), big_endian(h2), big_endian(h3), big_endian(h4),
                        big_endian(h5), big_endian(h6), big_endian(h7));
}
