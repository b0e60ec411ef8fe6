//! An answer does not become firmer when sizes are taken away.

use crate::cluster::fixture::{INGEST, basis, need, request};
use crate::cluster::{Basis, NodeCounts, Scenario, WithOrigin, size};

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

/// The fewest nodes that a scenario leaves open, which is above an unproven bound; and the named number, if any.
fn asked(of: &Scenario) -> (u32, Option<u32>) {
    let nodes = of.nodes.unwrap_or(u32::MAX);
    let named = (!of.is_exceeded).then_some(nodes);
    (of.to_prove.map_or(nodes, |proof| proof.farthest + 1), named)
}

/// More demand never needs fewer nodes, and a combination of conditions never fewer than one of them.
#[test]
fn neither_more_demand_nor_more_conditions_need_fewer_nodes() {
    let bent = vec![(1.0, 21_000.0), (2.0, 39_000.0), (3.0, 55_000.0), (5.0, 84_000.0)];
    let line = [1.0, 3.0, 5.0].map(|n| (n, 20_000.0 * n)).to_vec();
    let mut fewer = Vec::new();
    for (name, sizes) in [("bent", bent), ("line", line), ("published", INGEST.to_vec())] {
        let largest = sizes.iter().map(|size| size.1).fold(0.0, f64::max);
        for part in [&sizes[..], &sizes[..3], &sizes[..1]] {
            let mut least: Vec<(u32, Option<u32>)> = Vec::new();
            for times in [0.5, 1.0, 1.6, 3.5, 8.0, 12.0, 24.0, 50.0] {
                let mut request = request(vec![need(times * largest, basis_of(part))]);
                request.spare = WithOrigin::given(0.2, "--headroom");
                request.survive = WithOrigin::given(1, "--tolerate-failures");
                request.growth_per_month = WithOrigin::given(0.05, "--growth");
                let all = size(&request).decision.scenarios;
                let now: Vec<(u32, Option<u32>)> = all.iter().map(asked).collect();
                let is_below = |a: &(u32, Option<u32>), b: &(u32, Option<u32>)| {
                    a.0 < b.0 || a.1.zip(b.1).is_some_and(|(a, b)| a < b)
                };
                let is_fewer = least.iter().zip(&now).any(|(before, now)| is_below(now, before));
                let (today, all) = (now[0], now[4]);
                if is_fewer || now.iter().any(|of| is_below(of, &today) || is_below(&all, of)) {
                    let sizes = part.len();
                    fewer.push(format!("{name} {sizes} x {times}: {least:?} {now:?}"));
                }
                least = now;
            }
        }
    }
    assert!(fewer.is_empty(), "{}\n{}", fewer.len(), fewer.join("\n"));
}
