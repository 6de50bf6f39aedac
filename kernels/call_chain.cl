// Calls four deep with arrays in scratch at every level: RSA's x^e mod m for numbers of 128 bits, by Montgomery's
// multiplication.
#define LIMBS 4

// What belongs to a modulus, which must be odd.
typedef struct {
    uint modulus[LIMBS];
    uint square[LIMBS]; // 2^256 modulo the modulus
    uint inverse;       // -1 / modulus modulo 2^32
} Key;

// sum += x * factor, where the sum has two limbs more.
static __attribute__((noinline)) void add_multiple(private uint *sum, private const uint *x, uint factor) {
    ulong carry = 0;
    for (uint j = 0; j < LIMBS; j++) {
        carry += (ulong)x[j] * factor + sum[j];
        sum[j] = (uint)carry;
        carry >>= 32;
    }
    carry += sum[LIMBS];
    sum[LIMBS] = (uint)carry;
    sum[LIMBS + 1] += (uint)(carry >> 32);
}

// out = a * b / 2^128 modulo the modulus, if one of the factors is below it. `out` may be one of the factors.
static __attribute__((noinline)) void product_mod(private uint *out, private const uint *a, private const uint *b,
                                                  private const Key *key) {
    uint sum[LIMBS + 2] = {0}, less[LIMBS];
    for (uint i = 0; i < LIMBS; i++) {
        add_multiple(sum, a, b[i]);
        // Now the lowest limb becomes 0, and goes.
        add_multiple(sum, key->modulus, sum[0] * key->inverse);
        for (uint j = 0; j < LIMBS + 1; j++)
            sum[j] = sum[j + 1];
        sum[LIMBS + 1] = 0;
    }
    // Less than twice the modulus.
    uint borrow = 0;
    for (uint j = 0; j < LIMBS; j++) {
        const ulong difference = (ulong)sum[j] - key->modulus[j] - borrow;
        less[j] = (uint)difference;
        borrow = difference >> 63;
    }
    const bool fits = sum[LIMBS] == 0 && borrow;
    for (uint j = 0; j < LIMBS; j++)
        out[j] = fits ? sum[j] : less[j];
}

// x = x^exponent, where everything carries a factor of 2^128; the exponent is not 0.
static __attribute__((noinline)) void power_mod(private uint *x, uint exponent, private const Key *key) {
    uint base[LIMBS];
    for (uint j = 0; j < LIMBS; j++)
        base[j] = x[j];
    for (uint bit = 31 - clz(exponent); bit-- > 0;) {
        product_mod(x, x, x, key);
        if (exponent >> bit & 1)
            product_mod(x, x, base, key);
    }
}

static __attribute__((noinline)) void encrypt(private uint *x, uint exponent, private const Key *key) {
    const uint one[LIMBS] = {1};
    product_mod(x, x, key->square, key);
    power_mod(x, exponent, key);
    product_mod(x, x, one, key);
}

static void unpack(private uint *limbs, uint4 number) {
    limbs[0] = number.x;
    limbs[1] = number.y;
    limbs[2] = number.z;
    limbs[3] = number.w;
}

// y[i] = x[i]^exponent modulo modulus[i]; square[i] is 2^256 modulo modulus[i].
kernel void call_chain(global const uint4 *restrict x, global const uint4 *restrict modulus,
                       global const uint4 *restrict square, global uint4 *restrict y, uint n, uint exponent) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    uint text[LIMBS];
    unpack(text, x[i]);
    Key key;
    unpack(key.modulus, modulus[i]);
    unpack(key.square, square[i]);
    // Newton's method: three bits are right at first, twice as many after each step.
    uint inverse = key.modulus[0];
    for (uint step = 0; step < 4; step++)
        inverse *= 2 - key.modulus[0] * inverse;
    key.inverse = -inverse;
    encrypt(text, exponent, &key);
    y[i] = (uint4)(text[0], text[1], text[2], text[3]);
}
