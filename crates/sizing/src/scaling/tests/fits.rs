//! Fits against figures that others published.

use crate::scaling::{Curve, Point, ScalingModel, Weighting, fit};

/// SPEC SDM91 (Gunther 2007), as in the tests of R's `usl`.
const SPECSDM91: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];
/// Schwartz's measurements, as in the tests of usl4j.
const CISCO: [f64; 32] = [
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61,
    8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52,
    11151.43, 11518.63, 11806.0, 12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27,
    12118.04, 12140.4, 12074.39,
];

fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
    let point = |&(size, per_s): &(f64, f64)| Point { size, per_s };
    pairs.iter().map(point).collect()
}

/// γ, σ, κ with their standard errors.
fn usl(pairs: &[(f64, f64)], weighting: Weighting) -> (Curve, Vec<f64>, Vec<Option<f64>>, f64) {
    let fit = fit(ScalingModel::Usl, &points(pairs), weighting).unwrap();
    let values = fit.parameters.iter().map(|parameter| parameter.value).collect();
    let errors = fit.parameters.iter().map(|parameter| parameter.error).collect();
    (fit.curve, values, errors, fit.residual_error().unwrap_or(0.0))
}

/// Equal when rounded to this number of decimal places.
#[track_caller]
fn rounds_to(value: f64, expected: f64, places: i32) {
    let half = 0.5 * 10f64.powi(-places);
    let off = (value - expected).abs();
    assert!(off <= half, "{value} is not {expected}");
}

#[test]
fn absolute_squares_are_those_of_r() {
    let (curve, values, errors, residual) = usl(&SPECSDM91, Weighting::Absolute);
    rounds_to(values[0], 89.995, 3);
    rounds_to(values[1], 0.027_728_5, 7);
    rounds_to(values[2], 0.000_104_4, 7);
    rounds_to(errors[0].unwrap(), 14.21, 2);
    rounds_to(errors[1].unwrap(), 0.009_121_7, 7);
    rounds_to(errors[2].unwrap(), 0.000_019_9, 7);
    rounds_to(residual, 82.85, 2);
    let peak = curve.peak().unwrap();
    rounds_to(peak.size, 96.52, 2);
    rounds_to(peak.per_s, 1884.0, 0);
    // R's "Amdahl limit" and "optimum": the same curve without crosstalk, and where its
    // asymptotes cross.
    rounds_to(values[0] / values[1], 3246.0, 0);
    rounds_to(1.0 / values[1], 36.06, 2);
    rounds_to(curve.per_s(1.0 / values[1]), 1542.0, 0);
}

#[test]
fn relative_squares_are_another_fit() {
    let (_, values, _, _) = usl(&SPECSDM91, Weighting::Relative);
    rounds_to(values[1], 0.0135, 4);
}

#[test]
fn points_of_a_curve_give_that_curve() {
    let pairs =
        [(1.0, 1.0), (2.0, 1.8868), (4.0, 3.0769), (6.0, 3.5294), (8.0, 3.5398), (10.0, 3.3557)];
    for weighting in [Weighting::Absolute, Weighting::Relative] {
        let (_, values, _, _) = usl(&pairs, weighting);
        rounds_to(values[0], 1.0, 3);
        rounds_to(values[1], 0.02, 4);
        rounds_to(values[2], 0.02, 4);
    }
}

#[test]
fn many_points_are_those_of_the_published_fit() {
    let pairs: Vec<(f64, f64)> = (1..).map(f64::from).zip(CISCO).collect();
    let (curve, values, _, _) = usl(&pairs, Weighting::Absolute);
    let near = |value: f64, expected: f64| {
        let off = (value / expected - 1.0).abs();
        assert!(off < 2e-4, "{value} is not {expected}");
    };
    near(values[0], 995.6486);
    near(values[1], 0.026_715_91);
    near(values[2], 7.690_945e-4);
    near(curve.peak().unwrap().per_s, 12_341.0);
    rounds_to(curve.peak().unwrap().size, 35.6, 1);
    near(curve.per_s(20.0), 11_063.63);
}

#[test]
fn a_fit_stops_at_its_bounds_and_reports_it() {
    // Superlinear: no model can fit it, and each reports the bound that it reached.
    let pairs = [(1.0, 100.0), (2.0, 220.0), (4.0, 480.0), (8.0, 1000.0)];
    for (model, bound) in [
        (ScalingModel::Affine, 0),
        (ScalingModel::Amdahl, 1),
        (ScalingModel::Usl, 2),
        (ScalingModel::Power, 1),
    ] {
        let fit = fit(model, &points(&pairs), Weighting::Relative).unwrap();
        assert!(fit.parameters[bound].at_bound, "{fit:?}");
        assert_eq!(fit.parameters[bound].error, None);
        let straight = fit.curve.per_s(8.0) / fit.curve.per_s(1.0);
        assert!((straight - 8.0).abs() < 1e-6, "{model:?}: {straight}");
    }
}

#[test]
fn fewer_sizes_than_parameters_are_no_fit() {
    let pairs = [(1.0, 100.0), (1.0, 101.0), (2.0, 190.0)];
    assert!(fit(ScalingModel::Usl, &points(&pairs), Weighting::Relative).is_none());
    assert!(fit(ScalingModel::Amdahl, &points(&pairs), Weighting::Relative).is_some());
}
