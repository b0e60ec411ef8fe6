//! How often intervals contain the next measurement, on simulated sweeps of every model.
//!
//! Each sweep has a true curve sampled from one model, and measurements around it with 3% noise.
//! The curves cover the range of published sweeps: the efficiency left at the largest measured size
//! lies between 0.7 and 1 (0.71 to 0.94 in the articles' ingest and query series, whatever their
//! range), and κ/σ between 0.001 and 0.1 (0.004 to 0.07 in the measured sets of the tests of fits).
//! Real clusters bend where these models do not, and intervals allow for that; so only a minimum
//! coverage is tested here; the level itself is tested on published series.

use crate::scaling::{Average, Curve, Point, ScalingModel, Sweep};
use highwater_analysis::synthetic::Noise;

const NOISE: f64 = 0.03;

/// Sizes that are measured, and the one that is predicted.
struct Design {
    known: &'static [f64],
    predicted_size: f64,
    seed: u64,
}

const DESIGNS: [Design; 4] = [
    Design { known: &[1.0, 2.0, 3.0], predicted_size: 5.0, seed: 10_000_000 },
    Design { known: &[3.0, 6.0, 12.0], predicted_size: 24.0, seed: 20_000_000 },
    Design { known: &[1.0, 2.0, 3.0, 4.0, 5.0], predicted_size: 8.0, seed: 30_000_000 },
    Design { known: &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0], predicted_size: 16.0, seed: 40_000_000 },
];

/// A true curve with a sampled efficiency at the largest size, relative to the smallest.
fn truth(model: ScalingModel, design: &Design, noise: &mut Noise) -> Curve {
    let (smallest, largest) = (design.known[0], design.known[design.known.len() - 1]);
    let efficiency = 0.7 + 0.3 * noise.uniform();
    let growth = efficiency * largest / smallest;
    match model {
        ScalingModel::Linear => Curve::Linear { per_node: 1e5 },
        ScalingModel::Affine => Curve::Affine {
            fixed: 1e5 * (largest - growth * smallest).max(0.0) / (growth - 1.0),
            per_node: 1e5,
        },
        ScalingModel::Power => {
            Curve::Power { first: 1e5, exponent: growth.ln() / (largest / smallest).ln() }
        }
        ScalingModel::Amdahl | ScalingModel::Usl => {
            let ratio = match model {
                ScalingModel::Usl => 10f64.powf(-3.0 + 2.0 * noise.uniform()),
                _ => 0.0,
            };
            let loss = |n: f64| (1.0 + ratio * n) * (n - 1.0);
            let contention = (1.0 - efficiency) / (efficiency * loss(largest) - loss(smallest));
            Curve::Usl {
                first: 1e5,
                contention: contention.clamp(0.0, 1.0),
                crosstalk: ratio * contention.clamp(0.0, 1.0),
            }
        }
    }
}

/// Fraction of this many sweeps whose interval contained the next measurement.
fn coverage(model: ScalingModel, design: &Design, sweeps: u32) -> f64 {
    let mut held = 0;
    for sweep in 0..sweeps {
        let mut noise =
            Noise::new(design.seed + u64::from(model as u8) * 1_000_000 + u64::from(sweep));
        let curve = truth(model, design, &mut noise);
        let mut measure = |size: f64| curve.per_s(size) * (NOISE * noise.normal()).exp();
        let point = |&size: &f64| Point { size, per_s: measure(size) };
        let points: Vec<Point> = design.known.iter().map(point).collect();
        let measured = measure(design.predicted_size);
        let average = Average::new(&Sweep::new(&points, None).unwrap());
        let forecast = average.forecast(design.predicted_size);
        held += u32::from(forecast.prediction().holds(measured));
    }
    f64::from(held) / f64::from(sweeps)
}

/// At least 85% for each model, minus three standard errors of a fraction from this number of
/// sweeps.
fn check(sweeps: u32) {
    let error = 3.0 * (0.85 * 0.15 / f64::from(4 * sweeps)).sqrt();
    for model in ScalingModel::ALL {
        let of_designs: Vec<f64> =
            DESIGNS.iter().map(|design| coverage(model, design, sweeps)).collect();
        let mean = of_designs.iter().sum::<f64>() / 4.0;
        println!("{:<8} {mean:.3}, by design {of_designs:.3?}", model.name());
        assert!(mean >= 0.85 - error, "{model:?}: {mean}");
    }
}

#[test]
fn intervals_hold_the_next_measurement_of_every_model() {
    check(20);
}

#[test]
#[ignore = "2,500 sweeps; run by `cargo xtask long`"]
fn long_intervals_hold_the_next_measurement_on_500_sweeps_of_each_model() {
    check(125);
}
