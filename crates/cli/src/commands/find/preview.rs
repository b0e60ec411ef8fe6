//! The preview of a search, printed before its first probe: steps, lengths, and time. Must not probe.

use highwater_analysis::search::{
    FEWEST_OPS, OPS_OF_FIVE_PERCENT, OpsNeeded, PROBES_OF_NINE_IN_TEN, mark_tolerance, ops_needed,
};
use highwater_model::display::{duration, plain, quantile, rate};
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::plan::{Pace, Plan, StreamPlan};
use highwater_model::search::{SearchAxis, SearchObjective, SearchPolicy, SearchRecord};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_report::objective_bound;
use highwater_workload::Workload;

use super::FindIntent;
use crate::prepare::trials::{TrialOverhead, resumed};

/// Number of confirmations of a candidate.
const CONFIRMATIONS: u32 = 3;
const PROBES_MAX: u32 = 25;
/// Rates at which the accuracy of the mark is printed without `--start`, in ops per second.
const RATES_SHOWN: [f64; 2] = [100.0, 500.0];
/// Minimum number of ops that a probe offers.
const LEAST_OPS: f64 = 10.0;
/// A probe takes at most this fraction of the budget, so that an estimate, four probes, and three confirmations fit.
const PARTS_OF_BUDGET: u64 = 8;

const TOO_FEW: &str = "allow more time with --budget, make ops smaller (--batch), or bound a lower \
                       percentile";

/// The stream whose pace is searched for.
pub(super) fn searched<'a>(settings: &FindIntent, plan: &'a Plan) -> &'a StreamPlan {
    &plan.streams[settings.searched.min(plan.streams.len().saturating_sub(1))]
}

/// A search before its first probe.
pub(super) struct Preview {
    /// Without an outcome.
    pub(super) search: SearchRecord,
    /// Number of ops that its percentiles need.
    needed: Option<OpsNeeded>,
    units_per_op: f64,
}

impl Preview {
    /// Fails if the given rates are too low for the percentile, regardless of the results.
    pub(super) fn new(
        settings: &FindIntent,
        workload: &Workload,
        plan: &Plan,
    ) -> Result<Self, UserError> {
        let needed = ops_needed(&plan.objectives);
        let ops = needed.map_or(0.0, |needed| needed.ops);
        let around = TrialOverhead::new(&settings.run, settings.settle, workload, plan)?;
        let part = Nanos(settings.budget.0 / PARTS_OF_BUDGET);
        let longest = part.saturating_sub(around.fixed).0;
        let longest = to_f64(longest) / (1.0 + around.audit_fraction);
        let longest = Nanos(round_to_u64(longest)).max(settings.probe);
        let stream = searched(settings, plan);
        let objective =
            SearchObjective { stated: plan.objectives.clone(), no_errors: settings.no_errors };
        let slowest = slowest_fixed(settings, workload, plan, ops);
        if let Some((length, stream)) = slowest.filter(|(length, _)| *length > longest) {
            let cause = format!(
                "--stream {stream}: a probe of {} would be needed for its {}, {} at most fits the \
                 budget",
                duration(length.0),
                name_of(needed),
                duration(longest.0)
            );
            return Err(UserError::usage(cause).with_hint(TOO_FEW));
        }
        let fixed = slowest.map_or(Nanos::ZERO, |(length, _)| length);
        let (probe, confirm) = (settings.probe.max(fixed), settings.confirm.max(fixed));
        let policy = SearchPolicy {
            axis: settings.axis,
            first: settings.first,
            lowest: 1.0,
            highest: settings.max,
            width: f64::from(settings.tolerance.0) / 1e6,
            confirmations: CONFIRMATIONS,
            probes_max: PROBES_MAX,
            budget_ns: Some(settings.budget.0),
            probe_ns: probe.0,
            confirmation_ns: confirm.0,
            around_ns: around.fixed.0,
            audit_fraction: around.audit_fraction,
            units_needed: units_of(workload, stream, ops),
            longest_ns: longest.0,
            soak_ns: settings.soak.map(|soak| soak.0),
        };
        let preview = Self {
            search: SearchRecord {
                axis: settings.axis,
                stream: stream.name.clone(),
                unit: stream.unit,
                objective_hash: objective.hash(),
                objective,
                floor: settings.floor.map(Rate::as_f64),
                policy,
                ..SearchRecord::default()
            },
            needed,
            units_per_op: to_f64(stream.units_per_op),
        };
        let mut preview = preview.bounded(stream)?;
        // A plan's hash does not include the target, but probes of two databases must not be mixed in a search.
        let targets: Vec<String> = settings.run.targets.iter().map(ToString::to_string).collect();
        let intended = format!("{} {}", plan.hash(), targets.join(" "));
        preview.search.definition_hash = preview.search.hash(&intended);
        Ok(preview)
    }

    /// Adds the minimum searched rate, below which a probe has hardly any ops.
    fn bounded(mut self, stream: &StreamPlan) -> Result<Self, UserError> {
        let policy = &self.search.policy;
        if policy.axis == SearchAxis::Sessions {
            return Ok(self);
        }
        let hardly_any =
            LEAST_OPS * to_f64(stream.units_per_op) / Nanos(policy.probe_ns).as_secs_f64();
        let most = policy.highest.unwrap_or(f64::MAX);
        self.search.policy.lowest = hardly_any.min(most);
        let policy = &self.search.policy;
        let given = [("--start", policy.first), ("--max", policy.highest)];
        let too_low = given
            .into_iter()
            .find_map(|(flag, value)| Some((flag, value.filter(|value| *value < self.rarest())?)));
        match too_low {
            None => Ok(self),
            Some((flag, value)) => {
                let unit = self.search.unit.name();
                let cause = format!(
                    "{flag}: at {} {unit}/s, the longest probe that fits the budget ({}) has too few \
                     ops for {}; the minimum is {} {unit}/s",
                    plain(value),
                    duration(self.longest_ns()),
                    name_of(self.needed),
                    rate(self.rarest().ceil()),
                );
                Err(UserError::usage(cause).with_hint(TOO_FEW))
            }
        }
    }

    /// The rate below which the longest probe has too few ops; 0 without a percentile.
    fn rarest(&self) -> f64 {
        self.search.policy.units_needed / Nanos(self.longest_ns()).as_secs_f64()
    }

    /// The longest probe that fits into the budget with its confirmations.
    fn longest_ns(&self) -> u64 {
        let policy = &self.search.policy;
        let budget = policy.budget_ns.unwrap_or(policy.longest_ns);
        policy.longest_of_ns(budget, 1 + CONFIRMATIONS, policy.around_ns)
    }

    /// Maximum time of nine out of ten searches, without the time for filling tables.
    pub(super) fn usual(&self) -> Nanos {
        let policy = &self.search.policy;
        let time = self.time(*PROBES_OF_NINE_IN_TEN.end());
        Nanos(policy.budget_ns.map_or(time, |budget| time.min(budget)))
    }

    /// Time of `probes` probes, including confirmations.
    fn time(&self, probes: u32) -> u64 {
        let policy = &self.search.policy;
        let searching = u64::from(probes.saturating_sub(CONFIRMATIONS))
            .saturating_mul(policy.probe_takes_ns(policy.probe_ns));
        let confirming = policy.probe_takes_ns(policy.confirmation_ns);
        searching.saturating_add(u64::from(CONFIRMATIONS).saturating_mul(confirming))
    }

    /// The planned probes and their duration, without the time for filling tables, which is unknown before the first
    /// probe.
    pub(super) fn text(&self, settings: &FindIntent) -> String {
        let search = &self.search;
        let policy = &search.policy;
        let varied = match search.axis {
            SearchAxis::Rate => format!("rate of {}, in {}/s", search.stream, search.unit.name()),
            SearchAxis::Sessions => format!("number of sessions of {}", search.stream),
        };
        let stated: Vec<String> = search.objective.stated.iter().map(objective_bound).collect();
        let objective =
            if stated.is_empty() { String::new() } else { format!(", with {}", stated.join(", ")) };
        let resumed = resumed(search.probes.len(), "probes");
        format!(
            "find the highest {varied}, within {}%{objective}\n\
             probes of {}, then {CONFIRMATIONS} confirmations of {}\n\
             {}{}{}; filling tables not counted\n{}{resumed}",
            plain(policy.width * 100.0),
            duration(policy.probe_ns),
            duration(policy.confirmation_ns),
            self.lengthened(),
            self.accuracy(),
            self.usual_time(settings.budget),
            policy.soak_ns.map_or_else(String::new, |soak| format!(
                "then a soak of {} at the mark, outside the budget\n",
                duration(soak)
            )),
        )
    }

    /// The duration that nine of ten searches stay below. Probes with few ops are longer, so only the budget is a
    /// reliable bound.
    fn usual_time(&self, budget: Nanos) -> String {
        // Resumed probes are not repeated.
        let done = u32::try_from(self.search.probes.len()).unwrap_or(u32::MAX);
        let all = [*PROBES_OF_NINE_IN_TEN.start(), *PROBES_OF_NINE_IN_TEN.end()];
        let [fewest, most] = all.map(|of| of.saturating_sub(done).max(CONFIRMATIONS));
        let more = if done > 0 { " more" } else { "" };
        let times = [fewest, most].map(|probes| self.time(probes));
        let [least, usual] = times.map(duration);
        let bound = duration(budget.0);
        let probes = format!("9 of 10 searches take {fewest} to {most}{more} probes");
        match times {
            [shortest, _] if budget.0 < shortest => format!(
                "{probes}, {least} to {usual}: the budget of {bound} ends most of them without a mark; raise --budget"
            ),
            [_, longest] if budget.0 < longest => format!(
                "{probes}, {least} to the budget of {bound}, which ends some of them early; at most {PROBES_MAX} probes"
            ),
            _ => format!(
                "{probes}, {least} to {usual}; at most {PROBES_MAX} probes and the budget of {bound}"
            ),
        }
    }

    /// The accuracy of a mark that the budget allows at low op rates.
    fn accuracy(&self) -> String {
        let policy = &self.search.policy;
        let Some(budget) = policy.budget_ns.map(Nanos) else {
            return String::new();
        };
        if policy.axis == SearchAxis::Sessions {
            return String::new();
        }
        let given = policy.first.map(|first| vec![first / self.units_per_op]);
        let rates = given.unwrap_or_else(|| RATES_SHOWN.to_vec());
        let mut text: String = rates.iter().map(|per_s| accuracy_at(*per_s, budget)).collect();
        let rarest = (FEWEST_OPS / budget.as_secs_f64()).ceil();
        if policy.first.is_some() || rates.iter().any(|per_s| rarest <= *per_s) {
            let rarest = plain(rarest);
            text += &format!(
                "below {rarest} ops/s, a search often ends without a mark; raise --budget\n"
            );
        }
        text
    }

    /// The rates at which probes are lengthened, and those that cannot be confirmed.
    fn lengthened(&self) -> String {
        let (search, policy) = (&self.search, &self.search.policy);
        let Some(needed) = self.needed else {
            return String::new();
        };
        let ops = format!(
            "{} needs {} ops per probe",
            quantile(needed.quantile_ppm),
            rate(needed.ops.ceil())
        );
        match search.axis {
            SearchAxis::Sessions => format!("{ops}. With fewer, probes take longer\n"),
            SearchAxis::Rate => {
                let unit = search.unit.name();
                let from = policy.units_needed / Nanos(policy.probe_ns).as_secs_f64();
                format!(
                    "{ops}. Below {} {unit}/s, probes take longer (up to {}). Rates below {} \
                     {unit}/s cannot be confirmed; raise --budget to include them\n",
                    rate(from.ceil()),
                    duration(self.longest_ns()),
                    rate(self.rarest().ceil())
                )
            }
        }
    }
}

/// `at 100 ops/s, 9 of 10 searches end at most 20% below or 3% above the true mark; with --budget 134m, 3 of 4 within
/// 5%`; empty if no accuracy can be stated.
fn accuracy_at(per_s: f64, budget: Nanos) -> String {
    let Some(tolerance) = mark_tolerance(per_s, budget) else {
        return String::new();
    };
    let minutes = (OPS_OF_FIVE_PERCENT / per_s / 60.0).ceil();
    let more = if minutes * 60.0 > budget.as_secs_f64() {
        format!("; with --budget {}m, 3 of 4 within 5%", plain(minutes))
    } else {
        String::new()
    };
    let percent = |part: f64| plain((part * 100.0).round());
    format!(
        "at {} ops/s, 9 of 10 searches end at most {}% below or {}% above the true mark{more}\n",
        plain(per_s.round()),
        percent(tolerance.below),
        percent(tolerance.above),
    )
}

fn name_of(needed: Option<OpsNeeded>) -> String {
    needed.map_or_else(String::new, |needed| quantile(needed.quantile_ppm))
}

/// The time that the percentiles of the other streams need, and the slowest of these streams; absent if none is open.
fn slowest_fixed<'a>(
    settings: &FindIntent,
    workload: &Workload,
    plan: &'a Plan,
    ops: f64,
) -> Option<(Nanos, &'a str)> {
    let others =
        plan.streams.iter().enumerate().filter(|(position, _)| *position != settings.searched);
    let lengths = others.filter_map(|(_, stream)| match stream.paces.first()? {
        Pace::Open { rate } => {
            let seconds = units_of(workload, stream, ops) / rate.as_f64();
            Some((nanos(seconds), stream.name.as_str()))
        }
        Pace::Closed { .. } => None,
    });
    lengths.max_by_key(|(length, _)| *length)
}

/// Number of units of a stream in which its rarest op occurs `ops` times.
fn units_of(workload: &Workload, stream: &StreamPlan, ops: f64) -> f64 {
    let spec = workload.stream(&stream.name);
    let weights: Vec<u32> =
        spec.map_or_else(Vec::new, |spec| spec.ops.iter().map(|(_, weight)| *weight).collect());
    let all: u32 = weights.iter().sum();
    let least = weights.into_iter().filter(|weight| *weight > 0).min();
    let fraction = least.map_or(1.0, |least| f64::from(least) / f64::from(all));
    ops / fraction * to_f64(stream.units_per_op)
}

fn nanos(seconds: f64) -> Nanos {
    Nanos(ceil_to_u64(seconds * 1e9))
}
