//! The mark of every size, its limit, the prediction of the next one, a machine that drifts, and a load generator that
//! gives out.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;

use highwater_analysis::growth::{drift, findings, reached};
use highwater_analysis::synthetic::proportion_interval;
use highwater_model::numbers::len_to_f64;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ScaleEach, ScaleOutcome, ScalePurpose, ScaleRecord};
use highwater_report as report;
use highwater_sizing::growth;

use super::cluster::{Growing, KINDS, Shape};
use super::order;
use crate::making::code;

/// What the growths of some seeds showed.
#[derive(Default)]
struct Shown {
    /// By kind: how many limits were named, and how many of them rightly.
    limits: BTreeMap<&'static str, (usize, usize)>,
    /// Of the mark of each size, as a part of the truth.
    errors: Vec<f64>,
    /// Whether the interval that was predicted for a size held the mark that was measured there.
    held: Vec<bool>,
    /// Whether it held what the cluster of that size can do: where that was assumed from one size, and where growth
    /// was measured.
    held_truth: [Vec<bool>; 2],
    said: String,
}

/// Those of all these seeds, some of them on each core.
fn shown(seeds: impl Iterator<Item = u64>, service: (&'static str, f64)) -> Shown {
    let seeds: Vec<u64> = seeds.collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut shown = Shown::default();
    thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(cores));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || shown_on_one_core(part, service))).collect();
        for part in parts {
            shown.add(part.join().unwrap());
        }
    });
    shown
}

fn shown_on_one_core(seeds: &[u64], service: (&'static str, f64)) -> Shown {
    let mut shown = Shown::default();
    for &seed in seeds {
        let growing = Growing { service, ..Growing::seeded(seed) };
        let record = growing.whole();
        let scale = record.scale().unwrap();
        let text = report::text(&record);
        assert_eq!(scale.outcome, Some(outcome(growing.shape)), "{text}");
        assert_eq!(reported(&record), findings_of(growing.shape), "{text}");
        assert!(!drift(scale).unwrap().is_drifted(), "{text}");
        shown.said += &format!("\nseed {seed}: {:?} of {:.0}", growing.shape, growing.one);
        let mut sizes = 0;
        for trial in &scale.trials {
            let nodes = trial.size.nodes;
            let limit = trial.figures.limit.as_ref();
            let by = limit.and_then(|limit| Some(limit.by.as_ref()?.resource));
            let (all, right) = shown.limits.entry(growing.shape.name()).or_default();
            *all += 1;
            *right += usize::from(by == Some(growing.shape.limit(nodes)));
            shown.said += &format!("\n  {nodes} nodes, limit {by:?}");
            if !trial.figures.verdict.counts() {
                continue;
            }
            let truth = growing.truth(nodes);
            let error = trial.figures.per_s / truth - 1.0;
            let predicted = trial.predicted;
            let held = predicted.map(|predicted| predicted.holds(trial.figures.per_s));
            shown.said += &format!(", {error:+.4}, predicted {held:?}");
            shown.errors.push(error);
            shown.held.extend(held);
            let held_truth = predicted.map(|predicted| predicted.holds(truth));
            shown.held_truth[usize::from(sizes > 1)].extend(held_truth);
            sizes += 1;
        }
    }
    shown
}

/// A load generator that gives out ends a growth.
fn outcome(shape: Shape) -> ScaleOutcome {
    match shape {
        Shape::Client(_) => ScaleOutcome::ClientCeiling,
        _ => ScaleOutcome::Complete,
    }
}

fn findings_of(shape: Shape) -> Vec<&'static str> {
    match shape {
        Shape::Client(_) => vec!["client_limits_growth"],
        Shape::HotShard(_) => vec!["unbalanced_shards"],
        Shape::Replica(_) => vec!["replica_cost"],
        _ => Vec::new(),
    }
}

fn reported(record: &ExperimentRecord) -> Vec<&'static str> {
    let reported = findings(record.scale().unwrap());
    reported.iter().map(|finding| finding.code).collect()
}

impl Shown {
    fn add(&mut self, other: Self) {
        for (kind, (all, right)) in other.limits {
            let of_kind = self.limits.entry(kind).or_default();
            of_kind.0 += all;
            of_kind.1 += right;
        }
        self.errors.extend(other.errors);
        self.held.extend(other.held);
        for (held, other) in self.held_truth.iter_mut().zip(other.held_truth) {
            held.extend(other);
        }
        self.said += &other.said;
    }

    /// Kinds of growth of which less than nine in ten limits were named rightly.
    fn misnamed(&self) -> Vec<&'static str> {
        self.limits
            .iter()
            .filter(|(_, (all, right))| right * 10 < all * 9)
            .map(|(kind, _)| *kind)
            .collect()
    }

    fn within(&self, part: f64) -> usize {
        self.errors.iter().filter(|error| error.abs() <= part).count()
    }
}

/// A part of all cases.
struct Part {
    of: usize,
    all: usize,
}

impl Part {
    fn of(cases: &[bool]) -> Self {
        Self { of: cases.iter().filter(|held| **held).count(), all: cases.len() }
    }

    fn fraction(&self) -> f64 {
        len_to_f64(self.of) / len_to_f64(self.all)
    }

    /// What it would be of very many cases, with 95 % confidence: of 245 it scatters by 1 % (the standard deviation of
    /// a binomial proportion of 0.97).
    fn interval(&self) -> [f64; 2] {
        proportion_interval(self.of, self.all)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, most] = self.interval().map(|end| 100.0 * end);
        let percent = 100.0 * self.fraction();
        let Self { of, all } = self;
        write!(to, "{of} of {all}, {percent:.2} % ({least:.1} to {most:.1} %)")
    }
}

#[test]
fn a_few_clusters_have_the_marks_that_they_have_and_grow_as_predicted() {
    let shown = shown(0..KINDS, ("constant", 1_500.0));
    assert_eq!(shown.within(0.03), shown.errors.len(), "{}", shown.said);
    assert_eq!(shown.misnamed(), Vec::<&str>::new(), "{}", shown.said);
    let held = Part::of(&shown.held);
    assert!(held.fraction() >= 0.85, "{held}{}", shown.said);
}

/// Intervals of 90 % are for what is measured at the next size; the truth there should lie in them as often, in at least
/// 85 and at most 97 %. How often depends on the clusters: of milder ones, with contention up to 0.25 and peaks from four
/// nodes on, 97.3 % did. 600 clusters whose marks are made up are in
/// `predictions_of_next_sizes_hold_on_clusters_of_known_growth`.
#[test]
#[ignore = "270 clusters, each of three to five sizes"]
fn long_growths_of_many_clusters_are_near_the_truth_and_as_predicted() {
    let shown = shown(0..30 * KINDS, ("constant", 1_500.0));
    let marks = shown.errors.len();
    let of_marks = Part::of(&shown.held);
    let [assumed, measured] = [0, 1].map(|of| Part::of(&shown.held_truth[of]));
    let all = Part::of(&shown.held_truth.concat());
    let sum = format!(
        "{} of {marks} marks within 3%; predictions held the mark: {of_marks}; the truth: {all}, of measured growth: \
         {measured}, of assumed growth: {assumed}",
        shown.within(0.03),
    );
    println!("{sum}; limits {:?}{}", shown.limits, shown.said);
    assert_eq!(shown.misnamed(), Vec::<&str>::new(), "{}", shown.said);
    assert!(shown.within(0.03) * 100 >= 97 * marks, "{sum}{}", shown.said);
    for part in [of_marks, all] {
        let fraction = part.fraction();
        assert!((0.85..=0.97).contains(&fraction), "{sum}{}", shown.said);
    }
}

#[test]
fn a_load_generator_that_gives_out_is_not_taken_for_the_cluster() {
    let growing = Growing::new(Shape::Client(3.4), &[1, 2, 4, 8]);
    let record = growing.whole();
    let scale = record.scale().unwrap();
    let text = report::text(&record);
    assert_eq!(order(&record), [1, 2, 4, 1], "{text}");
    assert_eq!(reported(&record), ["client_limits_growth"], "{text}");
    // What is predicted is that of the cluster, which grows as before.
    let grown = growth::report(scale);
    assert_eq!(grown.sizes.len(), 2);
    let (next, predicted) = grown.next.unwrap();
    assert!(predicted.holds(growing.one * f64::from(next)), "{text}");
    assert_eq!(code(&record), 3, "{text}");
}

#[test]
fn a_machine_that_drifts_is_caught_by_the_first_size_again() {
    for each in [ScaleEach::Find, ScaleEach::Run] {
        let growing = Growing { drift: 0.15, each, ..Growing::new(Shape::Linear, &[1, 2, 3]) };
        let record = growing.whole();
        let found = drift(record.scale().unwrap()).unwrap();
        assert!(found.is_drifted(), "{found:?}\n{}", report::text(&record));
        assert!((found.change + 0.13).abs() < 0.03, "{found:?}");
        assert_eq!(code(&record), 3, "{}", report::text(&record));
        assert!(report::text(&record).contains("DRIFTED"));
    }
}

#[test]
fn the_growth_stops_at_the_size_that_the_rate_needs() {
    let growing = Growing::new(Shape::Contention(0.1), &[1, 2, 3, 4, 6, 8]);
    for needed in [2, 4] {
        // Between the sizes, and out of reach of what a mark errs by.
        let until = growing.truth(needed) * 0.95;
        growing.made.set(0);
        let root = tempfile::tempdir().unwrap();
        let scale = ScaleRecord { until_per_s: Some(until), ..growing.scale() };
        let record = growing.grow(root.path(), scale).unwrap();
        let scale = record.scale().unwrap();
        assert_eq!(scale.outcome, Some(ScaleOutcome::Reached));
        assert_eq!(reached(scale).unwrap().size.nodes, needed, "{}", report::text(&record));
        let last = scale.trials.last().unwrap();
        assert_eq!((last.purpose, last.size.nodes), (ScalePurpose::Again, 1));
        assert_eq!(code(&record), 0, "{}", report::text(&record));
    }
}
