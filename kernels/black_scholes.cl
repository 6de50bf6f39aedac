// Prices of European call and put options after Black and Scholes, one option for each item, with native functions.

// The share of a normal distribution below d: a polynomial for the tail (Abramowitz and Stegun, 26.2.17).
static float below(float d) {
    const float k = native_recip(1.0f + 0.2316419f * fabs(d));
    float series = 1.330274429f;
    series = series * k - 1.821255978f;
    series = series * k + 1.781477937f;
    series = series * k - 0.356563782f;
    series = series * k + 0.319381530f;
    const float tail = 0.398942280f * native_exp(-0.5f * d * d) * (series * k);
    return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *restrict price, global const float *restrict strike,
                          global const float *restrict years, global float *restrict call, global float *restrict put,
                          float rate, float volatility, uint n) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    const float s = price[i], x = strike[i], t = years[i];
    const float spread = volatility * native_sqrt(t);
    const float drift = (rate + 0.5f * volatility * volatility) * t;
    const float d1 = native_divide(native_log(native_divide(s, x)) + drift, spread);
    const float d2 = d1 - spread;
    const float in1 = below(d1), in2 = below(d2);
    const float discounted = x * native_exp(-rate * t);
    call[i] = s * in1 - discounted * in2;
    put[i] = discounted * (1.0f - in2) - s * (1.0f - in1);
}
