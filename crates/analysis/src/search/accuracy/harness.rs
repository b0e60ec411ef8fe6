//! The loop of a caller of the policy, with targets instead of runs: a target is a function from a probe's
//! rate and length to the result of a run, sampled from a seed, so hundreds of searches take a moment.

use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Objective;
use highwater_model::search::{
    ProbePurpose, ProbeRecord, ProbeVerdict, SearchOutcome, SearchRecord,
};
use highwater_model::units::Nanos;

use crate::exceedance::Exceedance;
use crate::fixture;
use crate::judge::shares::SUSTAINED_SHARE;
use crate::search::{Step, measured_ns, next};
use crate::synthetic::Noise;

const S: u64 = 1_000_000_000;

/// The result of one probe.
pub struct Shown {
    /// Its verdict.
    pub verdict: ProbeVerdict,
    /// Units acknowledged per second.
    pub acknowledged_per_s: f64,
    /// As in a probe's record.
    pub pressure: Option<f64>,
    /// As in a probe's record.
    pub late: Option<f64>,
    /// Why it did not pass.
    pub reasons: Vec<ReasonCode>,
}

impl Shown {
    /// Everything passed at this rate.
    pub fn met(at: f64) -> Self {
        Self {
            verdict: ProbeVerdict::Passed,
            acknowledged_per_s: at,
            pressure: None,
            late: None,
            reasons: Vec::new(),
        }
    }

    /// The fraction of ops that count against the objective, as judged by the product's rules.
    pub fn of_share(bound: &Exceedance, allowed: f64, reason: ReasonCode) -> Self {
        let verdict = if bound.lower95 > allowed {
            ProbeVerdict::Failed
        } else if bound.upper95 <= allowed {
            ProbeVerdict::Passed
        } else {
            ProbeVerdict::NotDecided
        };
        let missed = verdict != ProbeVerdict::Passed;
        Self {
            verdict,
            pressure: Some((bound.upper95 / allowed).ln()),
            late: Some(bound.fraction / allowed),
            reasons: missed.then_some(reason).into_iter().collect(),
            ..Self::met(0.0)
        }
    }

    /// It also missed for other reasons.
    pub fn fail_if(&mut self, missed: bool, reasons: Vec<ReasonCode>) {
        if missed {
            self.verdict = ProbeVerdict::Failed;
            self.reasons.extend(reasons);
        }
    }

    /// Acknowledged rate, and this rate: too little is not sustained.
    #[must_use]
    pub fn reaching(mut self, acknowledged_per_s: f64, at: f64) -> Self {
        self.acknowledged_per_s = acknowledged_per_s;
        if acknowledged_per_s < SUSTAINED_SHARE * at {
            self.verdict = ProbeVerdict::Failed;
            self.reasons.push(ReasonCode::RateNotSustained);
        }
        self
    }
}

/// A target: the result of a probe at a rate, over this number of seconds.
pub trait Target {
    /// The rate that closed load reaches.
    fn closed(&mut self) -> f64;
    /// The result of a probe at this rate.
    fn probe(&mut self, at: f64, seconds: f64) -> Shown;
}

/// The rate that closed load reaches, and the result of a probe.
impl<F: FnMut(f64, f64) -> Shown> Target for (f64, F) {
    fn closed(&mut self) -> f64 {
        self.0
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        (self.1)(at, seconds)
    }
}

/// A search and its end.
pub struct Found {
    /// Its end.
    pub outcome: SearchOutcome,
    /// All probes.
    pub probes: Vec<ProbeRecord>,
}

/// A search for a rate with probes of a minute and three confirmations of five.
pub fn search() -> SearchRecord {
    let mut search = fixture::search(vec![Objective::Rejected { max_ppm: 0 }]);
    search.policy.lowest = 0.01;
    search.policy.longest_ns = u64::MAX;
    search
}

/// The loop that a caller runs.
pub fn find(search: &SearchRecord, target: &mut dyn Target) -> Found {
    go_on(search, target, Vec::new())
}

/// The same after earlier probes.
pub fn go_on(
    search: &SearchRecord,
    target: &mut dyn Target,
    mut probes: Vec<ProbeRecord>,
) -> Found {
    // A policy that never ends must fail, not hang.
    for number in (1..=100).skip(probes.len()) {
        let (purpose, at) = match next(search, &probes) {
            Step::End(outcome) => return Found { outcome, probes },
            Step::Estimate => (ProbePurpose::Estimate, None),
            Step::Probe { at } => (ProbePurpose::Search, Some(at)),
            Step::Confirm { at } => (ProbePurpose::Confirm, Some(at)),
            Step::Soak { at } => (ProbePurpose::Soak, Some(at)),
        };
        let measured_ns = measured_ns(search, &probes, purpose, at);
        let shown = if let Some(at) = at {
            target.probe(at, Nanos(measured_ns).as_secs_f64())
        } else {
            let mut shown = Shown::met(target.closed());
            shown.verdict = ProbeVerdict::Estimated;
            shown
        };
        probes.push(ProbeRecord {
            number,
            reasons: shown.reasons,
            acknowledged_per_s: shown.acknowledged_per_s,
            pressure: shown.pressure,
            late: shown.late,
            rows_before: 100,
            bytes_before: Some(4_096),
            measured_ns,
            took_ns: measured_ns + 10 * S,
            ..fixture::probe(purpose, at.unwrap_or(64.0), shown.verdict)
        });
    }
    panic!("the search does not end");
}

/// Uniform in the logarithm.
pub fn between(noise: &mut Noise, low: f64, high: f64) -> f64 {
    low * (high / low).powf(noise.uniform())
}
