//! Option prices, near the exact value of the same formula.

use crate::bounded::Bounded;
use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(66 * 128 - 19, 1 << 21);
    let mut random = Random::new(30);
    let price = random.many(n, |r| r.f32(5.0, 30.0));
    let strike = random.many(n, |r| r.f32(1.0, 100.0));
    let years = random.many(n, |r| r.f32(0.25, 10.0));
    Case::new("black_scholes", "black_scholes", reference)
        .cover(n as u32, 128)
        .buffer("price", &price)
        .buffer("strike", &strike)
        .buffer("years", &years)
        .buffer("call", &vec![-1f32; n])
        .buffer("put", &vec![-1f32; n])
        .f32("rate", 0.02)
        .f32("volatility", 0.3)
        .u32("n", n as u32)
}

fn reference(case: &Case) -> Vec<Expect> {
    let [price, strike, years] = ["price", "strike", "years"].map(|name| case.input::<f32>(name));
    let [rate, volatility] = ["rate", "volatility"].map(|name| case.get_f32(name));
    let (call, put) = price
        .iter()
        .zip(strike.iter().zip(&years))
        .map(|(&price, (&strike, &years))| {
            let [call, put] = prices([price, strike, years, rate, volatility].map(Bounded::of));
            (call.near(), put.near())
        })
        .unzip();
    let inputs = [Expect::Unchanged, Expect::Unchanged, Expect::Unchanged];
    inputs.into_iter().chain([Expect::Near(call), Expect::Near(put)]).collect()
}

/// The call's and the put's price by the operations of the kernel.
///
/// A compiler may divide by the spread in two steps, with V_RSQ_F32 for the years and V_RCP_F32 for
/// the volatility: 2u each, and u for each of two multiplications. This equals the error of
/// V_SQRT_F32, a multiplication, V_RCP_F32 and a multiplication.
fn prices([price, strike, years, rate, volatility]: [Bounded; 5]) -> [Bounded; 2] {
    let one = Bounded::of(1.0);
    let spread = volatility * years.native_sqrt();
    let drift = (rate + Bounded::of(0.5) * volatility * volatility) * years;
    let d1 = (price.native_divide(strike).native_log() + drift).native_divide(spread);
    let d2 = d1 - spread;
    let [in1, in2] = [d1, d2].map(below);
    let discounted = strike * (-rate * years).native_exp();
    [price * in1 - discounted * in2, discounted * (one - in2) - price * (one - in1)]
}

/// The share of a normal distribution below d, by the kernel's polynomial.
fn below(d: Bounded) -> Bounded {
    // The kernel's constants are single precision numbers.
    let constant = |x: f64| Bounded::of(x as f32);
    let k = (constant(1.0) + constant(0.231_641_9) * d.abs()).reciprocal();
    let series = [-1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53]
        .into_iter()
        .fold(constant(1.330_274_429), |series, next| series * k + constant(next));
    let tail = constant(0.398_942_280) * (constant(-0.5) * d * d).native_exp() * (series * k);
    let rest = constant(1.0) - tail;
    let (here, there) = if d.exact > 0.0 { (rest, tail) } else { (tail, rest) };
    // Rounding may move d to the other side of 0, where the polynomial is not exactly a half.
    let step = if d.exact.abs() <= d.error { (here.exact - there.exact).abs() } else { 0.0 };
    Bounded { error: here.error.max(there.error) + step, ..here }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_normal_distribution() {
        // The polynomial is within 7.5e-8 (Abramowitz and Stegun, 26.2.17).
        for (d, share) in [(0.0, 0.5), (1.0, 0.841_344_746_1), (-1.959_964, 0.025), (3.0, 0.998_650_102)] {
            let below = below(Bounded::of(d));
            assert!((below.exact - share).abs() < 1e-7 && below.error < 1e-6, "{d}: {below:?}");
        }
    }

    #[test]
    fn a_published_price_and_parity() {
        // Hull, Options, Futures and Other Derivatives: stock 42, strike 40, half a year, 10 % interest, 20 % volatility:
        // call 4.76, put 0.81.
        let option = [42.0, 40.0, 0.5, 0.1, 0.2].map(Bounded::of);
        let [call, put] = prices(option);
        assert!((call.exact - 4.76).abs() < 5e-3 && (put.exact - 0.81).abs() < 5e-3);
        assert!(call.error < 1e-4 && put.error < 1e-4);
        // Call minus put is the price minus the discounted strike.
        let [price, strike, years, rate, _] = option.map(|x| x.exact);
        assert!((call.exact - put.exact - (price - strike * (-rate * years).exp())).abs() < 1e-12);
    }
}
