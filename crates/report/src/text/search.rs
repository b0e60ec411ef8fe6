//! The summary of a search: the confirmed mark, the estimated rate that just meets the objective, and every probe.
//!
//! Must show only what the record contains.

use highwater_analysis::limit::of_search;
use highwater_analysis::search::{of_axis, times_confirmed};
use highwater_model::display::{count, duration, rate};
use highwater_model::judgment::ReasonCode;
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::search::{
    Estimate, Mark, NoMark, NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis,
    SearchOutcome, SearchRecord,
};

use super::{head, judged, tail};
use crate::layout::{Row, aligned, headed, joined, labeled, list, or_absent};

/// Blocks between the head and the judgments.
pub(super) fn blocks(record: &MeasuredRun<'_>, search: &SearchRecord) -> Vec<Vec<String>> {
    let soaked = soak(search).map(|said| labeled("soak", &said));
    vec![
        vec![head::target(record), question(record, search)],
        outcome(search).into_iter().chain(soaked).collect(),
        aligned(&table(search), 1),
    ]
}

fn question(record: &RunRecord, search: &SearchRecord) -> String {
    let varied = varied(search.axis);
    let hash = head::short_hash(&search.objective_hash);
    [
        format!("find the highest {varied} of {}", search.stream),
        objective(record, search),
        format!("objective {hash}"),
        format!("seed {}", record.plan.seed),
    ]
    .join(" · ")
}

/// The varied setting of a search.
pub(crate) const fn varied(axis: SearchAxis) -> &'static str {
    match axis {
        SearchAxis::Rate => "rate",
        SearchAxis::Sessions => "number of sessions",
    }
}

/// The unit of its values.
pub(crate) fn unit(search: &SearchRecord) -> String {
    match search.axis {
        SearchAxis::Rate => format!("{}/s", search.unit.name()),
        SearchAxis::Sessions => "sessions".to_owned(),
    }
}

/// The confirmations of a mark, passed and failed.
pub(crate) fn confirming<'a>(
    search: &'a SearchRecord,
    mark: &'a Mark,
) -> impl Iterator<Item = &'a ProbeRecord> {
    search.probes.iter().filter(move |probe| {
        probe.purpose == ProbePurpose::Confirm && probe.at.total_cmp(&mark.confirmed).is_eq()
    })
}

/// The objective in words, including the objective of every search.
pub(crate) fn objective(record: &RunRecord, search: &SearchRecord) -> String {
    let no_errors = search.objective.no_errors.then_some("no errors");
    let at_a_rate = search.axis == SearchAxis::Rate;
    let acknowledged = at_a_rate.then_some("99% of the rate acknowledged");
    let words = [no_errors, acknowledged].map(Option::unwrap_or_default);
    joined([judged::objectives(record).as_str(), words[0], words[1]])
}

pub(crate) fn outcome(search: &SearchRecord) -> Vec<String> {
    match &search.outcome {
        None => vec![labeled("mark", "NONE YET: the search did not end")],
        Some(SearchOutcome::Mark(mark)) => found(search, mark),
        Some(SearchOutcome::NoMark(no_mark)) => not_found(search, no_mark),
    }
}

fn found(search: &SearchRecord, mark: &Mark) -> Vec<String> {
    let bytes = mark.bytes.map_or_else(String::new, |bytes| format!(", {} bytes", count(bytes)));
    let data = format!("{} rows{bytes} before it", count(mark.rows));
    let confirmed = of_axis(search, mark.confirmed);
    let times = times_confirmed(search, mark);
    let mut lines = vec![
        labeled("mark", &format!("{confirmed} confirmed")),
        labeled("held", &format!("{times} · {data}")),
    ];
    lines.extend(mark.estimate.map(|found| estimated(search, found)));
    let failed = match mark.failed {
        Some(failed) => of_axis(search, failed),
        None => "nothing was shown to fail above it".to_owned(),
    };
    // What may only have failed is no reason.
    let why = match mark.limited_by.as_slice() {
        reasons if mark.failed.is_some() && !reasons.is_empty() => format!(": {}", codes(reasons)),
        _ => String::new(),
    };
    lines.push(labeled("failed", &format!("{failed}{why}")));
    lines.extend(of_search(search).map(tail::limited));
    if mark.wider {
        let why = "wider than requested: the search ran out of probes or time";
        lines.push(labeled("", why));
    }
    if !mark.passed_above.is_empty() {
        let above = list(mark.passed_above.iter().map(|at| rate(*at)), ", ");
        let why = format!("passed above the lowest that failed: {above}");
        lines.push(labeled("not monotone", &why));
    }
    lines
}

fn estimated(search: &SearchRecord, found: Estimate) -> String {
    labeled("estimate", &estimate(search, found))
}

/// `1,012 rows/s just meet the objective (90% interval 1,004 to 1,020)`.
pub(crate) fn estimate(search: &SearchRecord, found: Estimate) -> String {
    format!(
        "{} just meet the objective (90% interval {} to {})",
        of_axis(search, found.value),
        rate(found.low90),
        rate(found.high90)
    )
}

/// `30 min more at 98,300 rows/s: passed · 98,310 acknowledged/s · p99 12.1 ms`; absent without a mark, or if no soak
/// was requested.
pub(crate) fn soak(search: &SearchRecord) -> Option<String> {
    let Some(SearchOutcome::Mark(mark)) = &search.outcome else {
        return None;
    };
    let soak_ns = search.policy.soak_ns?;
    let at = of_axis(search, mark.confirmed);
    Some(match search.soak() {
        Some(probe) => {
            format!("{} more at {at}: {}", duration(probe.measured_ns), probe_line(probe))
        }
        None => format!("NOT MADE: {} at {at} were requested", duration(soak_ns)),
    })
}

/// Why a search has no mark.
pub(crate) const fn no_mark_reason(why: NoMarkReason) -> &'static str {
    match why {
        NoMarkReason::BelowLowest => "below everything that was probed",
        NoMarkReason::ClientCeiling => "above what this load generator can offer",
        NoMarkReason::TooFewOps => "probes are too short to show the percentile",
        NoMarkReason::OpsTooLong => "an op takes longer than a probe measures",
        NoMarkReason::BudgetSpent => "probes or time ran out",
        NoMarkReason::TargetLost => "the target went away",
        NoMarkReason::WrongData => "acknowledged data were not found as acknowledged",
        NoMarkReason::Interrupted => "the search was stopped",
        NoMarkReason::NothingAcknowledged => "closed load acknowledged nothing",
    }
}

fn not_found(search: &SearchRecord, no_mark: &NoMark) -> Vec<String> {
    let why = no_mark_reason(no_mark.why);
    let mut lines = vec![labeled("mark", &format!("NONE: {why}"))];
    if let Some(met) = no_mark.highest_met {
        let met = format!("{}, not confirmed", of_axis(search, met));
        lines.push(labeled("passed", &met));
    }
    lines.extend(no_mark.estimate.map(|found| estimated(search, found)));
    lines.extend(no_mark.lowest_failed.map(|failed| {
        let (at, why) = (of_axis(search, failed), codes(&no_mark.limited_by));
        labeled("failed", &format!("{at}: {why}"))
    }));
    lines.extend(of_search(search).map(tail::limited));
    lines
}

pub(crate) fn codes(codes: &[ReasonCode]) -> String {
    list(codes.iter().map(|code| code.name()), ", ")
}

/// The head and a row for each probe; the first column holds words.
pub(crate) fn table(search: &SearchRecord) -> Vec<Row> {
    let unit = unit(search);
    let head = format!("probe | {unit} | acknowledged/s | p99 | failed ops | measured");
    headed(&head, search.probes.iter().map(|probe| row(search, probe)))
}

/// The result of a probe in a few words: `passed · 98,300 acknowledged/s · p99 12.1 ms`.
pub fn probe_line(probe: &ProbeRecord) -> String {
    let reached = format!("{} acknowledged/s", rate(probe.acknowledged_per_s));
    let p99 = probe.p99_ns.map(|p99| format!("p99 {}", duration(p99)));
    let says_why = probe.verdict != ProbeVerdict::Passed && probe.purpose != ProbePurpose::Estimate;
    let why = says_why.then(|| codes(&probe.reasons));
    let of_verdict = Some(verdict(probe).to_owned());
    joined([of_verdict, Some(reached), p99, why].into_iter().flatten())
}

fn row(search: &SearchRecord, probe: &ProbeRecord) -> Row {
    let purpose = probe.purpose.name();
    let closed = probe.purpose == ProbePurpose::Estimate && search.axis == SearchAxis::Rate;
    let at = if closed { format!("closed, {}", rate(probe.at)) } else { rate(probe.at) };
    let why = if probe.verdict == ProbeVerdict::Passed || closed {
        String::new()
    } else {
        codes(&probe.reasons)
    };
    Row::new([
        format!("{:>2} {purpose}", probe.number),
        at,
        rate(probe.acknowledged_per_s),
        or_absent(probe.p99_ns, duration),
        count(probe.failed_ops),
        duration(probe.measured_ns),
    ])
    .remark(joined([verdict(probe), &why]))
}

const fn verdict(probe: &ProbeRecord) -> &'static str {
    match probe.verdict {
        ProbeVerdict::Passed => "passed",
        ProbeVerdict::Failed => "failed",
        ProbeVerdict::NotDecided => "not decided",
        ProbeVerdict::TooFewOps => "too few ops",
        ProbeVerdict::Invalid => "INVALID",
        ProbeVerdict::TargetLost => "TARGET LOST",
        ProbeVerdict::WrongData => "WRONG DATA",
        ProbeVerdict::Interrupted => "interrupted",
        ProbeVerdict::Estimated => "",
    }
}
