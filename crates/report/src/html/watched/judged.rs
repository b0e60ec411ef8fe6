//! Interim judgments and the interim limit, from the record so far.
//!
//! Must not judge, and must not look like a result: each value is marked "so far".

use maud::{Markup, html};

use highwater_analysis::judge::measured_streams;
use highwater_analysis::judge::objective::may_yet_be_met;
use highwater_model::display::count;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;

use super::super::answered;
use crate::answer::answer;
use crate::text::judged::Tone;
use crate::watched::{RunWatched, Stage};

/// In a shorter measured phase, ops in flight at its start and end distort the figures.
const SHORTEST: Nanos = Nanos::from_secs(5);
/// A record that lags by more seconds is marked as late; it is updated every few seconds.
const LATE_S: u64 = 15;

/// Empty before the target has responded, and once the result exists.
pub(super) fn so_far(run: &RunWatched) -> Markup {
    let Some(record) = run.record.as_deref().filter(|_| run.stage != Stage::Over) else {
        return html! {};
    };
    let measured = measured_streams(record);
    if measured.iter().all(|of| of.phase.duration_ns < SHORTEST.0) {
        return html! { p class="term" { "Nothing is judged in the first seconds of the measurement." } };
    }
    let mut answer = answer(record.into(), &measured);
    if let [measurement, data, objective] = answer.judgments.as_mut_slice() {
        measurement.value += " so far";
        if measurement.sentence.is_empty() {
            measurement.sentence += "By what the load shows; the end knows more.";
        }
        (data.value, data.tone) = ("after the load".to_owned(), Tone::None);
        data.sentence = String::from(match record.plan.definition.audit.level {
            AuditLevel::Off => "No audit is planned.",
            _ => "The audit begins when the load is over.",
        });
        if may_yet_be_met(record, &measured) {
            (objective.value, objective.tone) = ("not decided yet".to_owned(), Tone::Open);
            "Percentiles are judged when the load is over.".clone_into(&mut objective.sentence);
        } else if !record.plan.definition.objectives.is_empty() {
            objective.value += " so far";
        }
    }
    if let Some(limit) = answer.limit.as_mut().filter(|limit| limit.what.is_empty()) {
        limit.label += " so far";
        limit.more.clear();
    }
    let seen = run.last.as_ref().map_or(0, |last| last.second);
    html! {
        (answered::so_far(&answer))
        @if seen.saturating_sub(run.record_until) > LATE_S && run.record_until > 0 {
            p class="term" { "Judged by the first " (count(run.record_until)) " s; the rest is being read." }
        }
    }
}
