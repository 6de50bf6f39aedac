//! Checks the reference against numbers worked out by hand, and against the host's f32 and f64.

use wavemill_reference::{
    Env, F16, F32, F64, FP4, FP8, Field, Mode, Number, Round, add, div, float_to_float, fma, mul, narrow,
    rsq, sqrt,
};

fn in_mode(round: Round) -> Env {
    Env::DEFAULT.rounding(round)
}

/// f32 to f16 in the four rounding modes, in the order of their numbers.
#[test]
fn halves_round_as_by_hand() {
    for (x, expected) in [
        // 1 + 2^-11, half way; 1 + 3 * 2^-11, half way after an odd one; slightly more and less
        // than half way.
        (0x3f80_1000, [0x3c00, 0x3c01, 0x3c00, 0x3c00]),
        (0x3f80_3000, [0x3c02, 0x3c02, 0x3c01, 0x3c01]),
        (0x3f80_1001, [0x3c01, 0x3c01, 0x3c00, 0x3c00]),
        (0x3f80_0fff, [0x3c00, 0x3c01, 0x3c00, 0x3c00]),
        (0xbf80_1000, [0xbc00, 0xbc00, 0xbc01, 0xbc00]),
        // 65519.996 and 65520: the end of the range.
        (0x477f_efff, [0x7bff, 0x7c00, 0x7bff, 0x7bff]),
        (0x477f_f000, [0x7c00, 0x7c00, 0x7bff, 0x7bff]),
        (0xc780_0000, [0xfc00, 0xfbff, 0xfc00, 0xfbff]),
        // Half of the smallest denormal, and slightly more; the largest denormal and a half.
        (0x3300_0000, [0x0000, 0x0001, 0x0000, 0x0000]),
        (0x3300_0001, [0x0001, 0x0001, 0x0000, 0x0000]),
        (0x387f_f000, [0x0400, 0x0400, 0x03ff, 0x03ff]),
        (0x8000_0000, [0x8000; 4]),
        (0xff80_0001, [0xfe00; 4]),
    ] {
        for (round, expected) in Round::ALL.into_iter().zip(expected) {
            let found = float_to_float(F32, F16, x, in_mode(round));
            assert_eq!(found, expected, "{x:#x} in {round:?}: {found:#x} instead of {expected:#x}");
        }
    }
    let saturating = Env { fp16_ovfl: true, ..Env::DEFAULT };
    assert_eq!(float_to_float(F32, F16, 0x4780_0000, saturating), 0x7bff);
    assert_eq!(float_to_float(F32, F16, 0x7f80_0000, saturating), 0x7c00);
}

#[test]
fn denormals_are_flushed_on_either_side() {
    let env = |keeps_inputs, keeps_outputs| Env { keeps_inputs, keeps_outputs, ..Env::DEFAULT };
    let (least, normal, two) = (0x8000_0001, 0x0080_0000, 0x4000_0000);
    for (keeps_inputs, keeps_outputs, product, difference) in [
        (true, true, 0x8000_0002, 0x007f_ffff),
        (false, true, 0x8000_0000, normal),
        (true, false, 0x8000_0000, 0),
        (false, false, 0x8000_0000, normal),
    ] {
        let env = env(keeps_inputs, keeps_outputs);
        assert_eq!(mul(F32, [least, two], env), product, "{env:?}");
        assert_eq!(add(F32, [normal, least], env), difference, "{env:?}");
    }
}

#[test]
fn mode_is_read_by_fields() {
    let mode = Mode(0b10_0000_0011_1001_0110);
    let (single, double) = (mode.env(Field::Single), mode.env(Field::Double));
    assert_eq!((single.round, double.round), (Round::Down, Round::Up));
    assert_eq!((single.keeps_inputs, single.keeps_outputs), (true, false));
    assert_eq!((double.keeps_inputs, double.keeps_outputs), (false, true));
    assert!(single.dx10_clamp && single.ieee && !single.fp16_ovfl);
    assert!(Mode(1 << 23).env(Field::Double).fp16_ovfl);
}

#[test]
fn small_formats_saturate_or_overflow() {
    let narrowed = |to, x: f32| narrow(F32, to, x.to_bits().into(), 0, None, Env::DEFAULT);
    assert_eq!(narrowed(FP8, 448.0), 0x7e);
    // Half way to 480, whose pattern is the NaN, and slightly more.
    assert_eq!(narrowed(FP8, 464.0), 0x7e);
    assert_eq!(narrowed(FP8, 464.1), 0x7f);
    assert_eq!([0.25, 0.75, 2.5, 5.0, 9.0, -0.1].map(|x| narrowed(FP4, x)), [0, 2, 4, 6, 7, 8]);
}

#[test]
fn quotients_and_roots_have_a_digit_for_the_rest() {
    // 1/3 is below the midpoint of its neighbours in f64; towards plus infinity it rounds up.
    let third = Number::new(1, 0).over(&Number::new(3, 0));
    assert_eq!(F64.encode(&third, false, Env::DEFAULT), 0x3fd5_5555_5555_5555);
    assert_eq!(F64.encode(&third, false, in_mode(Round::Up)), 0x3fd5_5555_5555_5556);
    // The root of 2 is below the nearest f64.
    let root = |round| F64.encode(&Number::new(2, 0).root(), false, in_mode(round));
    assert_eq!([root(Round::NearestEven), root(Round::Zero)], [0x3ff6_a09e_667f_3bcd, 0x3ff6_a09e_667f_3bcc]);
    assert_eq!(F64.encode(&Number::new(9, -2).root(), false, in_mode(Round::Up)), 1.5f64.to_bits());
    assert_eq!(rsq(F32, 0x4080_0000, Env::DEFAULT), 0x3f00_0000);
}

/// splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[test]
fn the_host_agrees() {
    let mut state = 1;
    let same = |what: &str, found: u64, host: u64, nan: bool| {
        assert!(nan || found == host, "{what}: {found:#x} instead of {host:#x}");
    };
    for _ in 0..20_000 {
        // Numbers of similar size, otherwise sums are trivial.
        let mut one = || {
            let bits = next(&mut state);
            f64::from_bits(if bits & 3 == 0 { bits } else { bits & 0x801f_ffff_ffff_ffff | 0x3fe0 << 48 })
        };
        let (a, b, c) = (one(), one(), one());
        let bits = [a, b, c].map(f64::to_bits);
        let two = [bits[0], bits[1]];
        let check = |what, found, host: f64| same(what, found, host.to_bits(), host.is_nan());
        check("f64 sum", add(F64, two, Env::DEFAULT), a + b);
        check("f64 product", mul(F64, two, Env::DEFAULT), a * b);
        check("f64 multiply-add", fma(F64, bits, Env::DEFAULT), a.mul_add(b, c));
        check("f64 quotient", div(F64, two, Env::DEFAULT), a / b);
        check("f64 root", sqrt(F64, bits[0], Env::DEFAULT), a.sqrt());
        let narrow = float_to_float(F64, F32, bits[0], Env::DEFAULT);
        same("f32 of an f64", narrow, (a as f32).to_bits().into(), a.is_nan());
        let (a, b) = (a as f32, b as f32);
        let two = [a, b].map(|x| u64::from(x.to_bits()));
        let check = |what, found, host: f32| same(what, found, host.to_bits().into(), host.is_nan());
        check("f32 sum", add(F32, two, Env::DEFAULT), a + b);
        check("f32 quotient", div(F32, two, Env::DEFAULT), a / b);
        check("f32 root", sqrt(F32, two[0], Env::DEFAULT), a.sqrt());
    }
}
