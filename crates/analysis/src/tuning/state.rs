//! The state of a tuning, replayed from its measurements up to the next missing configuration.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use highwater_model::numbers::len_to_f64;
use highwater_model::quantity::parse_count;
use highwater_model::tune::{
    BestConfiguration, NoBest, NoBestReason, RunnerUp, TrialPurpose, TrialRecord, TrialVerdict,
    TuneAxis, TuneOutcome, TuneRecord,
};
use highwater_workload::random::mix;

use crate::throughput::student_quantile;

/// Maximum number of configurations of a grid that is measured completely.
const SMALL: usize = 12;
/// Fraction of a larger grid that is sampled.
const SAMPLE: usize = 16;
/// Maximum number of passes along all axes; from the second pass on, only this near the best.
const ROUNDS: u64 = 4;
const NEAR: usize = 1;

/// Number of configurations in the confirming round; a small grid is halved down to it.
const PAIR: usize = 2;

/// Prefix of axes that are settings of new tables.
const TABLE_SETTING: &str = "with.";

/// Two configurations are tied if the confirming round cannot distinguish them and they differ by at most this
/// fraction, which is too little to matter. With a larger difference the faster one is named, however uncertain
/// its lead is.
pub const TIE: f64 = 0.01;

/// Position of the value on each axis.
type Configuration = Vec<usize>;

/// The next step if a measurement is missing.
type Missing<T> = Result<T, TuneStep>;

/// Maximum number of measurements of a search over these axes, including the confirming round: for a small grid each
/// configuration, and the better half of them repeatedly; for a large one a third of its configurations; for one in
/// between, its sample and one pass along its axes. Larger samples, taken while no configuration is valid, are not
/// included ([`probes_left_out`]).
pub fn probes_most(axes: &[TuneAxis], confirmations: u32) -> u32 {
    let configurations: usize = axes.iter().map(|axis| axis.values.len()).product();
    let round = 2 * usize::try_from(confirmations).unwrap_or(usize::MAX);
    let most = if is_small(axes) {
        let half = |left: &usize| Some(left.div_ceil(2)).filter(|left| *left > PAIR);
        std::iter::successors(Some(configurations), half).sum::<usize>() + round
    } else {
        let lines: usize = axes.iter().map(|axis| axis.values.len()).sum();
        (configurations / 3).max(sample(configurations) + 3 * lines / 2 + round)
    };
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// Configurations of the sample.
fn sample(configurations: usize) -> usize {
    (configurations / SAMPLE).max(2)
}

/// Measurements that do not count towards [`probes_most`]: samples after the first one, taken while none was valid.
pub fn probes_left_out(tune: &TuneRecord) -> u32 {
    let is_invalid = |trial: &&TrialRecord| trial.verdict != TrialVerdict::Counts;
    let invalid = tune.trials.iter().take_while(is_invalid).count();
    let beyond = if is_small(&tune.axes) {
        0
    } else {
        let configurations = tune.axes.iter().map(|axis| axis.values.len()).product();
        invalid.saturating_sub(sample(configurations))
    };
    u32::try_from(beyond).unwrap_or(u32::MAX)
}

/// Whether each configuration is measured.
pub fn is_small(axes: &[TuneAxis]) -> bool {
    let configurations: usize = axes.iter().map(|axis| axis.values.len()).product();
    let varied = axes.iter().filter(|axis| axis.values.len() > 1).count();
    configurations <= SMALL || varied <= 1
}

pub(super) struct TuneState<'a> {
    tune: &'a TuneRecord,
    /// ln of the figure, negated if less is better; absent if it does not count.
    searched: BTreeMap<Configuration, Vec<Option<f64>>>,
    confirmed: BTreeMap<Configuration, Vec<Option<f64>>>,
    /// Number of the search's measurements that the replay has reached. Later ones must not change
    /// earlier decisions.
    seen: BTreeMap<Configuration, usize>,
}

impl<'a> TuneState<'a> {
    pub(super) fn new(tune: &'a TuneRecord) -> Self {
        let (mut searched, mut confirmed) = (BTreeMap::new(), BTreeMap::new());
        for trial in &tune.trials {
            let values: &mut BTreeMap<Configuration, Vec<Option<f64>>> = match trial.purpose {
                TrialPurpose::Search => &mut searched,
                TrialPurpose::Confirm => &mut confirmed,
            };
            let counts = trial.verdict == TrialVerdict::Counts;
            let figure = trial.figure.filter(|figure| counts && *figure > 0.0);
            let sign = if tune.by.is_gain() { 1.0 } else { -1.0 };
            let score = figure.map(|figure| sign * figure.ln());
            values.entry(trial.at.clone()).or_default().push(score);
        }
        Self { tune, searched, confirmed, seen: BTreeMap::new() }
    }

    /// Replays to the end, or to the first missing configuration.
    pub(super) fn run(&mut self) -> Missing<TuneOutcome> {
        let cut_short = match self.search() {
            Ok(()) => false,
            Err(step) if self.allows(self.round(), 1) => return Err(step),
            Err(_) => true,
        };
        let mut ranked = self.ranked();
        if ranked.is_empty() {
            let why = if cut_short { NoBestReason::BudgetSpent } else { NoBestReason::NoneCounts };
            return Ok(no_best(why, None));
        }
        ranked.truncate(2);
        if let [winner, runner_up] = &ranked[..] {
            self.confirm(winner, runner_up, cut_short)
        } else {
            Ok(self.best(&ranked[0], None, cut_short))
        }
    }

    /// The best of all measured configurations.
    pub(super) fn best_so_far(&self) -> Option<Configuration> {
        self.ranked().into_iter().next()
    }

    /// Number of measurements that the confirming round still needs.
    fn round(&self) -> u32 {
        let made: usize = self.confirmed.values().map(Vec::len).sum();
        let made = u32::try_from(made).unwrap_or(u32::MAX);
        (2 * self.tune.policy.confirmations).saturating_sub(made)
    }

    /// Whether this number of measurements can still be made.
    fn allows(&self, round: u32, more: u32) -> bool {
        let policy = &self.tune.policy;
        let trials = round.saturating_add(more);
        let made = u32::try_from(self.tune.trials.len()).unwrap_or(u32::MAX);
        let spent = self.tune.trials.iter().map(|trial| trial.took_ns).fold(0, u64::saturating_add);
        let cost = match u64::from(made) {
            0 => policy.trial_cost_ns,
            made => spent / made,
        };
        let most = policy.probes_max.saturating_add(probes_left_out(self.tune));
        made.saturating_add(trials) <= most
            && spent.saturating_add(cost.saturating_mul(trials.into())) <= policy.budget_ns
    }

    /// Configurations that count, the best first.
    fn ranked(&self) -> Vec<Configuration> {
        best_first(self.searched.keys().filter_map(|at| Some((at, self.score(at)?))))
    }

    /// Mean of all the search's measurements of a configuration; absent if one of them does not count, or there
    /// is none.
    fn score(&self, at: &Configuration) -> Option<f64> {
        mean_score(self.searched.get(at)?)
    }

    /// The same for the measurements that the replay has reached.
    fn score_so_far(&self, at: &Configuration) -> Option<f64> {
        let seen = *self.seen.get(at)?;
        mean_score(self.searched.get(at)?.get(..seen)?)
    }

    fn search(&mut self) -> Missing<()> {
        if is_small(&self.tune.axes) {
            // The confirming round decides which of the last two is better.
            return self.halved(0, self.grid(), PAIR).map(|_| ());
        }
        let Some(mut best) = self.best_of_samples()? else {
            return Ok(());
        };
        for round in 1..=ROUNDS {
            let before = best.clone();
            for axis in self.axes_in_order(round) {
                let stage = round * 100 + axis as u64;
                let line = self.line(&best, axis, round);
                best = self.halved(stage, line, 1)?.unwrap_or(best);
            }
            if best == before && round > 1 {
                break;
            }
        }
        self.search_near_the_smaller()
    }

    /// If the runner-up is smaller than the winner, a tie makes it the best: then nothing near it may be better, either.
    fn search_near_the_smaller(&mut self) -> Missing<()> {
        for round in ROUNDS + 1..=2 * ROUNDS {
            let ranked = self.ranked_so_far();
            let [winner, other, ..] = &ranked[..] else { break };
            let may_win = if self.is_smaller(other, winner) { 2 } else { 1 };
            for axis in self.axes_in_order(round) {
                for (nth, center) in ranked[..may_win].iter().enumerate() {
                    let line = self.line(center, axis, round);
                    self.halved(round * 100 + 2 * axis as u64 + nth as u64, line, 1)?;
                }
            }
            if self.ranked_so_far().starts_with(&ranked[..2]) {
                break;
            }
        }
        Ok(())
    }

    /// Like [`Self::ranked`], by the measurements that the replay has reached.
    fn ranked_so_far(&self) -> Vec<Configuration> {
        let all = self.seen.keys().filter_map(|at| Some((at, self.score_so_far(at)?)));
        best_first(all)
    }

    /// The best of the first sample with a valid configuration. Absent if the whole grid has none, or if the first
    /// sample shows that this target does not provide the figure.
    fn best_of_samples(&mut self) -> Missing<Option<Configuration>> {
        let grid = shuffled(self.tune.policy.seed, 0, self.grid());
        for part in grid.chunks(sample(grid.len())) {
            let best = self.halved(0, part.to_vec(), 1)?;
            if best.is_some() || part.iter().all(|at| self.lacks_figure(at)) {
                return Ok(best);
            }
        }
        Ok(None)
    }

    /// Whether the runs of a configuration were valid, but did not have the figure.
    fn lacks_figure(&self, at: &Configuration) -> bool {
        let of_it = |trial: &&TrialRecord| trial.at == *at;
        let lacks = |trial: &TrialRecord| {
            trial.verdict == TrialVerdict::NotMeasured && trial.reasons.is_empty()
        };
        self.tune.trials.iter().filter(of_it).all(lacks)
    }

    /// Every combination of values.
    fn grid(&self) -> Vec<Configuration> {
        self.tune.axes.iter().fold(vec![Vec::new()], |configurations, axis| {
            configurations
                .iter()
                .flat_map(|configuration| {
                    (0..axis.values.len())
                        .map(move |position| [&configuration[..], &[position]].concat())
                })
                .collect()
        })
    }

    fn axes_in_order(&self, round: u64) -> Vec<usize> {
        let mut axes: Vec<usize> = (0..self.tune.axes.len()).collect();
        axes.sort_by_key(|axis| key(self.tune.policy.seed, round, &[*axis]));
        axes
    }

    /// The configurations along an axis: all of them the first time, then those near the best.
    fn line(&self, best: &Configuration, axis: usize, round: u64) -> Vec<Configuration> {
        let positions = 0..self.tune.axes[axis].values.len();
        positions
            .filter(|position| round == 1 || position.abs_diff(best[axis]) <= NEAR)
            .map(|position| {
                let mut configuration = best.clone();
                configuration[axis] = position;
                configuration
            })
            .collect()
    }

    /// The best of these by successive halving: each is measured once, the better half again, and so
    /// on until this number is left. Absent if none counts.
    fn halved(
        &mut self,
        stage: u64,
        configurations: Vec<Configuration>,
        down_to: usize,
    ) -> Missing<Option<Configuration>> {
        let mut left = configurations;
        for times in 1.. {
            let order = stage * 16 + times as u64;
            for at in shuffled(self.tune.policy.seed, order, left.clone()) {
                self.has(&at, times)?;
            }
            // A configuration that did not count is not measured again.
            left.retain(|at| self.score_so_far(at).is_some());
            left.sort_by(|a, b| {
                let (a, b) = (self.score_so_far(a), self.score_so_far(b));
                b.partial_cmp(&a).unwrap_or(Ordering::Equal)
            });
            if left.len() > down_to {
                left.truncate(left.len().div_ceil(2));
            }
            if left.len() <= down_to {
                break;
            }
        }
        Ok(left.into_iter().next())
    }

    /// Whether the replay has reached this number of measurements of a configuration.
    fn has(&mut self, at: &Configuration, times: usize) -> Missing<()> {
        let measured = self.searched.get(at).map_or(0, Vec::len);
        let seen = self.seen.entry(at.clone()).or_default();
        if measured < times {
            return Err(TuneStep::Measure { at: at.clone(), purpose: TrialPurpose::Search });
        }
        *seen = times.max(*seen);
        Ok(())
    }

    /// Winner and runner-up alternate; which one comes first is random.
    fn confirm(
        &self,
        winner: &Configuration,
        runner_up: &Configuration,
        cut_short: bool,
    ) -> Missing<TuneOutcome> {
        if self.round() > 0 && !self.allows(self.round(), 0) {
            return Ok(no_best(NoBestReason::BudgetSpent, Some(winner.clone())));
        }
        let trials = usize::try_from(self.tune.policy.confirmations).unwrap_or(usize::MAX);
        for times in 1..=trials {
            let pair = vec![winner.clone(), runner_up.clone()];
            for at in shuffled(self.tune.policy.seed, 1_000_000 + times as u64, pair) {
                if self.confirmed.get(&at).map_or(0, Vec::len) < times {
                    return Err(TuneStep::Measure { at, purpose: TrialPurpose::Confirm });
                }
            }
        }
        Ok(self.compared(winner, runner_up, cut_short))
    }

    fn compared(
        &self,
        winner: &Configuration,
        runner_up: &Configuration,
        cut_short: bool,
    ) -> TuneOutcome {
        let (a, b) = (self.confirmations(winner), self.confirmations(runner_up));
        let (x, y) = match (mean(&a), mean(&b)) {
            (None, None) => return no_best(NoBestReason::NoneCounts, None),
            (Some(_), None) => return self.best(winner, None, cut_short),
            (None, Some(_)) => return self.best(runner_up, None, cut_short),
            (Some(x), Some(y)) => (x, y),
        };
        // The faster one in this round wins; if both are tied, the smaller one does, because it costs less.
        let is_tied = is_tied(&a, &b);
        let winner_is_best = if is_tied && self.is_smaller(winner, runner_up) {
            true
        } else if is_tied && self.is_smaller(runner_up, winner) {
            false
        } else {
            x >= y
        };
        if winner_is_best {
            self.best(winner, Some((runner_up, &b)), cut_short)
        } else {
            self.best(runner_up, Some((winner, &a)), cut_short)
        }
    }

    /// Whether no value of a configuration is greater than the other's, and one is smaller. For values that are
    /// not numbers, and for settings of tables, it is unknown which one costs less.
    fn is_smaller(&self, one: &Configuration, other: &Configuration) -> bool {
        let number = |axis: &TuneAxis, at: &usize| {
            let is_setting = axis.name.starts_with(TABLE_SETTING);
            let value = axis.values.get(*at).filter(|_| !is_setting)?;
            parse_count(value).ok()
        };
        let ordered =
            self.tune.axes.iter().zip(one.iter().zip(other)).map(|(axis, (one, other))| {
                Some(number(axis, one)?.cmp(&number(axis, other)?)).filter(|order| order.is_le())
            });
        let ordered: Option<Vec<Ordering>> = ordered.collect();
        ordered.is_some_and(|ordered| ordered.contains(&Ordering::Less))
    }

    /// The confirming round's scores of a configuration, greater is better; empty if one of them does not count.
    fn confirmations(&self, at: &Configuration) -> Vec<f64> {
        let scores = self.confirmed.get(at).map_or(&[][..], Vec::as_slice);
        let scores: Option<Vec<f64>> =
            scores.iter().map(|score| Some(score.as_ref()?.exp())).collect();
        scores.unwrap_or_default()
    }

    fn best(
        &self,
        at: &Configuration,
        other: Option<(&Configuration, &[f64])>,
        cut_short: bool,
    ) -> TuneOutcome {
        let own = self.confirmations(at);
        let runner_up = other.and_then(|(other, scores)| {
            let gain95 = gain95(&own, scores)?;
            Some(RunnerUp {
                at: other.clone(),
                figure: self.figure(mean(scores)?),
                gain95,
                is_significant: gain95[0] > 0.0,
                is_tied: is_tied(&own, scores),
            })
        });
        let score = mean(&own).or_else(|| self.score(at).map(f64::exp));
        TuneOutcome::Best(BestConfiguration {
            at: at.clone(),
            values: self.tune.values(at),
            figure: self.figure(score.unwrap_or(0.0)),
            runner_up,
            cut_short,
        })
    }

    /// The figure that a score was computed from.
    fn figure(&self, score: f64) -> f64 {
        if self.tune.by.is_gain() { score } else { 1.0 / score }
    }
}

/// The end of a tuning that names no best configuration.
pub(super) fn no_best(why: NoBestReason, best_so_far: Option<Configuration>) -> TuneOutcome {
    TuneOutcome::NoBest(NoBest { why, best_so_far })
}

/// Configurations in the order of their scores.
fn best_first<'a>(scored: impl Iterator<Item = (&'a Configuration, f64)>) -> Vec<Configuration> {
    let mut scored: Vec<(&Configuration, f64)> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    scored.into_iter().map(|(at, _)| at.clone()).collect()
}

/// Whether the confirming round cannot distinguish two configurations, and measured about the same
/// for both.
fn is_tied(a: &[f64], b: &[f64]) -> bool {
    let apart = mean(a).zip(mean(b)).map(|(x, y)| (x / y).ln().abs());
    let includes_zero = gain95(a, b).is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high);
    includes_zero && apart.is_some_and(|apart| apart <= TIE)
}

/// Absent without scores, and if one of them is absent.
fn mean_score(scores: &[Option<f64>]) -> Option<f64> {
    let counting: Option<Vec<f64>> = scores.iter().copied().collect();
    let counting = counting.filter(|scores| !scores.is_empty())?;
    Some(counting.iter().sum::<f64>() / len_to_f64(counting.len()))
}

/// Geometric mean; absent without values.
fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / len_to_f64(values.len())).exp())
}

/// A key of a configuration in one stage: sorted by it, configurations are in random order (SplitMix64; Steele, Lea &
/// Flood 2014).
pub(super) fn key(seed: u64, stage: u64, at: &[usize]) -> u64 {
    let parts = at.iter().map(|position| *position as u64);
    [stage].into_iter().chain(parts).fold(seed, |state, part| {
        let key = state ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        mix(key.wrapping_add(0x9e37_79b9_7f4a_7c15))
    })
}

/// Configurations in random order.
pub(super) fn shuffled(
    seed: u64,
    stage: u64,
    mut configurations: Vec<Vec<usize>>,
) -> Vec<Vec<usize>> {
    configurations.sort_by_key(|at| (key(seed, stage, at), at.clone()));
    configurations
}

/// The gain of `a` over `b` as a fraction, with 95% confidence: Welch's interval of the difference of
/// the mean logarithms (B. L. Welch, Biometrika 34, 1947). Absent with fewer than two values each.
pub(super) fn gain95(a: &[f64], b: &[f64]) -> Option<[f64; 2]> {
    let (mean_a, variance_a, n_a) = moments(a)?;
    let (mean_b, variance_b, n_b) = moments(b)?;
    let (own_a, own_b) = (variance_a / n_a, variance_b / n_b);
    let error = (own_a + own_b).sqrt();
    let degrees = if error > 0.0 {
        (own_a + own_b).powi(2) / (own_a.powi(2) / (n_a - 1.0) + own_b.powi(2) / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    let half = student_quantile(0.025, degrees) * error;
    let difference = mean_a - mean_b;
    Some([(difference - half).exp_m1(), (difference + half).exp_m1()])
}

/// Mean and variance of the logarithms, and their number.
fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let n = len_to_f64(values.len());
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
    let squares = values.iter().map(|value| (value.ln() - mean).powi(2));
    Some((mean, squares.sum::<f64>() / (n - 1.0), n))
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum TuneStep {
    /// Measure a configuration.
    Measure {
        /// Position of the value on each axis.
        at: Vec<usize>,
        /// The purpose.
        purpose: TrialPurpose,
    },
    /// The tuning is complete.
    End(TuneOutcome),
}
