//! An answer does not become firmer when sizes are taken away.

use crate::cluster::fixture::{INGEST, basis, need, request};
use crate::cluster::{Basis, NodeCounts, size};

/// What an answer claims, the firmest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    /// A number with an interval.
    Proven,
    /// That no number is enough: exit code 1.
    None,
    /// More than a number.
    Unproven,
}

fn claim(counts: &NodeCounts) -> Claim {
    match counts.interval {
        Some(_) => Claim::Proven,
        None if !counts.reached => Claim::None,
        None => Claim::Unproven,
    }
}

/// As the command makes it: growth is assumed if a single size shows none.
fn basis_of(sizes: &[(f64, f64)]) -> Basis {
    let measured = basis("rows/s", sizes);
    if sizes.len() > 1 { measured } else { measured.assuming(None) }
}

/// Series of five sizes that follow a law, and the published one.
fn series() -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let small = [1.0, 2.0, 3.0, 4.0, 5.0];
    let doubled = [1.0, 2.0, 4.0, 8.0, 16.0];
    let grown = |sizes: [f64; 5], per_s: &dyn Fn(f64) -> f64| {
        sizes.iter().map(|n| (*n, 1_000.0 * per_s(*n))).collect()
    };
    let usl = |n: f64| n / (1.0 + 0.05 * (n - 1.0) + 0.004 * n * (n - 1.0));
    let amdahl = |n: f64| n / (1.0 + 0.1 * (n - 1.0));
    vec![
        ("published", INGEST.to_vec()),
        ("linear", grown(small, &|n| n)),
        ("Amdahl", grown(small, &amdahl)),
        ("USL, doubled", grown(doubled, &usl)),
        ("power", grown(doubled, &|n| n.powf(0.8))),
        ("flat", grown(small, &|n| 1.0 + n / 1_000.0)),
        ("falling", grown(small, &|n| n / (1.0 + 0.1 * (n - 1.0) + 0.15 * n * (n - 1.0)))),
    ]
}

/// The parts of a series without one size, and with only a few.
fn parts(all: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let without = |at: usize| [&all[..at], &all[at + 1..]].concat();
    let few = [all[..3].to_vec(), all[..2].to_vec(), all[3..].to_vec(), all[4..].to_vec()];
    (0..all.len()).map(without).chain(few).chain([vec![all[0], all[4]]]).collect()
}

/// All parts of a series.
fn all_parts(all: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let part = |mask: usize| {
        let sizes = all.iter().enumerate();
        sizes.filter(|(at, _)| mask >> at & 1 == 1).map(|(_, size)| *size).collect()
    };
    (1..(1 << all.len()) - 1).map(part).collect()
}

/// Makes parts of a series, which is nodes and rates.
type Parts = fn(&[(f64, f64)]) -> Vec<Vec<(f64, f64)>>;

fn check(parts: Parts, rates: &[f64]) {
    let mut firmer = Vec::new();
    for (name, all) in series() {
        let largest = all.iter().map(|size| size.1).fold(0.0, f64::max);
        let (whole, parts) = (basis_of(&all), parts(&all));
        for (part, less) in parts.iter().map(|part| (part, basis_of(part))) {
            for &times in rates {
                let counts = |basis: &Basis| {
                    request(vec![need(times * largest, basis.clone())]).node_counts(0)
                };
                let [whole, less] = [counts(&whole), counts(&less)];
                let [of_whole, of_less] = [whole, less].map(|of| claim(&of));
                if of_less < of_whole {
                    let sizes: Vec<f64> = part.iter().map(|size| size.0).collect();
                    let (few, all) = (less.planned, whole.planned);
                    firmer.push(format!(
                        "{name} x {times} {sizes:?}: {of_less:?} {few}, not {of_whole:?} {all}"
                    ));
                }
            }
        }
    }
    assert!(firmer.is_empty(), "{}\n{}", firmer.len(), firmer.join("\n"));
}

#[test]
fn an_answer_never_becomes_firmer_when_sizes_are_taken_away() {
    check(parts, &[1.1, 1.6, 12.0]);
}

#[test]
#[ignore = "all parts of all series; run by `cargo xtask long`"]
fn long_an_answer_never_becomes_firmer_with_any_part_of_a_series() {
    check(all_parts, &[0.5, 0.7, 0.9, 1.1, 1.3, 1.6, 2.0, 2.5, 3.5, 5.0, 12.0, 50.0]);
}

#[test]
fn a_prediction_from_fewer_sizes_is_not_narrower() {
    // A decrease, which is clearer with more sizes, widens the upper side.
    for (name, all) in series().into_iter().filter(|(name, _)| *name != "falling") {
        let n = 2.0 * all[4].0;
        let width = |sizes: &[(f64, f64)]| {
            let of = basis_of(sizes).growth.forecast(n).prediction();
            (of.high / of.low).ln()
        };
        let whole = width(&all);
        for part in [&all[4..], &all[3..], &[all[0], all[4]]] {
            assert!(width(part) >= whole, "{name} {part:?}: {} {whole}", width(part));
        }
    }
}

/// Two sizes do not exclude that a cluster grows, whatever rate is requested.
#[test]
fn a_rate_out_of_reach_is_not_excluded_by_two_sizes() {
    let sizes = &INGEST[..2];
    for rate in [2e6, 20e6, 2e9] {
        let plan = size(&request(vec![need(rate, basis("rows/s", sizes))]));
        assert!(plan.nodes.reached && !plan.is_proven(), "{rate}: {:?}", plan.nodes);
    }
}
