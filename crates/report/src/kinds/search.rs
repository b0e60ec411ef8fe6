//! A search: the confirmed mark, the estimated rate that just meets the objective, the lowest value that failed, and
//! every probe.
//!
//! Must show only what the record contains.

use highwater_analysis::availability::stalls;
use highwater_analysis::limit::of_search;
use highwater_analysis::search::{bracket, late_bursts, of_axis, times_confirmed, tolerance_at};
use highwater_model::display::{ABSENT, count, duration, percent, rate, span};
use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::{round_to_u64, round_to_usize};
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::search::{
    Estimate, Mark, NoMark, NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis,
    SearchOutcome, SearchRecord,
};

use super::P99;
use super::run::load;
use crate::answer::HistoryAnswer;
use crate::answer::{Answer, KeyFigure, Tone, interval90, limit_line, plural, rated, target_name};
use crate::blocks::{Block, Report, Section};
use crate::judgments::{objectives_of_search, within};
use crate::layout::{Remark, Row, headed, joined, latency, list, or_absent};
use crate::{limit, plots};

/// Maximum number of codes that explain a failure next to the answer.
const CODES_SHOWN: usize = 2;
/// The p99 of probes differs if one is this many times the other.
const P99_DIFFERS: u64 = 2;
/// The note for a mark above which no value failed with certainty.
const NOTHING_FAILED: &str = "nothing was shown to fail above it";
/// What the words of a search mean.
const TERMS: &str = "Confirmed is the highest value that was shown to meet the objective: a floor. The estimate is \
                     where it is just met, from all probes together, and errs to both sides alike: it may lie above the \
                     lowest value that failed, for which only the probes at that value count. A probe that was shown neither to pass nor to \
                     fail is not decided. Each probe is a run with a record and a page of its own below `probes/`.";

/// The mark: the confirmed value, up to the lowest that failed.
pub(super) fn value(search: &SearchRecord) -> Option<HistoryAnswer> {
    let SearchOutcome::Mark(mark) = search.outcome.as_ref()? else {
        return None;
    };
    let unit = (search.policy.axis == SearchAxis::Rate).then_some(search.unit);
    Some(HistoryAnswer { value: mark.confirmed, interval: mark.bounds(), unit })
}

/// The slowest p99 of the confirmations.
pub(super) fn p99(search: &SearchRecord) -> Option<P99> {
    let SearchOutcome::Mark(mark) = search.outcome.as_ref()? else {
        return None;
    };
    confirming(search, mark).filter_map(|probe| P99::new(probe.p99_ns, probe.p99_at_least)).max()
}

/// `no mark, estimate 30,680 rows/s`; empty with a mark, and while the search has not ended.
pub(super) fn without_mark(search: &SearchRecord) -> String {
    let Some(SearchOutcome::NoMark(no_mark)) = &search.outcome else {
        return String::new();
    };
    let value = |name: &str, at: f64| format!("no mark, {name} {}", rated(at, &unit(search)));
    let estimate = no_mark.estimate.map(|found| value("estimate", found.value));
    let met = || no_mark.highest_met.map(|met| value("passed", met));
    estimate.or_else(met).unwrap_or_else(|| "no mark".to_owned())
}

/// The report of a search; `run` is its last probe.
pub(super) fn report(run: &MeasuredRun<'_>, search: &SearchRecord) -> Report {
    let mut charts = plots::search(run, search);
    // The objective is about latency; without an objective, the reached rate is drawn.
    let hero = charts.pop().into_iter().collect();
    let (answer, mut more) = (answer(run, search), more(search));
    more.extend(stalls_between_probes(run.run, search));
    let mark = Remark::new("mark", answer.in_words());
    let (took, probes) = (probes(search).note, plural(search.probes.len(), "probe"));
    let lead = format!("{probes}: {}", answer.in_words());
    let (varied, stream) = (varied(search.axis), &search.stream);
    let probes = format!("{varied} of {stream}: {probes} {took} (-v lists them)");
    Report {
        answer,
        opening: vec![load::target(run), question_asked(run, search)],
        facts: more.iter().cloned().chain([Remark::new("search", probes)]).collect(),
        hero: vec![Block::Charts(hero)],
        sections: vec![Section {
            id: "probes",
            title: "Probes",
            lead,
            blocks: vec![
                Block::Remarks(std::iter::once(mark).chain(more).collect()),
                Block::table("Probes", probe_rows(search), 1),
                Block::Charts(charts),
                Block::Term(TERMS.to_owned()),
            ],
        }],
        ..Report::default()
    }
}

fn answer(run: &MeasuredRun<'_>, search: &SearchRecord) -> Answer {
    let answer = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => answer_of_mark(search, mark),
        Some(SearchOutcome::NoMark(no_mark)) => answer_without_mark(search, no_mark),
        None => answer_so_far(search),
    };
    Answer { question: question(run, search), limit: of_search(search).map(limit_line), ..answer }
}

fn question(run: &MeasuredRun<'_>, search: &SearchRecord) -> String {
    let (within, who) = (within(run), target_name(run));
    match search.axis {
        SearchAxis::Rate => {
            let unit = search.unit.name();
            format!("How many {unit}/s does {who} sustain{within}?")
        }
        SearchAxis::Sessions => format!("How many sessions does {who} serve{within}?"),
    }
}

fn answer_of_mark(search: &SearchRecord, mark: &Mark) -> Answer {
    let unit = unit(search);
    let figure = rate(mark.confirmed);
    let (interval, basis) = match mark.failed {
        Some(failed) => (
            format!("mark {figure} to {} {unit}", rate(failed)),
            format!("failed {}{}", apart(mark.confirmed, failed), because(&mark.limited_by)),
        ),
        None => (format!("mark at least {figure} {unit}"), NOTHING_FAILED.to_owned()),
    };
    Answer {
        figure,
        unit: unit.clone(),
        condition: format!("confirmed {}", times_confirmed(search, mark)),
        interval,
        basis,
        keys: keys(search, mark, &unit),
        ..Answer::default()
    }
}

/// The highest value that passed, and the lowest that failed.
fn answer_so_far(search: &SearchRecord) -> Answer {
    let [passed, failed] = bracket(search);
    let value = |name: &str, at: Option<f64>| {
        KeyFigure::new(name, or_absent(at, |at| rated(at, &unit(search))), "")
    };
    let (figure, unit, condition) = match (passed, failed) {
        (Some(passed), _) => (rate(passed), unit(search), "passed so far"),
        (None, Some(failed)) => {
            (format!("< {}", rate(failed)), unit(search), "no value has passed yet")
        }
        (None, None) => (ABSENT.to_owned(), String::new(), "no value has passed or failed yet"),
    };
    Answer {
        figure,
        unit,
        condition: condition.to_owned(),
        tone: Tone::Open,
        caveat: Some("still searching: not a mark yet"),
        interval: list(passes_and_fails(search), " · "),
        keys: vec![value("highest passed", passed), value("lowest failed", failed), probes(search)],
        ..Answer::default()
    }
}

/// `1.1% higher`.
fn apart(confirmed: f64, failed: f64) -> String {
    format!("{} higher", percent(failed / confirmed - 1.0))
}

fn keys(search: &SearchRecord, mark: &Mark, unit: &str) -> Vec<KeyFigure> {
    let (confirmed, times) = (rated(mark.confirmed, unit), times_confirmed(search, mark));
    let mut keys = vec![KeyFigure::new("highest confirmed", confirmed, times)];
    keys.extend(mark.failed.map(|failed| {
        let more = apart(mark.confirmed, failed);
        KeyFigure::new("lowest failed", rated(failed, unit), more)
    }));
    keys.extend(mark.estimate.map(|found| {
        let known = interval90(found.low90, found.high90, rate);
        KeyFigure::new("just meets it", rated(found.value, unit), known)
    }));
    keys.extend(p99(search).map(|p99| {
        let probes = confirming(search, mark).count();
        let which = format!("slowest of {}", plural(probes, "probe"));
        KeyFigure::new("p99 at the mark", latency(p99.ns, p99.is_at_least), which)
    }));
    let rows = count(mark.rows);
    keys.push(KeyFigure::new("rows before", rows, "in the tables"));
    keys.push(probes(search));
    keys
}

fn probes(search: &SearchRecord) -> KeyFigure {
    let took: u64 = search.probes.iter().map(|probe| probe.took_ns).sum();
    let number = count(search.probes.len() as u64);
    KeyFigure::new("probes", number, format!("in {}", duration(took)))
}

fn answer_without_mark(search: &SearchRecord, no_mark: &NoMark) -> Answer {
    let unit = unit(search);
    let failed = no_mark
        .lowest_failed
        .map(|failed| format!("{} {unit} failed{}", rate(failed), because(&no_mark.limited_by)));
    let why = no_mark_reason(no_mark.why).to_owned();
    let why = list(std::iter::once(why).chain(failed), "; ");
    // Without a mark, an estimate between tried values is the best available answer.
    let (interval, basis) = match no_mark.estimate {
        Some(found) => {
            (format!("estimate: {}", estimate(search, found, no_mark.lowest_failed)), why)
        }
        None => (why, String::new()),
    };
    let known = no_mark.estimate.map(|found| {
        let interval = interval90(found.low90, found.high90, rate);
        KeyFigure::new("just meets it", rated(found.value, &unit), interval)
    });
    let answer = Answer {
        interval,
        basis,
        keys: known.into_iter().chain([probes(search)]).collect(),
        ..Answer::without_figure("No mark", "no value was shown to meet the objective")
    };
    match no_mark.highest_met {
        Some(met) => Answer {
            figure: rate(met),
            unit,
            condition: "passed, not confirmed".to_owned(),
            caveat: Some("no mark: not to be quoted as one"),
            ..answer
        },
        None => answer,
    }
}

/// `: latency, errors`: why a value failed; empty if unknown.
fn because(reasons: &[ReasonCode]) -> String {
    match codes(&reasons[..reasons.len().min(CODES_SHOWN)]).as_str() {
        "" => String::new(),
        codes => format!(": {codes}"),
    }
}

fn question_asked(record: &RunRecord, search: &SearchRecord) -> String {
    let varied = varied(search.axis);
    let hash = load::short_hash(&search.objective_hash);
    [
        format!("find the highest {varied} of {}", search.stream),
        objectives_of_search(record, search),
        format!("objective {hash}"),
        format!("seed {}", record.plan.seed),
    ]
    .join(" · ")
}

/// The varied setting of a search.
pub(super) const fn varied(axis: SearchAxis) -> &'static str {
    match axis {
        SearchAxis::Rate => "rate",
        SearchAxis::Sessions => "number of sessions",
    }
}

/// The unit of its values.
fn unit(search: &SearchRecord) -> String {
    match search.axis {
        SearchAxis::Rate => format!("{}/s", search.unit.name()),
        SearchAxis::Sessions => "sessions".to_owned(),
    }
}

/// The confirmations of a mark, passed and failed.
fn confirming<'a>(
    search: &'a SearchRecord,
    mark: &'a Mark,
) -> impl Iterator<Item = &'a ProbeRecord> {
    search.probes.iter().filter(move |probe| {
        probe.purpose == ProbePurpose::Confirm && probe.at.total_cmp(&mark.confirmed).is_eq()
    })
}

/// The amount of data in the tables before the mark; absent for empty ones.
fn data(mark: &Mark) -> Option<Remark> {
    let bytes = mark.bytes.map_or_else(String::new, |bytes| format!(", {} bytes", count(bytes)));
    let text = format!("{} rows{bytes} before the mark", count(mark.rows));
    (mark.rows > 0).then(|| Remark::new("tables", text))
}

/// Additional lines: the data, the estimate, the limit, the soak, and limitations of the mark.
fn more(search: &SearchRecord) -> Vec<Remark> {
    let mark = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => Some(mark),
        Some(SearchOutcome::NoMark(_)) | None => None,
    };
    let mut more: Vec<Remark> = mark.and_then(data).into_iter().collect();
    // Without a mark, the estimate is in the answer.
    let estimated = mark.and_then(|mark| mark.estimate);
    let failed = mark.and_then(|mark| mark.failed);
    more.extend(estimated.map(|found| Remark::new("estimate", estimate(search, found, failed))));
    more.extend(mark.and_then(|mark| accuracy(search, mark)));
    more.extend(of_search(search).map(limit::remark));
    more.extend(soak(search).map(|soak| Remark::new("soak", soak)));
    if mark.is_some_and(|mark| mark.wider) {
        more.push(Remark::new("interval", wider(search)));
    }
    more.extend(mark.and_then(|mark| passed_once(search, mark)));
    let above = mark.into_iter().flat_map(|mark| &mark.passed_above);
    let above = list(above.map(|at| rate(*at)), ", ");
    if !above.is_empty() {
        let why = format!("values above the lowest that failed passed: {above}");
        more.push(Remark::new("not monotone", why));
    }
    more
}

/// `wider than requested: after 14 of 25 probes and 10 min of 15 min, too little was left to narrow it and to confirm`.
fn wider(search: &SearchRecord) -> String {
    let took: u64 = search.probes.iter().map(|of| of.took_ns.saturating_add(of.settled_ns)).sum();
    let probes = format!("{} of {} probes", search.probes.len(), search.policy.probes_max);
    let time = search.policy.budget_ns.map(|budget| format!("{} of {}", span(took), span(budget)));
    let spent = list(std::iter::once(probes).chain(time), " and ");
    format!(
        "wider than requested: after {spent}, too little was left to narrow it and to confirm (--budget)"
    )
}

/// Values between the mark and the lowest that failed which passed a probe, and no confirmation.
fn passed_once(search: &SearchRecord, mark: &Mark) -> Option<Remark> {
    let failed = mark.failed.unwrap_or(f64::INFINITY);
    let passed = search.probes.iter().filter(|probe| probe.verdict == ProbeVerdict::Passed);
    let between = passed.map(|probe| probe.at).filter(|at| *at > mark.confirmed && *at < failed);
    let mut between: Vec<f64> = between.collect();
    between.sort_by(f64::total_cmp);
    between.dedup();
    let values = list(between.iter().map(|at| of_axis(search, *at)), ", ");
    let text = format!("{values} passed a probe, and too few confirmations for a mark");
    (!between.is_empty()).then(|| Remark::new("not confirmed", text))
}

/// `9 of 10 searches like this one (412 ops/s, 1 h) end at most 15% below or 2% above the true mark`.
fn accuracy(search: &SearchRecord, mark: &Mark) -> Option<Remark> {
    if search.axis == SearchAxis::Sessions {
        return None;
    }
    let (per_s, tolerance) = tolerance_at(search, mark.confirmed)?;
    let whole_percent = |part: f64| format!("{:.0}%", part * 100.0);
    let text = format!(
        "9 of 10 searches like this one ({} ops/s, {}) end at most {} below or {} above the true mark",
        rate(per_s),
        duration(search.policy.budget_ns?),
        whole_percent(tolerance.below),
        whole_percent(tolerance.above),
    );
    Some(Remark::new("accuracy", text))
}

/// `p99 differs from probe to probe (12 ms to 380 ms): stalls of about 390 ms every 6 s`; absent unless a probe had a p99
/// that its rate does not explain, because one at no lower rate had half of it, and it came of stalls: those of the last
/// probe, else bursts of late ops.
fn stalls_between_probes(record: &RunRecord, search: &SearchRecord) -> Option<Remark> {
    let judged = search.probes.iter().filter(|probe| probe.purpose != ProbePurpose::Estimate);
    let shown: Vec<(&ProbeRecord, u64)> =
        judged.filter_map(|probe| Some((probe, probe.p99_ns?))).collect();
    let pairs = shown.iter().flat_map(|low| shown.iter().map(move |high| (low, high)));
    let differing =
        pairs.filter(|(low, high)| low.0.at <= high.0.at && low.1 / P99_DIFFERS >= high.1);
    let ((slow, most), (_, least)) = differing.max_by_key(|(low, high)| low.1 - high.1)?;
    let why = if let Some(stalls) = stalls(&record.availability) {
        let (length, every) = (duration(stalls.length_ns), duration(stalls.every_ns));
        format!("stalls of about {length} every {every}")
    } else {
        let bursts = late_bursts(search, slow)?;
        let (ops, every) = (rate(bursts.ops.round()), span(round_to_u64(bursts.every_ns)));
        let at = of_axis(search, slow.at);
        format!("stalls made about {ops} ops late at a time, one every {every} at {at}")
    };
    let (least, most) = (duration(*least), duration(*most));
    let text = format!("p99 differs from probe to probe ({least} to {most}): {why}");
    Some(Remark::new("stalls", text))
}

/// `1,012 rows/s just meet the objective (90% interval 1,004 to 1,020)`, and why if a lower value failed.
fn estimate(search: &SearchRecord, found: Estimate, failed: Option<f64>) -> String {
    let at = failed.filter(|failed| *failed < found.value).map_or_else(String::new, |failed| {
        format!(
            "; it lies above {}, which failed, because a failure counts the probes at that value alone, and the \
             estimate all probes",
            rate(failed)
        )
    });
    format!(
        "{} just meet the objective ({}){at}",
        of_axis(search, found.value),
        interval90(found.low90, found.high90, rate)
    )
}

/// `30 min more at 98,300 rows/s: passed · 98,310 acknowledged/s · p99 12.1 ms`; absent without a mark, or if no soak
/// was requested.
fn soak(search: &SearchRecord) -> Option<String> {
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
const fn no_mark_reason(why: NoMarkReason) -> &'static str {
    match why {
        NoMarkReason::BelowLowest => "below everything that was probed",
        NoMarkReason::ClientCeiling => "above what this load generator can offer",
        NoMarkReason::TooFewOps => "too few ops in the budget to show the percentile",
        NoMarkReason::OpsTooLong => "an op takes longer than a probe measures",
        NoMarkReason::BudgetSpent => "probes or time ran out",
        NoMarkReason::TargetLost => "the target went away",
        NoMarkReason::WrongData => "acknowledged data were not found as acknowledged",
        NoMarkReason::Interrupted => "the search was stopped",
        NoMarkReason::NothingAcknowledged => "closed load acknowledged nothing",
    }
}

pub(crate) fn codes(codes: &[ReasonCode]) -> String {
    list(codes.iter().map(|code| code.name()), ", ")
}

/// The head and a row for each probe; the first column holds words.
fn probe_rows(search: &SearchRecord) -> Vec<Row> {
    let unit = unit(search);
    let head = format!("probe | {unit} | acknowledged/s | p99 | failed ops | measured");
    headed(&head, search.probes.iter().map(|probe| row(search, probe)))
}

/// The result of a probe in a few words: `passed · 98,300 acknowledged/s · p99 12.1 ms`.
pub fn probe_line(probe: &ProbeRecord) -> String {
    let reached = format!("{} acknowledged/s", rate(probe.acknowledged_per_s));
    let p99 = probe.p99_ns.map(|ns| format!("p99 {}", p99_of(probe, ns)));
    let says_why = probe.verdict != ProbeVerdict::Passed && probe.purpose != ProbePurpose::Estimate;
    let why = says_why.then(|| codes(&probe.reasons));
    let of_verdict = Some(verdict(probe).to_owned());
    joined([of_verdict, Some(reached), p99, why].into_iter().flatten())
}

/// A p99 among failed ops is a lower bound.
fn p99_of(probe: &ProbeRecord, ns: u64) -> String {
    latency(ns, probe.p99_at_least)
}

fn row(search: &SearchRecord, probe: &ProbeRecord) -> Row {
    let purpose = probe.purpose.name();
    let closed = probe.purpose == ProbePurpose::Estimate && search.axis == SearchAxis::Rate;
    let at = if closed { plural(round_to_usize(probe.at), "session") } else { rate(probe.at) };
    let why = if probe.verdict == ProbeVerdict::Passed || closed {
        String::new()
    } else {
        codes(&probe.reasons)
    };
    Row::new([
        format!("{:>2} {purpose}", probe.number),
        at,
        rate(probe.acknowledged_per_s),
        or_absent(probe.p99_ns, |ns| p99_of(probe, ns)),
        count(probe.failed_ops),
        duration(probe.measured_ns),
    ])
    .remark(joined([verdict(probe), &why]))
}

const fn verdict(probe: &ProbeRecord) -> &'static str {
    match probe.verdict {
        ProbeVerdict::Passed => "passed",
        ProbeVerdict::Failed => "failed",
        ProbeVerdict::NotDecided => "not decided (shown neither to pass nor to fail)",
        ProbeVerdict::TooFewOps => "too few ops",
        ProbeVerdict::Invalid => "INVALID",
        ProbeVerdict::TargetLost => "TARGET LOST",
        ProbeVerdict::WrongData => "WRONG DATA",
        ProbeVerdict::Interrupted => "interrupted",
        ProbeVerdict::Estimated => "",
    }
}

/// `passes ≤ 49,040`, and `fails ≥ 65,920`: as shown by the probes so far; absent if unknown.
pub(crate) fn passes_and_fails(search: &SearchRecord) -> Vec<String> {
    let [passed, failed] = bracket(search);
    let passed = passed.map(|at| format!("passes ≤ {}", rate(at)));
    passed.into_iter().chain(failed.map(|at| format!("fails ≥ {}", rate(at)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;
    use highwater_model::search::ProbePurpose;

    #[test]
    fn without_a_mark_the_estimate_is_the_answer_and_why_follows() {
        let search = fixture::search(Vec::new());
        let answered = |estimate: Option<Estimate>| {
            let no_mark = NoMark {
                why: NoMarkReason::TooFewOps,
                highest_met: None,
                estimate,
                lowest_failed: Some(9_947.0),
                limited_by: vec![ReasonCode::ObjectiveLatency],
            };
            let answer = answer_without_mark(&search, &no_mark);
            (answer.interval, answer.basis, answer.keys[0].name.clone())
        };
        let why = "too few ops in the budget to show the percentile; 9,947 rows/s failed";
        let found = Estimate { value: 8_075.0, low90: 3_097.0, high90: 10_961.0 };
        let (interval, basis, key) = answered(Some(found));
        assert!(interval.contains("8,075 rows/s just meet") && basis.contains(why), "{basis}");
        assert_eq!(key, "just meets it");
        let (interval, basis, key) = answered(None);
        assert!(interval.contains(why) && basis.is_empty(), "{interval}");
        assert_eq!(key, "probes");
    }

    /// The lowest failed value and the estimate are different statements: one probe, and all of them.
    #[test]
    fn an_estimate_above_a_value_that_failed_says_why() {
        let search = fixture::search(Vec::new());
        let found = Estimate { value: 41_000.0, low90: 39_500.0, high90: 42_500.0 };
        let said = |failed| estimate(&search, found, failed);
        let plain =
            "41,000 rows/s just meet the objective (90% interval 39,500 to 42,500)".to_owned();
        let why = "; it lies above 40,000, which failed, because a failure counts the probes at that value alone, \
                   and the estimate all probes";
        assert_eq!(said(Some(40_000.0)), plain.clone() + why);
        assert_eq!(said(Some(41_000.0)), plain);
        assert_eq!(said(None), plain);
    }

    #[test]
    fn the_line_of_a_probe_has_its_lower_bound_and_says_what_is_not_decided() {
        let mut probe = fixture::probe(ProbePurpose::Search, 1_000.0, ProbeVerdict::NotDecided);
        probe.p99_ns = Some(50_000_000);
        let decided = "not decided (shown neither to pass nor to fail)";
        assert_eq!(probe_line(&probe), format!("{decided} · 1,000 acknowledged/s · p99 50.0 ms"));
        probe.p99_at_least = true;
        assert!(probe_line(&probe).contains("p99 ≥ 50.0 ms"), "{}", probe_line(&probe));
    }

    #[track_caller]
    fn check(probes: &[(f64, ProbeVerdict)], expected: [Option<f64>; 2]) {
        let mut search = fixture::search(Vec::new());
        let of = |(at, verdict): &(f64, ProbeVerdict)| {
            fixture::probe(ProbePurpose::Search, *at, *verdict)
        };
        search.probes = probes.iter().map(of).collect();
        assert_eq!(bracket(&search), expected);
    }

    #[test]
    fn the_bracket_is_of_the_highest_that_passed_and_the_lowest_that_failed() {
        use ProbeVerdict::{Failed, NotDecided, Passed};
        check(&[], [None, None]);
        check(&[(10.0, NotDecided)], [None, None]);
        check(&[(10.0, Passed), (20.0, Passed)], [Some(20.0), None]);
        let four = [(10.0, Passed), (40.0, Failed), (20.0, Passed), (80.0, Failed)];
        check(&four, [Some(20.0), Some(40.0)]);
        // A probe that passed above the lowest failure narrows nothing.
        let above = [(10.0, Passed), (20.0, Failed), (30.0, Passed)];
        check(&above, [Some(10.0), Some(20.0)]);
        check(&[(20.0, Failed)], [None, Some(20.0)]);
    }
}
