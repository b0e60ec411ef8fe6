//! What a drift of throughput over a measured phase says about the figures.
//!
//! A drift is first a statement about the target: it slows down as rows come in, or its host's speed
//! changed. The mean over such a phase is right and describes neither its begin nor its end, so the
//! measurement is inconclusive, not invalid. A drift that is not known well enough is a note.

use highwater_model::display::{percent_asked, span};
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::SteadinessRule;
use highwater_model::record::Steadiness;

use super::measured::MeasuredStream;
use super::reasons::reason;

/// A steady target's estimate scatters by half of its interval's half-width, and both must fit into
/// the bound: with this multiple of the half-width they do in nine of ten runs.
const LIKELY: f64 = 1.8;
/// A longer run than this many times the phase is not advice.
const LONGEST: f64 = 100.0;

/// What follows from the drifts of all streams.
#[derive(Debug, Default)]
pub(super) struct Drifts {
    /// The measurement is inconclusive.
    pub(super) reason: Option<Reason>,
    /// It is not.
    pub(super) note: Option<Reason>,
}

pub(super) fn judge(rule: SteadinessRule, measured: &[MeasuredStream<'_>]) -> Drifts {
    let of = |values: &[Steadiness]| -> Vec<&MeasuredStream<'_>> {
        measured
            .iter()
            .filter(|m| m.is_long() && m.answered() > 0)
            .filter(|m| values.contains(&value(m, rule)))
            .collect()
    };
    let drifted = of(&[Steadiness::NotSteady]);
    let unclear = of(&[Steadiness::NotShown, Steadiness::NotTested]);
    let drifted: Vec<String> = drifted.into_iter().map(changed).collect();
    let unclear: Vec<String> = unclear.into_iter().map(|m| not_shown(m, rule)).collect();
    if rule.required {
        let places = [drifted, unclear].concat();
        let message = "steady throughput was required, and it was not shown";
        let hint =
            "wait for it (--warm-up steady), measure longer (-d), or allow more (--steady-within)";
        return Drifts {
            reason: reason(ReasonCode::SteadinessRequired, message, &places, hint),
            note: None,
        };
    }
    let message = "throughput drifted during the measured phase";
    let hint = "wait until it is steady (--warm-up steady) or measure longer (-d)";
    let is_unknown = "whether throughput was steady is not known";
    let (not_steady, not_shown) = (ReasonCode::NotSteady, ReasonCode::SteadinessNotShown);
    Drifts {
        reason: reason(not_steady, message, &drifted, hint),
        note: reason(not_shown, is_unknown, &unclear, "measure longer (-d)"),
    }
}

/// Earlier records call each drift that was found not steady, however small.
fn value(stream: &MeasuredStream<'_>, rule: SteadinessRule) -> Steadiness {
    let of = stream.stream;
    let is_small = |drift: f64| drift.abs() < rule.within_percent();
    match of.steadiness {
        Steadiness::NotSteady if of.drift_percent.is_some_and(is_small) => Steadiness::Steady,
        other => other,
    }
}

fn changed(stream: &MeasuredStream<'_>) -> String {
    let of = stream.stream;
    let Some(drift) = of.drift_percent else {
        return format!("{stream}: throughput reached no steady state");
    };
    let verb = if drift < 0.0 { "fell" } else { "rose" };
    let change = of.change().map_or_else(String::new, |change| format!(" {change}"));
    // Where it is as large as the mean the thirds say all that can be said.
    let line = of.drift().filter(|line| of.change().as_ref() != Some(line));
    let line = line.map_or_else(String::new, |line| {
        format!("; a straight line through all of it changes by {line}")
    });
    format!("{stream}: throughput {verb}{change} of the measured phase{line}")
}

fn not_shown(stream: &MeasuredStream<'_>, rule: SteadinessRule) -> String {
    let of = stream.stream;
    let (Some(drift), Some([low, high])) = (of.drift(), of.drift_ci95) else {
        return format!("{stream}: too short to tell whether throughput was stable");
    };
    let times = ((high - low) / 2.0 * LIKELY / rule.within_percent()).powi(2);
    let tens = ceil_to_u64(to_f64(stream.phase.duration_ns) * times / 1e10);
    let longer = if (1.0..=LONGEST).contains(&times) {
        format!("; about {} would tell", span(tens * 10_000_000_000))
    } else {
        String::new()
    };
    let bound = percent_asked(rule.within_ppm);
    let by = if of.change().as_ref() == Some(&drift) { "" } else { "by " };
    format!(
        "{stream}: too short to tell whether throughput was stable within {bound}: it changed {by}{drift}{longer}"
    )
}
