//! Predictions against what was measured afterwards, and against simulated sweeps.

use crate::scaling::{
    Average, Copies, ErrorSource, Point, Prediction, ReplicaCost, ScalingModel, Sweep, SweepError,
    Weighting, fit,
};

/// Nodes and rows/s of the 1M-rows article.
const INGEST: [(f64, f64); 5] = [
    (1.0, 293_147.0),
    (2.0, 493_723.0),
    (3.0, 676_781.0),
    (4.0, 856_460.0),
    (5.0, 1_043_659.0),
];
/// Nodes and queries/s of the query-scaling article.
const QUERIES: [(f64, f64); 4] = [
    (3.0, 9.0698),
    (6.0, 17.0139),
    (12.0, 29.8725),
    (24.0, 52.0404),
];

fn sweep(pairs: &[(f64, f64)]) -> Sweep {
    let point = |&(size, per_s): &(f64, f64)| Point { size, per_s };
    Sweep::new(&pairs.iter().map(point).collect::<Vec<_>>(), None).unwrap()
}

fn predict(known: &[(f64, f64)], size: f64) -> Prediction {
    Average::new(&sweep(known)).forecast(size).prediction()
}

#[track_caller]
fn holds(known: &[(f64, f64)], (size, truth): (f64, f64), widest: f64) {
    let prediction = predict(known, size);
    let shown = format!(
        "{size}: {prediction:?} for {truth}, half-width {:.4}",
        prediction.half_width()
    );
    println!("{shown}");
    assert!(
        prediction.low <= truth && truth <= prediction.high,
        "{shown}"
    );
    assert!(prediction.half_width() <= widest, "{shown}");
}

#[test]
fn three_nodes_predict_five() {
    holds(&INGEST[..3], INGEST[4], 0.10);
}

#[test]
fn twelve_nodes_predict_twenty_four() {
    holds(&QUERIES[..3], QUERIES[3], 0.15);
}

/// From known sizes and rates to a prediction at a size.
type Predictor<'a> = dyn Fn(&[(f64, f64)], f64) -> Prediction + 'a;

/// What a single fit says of itself: its curve, and as its error that of its residuals.
fn alone(model: ScalingModel, known: &[(f64, f64)], size: f64) -> Prediction {
    let points: Vec<Point> = sweep(known)
        .sizes()
        .iter()
        .map(|size| Point {
            size: size.size,
            per_s: size.per_s,
        })
        .collect();
    let fit = fit(model, &points, Weighting::Relative).unwrap();
    let expected = fit.curve.per_s(size);
    // Without a spare point a fit has no error of its own; then it is given that of a measurement.
    let error = 1.644_85 * fit.residual_error().unwrap_or(0.03);
    Prediction {
        expected,
        low: expected * (1.0 - error),
        high: expected * (1.0 + error),
    }
}

#[test]
fn the_average_scores_better_than_each_single_fit() {
    let held_out = [(&INGEST[..3], INGEST[4]), (&QUERIES[..3], QUERIES[3])];
    let score = |predict: &Predictor<'_>| -> f64 {
        let scores = held_out.iter();
        scores
            .map(|(known, (size, truth))| predict(known, *size).score(*truth) / truth)
            .sum()
    };
    let average = score(&|known, size| predict(known, size));
    println!("average: {average:.3}");
    for model in ScalingModel::ALL {
        let single = score(&|known, size| alone(model, known, size));
        println!("{} alone: {single:.3}", model.name());
        assert!(
            average < single,
            "{model:?} alone: {single}, average: {average}"
        );
    }
}

#[test]
fn single_fits_miss_by_more_than_their_points_let_expect() {
    let miss = |model: ScalingModel, known: &[(f64, f64)], (size, truth): (f64, f64)| {
        (alone(model, known, size).expected / truth - 1.0) * 100.0
    };
    let ingest = ScalingModel::ALL.map(|model| miss(model, &INGEST[..3], INGEST[4]).round());
    let queries = ScalingModel::ALL.map(|model| miss(model, &QUERIES[..3], QUERIES[3]).round());
    println!("{ingest:?} {queries:?}");
    let span = |misses: &[f64]| {
        let least = misses.iter().copied().fold(f64::INFINITY, f64::min);
        let most = misses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (least, most)
    };
    assert_eq!(span(&ingest), (-13.0, 19.0));
    assert_eq!(span(&queries), (-11.0, 27.0));
}

#[test]
fn replicates_say_how_well_a_size_is_known() {
    // Two sizes measured twice, 20 % apart each: a deviation of 0.2/√2 in the logarithm.
    let e = 0.1_f64;
    let pairs = [
        (1.0, 100.0 * (-e).exp()),
        (1.0, 100.0 * e.exp()),
        (2.0, 190.0 * (-e).exp()),
        (2.0, 190.0 * e.exp()),
        (4.0, 350.0),
    ];
    let sweep = sweep(&pairs);
    let deviation = 0.2 / 2f64.sqrt();
    assert_eq!(sweep.error_source(), ErrorSource::Replicates);
    assert!((sweep.error() - deviation).abs() < 1e-12);
    let sizes = sweep.sizes();
    assert!((sizes[0].per_s - 100.0).abs() < 1e-9);
    assert_eq!(sizes[0].measured, 2);
    assert!((sizes[0].error - deviation / 2f64.sqrt()).abs() < 1e-12);
    assert!((sizes[2].error - deviation).abs() < 1e-12);
}

#[test]
fn no_error_is_believed_below_the_floor() {
    let points = [
        Point {
            size: 1.0,
            per_s: 10.0,
        },
        Point {
            size: 2.0,
            per_s: 19.0,
        },
    ];
    let error = |stated| {
        let sweep = Sweep::new(&points, stated).unwrap();
        (sweep.error(), sweep.error_source())
    };
    assert_eq!(error(None), (0.03, ErrorSource::Floor));
    assert_eq!(error(Some(0.001)), (0.03, ErrorSource::Stated));
    assert_eq!(error(Some(0.08)), (0.08, ErrorSource::Stated));
}

#[test]
fn what_no_cluster_can_have_is_no_sweep() {
    let one = |size, per_s| Sweep::new(&[Point { size, per_s }], None).err();
    assert_eq!(Sweep::new(&[], None).err(), Some(SweepError::Empty));
    for (size, per_s) in [
        (0.0, 1.0),
        (1.0, 0.0),
        (1.0, f64::NAN),
        (f64::INFINITY, 1.0),
    ] {
        assert!(matches!(
            one(size, per_s),
            Some(SweepError::Impossible { .. })
        ));
    }
    assert_eq!(one(1.0, 1.0), None);
}

#[test]
fn crosstalk_is_identifiable_from_a_long_range_and_not_from_a_short_one() {
    let identified = |known: &[(f64, f64)]| Average::new(&sweep(known)).identifiability().unwrap();
    let short = identified(&INGEST);
    assert_eq!((short.crosstalk.low, short.peak_size.high), (0.0, None));
    assert!(
        short.sentences[1].contains("cannot be identified from this range"),
        "{short:?}"
    );
    let usl = |n: f64| {
        (
            n,
            1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.004 * n * (n - 1.0)),
        )
    };
    let long = identified(&[1.0, 4.0, 8.0, 16.0, 24.0, 32.0].map(usl));
    let (crosstalk, peak) = (long.crosstalk, long.peak_size);
    assert!(
        crosstalk.low < 0.004 && 0.004 < crosstalk.high.unwrap(),
        "{long:?}"
    );
    // √(0.95/0.004)
    assert!(peak.low < 15.41 && 15.41 < peak.high.unwrap(), "{long:?}");
}

#[test]
fn points_that_no_law_follows_widen_the_error() {
    let smooth = Average::new(&sweep(&INGEST));
    assert!(smooth.widened <= 1.0, "{}", smooth.widened);
    let jumps = [
        (1.0, 100.0),
        (2.0, 100.0),
        (3.0, 300.0),
        (4.0, 200.0),
        (5.0, 480.0),
    ];
    let jumping = Average::new(&sweep(&jumps));
    assert!(jumping.widened > 5.0, "{}", jumping.widened);
    assert!(jumping.error() > 0.15);
}

#[test]
fn a_sweep_that_surprised_before_is_trusted_less() {
    // Nearly linear up to 4, then half of what that promised.
    let surprising = [
        (1.0, 100.0),
        (2.0, 198.0),
        (3.0, 296.0),
        (4.0, 392.0),
        (8.0, 400.0),
    ];
    let average = Average::new(&sweep(&surprising));
    assert!(average.surprise > 2.0, "{}", average.surprise);
    assert!(Average::new(&sweep(&INGEST)).surprise < 1.1);
}

#[test]
fn another_cluster_grows_alike_from_its_own_scale() {
    let published = Average::new(&sweep(&INGEST));
    let own = sweep(&[(2.0, 49_372.3)]);
    let anchored = published.anchored(&own);
    for size in [1.0, 2.0, 4.0, 8.0] {
        let (theirs, ours) = (published.forecast(size), anchored.forecast(size));
        let ratio = theirs.prediction().expected / ours.prediction().expected;
        assert!((ratio / 10.0 - 1.0).abs() < 0.04, "{size}: {ratio}");
        assert!(ours.prediction().half_width() > theirs.prediction().half_width());
    }
}

#[test]
fn copies_cost_what_pairs_of_clusters_show() {
    // c = 0.5: one copy takes a third of the throughput.
    let copies = |size, replicas, per_s| Copies {
        size,
        replicas,
        per_s,
    };
    let points = [
        copies(3.0, 0.0, 300.0),
        copies(3.0, 1.0, 200.0),
        copies(3.0, 2.0, 150.0),
        copies(4.0, 0.0, 900.0),
    ];
    let cost = ReplicaCost::measured(&points, 0.03).unwrap();
    assert!((cost.cost - 0.5).abs() < 1e-9, "{cost:?}");
    assert!(cost.error > 0.03 && cost.error < 0.1, "{cost:?}");
    let (factor, error) = cost.factor(0.0, 1.0);
    assert!((factor - 2.0 / 3.0).abs() < 1e-9);
    assert!(error > 0.0);
    assert_eq!(ReplicaCost::measured(&points[2..], 0.03), None);
}

#[test]
fn needs_that_share_a_cluster_add_their_parts() {
    use crate::scaling::Forecast;
    let average = Average::new(&sweep(&INGEST));
    let forecast = average.forecast(4.0);
    let expected = forecast.prediction().expected;
    let half = Forecast::used(&[(expected / 2.0, forecast), (expected / 4.0, forecast)]).unwrap();
    assert!((half.prediction().expected - 0.75).abs() < 1e-9);
    // Two independent errors together are smaller than one of them over the whole.
    let one = Forecast::used(&[(0.75 * expected, forecast)]).unwrap();
    assert!(half.prediction().half_width() < one.prediction().half_width());
    assert!(Forecast::used(&[]).is_none());
}
