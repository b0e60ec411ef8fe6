//! The mark and the limit of every size, the prediction of the next one, a drifting machine, and a saturated load
//! generator.

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

/// The results of growths of several seeds.
#[derive(Default)]
struct Shown {
    /// By kind: the number of named limits, and of correct ones.
    limits: BTreeMap<&'static str, (usize, usize)>,
    /// Relative error of each size's mark.
    errors: Vec<f64>,
    /// Whether the predicted interval of a size contained its measured mark.
    held: Vec<bool>,
    /// Whether it contained the cluster's true capacity at that size: for growth assumed from one size, and for
    /// measured growth.
    held_truth: [Vec<bool>; 2],
    said: String,
}

/// The results of these seeds, distributed over the cores.
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

/// A saturated load generator ends a growth.
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

    /// Kinds of growth for which fewer than nine of ten limits were correct.
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

/// A fraction of all cases.
struct Part {
    of: usize,
    all: usize,
}

impl Part {
    fn from_cases(cases: &[bool]) -> Self {
        Self { of: cases.iter().filter(|held| **held).count(), all: cases.len() }
    }

    fn fraction(&self) -> f64 {
        len_to_f64(self.of) / len_to_f64(self.all)
    }

    /// Its value over very many cases, with 95% confidence: with 245 cases its standard deviation is 1% (of a binomial
    /// proportion of 0.97).
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
    let held = Part::from_cases(&shown.held);
    assert!(held.fraction() >= 0.85, "{held}{}", shown.said);
}

/// Intervals of 90% apply to the measurement at the next size. They should contain the truth about as often: in 85% to
/// 97% of cases. The fraction depends on the clusters: for milder ones, with contention up to 0.25 and peaks from four
/// nodes on, it was 97.3%. `predictions_of_next_sizes_hold_on_clusters_of_known_growth` tests 600 clusters with
/// synthetic marks.
#[test]
#[ignore = "270 clusters, each of three to five sizes"]
fn long_growths_of_many_clusters_are_near_the_truth_and_as_predicted() {
    let shown = shown(0..30 * KINDS, ("constant", 1_500.0));
    let marks = shown.errors.len();
    let of_marks = Part::from_cases(&shown.held);
    let [assumed, measured] = [0, 1].map(|of| Part::from_cases(&shown.held_truth[of]));
    let all = Part::from_cases(&shown.held_truth.concat());
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
    // The prediction is for the cluster, which grows as before.
    let grown = growth::report(scale);
    assert_eq!(grown.sizes.len(), 2);
    let (next, predicted) = grown.next.unwrap();
    assert!(predicted.holds(growing.one * f64::from(next)), "{text}");
    assert_eq!(code(&record), 3, "{text}");
}

#[test]
fn a_drifting_machine_is_detected_by_repeating_the_first_size() {
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
        // Between the sizes, by more than the error of a mark.
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
