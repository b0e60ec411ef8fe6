//! Predictions of known sweeps, and properties that hold for any sweep.

use proptest::prelude::*;

use crate::scaling::{
    Average, Copies, ErrorSource, Forecast, Placement, Point, PooledGrowth, Prediction,
    ScalingModel, Sweep, SweepError, Weighting, assumed_replica_cost, fit, measured_replica_cost,
    replicas_leave,
};

/// Nodes and rows/s of the 1M-rows article.
const INGEST: [(f64, f64); 5] =
    [(1.0, 293_147.0), (2.0, 493_723.0), (3.0, 676_781.0), (4.0, 856_460.0), (5.0, 1_043_659.0)];
/// Nodes and queries/s of the query-scaling article.
const QUERIES: [(f64, f64); 4] = [(3.0, 9.0698), (6.0, 17.0139), (12.0, 29.8725), (24.0, 52.0404)];

fn sweep(pairs: &[(f64, f64)]) -> Sweep {
    let point = |&(size, per_s): &(f64, f64)| Point { size, per_s };
    Sweep::new(&pairs.iter().map(point).collect::<Vec<_>>(), None).unwrap()
}

fn predict(known: &[(f64, f64)], size: f64) -> Prediction {
    Average::new(&sweep(known)).forecast(size).prediction()
}

/// Known sizes, the predicted one, and its interval as a second program computes it.
#[test]
fn predictions_are_those_of_the_reference() {
    let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 6e-4;
    for (known, size, [expected, low, high]) in [
        (&INGEST[..3], 5.0, [9.746e5, 7.468e5, 1.250e6]),
        (&INGEST[..4], 5.0, [1.010e6, 8.948e5, 1.138e6]),
        (&QUERIES[..3], 24.0, [49.29, 34.63, 68.66]),
    ] {
        let prediction = predict(known, size);
        let is_near = near(prediction.expected, expected)
            && near(prediction.low, low)
            && near(prediction.high, high);
        assert!(is_near, "{size}: {prediction:?}");
    }
}

/// Half-widths at a doubling after near-linear growth, the most common case when nodes are added.
#[test]
fn near_linear_growth_is_predicted_to_a_fifth() {
    for sizes in [&[1.0, 2.0][..], &[1.0, 2.0, 3.0], &[3.0, 6.0, 12.0], &[2.0, 4.0, 6.0, 8.0]] {
        for exponent in [0.9, 0.95, 1.0, 1.05] {
            let power = |n: &f64| (*n, n.powf(exponent));
            let pairs: Vec<(f64, f64)> = sizes.iter().map(power).collect();
            let doubled = 2.0 * sizes[sizes.len() - 1];
            let prediction = predict(&pairs, doubled);
            let half = prediction.half_width();
            assert!(half <= 0.20, "{sizes:?}^{exponent}: {half}");
            assert!(prediction.holds(doubled.powf(exponent)), "{prediction:?}");
        }
    }
}

#[test]
fn a_fall_is_not_taken_to_last() {
    let fell = predict(&[(1.0, 100.0), (2.0, 95.0), (4.0, 70.0)], 8.0);
    assert!(fell.expected < 70.0 && fell.high > 75.0, "{fell:?}");
}

#[test]
fn chances_are_those_of_the_interval() {
    let forecast = Average::new(&sweep(&INGEST)).forecast(8.0);
    let prediction = forecast.prediction();
    for (per_s, probability) in
        [(prediction.low, 0.95), (prediction.expected, 0.5), (prediction.high, 0.05)]
    {
        let off = forecast.chance_of(per_s) - probability;
        assert!(off.abs() < 1e-9, "{per_s}");
    }
}

/// The prediction of a single fit: its curve, with the error of its residuals.
fn alone(model: ScalingModel, known: &[(f64, f64)], size: f64) -> Prediction {
    let points: Vec<Point> = sweep(known)
        .sizes()
        .iter()
        .map(|size| Point { size: size.size, per_s: size.per_s })
        .collect();
    let fit = fit(model, &points, Weighting::Relative).unwrap();
    let expected = fit.curve.per_s(size);
    // Without a degree of freedom, a fit has no error; then the error of a measurement is used.
    let error = 1.644_85 * fit.residual_error().unwrap_or(0.03);
    Prediction { expected, low: expected * (1.0 - error), high: expected * (1.0 + error) }
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
    // Two sizes measured twice, 20% apart each: a deviation of 0.2/√2 in the logarithm.
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
    let points = [Point { size: 1.0, per_s: 10.0 }, Point { size: 2.0, per_s: 19.0 }];
    let error = |stated| {
        let sweep = Sweep::new(&points, stated).unwrap();
        (sweep.error(), sweep.error_source())
    };
    assert_eq!(error(None), (0.03, ErrorSource::Floor));
    assert_eq!(error(Some(0.001)), (0.03, ErrorSource::Stated));
    assert_eq!(error(Some(0.08)), (0.08, ErrorSource::Stated));
}

#[test]
fn impossible_clusters_are_no_sweep() {
    let one = |size, per_s| Sweep::new(&[Point { size, per_s }], None).err();
    assert_eq!(Sweep::new(&[], None).err(), Some(SweepError::Empty));
    for (size, per_s) in [(0.0, 1.0), (1.0, 0.0), (1.0, f64::NAN), (f64::INFINITY, 1.0)] {
        assert!(matches!(one(size, per_s), Some(SweepError::Impossible { .. })));
    }
    assert_eq!(one(1.0, 1.0), None);
}

#[test]
fn crosstalk_is_identifiable_from_a_long_range_and_not_from_a_short_one() {
    let identified = |known: &[(f64, f64)]| Average::new(&sweep(known)).identifiability().unwrap();
    let short = identified(&INGEST);
    assert_eq!((short.crosstalk.low, short.peak_size.high), (0.0, None));
    let said = &short.sentences[1];
    assert!(said.contains("cannot be identified from this range"));
    let usl = |n: f64| (n, 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.004 * n * (n - 1.0)));
    let long = identified(&[1.0, 4.0, 8.0, 16.0, 24.0, 32.0].map(usl));
    let (crosstalk, peak) = (long.crosstalk, long.peak_size);
    assert!(crosstalk.low < 0.004, "{long:?}");
    assert!(0.004 < crosstalk.high.unwrap(), "{long:?}");
    // √(0.95/0.004)
    assert!(peak.low < 15.41 && 15.41 < peak.high.unwrap(), "{long:?}");
}

#[test]
fn points_that_no_law_follows_widen_the_error() {
    let smooth = Average::new(&sweep(&INGEST));
    assert!(smooth.widened <= 1.0, "{}", smooth.widened);
    let jumps = [(1.0, 100.0), (2.0, 100.0), (3.0, 300.0), (4.0, 200.0), (5.0, 480.0)];
    let jumping = Average::new(&sweep(&jumps));
    assert!(jumping.widened > 5.0, "{}", jumping.widened);
    assert!(jumping.error > 0.15);
}

#[test]
fn assumed_growth_is_the_median_of_published_clusters_with_their_spread() {
    let pooled = PooledGrowth::new(&sweep(&[(2.0, 100.0), (4.0, 160.0)]), Placement::Divided);
    let at = |size: f64| pooled.forecast(size).prediction();
    let near = |value: f64, expected: f64| {
        let off = (value / expected - 1.0).abs();
        assert!(off < 5e-3, "{value} is not {expected}");
    };
    // A doubling: 2^0.8, and 26% below it to 24% above.
    near(at(8.0).expected, 160.0 * 1.741);
    near(at(8.0).low, 160.0 * 1.741 * 0.743);
    near(at(8.0).high, 160.0 * 1.741 * 1.242);
    // Half of the smallest size: the same spread the other way round.
    near(at(1.0).expected, 100.0 / 1.741);
    near(at(1.0).high, 100.0 / 1.741 / 0.743);
    // Measured sizes, and a line in the logarithms between them.
    near(at(2.0).expected, 100.0);
    near(at(4.0).expected, 160.0);
    near(at(8f64.sqrt()).expected, 16_000f64.sqrt());
}

/// A doubling of nodes that each hold all rows: 2^0.45, and anything from a loss to twice as much.
#[test]
fn assumed_growth_where_every_node_holds_all_rows_is_less_and_less_certain() {
    let pooled = PooledGrowth::new(&sweep(&[(3.0, 100.0)]), Placement::Everywhere);
    let doubled = pooled.forecast(6.0).prediction();
    assert!((doubled.expected / 136.6 - 1.0).abs() < 5e-3, "{doubled:?}");
    assert!((doubled.low / 73.0 - 1.0).abs() < 5e-3, "{doubled:?}");
    assert!((doubled.high / 200.9 - 1.0).abs() < 5e-3, "{doubled:?}");
}

/// Two to six sizes with throughputs that a cluster could have, and a size beyond them.
fn sweeps() -> impl Strategy<Value = (Vec<(f64, f64)>, f64)> {
    let sizes = proptest::collection::btree_set(1u32..40, 2..6);
    (sizes, 0.0..1.1, any::<u64>(), 1.01..2.0).prop_map(|(sizes, exponent, seed, times)| {
        let mut noise = highwater_analysis::synthetic::Noise::new(seed);
        let measure = |size: u32| {
            let size = f64::from(size);
            (size, 100.0 * size.powf(exponent) * (0.03 * noise.normal()).exp())
        };
        let pairs: Vec<(f64, f64)> = sizes.into_iter().map(measure).collect();
        let farther = times * pairs[pairs.len() - 1].0;
        (pairs, farther)
    })
}

fn sides(forecast: Forecast) -> (f64, f64) {
    let Prediction { expected, low, high } = forecast.prediction();
    ((expected / low).ln(), (high / expected).ln())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn throughputs_of_another_unit_give_the_same_interval((pairs, size) in sweeps()) {
        let times_ten: Vec<(f64, f64)> = pairs.iter().map(|(n, x)| (*n, 10.0 * x)).collect();
        let (one, ten) = (predict(&pairs, size), predict(&times_ten, size));
        prop_assert!((ten.low / one.low - 10.0).abs() < 1e-6, "{one:?} {ten:?}");
        prop_assert!((ten.high / one.high - 10.0).abs() < 1e-6, "{one:?} {ten:?}");
    }

    #[test]
    fn the_order_of_rows_does_not_matter((pairs, size) in sweeps()) {
        let backwards: Vec<(f64, f64)> = pairs.iter().rev().copied().collect();
        prop_assert_eq!(predict(&pairs, size), predict(&backwards, size));
    }

    #[test]
    fn no_interval_beyond_the_sizes_is_narrower_than_the_noise_of_a_run((pairs, size) in sweeps()) {
        let average = Average::new(&sweep(&pairs));
        let (below, above) = sides(average.forecast(size));
        prop_assert!(below >= 0.06 && above >= 0.06);
        // Growth is limited to the range of clusters: 0 to 1.
        let growth = average.growth_to(size);
        prop_assert!((0.0..=1.0).contains(&growth), "{growth}");
        prop_assert!(sides(average.forecast(1.5 * size)).1 > above);
    }
}

#[test]
fn the_cost_of_copies_follows_from_pairs_of_clusters() {
    // c = 0.5: one copy takes a third of the throughput.
    let copies = |size, replicas, per_s| Copies { size, replicas, per_s };
    let points = [
        copies(3.0, 0.0, 300.0),
        copies(3.0, 1.0, 200.0),
        copies(3.0, 2.0, 150.0),
        copies(4.0, 0.0, 900.0),
    ];
    let cost = measured_replica_cost(&points, 0.03).unwrap();
    assert!((cost.expected - 0.5).abs() < 1e-9, "{cost:?}");
    assert!((0.05..0.17).contains(&(cost.high - cost.expected)), "{cost:?}");
    let factor = replicas_leave(cost, 0.0, 1.0);
    assert!((factor.expected - 2.0 / 3.0).abs() < 1e-9);
    assert!(factor.low < factor.expected && factor.expected < factor.high);
    assert_eq!(measured_replica_cost(&points[2..], 0.03), None);
}

#[test]
fn the_assumed_cost_of_a_replica_is_one_rule_and_reads_pay_nothing() {
    let left = replicas_leave(assumed_replica_cost(true), 0.0, 1.0);
    for (found, expected) in [(left.expected, 0.6), (left.low, 0.45), (left.high, 0.95)] {
        assert!((found - expected).abs() < 1e-9, "{left:?}");
    }
    // Each replica costs two thirds of the first copy, so that two leave 3/7.
    let two = replicas_leave(assumed_replica_cost(true), 0.0, 2.0);
    assert!((two.expected - 3.0 / 7.0).abs() < 1e-9, "{two:?}");
    // Of fewer replicas the ends change places.
    let fewer = replicas_leave(assumed_replica_cost(true), 1.0, 0.0);
    assert!((fewer.low - 1.0 / 0.95).abs() < 1e-9 && (fewer.high - 1.0 / 0.45).abs() < 1e-9);
    let reads = replicas_leave(assumed_replica_cost(false), 0.0, 2.0);
    assert!((reads.low - 1.0).abs() < 1e-9 && (reads.high - 1.0).abs() < 1e-9);
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
