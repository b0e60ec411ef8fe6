//! A run: the rate that it reached, the latency, the errors, whether the acknowledged rows were found, and the load on
//! the machines.
//!
//! Must show only what the record contains.

mod counts;
mod faults;
mod latency;
pub(super) mod load;
mod machines;

pub(crate) use faults::faults;
pub(crate) use latency::{figure, responses};
pub(crate) use load::{of_target, phases, removed, short_hash};

use highwater_analysis::availability::outage_ns;
use highwater_analysis::judge::{MeasuredStream, failed_work, measured_streams};
use highwater_model::display::{bytes, count, duration, foreign, plain, rate};
use highwater_model::histogram::LatencySummary;
use highwater_model::judgment::{Data, ObjectiveValue, ReasonCode};
use highwater_model::limit::Limit;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::{Pace, StreamPlan};
use highwater_model::record::{AuditStatus, MeasuredRun, MissingField, RecordRef, ResultRecord};

use super::import;
use crate::answer::{
    Answer, HistoryAnswer, KeyFigure, LimitLine, limit_line, plural, target_name, to_the_second,
};
use crate::blocks::{Block, Ink, Report, Section, Table};
use crate::chart::Chart;
use crate::judgments::{self, objectives, within};
use crate::layout::{Remark, Row, list, or_absent};
use crate::progress::offered;
use crate::{kinds, plots};
use counts::{leaves_out, unit_name};

/// Maximum characters of text from the target.
const WORDS: usize = 400;
/// Maximum number of failure causes with a line on a terminal, and of changes in the cluster.
const LINES_SHOWN: usize = 3;

/// The throughput of the stream that answers.
pub(super) fn value(run: &MeasuredRun<'_>) -> Option<HistoryAnswer> {
    let measured = measured_streams(run);
    let main = main_stream(&measured)?;
    let (interval, unit) = (ci95(run, main), Some(main.stream.unit));
    Some(HistoryAnswer { value: main.units_per_s(), interval, unit })
}

/// The answer to whether a rate is sustained, `Yes:`; empty if that was not asked.
pub(super) fn yes_or_no(run: &MeasuredRun<'_>) -> &'static str {
    let measured = measured_streams(run);
    main_stream(&measured).map_or("", |main| lead(run, main))
}

/// The report of a run.
pub(super) fn report(
    record: RecordRef<'_>,
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Report {
    // Throughput and latency are above the folds of a page.
    let charts = plots::over_time(run);
    let first = charts.iter().map(|chart| &chart.id).find(|id| id.starts_with("throughput-"));
    let first = first.cloned();
    let (hero, others) = charts
        .into_iter()
        .partition(|chart| Some(&chart.id) == first.as_ref() || chart.id == "latency");
    let failed = failed(run, measured);
    let rows = streams(measured);
    Report {
        first_line: first_line(run, measured, failed.is_some()),
        below: interval(run, measured),
        answer: Answer { failed, ..answer(run, measured) },
        opening: load::opening(run, measured, imported(run, measured)),
        brief: (!rows.is_empty())
            .then(|| Table::new("Streams", rows, 1 + usize::from(is_stepped(measured)))),
        facts: facts(record, run, measured),
        hero: vec![Block::Charts(hero)],
        sections: sections(run, measured, others),
        ..Report::default()
    }
}

/// The sections about a run, which are also those about the last run of an experiment; `charts` are those over time
/// that are not above the folds.
pub(super) fn sections(
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    charts: Vec<Chart>,
) -> Vec<Section> {
    std::iter::once(counts::section(run, measured))
        .chain(latency::section(run, measured))
        .chain(machines::over_time(run, measured, charts))
        .chain(machines::section(run, measured))
        .collect()
}

/// The method of another tool.
fn imported(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<String> {
    run.origin.map(|origin| import::load(run, origin, measured))
}

/// What a terminal shows below the judgments.
fn facts(
    record: RecordRef<'_>,
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Vec<Remark> {
    let limit = run.limit.as_ref().filter(|_| down(run).is_none()).map(|limit| {
        let remark = crate::limit::remark(limit);
        let step = step_of(limit, measured).map(|step| format!("in {step}: "));
        Remark::new(remark.label, step.unwrap_or_default() + &remark.sentence)
    });
    let mut facts: Vec<Remark> = limit.into_iter().collect();
    facts.extend(counts::other_counts(measured).map(|also| Remark::new("also", also)));
    facts.extend(first_lines("errors", latency::failures(measured)));
    facts.extend(first_lines("cluster", kinds::cluster_changes(run).collect()));
    let seen = &run.availability;
    if seen.dips > 0 || seen.recovery.is_some() {
        facts.push(Remark::new("availability", machines::availability(run)));
    }
    facts.extend(Remark::listed("fault", faults(run)));
    facts.extend(kinds::changed(record));
    facts.extend(kinds::found(record));
    facts.extend(kinds::noted(run));
    facts.push(Remark::new("load", load::load(run, measured, imported(run, measured))));
    facts
}

/// The first of several facts, each on a line, with the number of the others.
fn first_lines(label: &'static str, mut all: Vec<String>) -> impl Iterator<Item = Remark> {
    let more = all.len().saturating_sub(LINES_SHOWN);
    all.truncate(LINES_SHOWN);
    if let Some(last) = all.last_mut().filter(|_| more > 0) {
        *last += &format!("; and {more} more (-v)");
    }
    all.into_iter().map(move |text| Remark::new(label, text))
}

pub(super) fn answer(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Answer {
    let Some(main) = main_stream(measured) else {
        return Answer {
            limit: limit(run, measured),
            ..Answer::nothing(question(run, None), "not to be quoted: no phase was measured")
        };
    };
    let unit = format!("{}/s", unit_name(run, main.stream.unit));
    let reached = rate(main.units_per_s());
    let interval = match (down(run), ci95(run, main)) {
        (Some(down), _) => down,
        (None, Some([low, high])) => format!("95% CI {} to {} {unit}", rate(low), rate(high)),
        (None, None) => "95% CI not known".to_owned(),
    };
    let answer = Answer {
        question: question(run, Some(main)),
        lead: lead(run, main).to_owned(),
        figure: reached.clone(),
        unit: unit.clone(),
        condition: slowest(main, "p99", |latency| latency.p99)
            .map_or_else(String::new, |p99| format!("at p99 {p99}")),
        interval,
        basis: basis(run, main, measured),
        limit: limit(run, measured),
        keys: keys(run, main, measured),
        ..Answer::default()
    };
    match run.judgments.data.value {
        // If rows were lost, that is the answer; the rate comes second.
        Data::Lost => Answer {
            lead: String::new(),
            figure: count(run.audit.missing),
            unit: "rows lost".to_owned(),
            condition: format!("of {} acknowledged", count(run.audit.acknowledged)),
            basis: format!("at {reached} {unit}; {}", answer.basis),
            interval: String::new(),
            ..answer
        },
        _ if leaves_out(run, MissingField::Throughput) => Answer {
            figure: "–".to_owned(),
            unit: String::new(),
            interval: "the tool reports no throughput".to_owned(),
            ..answer
        },
        _ => answer,
    }
}

/// The stream that answers: the first stream of the plan, in the last measured phase.
fn main_stream<'a>(measured: &'a [MeasuredStream<'a>]) -> Option<&'a MeasuredStream<'a>> {
    let last = measured.last()?;
    measured.iter().find(|stream| stream.phase.name == last.phase.name)
}

fn question(run: &MeasuredRun<'_>, main: Option<&MeasuredStream<'_>>) -> String {
    let who = target_name(run);
    let within = within(run);
    let streams = &run.plan.definition.streams;
    let name = main.map(|main| main.stream.stream.as_str());
    let plan = streams.iter().find(|plan| name.is_none_or(|name| plan.name == name));
    let beside = others(run, streams, main);
    let Some(plan) = plan else {
        return format!("What did {who} do?");
    };
    let unit = unit_name(run, plan.unit);
    match planned(run, plan, main) {
        Some(PlannedPace::Rate(planned)) if !within.is_empty() => {
            let planned = plain(planned);
            format!("Does {who} sustain {planned} {unit}/s{within}{beside}?")
        }
        Some(PlannedPace::Rate(planned)) => {
            let planned = plain(planned);
            format!("How much of {planned} {unit}/s does {who} acknowledge{beside}?")
        }
        Some(PlannedPace::Sessions(sessions)) => {
            let sessions = plural(sessions as usize, "session");
            format!("How many {unit}/s does {who} acknowledge with {sessions}{within}{beside}?")
        }
        None => format!("How many {unit}/s does {who} acknowledge{within}?"),
    }
}

/// The planned pace of a stream in a phase.
enum PlannedPace {
    /// Units per second.
    Rate(f64),
    Sessions(u32),
}

/// The pace of a stream in the answering phase: from the plan, or the user's change to it.
fn planned(
    run: &MeasuredRun<'_>,
    plan: &StreamPlan,
    main: Option<&MeasuredStream<'_>>,
) -> Option<PlannedPace> {
    let step = main.and_then(|main| main.phase.step);
    let changed =
        main.filter(|_| step.is_none() && !run.interventions.is_empty()).and_then(|main| {
            let mut streams = run.streams.iter();
            streams.find(|of| of.phase == main.phase.name && of.stream == plan.name)
        });
    if let Some(of) = changed {
        let sessions = PlannedPace::Sessions(of.sessions);
        return Some(of.planned_rate.map_or(sessions, PlannedPace::Rate));
    }
    let pace = step.and_then(|step| plan.paces.get(step as usize));
    Some(match pace.or(plan.paces.last())? {
        Pace::Open { rate } => PlannedPace::Rate(rate.as_f64()),
        Pace::Closed { sessions } => PlannedPace::Sessions(*sessions),
    })
}

/// `, alongside 80 queries/s`.
fn others(
    run: &MeasuredRun<'_>,
    streams: &[StreamPlan],
    main: Option<&MeasuredStream<'_>>,
) -> String {
    let others = streams
        .iter()
        .filter(|plan| main.is_some_and(|main| plan.name != main.stream.stream))
        .map(|plan| match planned(run, plan, main) {
            Some(PlannedPace::Rate(planned)) => {
                let unit = unit_name(run, plan.unit);
                format!("{} {unit}/s", plain(planned))
            }
            Some(PlannedPace::Sessions(sessions)) => {
                let sessions = plural(sessions as usize, "session");
                format!("{sessions} of {}", plan.name)
            }
            None => plan.name.clone(),
        });
    match list(others, " and ").as_str() {
        "" => String::new(),
        others => format!(", alongside {others}"),
    }
}

/// An answer about an objective starts with yes or no.
fn lead(run: &MeasuredRun<'_>, main: &MeasuredStream<'_>) -> &'static str {
    let plan = main.plan.and_then(|plan| planned(run, plan, Some(main)));
    let is_question = matches!(plan, Some(PlannedPace::Rate(_))) && !objectives(run).is_empty();
    match run.judgments.objective.value {
        ObjectiveValue::Met if is_question => "Yes:",
        ObjectiveValue::Missed if is_question => "No:",
        ObjectiveValue::NotDecided if is_question => "Not decided:",
        _ => "",
    }
}

fn basis(
    run: &MeasuredRun<'_>,
    main: &MeasuredStream<'_>,
    measured: &[MeasuredStream<'_>],
) -> String {
    let unit = unit_name(run, main.stream.unit);
    let planned = main.stream.planned_rate.map(plain);
    let planned = planned.map(|planned| format!("{planned} {unit}/s planned"));
    let length = format!("measured for {}", to_the_second(main.phase.duration_ns));
    let steps = load::phases(measured).len();
    let last = (steps > 1).then(|| format!("the last of {steps} steps"));
    let basis = list([planned, Some(length), last].into_iter().flatten(), ", ");
    let changed = kinds::cluster_changes(run).next().filter(|_| down(run).is_some());
    list([Some(basis), changed].into_iter().flatten(), "; ")
}

/// The maximum over the ops of a stream.
fn slowest(
    main: &MeasuredStream<'_>,
    name: &str,
    of: fn(&LatencySummary) -> Option<u64>,
) -> Option<String> {
    let latencies = main.results.iter().map(|result| &result.latency_ns);
    let slowest =
        latencies.filter(|latency| of(latency).is_some()).max_by_key(|latency| of(latency))?;
    Some(latency::figure(slowest, name, of(slowest)))
}

/// The measured phase that a limit is of, if there are several.
fn step_of<'a>(limit: &'a Limit, measured: &[MeasuredStream<'_>]) -> Option<&'a str> {
    is_stepped(measured).then_some(limit.phase.as_str())
}

fn limit(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<LimitLine> {
    // What was busy while nothing was acknowledged, or afterwards, did not limit it.
    if down(run).is_some() {
        return None;
    }
    if let Some(limit) = &run.limit {
        let line = limit_line(limit);
        let label = step_of(limit, measured).map(|step| {
            if line.is_reached {
                format!("Limited in {step} by")
            } else {
                format!("Limit in {step}")
            }
        });
        return Some(LimitLine { label: label.unwrap_or(line.label), ..line });
    }
    // Closed load is always at its limit; older records do not name the limit.
    let is_open = !measured.is_empty() && measured.iter().all(MeasuredStream::is_open);
    (is_open && run.origin.is_none()).then(|| LimitLine {
        label: "No limit was reached".to_owned(),
        what: String::new(),
        more: "`highwater find` finds the highest rate.".to_owned(),
        is_reached: false,
    })
}

fn keys(
    run: &MeasuredRun<'_>,
    main: &MeasuredStream<'_>,
    measured: &[MeasuredStream<'_>],
) -> Vec<KeyFigure> {
    let latency = |name: &str, of| {
        let figure = slowest(main, name, of);
        KeyFigure::new(name, or_absent(figure, |figure| figure), main.stream.stream.as_str())
    };
    let mut keys = vec![
        latency("p50", |latency| latency.p50),
        latency("p99", |latency| latency.p99),
        latency("max", |latency| latency.max),
    ];
    let beside = measured
        .iter()
        .find(|of| of.phase.name == main.phase.name && of.stream.stream != main.stream.stream);
    if let Some(other) = beside {
        let unit = unit_name(run, other.stream.unit);
        let p99 = slowest(other, "p99", |latency| latency.p99);
        let p99 = p99.map_or_else(String::new, |p99| format!("p99 {p99}"));
        let figure = format!("{} {unit}/s", rate(other.units_per_s()));
        keys.push(KeyFigure::new(other.stream.stream.as_str(), figure, p99));
    }
    if !leaves_out(run, MissingField::Errors) {
        let results = || measured.iter().flat_map(|stream| &stream.results);
        let failed: u64 = results().map(|result| result.failed_ops()).sum();
        let offered: u64 = results().map(|result| result.offered).sum();
        let note = format!("of {}", count(offered));
        let figure = format!("{} ops", count(failed));
        keys.push(KeyFigure::new("failed", figure, note));
    }
    if let Some(size) = run.target.disk_bytes_per_row {
        let size = bytes(round_to_u64(size));
        keys.push(KeyFigure::new("on disk", size, "per row"));
    } else if run.origin.is_none() {
        let gap = duration(run.availability.longest_gap_ns);
        keys.push(KeyFigure::new("longest gap", gap, "without a response"));
    }
    keys
}

/// The first line on a terminal: rates, latency, errors, and whether the rows were found.
fn first_line(
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    names_failed: bool,
) -> Vec<(Ink, String)> {
    if measured.is_empty() {
        return vec![(Ink::Bad, "nothing was measured".to_owned())];
    }
    let mut parts = Vec::new();
    if leaves_out(run, MissingField::Throughput) {
        parts.push((Ink::Plain, "throughput not reported".to_owned()));
    } else {
        parts.extend(rates(measured));
    }
    // The question of a rate and its objective is answered with yes or no.
    let verdict = main_stream(measured).map_or("", |main| lead(run, main));
    if let Some((ink, first)) = parts.first_mut().filter(|_| !verdict.is_empty()) {
        *ink = judgments::three(&run.judgments)[2].tone.ink();
        *first = format!("{verdict} {first}");
    }
    if let [one] = measured {
        parts.extend(one.latency().map(|summary| (Ink::Plain, latency_of(&summary))));
    }
    if !names_failed && !leaves_out(run, MissingField::Errors) {
        parts.push(errors(measured));
    }
    parts.extend(down(run).map(|text| (Ink::Bad, text)));
    parts.extend(found(run));
    parts
}

/// The rate of each stream; for several steps, the minimum and the maximum.
fn rates(measured: &[MeasuredStream<'_>]) -> Vec<(Ink, String)> {
    let mut names: Vec<&str> = Vec::new();
    for name in measured.iter().map(|m| m.stream.stream.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let parts = names.iter().map(|name| {
        let of_stream = measured.iter().filter(|m| m.stream.stream == *name);
        let figure = reached(&of_stream.collect::<Vec<_>>());
        let text = match names.len() {
            1 => figure,
            _ => format!("{} {figure}", foreign(name, WORDS)),
        };
        (Ink::Strong, text)
    });
    parts.collect()
}

/// `970 of 1,002 rows/s`, `421,200 rows/s`; for steps `50 to 100 queries/s`.
fn reached(of_stream: &[&MeasuredStream<'_>]) -> String {
    let figures = || of_stream.iter().map(|m| m.units_per_s());
    let low = rate(figures().fold(f64::INFINITY, f64::min));
    let high = rate(figures().fold(0.0, f64::max));
    let unit = of_stream.first().map_or("", |m| m.stream.unit.name());
    // A random schedule that offers less than the mean, or last ops that end after the phase, are not a shortfall.
    let due = match of_stream {
        [one] if one.is_drawn() && one.is_acknowledged_whole() => None,
        [one] => one.due_rate(),
        _ => None,
    };
    match due.map(rate) {
        Some(due) if due != high => format!("{high} of {due} {unit}/s"),
        _ if low == high => format!("{high} {unit}/s"),
        _ => format!("{low} to {high} {unit}/s"),
    }
}

/// `p99 11.0 ms`, or the maximum for few ops.
fn latency_of(summary: &LatencySummary) -> String {
    if summary.p99.is_none() && summary.max.is_some() {
        let max = latency::figure(summary, "max", summary.max);
        return format!("slowest of {} ops {max}", count(summary.count));
    }
    format!("p99 {}", latency::figure(summary, "p99", summary.p99))
}

/// The failures, if they were judged as too many without a configured limit.
fn failed(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<String> {
    let judged = run.judgments.objective.codes();
    if !judged.contains(&ReasonCode::ObjectiveErrors) {
        return None;
    }
    let all = failed_work(run, measured);
    let first = foreign(&all.first()?.to_string(), WORDS);
    Some(match all.len() - 1 {
        0 => first,
        more => format!("{first}; and {more} more (-v)"),
    })
}

/// `14.2 s without an acknowledgment`, or the worst effect of a fault, which explains it; absent without an outage of a
/// whole second.
fn down(run: &MeasuredRun<'_>) -> Option<String> {
    let outage = |ns| format!("{} without an acknowledgment", duration(ns));
    faults::worst(run).or_else(|| outage_ns(&run.availability).map(outage))
}

/// The confidence interval of the throughput. It assumes that the seconds are alike; of a time in which nothing was
/// acknowledged, and of the time in which that is worked off, it would say nothing.
fn ci95(run: &MeasuredRun<'_>, of: &MeasuredStream<'_>) -> Option<[f64; 2]> {
    of.stream.throughput.ci95.filter(|_| down(run).is_none())
}

fn errors(measured: &[MeasuredStream<'_>]) -> (Ink, String) {
    let sum = |of: fn(&ResultRecord) -> u64| -> u64 {
        measured.iter().flat_map(|m| &m.results).map(|result| of(result)).sum()
    };
    let (failed, dropped) = (sum(ResultRecord::failed_ops), sum(|result| result.dropped));
    let ink = if failed + dropped == 0 { Ink::Plain } else { Ink::Bad };
    let errors = plural(usize::try_from(failed).unwrap_or(usize::MAX), "error");
    let unsent = (dropped > 0).then(|| format!("{} ops never sent", count(dropped)));
    (ink, list(std::iter::once(errors).chain(unsent), ", "))
}

/// The outcome of acknowledged rows; absent if nothing was written.
fn found(run: &MeasuredRun<'_>) -> Option<(Ink, String)> {
    let audit = &run.audit;
    let rows = count(audit.acknowledged);
    let (ink, text) = match run.judgments.data.value {
        Data::Clean if audit.acknowledged == 0 => (Ink::Good, "data as expected".to_owned()),
        Data::Clean if audit.replaced.is_some() => {
            let keys = count(audit.found);
            (Ink::Good, format!("all {keys} keys hold an acknowledged row"))
        }
        Data::Clean => (Ink::Good, format!("all {rows} acknowledged rows found")),
        Data::Lost => {
            let missing = count(audit.missing);
            (Ink::Bad, format!("{missing} of {rows} acknowledged rows LOST"))
        }
        Data::LostAllowed => {
            let missing = count(audit.missing);
            (Ink::Open, format!("{missing} of {rows} acknowledged rows lost, as allowed"))
        }
        Data::Duplicated => (Ink::Bad, "rows DUPLICATED".to_owned()),
        Data::Surplus => (Ink::Bad, "rows found that were REFUSED".to_owned()),
        Data::Altered => (Ink::Bad, "rows ALTERED".to_owned()),
        Data::Unverified => (Ink::Open, "rows NOT VERIFIED".to_owned()),
        Data::NotChecked if audit.status == AuditStatus::NothingWritten => return None,
        Data::NotChecked => (Ink::Plain, "rows not audited".to_owned()),
    };
    Some((ink, text))
}

/// The confidence interval of the throughput, if there is one phase.
fn interval(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<String> {
    let [one] = measured else { return None };
    let [low, high] = ci95(run, one)?;
    Some(format!("95% confidence: {} to {} {}/s", rate(low), rate(high), one.stream.unit.name()))
}

/// Whether there are several measured phases.
fn is_stepped(measured: &[MeasuredStream<'_>]) -> bool {
    let first = measured.first().map(|m| &m.phase.name);
    measured.iter().any(|m| Some(&m.phase.name) != first)
}

/// A row for each stream and step, if there are several, with all its ops combined.
fn streams(measured: &[MeasuredStream<'_>]) -> Vec<Row> {
    if measured.len() < 2 {
        return Vec::new();
    }
    let stepped = is_stepped(measured);
    let mut heads = vec!["stream", "planned/s", "acked/s", "p99", "errors"];
    if stepped {
        heads.insert(0, "phase");
    }
    let rows = measured.iter().map(|m| {
        let latency = or_absent(m.latency(), |summary| latency_of(&summary));
        let failed: u64 = m.results.iter().map(|result| result.failed_ops()).sum();
        let mut cells = vec![
            foreign(&m.stream.stream, WORDS),
            offered(m.stream.planned_rate),
            format!("{} {}", rate(m.units_per_s()), m.stream.unit.name()),
            latency.trim_start_matches("p99 ").to_owned(),
            count(failed),
        ];
        if stepped {
            cells.insert(0, m.phase.name.clone());
        }
        Row::new(cells)
    });
    std::iter::once(Row::new(heads)).chain(rows).collect()
}
