//! Steps of optimisers.

use wavemill::Arg;
use wavemill_oracle::Failed;

use crate::compare::{Tolerance, close};
use crate::gpu::{Gpu, grid};
use crate::random::Random;

/// Parameters of the optimisers.
struct Hyper {
    beta1: f32,
    beta2: f32,
    beta3: f32,
    alpha: f32,
    eps: f32,
    decay: f32,
    step: i32,
    rate: f32,
    scale: f32,
}

/// A number's gradient, parameter and states, before or after a step.
#[derive(Clone, Copy)]
struct Number {
    g: f64,
    p: f64,
    s: [f64; 3],
}

impl Hyper {
    const USUAL: Hyper = Hyper {
        beta1: 0.9,
        beta2: 0.999,
        beta3: 0.9999,
        alpha: 5.0,
        eps: 1e-8,
        decay: 0.01,
        step: 3,
        rate: 1e-3,
        scale: 0.5,
    };

    /// One step of an optimiser, numbered as in the kernels' template argument.
    fn advance(&self, optimiser: u32, before: Number) -> Number {
        let [beta1, beta2, beta3, alpha, eps, decay, rate, scale] =
            [self.beta1, self.beta2, self.beta3, self.alpha, self.eps, self.decay, self.rate, self.scale]
                .map(f64::from);
        let (mut g, mut p, mut s) = (before.g * scale, before.p, before.s);
        let keep = 1.0 - rate * decay;
        let corrections = [beta1, beta2].map(|beta| 1.0 - beta.powi(self.step));
        match optimiser {
            // Adam (Kingma and Ba 2015), with decoupled decay.
            0 => {
                s[0] = beta1 * s[0] + (1.0 - beta1) * g;
                s[1] = beta2 * s[1] + (1.0 - beta2) * g * g;
                p -= rate * (s[0] / corrections[0]) / ((s[1] / corrections[1]).sqrt() + eps);
                p *= keep;
            }
            // Momentum, RMSprop, Adagrad: decay is a part of the gradient.
            1 => {
                g += p * decay;
                s[0] = beta1 * s[0] + g;
                p -= rate * s[0];
            }
            2 => {
                g += p * decay;
                s[0] = beta1 * s[0] + (1.0 - beta1) * g * g;
                p -= rate * g / (s[0].sqrt() + eps);
            }
            4 => {
                g += p * decay;
                s[0] += g * g;
                p -= rate * g / (s[0].sqrt() + eps);
            }
            // Lion (Chen et al. 2023).
            5 => {
                p = p * keep - rate * (beta1 * s[0] + (1.0 - beta1) * g).signum();
                s[0] = beta2 * s[0] + (1.0 - beta2) * g;
            }
            // AdEMAMix (Pagliardini, Ablin, Grangier 2024): a second, slow average.
            _ => {
                s[0] = beta1 * s[0] + (1.0 - beta1) * g;
                s[2] = beta3 * s[2] + (1.0 - beta3) * g;
                s[1] = beta2 * s[1] + (1.0 - beta2) * g * g;
                p -= rate * (s[0] / corrections[0] + alpha * s[2]) / ((s[1] / corrections[1]).sqrt() + eps);
                p *= keep;
            }
        }
        Number { g, p, s }
    }
}

pub(crate) fn steps(gpu: &Gpu) -> Result<(), Failed> {
    let hyper = Hyper::USUAL;
    let count = 4096usize + 771;
    for optimiser in [0, 1, 2, 4, 5, 6] {
        let mut random = Random::new(u64::from(optimiser));
        let numbers: Vec<Number> = (0..count)
            .map(|_| {
                let mut next = || f64::from(random.float());
                Number { g: next(), p: next(), s: [next(), next().abs(), next()] }
            })
            .map(|n| match optimiser {
                2 | 4 => Number { s: [n.s[0].abs(), 0.0, 0.0], ..n },
                _ => n,
            })
            .collect();
        let floats = |part: fn(&Number) -> f64| numbers.iter().map(|n| part(n) as f32).collect::<Vec<_>>();
        let [gradient, parameter] = [gpu.with("g", &floats(|n| n.g))?, gpu.with("p", &floats(|n| n.p))?];
        // AdEMAMix stores its second average after the first one.
        let first = if optimiser == 6 {
            [floats(|n| n.s[0]), floats(|n| n.s[2])].concat()
        } else {
            floats(|n| n.s[0])
        };
        let [state1, state2] = [gpu.with("state1", &first)?, gpu.with("state2", &floats(|n| n.s[1]))?];
        let norm = gpu.with("unorm", &[0f32])?;
        let two = matches!(optimiser, 0 | 6);
        let mut args: Vec<Arg> = vec![(&gradient).into(), (&parameter).into(), (&state1).into()];
        if two {
            args.push((&state2).into());
        }
        // The update is not limited.
        args.extend([(&norm).into(), 0f32.into(), 1f32.into(), hyper.beta1.into(), hyper.beta2.into()]);
        if two {
            args.extend([hyper.beta3.into(), hyper.alpha.into()]);
        }
        args.extend([
            hyper.eps.into(),
            hyper.decay.into(),
            hyper.step.into(),
            hyper.rate.into(),
            hyper.scale.into(),
        ]);
        args.extend([0u8.into(), (count as i32).into()]);
        let kernel = format!("void kOptimizer32bit{}State<float, {optimiser}>", if two { 2 } else { 1 });
        gpu.launch(&kernel, grid(count.div_ceil(4096), 1024), &args)?;
        let after: Vec<Number> = numbers.iter().map(|n| hyper.advance(optimiser, *n)).collect();
        let expected = |part: fn(&Number) -> f64| after.iter().map(part).collect::<Vec<f64>>();
        let tolerance = Tolerance { relative: 2e-6, absolute: 2e-7 };
        close(&format!("{kernel}: p"), &parameter.to_vec::<f32>()?, &expected(|n| n.p), tolerance)?;
        let found = state1.to_vec::<f32>()?;
        close(&format!("{kernel}: state1"), &found[..count], &expected(|n| n.s[0]), tolerance)?;
        if two {
            close(&format!("{kernel}: state2"), &state2.to_vec::<f32>()?, &expected(|n| n.s[1]), tolerance)?;
        }
        if optimiser == 6 {
            close(&format!("{kernel}: state3"), &found[count..], &expected(|n| n.s[2]), tolerance)?;
        }
    }
    Ok(())
}
