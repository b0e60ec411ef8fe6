//! A run: the rate that it reached, the latency, the errors, and whether the acknowledged rows were found.

use highwater_analysis::judge::{MeasuredStream, failed_work};
use highwater_model::display::{count, foreign, rate};
use highwater_model::histogram::LatencySummary;
use highwater_model::import_record::MissingField;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::limit::Limit;
use highwater_model::record::{AuditStatus, MeasuredRun, RecordRef};

use super::layout::{Ink, Line, Span};
use super::lines::{WORDS, and_more, first_of, first_rows};
use crate::events::intervention;
use crate::findings::findings;
use crate::layout::{Row, or_absent};
use crate::progress::offered;
use crate::text::{counts, head, ops, tail};

/// Maximum number of failure causes with a line, and of changes in the cluster.
const LINES_SHOWN: usize = 3;

/// The answer, and additional facts.
pub(super) fn lines(
    record: RecordRef<'_>,
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> (Vec<Line>, Vec<Line>) {
    let mut answer = vec![Line::Answer(parts(run, measured))];
    answer.extend(known(measured).map(Line::Below));
    answer.extend(first_rows(streams(measured), 1 + usize::from(is_stepped(measured))));
    let mut about = Vec::new();
    about.extend(run.limit.as_ref().map(limited));
    about.extend(counts::other_counts(measured).map(|also| Line::labeled("also", also)));
    about.extend(first_lines("errors", ops::failures(measured)));
    about.extend(first_lines("cluster", tail::cluster_changes(run).collect()));
    let seen = &run.availability;
    if seen.dips > 0 || seen.recovery.is_some() {
        about.push(Line::labeled("availability", tail::availability(run)));
    }
    about.extend(noted(record));
    about.push(Line::labeled("load", head::load(run, measured).join(" · ")));
    (answer, about)
}

/// The first of several facts, each on a line, with the number of the others.
fn first_lines(label: &str, mut all: Vec<String>) -> Vec<Line> {
    let more = all.len().saturating_sub(LINES_SHOWN);
    all.truncate(LINES_SHOWN);
    if let Some(last) = all.last_mut() {
        *last = and_more(last, more);
    }
    all.into_iter().map(|text| Line::labeled(label, text)).collect()
}

/// The limit of the run.
pub(super) fn limited(limit: &Limit) -> Line {
    let (label, sentence) = crate::limit::line(limit);
    Line::labeled(label, sentence)
}

fn parts(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<Span> {
    if measured.is_empty() {
        return vec![Span::new(Ink::Bad, "nothing was measured")];
    }
    let mut parts: Vec<Span> = failed(run, measured).into_iter().collect();
    let names_failed = !parts.is_empty();
    if counts::leaves_out(run, MissingField::Throughput) {
        parts.push(Span::plain("throughput not reported"));
    } else {
        parts.extend(rates(measured));
    }
    if let [one] = measured {
        parts.extend(one.latency().map(|summary| Span::plain(latency(&summary))));
    }
    if !names_failed && !counts::leaves_out(run, MissingField::Errors) {
        parts.push(errors(measured));
    }
    parts.extend(found(run));
    parts
}

/// The rate of each stream; for several steps, the minimum and the maximum.
fn rates(measured: &[MeasuredStream<'_>]) -> Vec<Span> {
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
        Span::new(Ink::Strong, text)
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
pub(super) fn latency(summary: &LatencySummary) -> String {
    if summary.p99.is_none() && summary.max.is_some() {
        let max = ops::figure(summary, "max", summary.max);
        return format!("max {max} of {} ops", count(summary.count));
    }
    format!("p99 {}", ops::figure(summary, "p99", summary.p99))
}

/// The failures, if they were judged as too many without a configured limit.
fn failed(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Option<Span> {
    let judged = run.judgments.objective.codes();
    if !judged.contains(&ReasonCode::ObjectiveErrors) {
        return None;
    }
    let all = failed_work(run, measured);
    let more = all.len().saturating_sub(1);
    let first = foreign(&all.first()?.to_string(), WORDS);
    Some(Span::new(Ink::Bad, and_more(&first, more)))
}

fn errors(measured: &[MeasuredStream<'_>]) -> Span {
    let failed: u64 =
        measured.iter().flat_map(|m| &m.results).map(|result| result.failed_ops()).sum();
    let ink = if failed == 0 { Ink::Plain } else { Ink::Bad };
    let plural = if failed == 1 { "" } else { "s" };
    Span::new(ink, format!("{} error{plural}", count(failed)))
}

/// The outcome of acknowledged rows; absent if nothing was written.
fn found(run: &MeasuredRun<'_>) -> Option<Span> {
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
        Data::Duplicated => (Ink::Bad, "rows DUPLICATED".to_owned()),
        Data::Surplus => (Ink::Bad, "rows found that were REFUSED".to_owned()),
        Data::Altered => (Ink::Bad, "rows ALTERED".to_owned()),
        Data::Unverified => (Ink::Open, "rows NOT VERIFIED".to_owned()),
        Data::NotChecked if audit.status == AuditStatus::NothingWritten => return None,
        Data::NotChecked => (Ink::Plain, "rows not audited".to_owned()),
    };
    Some(Span::new(ink, text))
}

/// The confidence interval of the throughput, if there is one phase.
fn known(measured: &[MeasuredStream<'_>]) -> Option<String> {
    let [one] = measured else { return None };
    let [low, high] = one.stream.throughput.ci95?;
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
        let latency = or_absent(m.latency(), |summary| latency(&summary));
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

/// The first change that the user made during the run, and the number of the others.
pub(super) fn changed(record: RecordRef<'_>) -> Option<Line> {
    let all = record.interventions().iter();
    first_of("changed", all.map(|done| foreign(&intervention(done), WORDS)))
}

/// The first change, finding, and note, each with the number of the others.
fn noted(record: RecordRef<'_>) -> Vec<Line> {
    let run = record.measured_run();
    let mut lines: Vec<Line> = changed(record).into_iter().collect();
    let all = findings(record)
        .into_iter()
        .map(|of| foreign(&format!("{}: {}", of.sentence, of.evidence), WORDS));
    lines.extend(first_of("finding", all));
    let notes = tail::noted(&run).into_iter();
    lines.extend(first_of("note", notes.map(|note| foreign(note, WORDS))));
    lines
}
