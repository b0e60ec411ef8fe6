//! The remaining budget of a search: probes and time.
//!
//! Time is the duration of probes. Must not read a clock.

use highwater_model::numbers::to_f64;
use highwater_model::search::{ProbePurpose, ProbeRecord, SearchAxis};
use highwater_model::units::Nanos;

use super::history::ProbeHistory;
use super::step::is_same;

/// Maximum fraction of the budget spent on probing once some value passed and some value failed.
const SEARCHING: u64 = 6;
/// The same as a number of probes.
const SEARCHES: usize = 12;
/// With few ops, a probe and a confirmation take these fractions of the budget.
const PROBE: u64 = 60;
const CONFIRMATION: u64 = 12;
/// A candidate may take this fraction of the remaining budget.
const TOGETHER: u64 = 2;

impl ProbeHistory<'_> {
    /// Whether this number of probes and confirmations still fits the budget at the expected units per second.
    pub(super) fn allows(&self, probes: u32, confirmations: u32, units_per_s: Option<f64>) -> bool {
        let made = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let in_number =
            made.saturating_add(probes).saturating_add(confirmations).le(&self.policy().probes_max);
        let Some(budget) = self.policy().budget_ns else {
            return in_number;
        };
        let all = probes.saturating_add(confirmations);
        let cost = |purpose, times: u32| {
            let measured = self.measured_ns(purpose, units_per_s, all);
            let one = self.takes(purpose, measured);
            one.saturating_mul(times.into())
        };
        let planned =
            [cost(ProbePurpose::Search, probes), cost(ProbePurpose::Confirm, confirmations)];
        let spent = self.probes.iter().map(took).chain(planned);
        in_number && spent.fold(0, u64::saturating_add) <= budget
    }

    /// Whether, after one more probe, enough probes remain for all confirmations of a candidate whose last one fails,
    /// and of the next candidate. Always true if a value is already confirmed.
    pub(super) fn leaves_second_candidate(&self) -> bool {
        let made = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let policy = self.policy();
        let both = policy.confirmations.saturating_mul(2).saturating_add(1);
        self.low().is_none() || self.confirms() || made.saturating_add(both) <= policy.probes_max
    }

    /// Whether the budget still allows `full` confirmations of full length, and `short` ones that are as short as a
    /// probe but have enough ops.
    pub(super) fn allows_short(&self, full: u32, short: u32, units_per_s: Option<f64>) -> bool {
        let made = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let all = full.saturating_add(short);
        let Some(budget) = self.policy().budget_ns else {
            return made.saturating_add(all) <= self.policy().probes_max;
        };
        let needed = units_per_s.map_or(0, |rate| self.policy().needed_ns(rate));
        let shortest = self.takes(ProbePurpose::Confirm, needed.max(self.policy().probe_ns));
        let longest = self.measured_ns(ProbePurpose::Confirm, units_per_s, all);
        let longest = self.takes(ProbePurpose::Confirm, longest);
        let planned = [longest.saturating_mul(full.into()), shortest.saturating_mul(short.into())];
        let spent = self.probes.iter().map(took).chain(planned);
        made.saturating_add(all) <= self.policy().probes_max
            && spent.fold(0, u64::saturating_add) <= budget
    }

    /// Whether probing has used its fraction of the budget, so that the rest is for confirmations.
    pub(super) fn searched_enough(&self) -> bool {
        let searches = self.probes.iter().filter(|probe| probe.purpose == ProbePurpose::Search);
        let spent = searches.clone().map(took).fold(0, u64::saturating_add);
        searches.count() >= SEARCHES
            || self.policy().budget_ns.is_some_and(|budget| spent >= budget / SEARCHING)
    }

    /// Length of a confirmation in nanoseconds: as configured, but short enough that the remaining ones fit the budget,
    /// and at least as long as a probe. If there is time for fewer than requested, they take all of it.
    pub(super) fn confirmation_ns(&self, at: Option<f64>) -> u64 {
        let (units_per_s, probes) =
            (at.and_then(|at| self.units_per_s(at)), at.map_or(1, |at| self.missing_at(at)));
        let planned = self.measured_ns(ProbePurpose::Confirm, units_per_s, probes);
        let Some(budget) = self.policy().budget_ns else {
            return planned;
        };
        let spent = self.probes.iter().map(took).fold(0, u64::saturating_add);
        let one = budget.saturating_sub(spent) / u64::from(probes);
        let fits = one.saturating_sub(self.takes(ProbePurpose::Confirm, 0));
        let are_few =
            at.is_some_and(|at| self.confirmations_needed(at) < self.policy().confirmations);
        if are_few {
            return fits;
        }
        let needed = units_per_s.map_or(0, |rate| self.policy().needed_ns(rate));
        planned.min(fits.max(needed).max(self.policy().probe_ns))
    }

    /// Number of confirmations that a value needs: the requested number. With few ops, and if nothing is confirmed yet,
    /// only as many as there is time for, but at least one, because confirmations are judged together.
    pub(super) fn confirmations_needed(&self, at: f64) -> u32 {
        let asked = self.policy().confirmations;
        let Some(budget) = self.policy().budget_ns.filter(|_| self.settles) else {
            return asked;
        };
        let spent = self.probes.iter().map(took).fold(0, u64::saturating_add);
        let needed = self.units_per_s(at).map_or(0, |rate| self.policy().needed_ns(rate));
        let one = self.takes(ProbePurpose::Confirm, needed.max(self.policy().probe_ns));
        let in_time = budget.saturating_sub(spent) / one.max(1);
        let in_time = u32::try_from(in_time).unwrap_or(u32::MAX);
        self.confirmed_at(at).saturating_add(in_time).clamp(1, asked.max(1))
    }

    /// Number of confirmations that a value may use in the remaining time: with few ops, more than the requested number
    /// may together show what that number does not.
    pub(super) fn confirmations_of_one(&self, at: Option<f64>) -> u32 {
        let least = self.policy().confirmations;
        let Some(budget) = self.policy().budget_ns.filter(|_| self.coarse.is_some()) else {
            return least;
        };
        let others = self.probes.iter().filter(|probe| {
            probe.purpose != ProbePurpose::Confirm || at.is_none_or(|at| !is_same(probe.at, at))
        });
        let (spent, made) = others.fold((0_u64, 0_u32), |(spent, made), probe| {
            (spent.saturating_add(took(probe)), made + 1)
        });
        let one = self.takes(ProbePurpose::Confirm, self.one_confirmation_ns());
        let in_time = budget.saturating_sub(spent) / TOGETHER / one.max(1);
        let most = self.policy().probes_max.saturating_sub(made) / 2;
        u32::try_from(in_time).unwrap_or(u32::MAX).min(most).max(least)
    }

    /// The same in nanoseconds, for a value without any confirmation.
    pub(super) fn confirmations_of_one_ns(&self) -> f64 {
        to_f64(self.one_confirmation_ns()) * f64::from(self.confirmations_of_one(None))
    }

    fn one_confirmation_ns(&self) -> u64 {
        self.policy().confirmation_ns.max(self.lengthened_ns(ProbePurpose::Confirm))
    }

    /// Length of a probe in nanoseconds at the expected units per second, if `probes` probes of this length must fit
    /// the remaining budget; as configured without an expectation. A probe that cannot have enough ops may still
    /// show a miss, and is not lengthened.
    pub(super) fn measured_ns(
        &self,
        purpose: ProbePurpose,
        units_per_s: Option<f64>,
        probes: u32,
    ) -> u64 {
        let policy = self.policy();
        let needed = units_per_s.map_or(0, |rate| policy.needed_ns(rate));
        let measured =
            if needed <= self.longest_ns(purpose, probes) { needed } else { policy.longest_ns };
        measured.max(policy.least_ns(purpose)).max(self.lengthened_ns(purpose))
    }

    /// If ops are so few that a single probe decides nothing, probes take their fraction of the
    /// budget.
    fn lengthened_ns(&self, purpose: ProbePurpose) -> u64 {
        let part = match purpose {
            ProbePurpose::Search => PROBE,
            ProbePurpose::Confirm => CONFIRMATION,
            ProbePurpose::Estimate | ProbePurpose::Soak => return 0,
        };
        let budget = self.policy().budget_ns.filter(|_| self.coarse.is_some());
        let around = self.takes(purpose, 0);
        budget.map_or(0, |budget| (budget / part).saturating_sub(around))
    }

    /// Whether confirmations of a value cannot have enough ops for their percentiles in the remaining
    /// budget.
    pub(super) fn is_too_rare(&self, at: f64) -> bool {
        let needed = self.units_per_s(at).map_or(0, |rate| self.policy().needed_ns(rate));
        let least = self.policy().confirmation_ns;
        needed > self.longest_ns(ProbePurpose::Confirm, self.missing_at(at)).max(least)
    }

    /// The same for a value that is probed first.
    pub(super) fn is_too_rare_after_a_probe(&self, at: f64) -> bool {
        let needed = self.units_per_s(at).map_or(0, |rate| self.policy().needed_ns(rate));
        let all = self.policy().confirmations.saturating_add(1);
        let least = self.policy().confirmation_ns;
        needed > self.longest_ns(ProbePurpose::Search, all).max(least)
    }

    /// The lowest rate that can still be confirmed after one more probe: a step below it could not decide anything.
    pub(super) fn least_confirmable(&self) -> f64 {
        let policy = self.policy();
        if policy.axis != SearchAxis::Rate || policy.budget_ns.is_none() {
            return 0.0;
        }
        let all = policy.confirmations.saturating_add(1);
        policy.units_needed / Nanos(self.longest_ns(ProbePurpose::Search, all)).as_secs_f64()
    }

    fn longest_ns(&self, purpose: ProbePurpose, probes: u32) -> u64 {
        let policy = self.policy();
        policy.budget_ns.map_or(policy.longest_ns, |budget| {
            let spent = self.probes.iter().map(took).fold(0, u64::saturating_add);
            let left = budget.saturating_sub(spent);
            policy.longest_of_ns(left, probes, self.takes(purpose, 0))
        })
    }

    /// Total duration of a probe with this measuring time: its overhead is that of the last probe with the
    /// same purpose, or else the estimated one.
    fn takes(&self, purpose: ProbePurpose, measured_ns: u64) -> u64 {
        let mut of_purpose = self.probes.iter().rev();
        let last = of_purpose.find(|probe| probe.purpose == purpose && probe.measured_ns > 0);
        last.map_or_else(
            || self.policy().probe_takes_ns(measured_ns),
            |probe| measured_ns.saturating_add(took(probe).saturating_sub(probe.measured_ns)),
        )
    }
}

fn took(probe: &ProbeRecord) -> u64 {
    probe.took_ns.saturating_add(probe.settled_ns)
}
