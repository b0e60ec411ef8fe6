//! How often intervals hold the truth, on simulated sweeps of every model.
//!
//! Each sweep has a truth drawn from one model and measurements around it with 3 % noise. Truths
//! spread over what published sweeps show: the efficiency left at the largest measured size lies
//! between 0.7 and 1 (0.71 to 0.94 in the articles' ingest and query series, whatever their range),
//! and κ/σ between 0.001 and 0.1 (0.004 to 0.07 in the measured sets of the tests of fits).

use crate::scaling::{Average, Curve, Point, Prediction, ScalingModel, Sweep};
use highwater_analysis::synthetic::Noise;

const NOISE: f64 = 0.03;

/// Sizes that are measured, and the one that is predicted.
struct Design {
    known: &'static [f64],
    predicted_size: f64,
    seed: u64,
}

const DESIGNS: [Design; 4] = [
    Design {
        known: &[1.0, 2.0, 3.0],
        predicted_size: 5.0,
        seed: 10_000_000,
    },
    Design {
        known: &[3.0, 6.0, 12.0],
        predicted_size: 24.0,
        seed: 20_000_000,
    },
    Design {
        known: &[1.0, 2.0, 3.0, 4.0, 5.0],
        predicted_size: 8.0,
        seed: 30_000_000,
    },
    Design {
        known: &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
        predicted_size: 16.0,
        seed: 40_000_000,
    },
];

/// A truth whose efficiency at the largest size, relative to the smallest, is drawn.
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
        ScalingModel::Power => Curve::Power {
            first: 1e5,
            exponent: growth.ln() / (largest / smallest).ln(),
        },
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

/// What became of the sweeps of one model.
#[derive(Default)]
struct Tally {
    sweeps: u32,
    held: u32,
    held_new: u32,
    half_widths: Vec<f64>,
    score: f64,
    scores_alone: [f64; 5],
}

impl Tally {
    fn add(&mut self, prediction: Prediction, truth: f64, measured: f64) {
        let holds = |value: f64| prediction.low <= value && value <= prediction.high;
        self.sweeps += 1;
        self.held += u32::from(holds(truth));
        self.held_new += u32::from(holds(measured));
        self.half_widths.push(prediction.half_width());
        self.score += prediction.score(measured) / truth;
    }

    fn merge(&mut self, other: &Self) {
        self.sweeps += other.sweeps;
        self.held += other.held;
        self.held_new += other.held_new;
        self.half_widths.extend(&other.half_widths);
        self.score += other.score;
        for (sum, score) in self.scores_alone.iter_mut().zip(other.scores_alone) {
            *sum += score;
        }
    }

    fn coverage(&self) -> f64 {
        f64::from(self.held) / f64::from(self.sweeps)
    }

    fn median_half_width(&self) -> f64 {
        let mut widths = self.half_widths.clone();
        widths.sort_by(f64::total_cmp);
        widths[widths.len() / 2]
    }

    fn line(&self, name: &str) -> String {
        format!(
            "{name:<24} held {:.1} % (new measurement {:.1} %), median half-width {:.1} %, score \
             {:.3}",
            100.0 * self.coverage(),
            100.0 * f64::from(self.held_new) / f64::from(self.sweeps),
            100.0 * self.median_half_width(),
            self.score / f64::from(self.sweeps),
        )
    }
}

fn simulate(model: ScalingModel, design: &Design, sweeps: u32) -> Tally {
    let mut tally = Tally::default();
    for sweep in 0..sweeps {
        let mut noise =
            Noise::new(design.seed + u64::from(model as u8) * 1_000_000 + u64::from(sweep));
        let curve = truth(model, design, &mut noise);
        let mut measure = |size: f64| curve.per_s(size) * (NOISE * noise.normal()).exp();
        let point = |&size: &f64| Point {
            size,
            per_s: measure(size),
        };
        let points: Vec<Point> = design.known.iter().map(point).collect();
        let measured = measure(design.predicted_size);
        let average = Average::new(&Sweep::new(&points, None).unwrap());
        let truth = curve.per_s(design.predicted_size);
        tally.add(
            average.forecast(design.predicted_size).prediction(),
            truth,
            measured,
        );
        for (i, model) in ScalingModel::ALL.into_iter().enumerate() {
            let alone = average.forecast_by(model, design.predicted_size).unwrap();
            tally.scores_alone[i] += alone.prediction().score(measured) / truth;
        }
    }
    tally
}

/// Simulates so many sweeps of each model, spread over the designs, and checks what is promised:
/// at least 80 % held for each model, 85 to 97 % for all together, and a better score than that of
/// every model alone. Three standard errors of a share from so few sweeps are allowed beside it.
fn check(sweeps_per_law: u32) {
    let error = |share: f64, sweeps: u32| 3.0 * (share * (1.0 - share) / f64::from(sweeps)).sqrt();
    let allowed = |share: f64, sweeps: u32| {
        let few = sweeps < 5 * PROMISED;
        if few { error(share, sweeps) } else { 0.0 }
    };
    let mut pooled = Tally::default();
    let mut of_designs: Vec<Tally> = DESIGNS.iter().map(|_| Tally::default()).collect();
    for model in ScalingModel::ALL {
        let mut of_law = Tally::default();
        for (design, of_design) in DESIGNS.iter().zip(&mut of_designs) {
            let tally = simulate(model, design, sweeps_per_law / 4);
            of_law.merge(&tally);
            of_design.merge(&tally);
        }
        let line = of_law.line(model.name());
        println!("{line}");
        let least = if of_law.sweeps < PROMISED {
            error(0.8, of_law.sweeps)
        } else {
            0.0
        };
        assert!(of_law.coverage() >= 0.80 - least, "{line}");
        pooled.merge(&of_law);
    }
    for (design, tally) in DESIGNS.iter().zip(&of_designs) {
        let name = format!("{:?} for {}", design.known, design.predicted_size);
        println!("{}", tally.line(&name));
    }
    let line = pooled.line("all");
    println!("{line}");
    let coverage = pooled.coverage();
    assert!(coverage >= 0.85 - allowed(0.85, pooled.sweeps), "{line}");
    assert!(coverage <= 0.97 + allowed(0.97, pooled.sweeps), "{line}");
    for (model, score) in ScalingModel::ALL.into_iter().zip(pooled.scores_alone) {
        let alone = score / f64::from(pooled.sweeps);
        println!("{} alone: score {alone:.3}", model.name());
        assert!(
            pooled.score < score,
            "{} alone scores {alone:.3}",
            model.name()
        );
    }
}

/// Sweeps of each model for which the promise is made without allowance.
const PROMISED: u32 = 500;

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    check(100);
}

#[test]
#[ignore = "2,500 sweeps; run by `cargo xtask long`"]
fn long_intervals_hold_the_truth_on_500_sweeps_of_each_law() {
    check(PROMISED);
}
