//! Sizes in comparison: the gain of each over the one before it, against linear growth and against rules of thumb; the
//! first size measured again at the end, which shows machine drift; and nodes measured alone.
//!
//! The same arithmetic applies to measured and to published sizes. The figures of a size are from the record of its run
//! or experiment. Must not predict.

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

use highwater_model::judgment::{Judgments, ObjectiveValue};
use highwater_model::record::{Question, RecordRef, RunRecord, TableStart};
use highwater_model::scale::{
    ScaleEach, ScalePurpose, ScaleRecord, ScaleTrial, SizeFigures, SizeVerdict,
};
use highwater_model::search::{NoMark, NoMarkReason, SearchOutcome, SearchRecord};
use highwater_model::tune::{
    NoBestReason, RunObservations, TrialRecord, TrialVerdict, TuneOutcome, TuneRecord,
};

use crate::judge::{MeasuredStream, RunEnding, measured_streams};
use crate::limit;
use crate::search::{confirmation, rows_before};
use crate::tuning::{is_client_limited, showed};

/// The assumed gain of a further node, as a fraction of linear growth: the rule of an article about growing a cluster
/// node by node.
const NODE_RULE: f64 = 0.8;
/// The assumed cost of each replica, as a fraction of that of the first copy: the first replica leaves 0.6 of the
/// throughput, as the same article expects.
pub const REPLICA_COST: f64 = 1.0 / 0.6 - 1.0;

/// Throughput with `to` replicas as a fraction of that with `from`, if each costs the fraction `cost` of the first copy.
pub fn replica_factor(cost: f64, from: f64, to: f64) -> f64 {
    (1.0 + cost * from) / (1.0 + cost * to)
}

/// The throughput of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedRate {
    /// Nodes; above 0.
    pub nodes: f64,
    /// Replicas of each shard.
    pub replicas: f64,
    /// Per second; above 0.
    pub per_s: f64,
}

/// A size compared with the previous one and the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparedSize {
    /// Increase in throughput over the previous size, per second.
    pub gain: Option<f64>,
    /// The same as a fraction of the previous throughput.
    pub change: Option<f64>,
    /// Throughput over the first size's throughput per node times the number of nodes.
    pub of_linear: f64,
    /// Throughput per node.
    pub per_node: f64,
    /// Throughput expected from the previous size, per second, if each further node adds 0.8 of its throughput per
    /// node, and the first replica leaves 0.6 of it.
    pub rule_of_thumb: Option<f64>,
}

impl SizedRate {
    /// The rate of a measured size.
    pub fn from_trial(trial: &ScaleTrial) -> Self {
        Self {
            nodes: f64::from(trial.size.nodes),
            replicas: f64::from(replicas_of(trial)),
            per_s: trial.figures.per_s,
        }
    }

    /// This size compared with others.
    pub fn beside(self, before: Option<Self>, first: Self) -> ComparedSize {
        ComparedSize {
            gain: before.map(|before| self.per_s - before.per_s),
            change: before.map(|before| self.per_s / before.per_s - 1.0),
            of_linear: self.per_s * first.nodes / (first.per_s * self.nodes),
            per_node: self.per_s / self.nodes,
            rule_of_thumb: before.map(|before| {
                let factor = replica_factor(REPLICA_COST, before.replicas, self.replicas);
                self.without_replicas(before) * factor
            }),
        }
    }

    /// Throughput that the node rule alone expects of this size after the previous one, per second.
    pub(super) fn without_replicas(self, before: Self) -> f64 {
        before.per_s * (1.0 + NODE_RULE * (self.nodes / before.nodes - 1.0))
    }
}

/// Replicas of each shard at a measured size.
pub fn replicas_of(trial: &ScaleTrial) -> u32 {
    let stated = trial.figures.replicas.and_then(|of| of.try_into().ok());
    let stated = stated.or_else(|| stated_by(&trial.size.settings));
    held(stated, trial.size.nodes)
}

/// Replicas at a size that may not be measured yet: from its settings, or else those of the last size.
pub fn replicas(scale: &ScaleRecord, nodes: u32) -> u32 {
    let mut sizes = scale.sizes.iter();
    let size = sizes.find(|size| size.nodes == nodes);
    let stated = size.and_then(|size| stated_by(&size.settings));
    let last = counted(scale).next_back();
    let last = last.and_then(|trial| trial.figures.replicas?.try_into().ok());
    held(stated.or(last), nodes)
}

fn stated_by(settings: &BTreeMap<String, String>) -> Option<u32> {
    settings.get("replicas")?.parse().ok()
}

/// Two copies of a shard are never on one node.
fn held(stated: Option<u32>, nodes: u32) -> u32 {
    stated.unwrap_or(0).min(nodes.saturating_sub(1))
}

/// The sizes that count, each once, in the order in which they were measured.
pub fn counted(scale: &ScaleRecord) -> impl DoubleEndedIterator<Item = &ScaleTrial> {
    scale
        .trials
        .iter()
        .filter(|trial| trial.purpose != ScalePurpose::Again && trial.figures.verdict.counts())
}

/// The budget used by these trials, nanoseconds.
pub(super) fn spent(trials: &[ScaleTrial]) -> u64 {
    trials.iter().map(ScaleTrial::budgeted_ns).fold(0, u64::saturating_add)
}

/// 95% quantiles of the range of 2, 3, … equal measurements, in standard deviations of one: the studentized range
/// (Harter 1960).
const RANGE95: [f64; 9] = [2.772, 3.314, 3.633, 3.858, 4.030, 4.170, 4.286, 4.387, 4.474];
/// The same for up to the 256 nodes of a cluster file. The exact value is 6.64, so this errs towards equal nodes.
const RANGE95_OF_MANY: f64 = 6.7;

/// A node, and its units per second alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeRate {
    /// Its number.
    pub node: u32,
    /// Units per second.
    pub per_s: f64,
}

/// The slowest and the fastest of the nodes measured alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeSpread {
    /// Number of nodes measured with known precision.
    pub nodes: usize,
    /// Number of further nodes whose rate has unknown precision; none of them is the slowest or the fastest.
    pub inexact: usize,
    /// The slowest one.
    pub slowest: NodeRate,
    /// The fastest one.
    pub fastest: NodeRate,
    /// Difference between the fastest and the slowest, as a fraction of the slowest.
    pub apart: f64,
    /// The same difference for equal nodes, as a fraction: 95 of 100 times it is smaller.
    pub allowed: f64,
    /// The sum of all nodes' rates over their number times the rate of node 1: what linear growth from node 1 would
    /// show.
    pub of_first: Option<f64>,
}

impl NodeSpread {
    /// Whether they differ by more than measurements of equal nodes.
    pub fn is_unequal(&self) -> bool {
        self.apart > self.allowed
    }
}

/// Compares the nodes measured alone. Absent with fewer than two nodes whose rates count and have an interval: a rate
/// too variable for an interval must not pass for exact.
pub fn node_spread(scale: &ScaleRecord) -> Option<NodeSpread> {
    let trials = scale.alone.trials.iter();
    let (counting, inexact): (Vec<&ScaleTrial>, Vec<&ScaleTrial>) = trials
        .filter(|trial| trial.figures.verdict.counts())
        .partition(|trial| trial.figures.interval.is_some_and(|[low, _]| low > 0.0));
    let by_rate = |a: &&&ScaleTrial, b: &&&ScaleTrial| a.figures.per_s.total_cmp(&b.figures.per_s);
    let slowest = counting.iter().min_by(by_rate)?;
    let fastest = counting.iter().max_by(by_rate)?;
    let more = counting.len().checked_sub(2)?;
    let range = RANGE95.get(more).copied().unwrap_or(RANGE95_OF_MANY);
    let deviation = |of: &ScaleTrial| LogRate::from_figures(ScaleEach::Run, &of.figures).deviation;
    let of_one = deviation(slowest).hypot(deviation(fastest)) / SQRT_2;
    let sum: f64 = counting.iter().map(|of| of.figures.per_s).sum();
    let mean = sum / f64::from(u32::try_from(counting.len()).ok()?);
    let first = counting.iter().find(|of| of.node == Some(1));
    let rate = |of: &ScaleTrial| Some(NodeRate { node: of.node?, per_s: of.figures.per_s });
    Some(NodeSpread {
        nodes: counting.len(),
        inexact: inexact.len(),
        slowest: rate(slowest)?,
        fastest: rate(fastest)?,
        apart: fastest.figures.per_s / slowest.figures.per_s - 1.0,
        allowed: (range * of_one).exp_m1(),
        of_first: first.map(|first| mean / first.figures.per_s),
    })
}

/// The next node to measure alone: before the first size, and only while time is left for all nodes and for two sizes.
pub(super) fn next(scale: &ScaleRecord) -> Option<u32> {
    let missing = scale.alone.missing();
    let of_nodes = scale.alone.trial_cost_ns.saturating_mul(missing.into());
    let of_sizes = scale.trial_cost_ns.saturating_mul(2);
    let spent = spent(&scale.alone.trials);
    let all = spent.saturating_add(of_nodes).saturating_add(of_sizes);
    let has_time = scale.budget_ns.is_none_or(|budget| all <= budget);
    let begins = scale.trials.is_empty() && missing > 0;
    let mut nodes = 1..=scale.alone.nodes;
    let is_measured = |node: &u32| scale.alone.trials.iter().any(|of| of.node == Some(*node));
    nodes.find(|node| begins && has_time && !is_measured(node))
}

/// Relative standard deviation of one measurement of an unchanged cluster, in addition to its own interval: runs of one
/// day differ by some percent. Scaling models use the same value.
pub const REPEAT_ERROR: f64 = 0.03;
/// Measurements that may differ by more without any change do not show whether the machine drifted: it could have lost
/// nearly a quarter of its speed between them.
const ALLOWED_MAX: f64 = 0.3;
/// Normal quantiles: half the width of a 90% and of a 95% interval, in standard deviations.
const Z90: f64 = 1.644_853_626_951_472_2;
pub(super) const Z95: f64 = 1.959_963_984_540_054;

/// The first size and its repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Nodes.
    pub nodes: u32,
    /// Units per second of the first measurement; for a search, the confirmed value.
    pub first: f64,
    /// Units per second of the repeat at the end.
    pub again: f64,
    /// The change as a fraction of the first.
    pub change: f64,
    /// The possible difference of two measurements of one cluster, as a fraction: 95 of 100 differ by less.
    pub allowed: f64,
}

impl Drift {
    /// Whether they differ by more than measurements of one cluster.
    pub fn is_drifted(&self) -> bool {
        self.part() > 1.0
    }

    /// Whether the measurements are precise enough to show that nothing changed.
    pub fn is_unchanged(&self) -> bool {
        !self.is_drifted() && self.allowed <= ALLOWED_MAX
    }

    /// The change as a fraction of the allowed difference.
    fn part(&self) -> f64 {
        self.change.ln_1p().abs() / self.allowed.ln_1p()
    }
}

/// Compares the first size with its repeats, by measured or confirmed values and never by estimates, and returns the
/// difference that is greatest relative to the allowed one; absent until both count.
pub fn drift(scale: &ScaleRecord) -> Option<Drift> {
    let again = scale
        .trials
        .iter()
        .filter(|trial| trial.purpose == ScalePurpose::Again && trial.figures.verdict.counts());
    let all = again.filter_map(|again| {
        let first = counted(scale).find(|trial| trial.size == again.size)?;
        let before = LogRate::from_figures(scale.each, &first.figures);
        let now = LogRate::from_figures(scale.each, &again.figures);
        let deviation = before.deviation.hypot(now.deviation);
        Some(Drift {
            nodes: again.size.nodes,
            first: first.figures.per_s,
            again: again.figures.per_s,
            change: again.figures.per_s / first.figures.per_s - 1.0,
            allowed: (Z95 * deviation).exp_m1(),
        })
    });
    all.max_by(|a, b| a.part().total_cmp(&b.part()))
}

/// The logarithm of a rate, and its precision.
pub(super) struct LogRate {
    pub(super) log: f64,
    /// Standard deviation of one measurement.
    pub(super) deviation: f64,
}

impl LogRate {
    /// The size's measured or confirmed value. The precision of a search is that of its estimate.
    pub(super) fn from_figures(each: ScaleEach, figures: &SizeFigures) -> Self {
        let estimated = figures.estimate.map(|found| [found.low90, found.high90]);
        let ends = estimated.or(figures.interval).or(figures.failed.map(|of| [figures.per_s, of]));
        let ends = ends.filter(|[low, _]| *low > 0.0).map(|ends| ends.map(f64::ln));
        let z = match each {
            ScaleEach::Find => Z90,
            ScaleEach::Run | ScaleEach::Tune => Z95,
        };
        let own = ends.map_or(0.0, |[low, high]| (high - low) / 2.0 / z);
        Self { log: figures.per_s.ln(), deviation: own.hypot(REPEAT_ERROR) }
    }

    /// The size's estimate, which, unlike a confirmed value, errs equally to both sides.
    pub(super) fn estimated(each: ScaleEach, figures: &SizeFigures) -> Option<Self> {
        let found = figures.estimate.filter(|found| found.value > 0.0)?;
        Some(Self { log: found.value.ln(), ..Self::from_figures(each, figures) })
    }
}

/// Reads the record of a size; empty figures if its target was unreachable.
pub fn figures(stream: &str, record: Option<RecordRef<'_>>) -> SizeFigures {
    let Some(record) = record else {
        return SizeFigures::none(SizeVerdict::TargetLost);
    };
    let run = record.measured_run().run;
    let measured = measured_streams(run);
    let measured = measured.iter().find(|one| one.stream.stream == stream);
    let experiment = record.experiment();
    let figure = match experiment.map(|of| &of.question) {
        Some(Question::Search(search)) => of_search(search, record.judgments()),
        Some(Question::Tune(tune)) => of_tuning(tune),
        Some(Question::Group(_) | Question::Scale(_)) | None => of_run(run, measured),
    };
    let incidents = experiment.map_or(&run.incidents, |of| &of.incidents);
    let figure = unless_stopped(figure, RunEnding::from_incidents(incidents));
    let last = showed(run, measured);
    let showed = match experiment.map(|of| &of.question) {
        Some(Question::Search(search)) => RunObservations {
            limit: limit::of_search(search).cloned(),
            per_s_by_op: confirmation(search)
                .map_or_else(BTreeMap::new, |of| of.per_s_by_op.clone()),
            ..last
        },
        Some(Question::Tune(tune)) => of_best(tune).unwrap_or(last),
        Some(Question::Group(_) | Question::Scale(_)) | None => last,
    };
    let best = |name| figure.best.get(name).map(String::as_str);
    let layout = |name| best(name).or_else(|| table_layout(run, name))?.parse().ok();
    let (shards, replicas) = (layout("shards"), layout("replicas"));
    let mut tables = run.target.tables.iter();
    // The last run of a tuning need not use its best configuration.
    let sessions = figure.best.get("sessions").and_then(|n| n.parse().ok());
    let sessions = sessions.or(measured.map(|one| one.stream.sessions));
    SizeFigures {
        judgments: Some(record.judgments().clone()),
        per_s_by_op: showed.per_s_by_op,
        p99_ns: showed.p99_ns,
        p99_at_least: showed.p99_at_least,
        sessions: sessions.unwrap_or(0),
        shards,
        replicas,
        target_cpu: showed.target_cpu,
        client_cpu: showed.client_cpu,
        limit: showed.limit,
        not_warm: run.phases.iter().any(|phase| phase.steady == Some(false)),
        rows: rows_before(run),
        continued: tables.any(|table| table.start == TableStart::Continued),
        ..figure
    }
}

/// `shards` or `replicas` of a run's tables, as text: as the target reports them, else the workload's parameter. That
/// one has no effect on a target without shards. A target has shards if it reports its number of nodes, or if the flag
/// was given: targets without shards reject it.
pub fn table_layout<'a>(run: &'a RunRecord, name: &str) -> Option<&'a str> {
    let settings = &run.target.settings;
    let counts_nodes = settings.get("nodes").is_some_and(|n| n.parse::<u64>().is_ok());
    let has_them = counts_nodes || run.header.command.settings.contains_key(name);
    let parameter = run.workload.parameters.get(name).filter(|_| has_them);
    settings.get(name).or(parameter).map(String::as_str)
}

/// A stopped experiment is not complete, even if it had confirmed a value.
fn unless_stopped(figure: SizeFigures, ended: RunEnding) -> SizeFigures {
    let verdict = match ended {
        RunEnding::Interrupted => SizeVerdict::Interrupted,
        RunEnding::TargetLost => SizeVerdict::TargetLost,
        RunEnding::Complete => return figure,
    };
    if !figure.verdict.counts() {
        return figure;
    }
    SizeFigures { verdict, ..figure }
}

fn of_search(search: &SearchRecord, judged: &Judgments) -> SizeFigures {
    match &search.outcome {
        None => SizeFigures::none(SizeVerdict::Interrupted),
        Some(SearchOutcome::Mark(mark)) => {
            let verdict = match judged.objective.value {
                ObjectiveValue::Missed => SizeVerdict::Missed,
                _ => SizeVerdict::Counts,
            };
            SizeFigures {
                reasons: judged.objective.codes(),
                per_s: mark.confirmed,
                estimate: mark.estimate,
                failed: mark.failed,
                failed_by: mark.limited_by.clone(),
                ..SizeFigures::none(verdict)
            }
        }
        Some(SearchOutcome::NoMark(no_mark)) => without_mark(no_mark, judged),
    }
}

fn without_mark(no_mark: &NoMark, judged: &Judgments) -> SizeFigures {
    let verdict = match no_mark.why {
        NoMarkReason::ClientCeiling => SizeVerdict::ClientCeiling,
        NoMarkReason::TargetLost => SizeVerdict::TargetLost,
        NoMarkReason::WrongData => SizeVerdict::WrongData,
        NoMarkReason::Interrupted => SizeVerdict::Interrupted,
        NoMarkReason::BelowLowest
        | NoMarkReason::TooFewOps
        | NoMarkReason::OpsTooLong
        | NoMarkReason::BudgetSpent
        | NoMarkReason::NothingAcknowledged => SizeVerdict::NotMeasured,
    };
    SizeFigures {
        reasons: [judged.objective.codes(), judged.measurement.codes()].concat(),
        ..SizeFigures::none(verdict)
    }
}

fn of_tuning(tune: &TuneRecord) -> SizeFigures {
    match &tune.outcome {
        None => SizeFigures::none(SizeVerdict::Interrupted),
        Some(TuneOutcome::Best(best)) => {
            let gave_out = client_gave_out(tune, best.figure);
            let verdict = match gave_out {
                None => SizeVerdict::Counts,
                Some(_) => SizeVerdict::ClientCeiling,
            };
            SizeFigures {
                reasons: gave_out.map_or_else(Vec::new, |trial| trial.reasons.clone()),
                per_s: best.figure,
                best: best.values.clone(),
                ..SizeFigures::none(verdict)
            }
        }
        Some(TuneOutcome::NoBest(no_best)) => {
            let gave_out = client_gave_out(tune, 0.0);
            let verdict = match no_best.why {
                NoBestReason::NoneCounts | NoBestReason::BudgetSpent
                    if gave_out.is_some() && no_best.best_so_far.is_none() =>
                {
                    SizeVerdict::ClientCeiling
                }
                NoBestReason::NoneCounts | NoBestReason::BudgetSpent => SizeVerdict::NotMeasured,
                NoBestReason::TargetLost => SizeVerdict::TargetLost,
                NoBestReason::WrongData => SizeVerdict::WrongData,
                NoBestReason::Interrupted => SizeVerdict::Interrupted,
            };
            SizeFigures::none(verdict)
        }
    }
}

/// The configuration with which the load generator was saturated although the target exceeded the best rate: without
/// the saturation, the size might have been better.
fn client_gave_out(tune: &TuneRecord, per_s: f64) -> Option<&TrialRecord> {
    let invalid = |trial: &&TrialRecord| trial.verdict == TrialVerdict::Invalid;
    tune.trials
        .iter()
        .filter(invalid)
        .max_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))
        .filter(|most| most.throughput_per_s > per_s)
}

/// The figures of the last run with the best configuration.
fn of_best(tune: &TuneRecord) -> Option<RunObservations> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else {
        return None;
    };
    let mut trials = tune.trials.iter().rev();
    trials
        .find(|trial| trial.at == best.at && trial.verdict == TrialVerdict::Counts)?
        .showed
        .clone()
}

fn of_run(run: &RunRecord, measured: Option<&MeasuredStream<'_>>) -> SizeFigures {
    let judged = &run.judgments;
    match RunEnding::from_incidents(&run.incidents) {
        RunEnding::Interrupted => return SizeFigures::none(SizeVerdict::Interrupted),
        RunEnding::TargetLost => return SizeFigures::none(SizeVerdict::TargetLost),
        RunEnding::Complete => {}
    }
    if judged.data.value.is_wrong() {
        return SizeFigures {
            reasons: judged.data.codes(),
            ..SizeFigures::none(SizeVerdict::WrongData)
        };
    }
    let of_measurement = judged.measurement.codes();
    let per_s = measured.map_or(0.0, MeasuredStream::units_per_s);
    if per_s <= 0.0 {
        return SizeFigures {
            reasons: of_measurement,
            ..SizeFigures::none(SizeVerdict::NotMeasured)
        };
    }
    let (verdict, reasons) = if is_client_limited(judged) {
        (SizeVerdict::ClientCeiling, of_measurement)
    } else if matches!(judged.objective.value, ObjectiveValue::Missed | ObjectiveValue::NotDecided)
    {
        (SizeVerdict::Missed, judged.objective.codes())
    } else {
        (SizeVerdict::Counts, Vec::new())
    };
    SizeFigures {
        reasons,
        per_s,
        interval: measured.and_then(|one| one.stream.throughput.ci95),
        ..SizeFigures::none(verdict)
    }
}
