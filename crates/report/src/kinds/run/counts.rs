//! The four counts: offered, sent, acknowledged, found. Must not mix them.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{ABSENT, count, percent_of, rate};
use highwater_model::plan::Unit;
use highwater_model::record::MissingField;
use highwater_model::record::{AuditStatus, MeasuredRun, ResultRecord};

use crate::blocks::{Block, Section, Table};
use crate::judgments;
use crate::layout::{Remark, Row, list};

/// What the interval of the throughput means.
const INTERVAL: &str = "95% CI: the 95% confidence interval of the throughput, from this run alone. It does not contain \
                        what differs from run to run.";

/// The four counts, and other ones.
pub(super) fn section(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Section {
    let audit = &record.audit;
    let lead = if audit.status == AuditStatus::Done {
        format!(
            "{} rows acknowledged, {} found: {}",
            count(audit.acknowledged),
            count(audit.found),
            judgments::data(record.judgments.data.value).0
        )
    } else {
        judgments::audited(record)
    };
    let others = other_counts(measured).map(|text| Remark::new("also", text));
    let drift = drift(measured).map(|text| Remark::new("drift", text));
    let notes = others.into_iter().chain(drift).collect();
    let rows = rows(record, measured);
    let ci95 = rows.iter().any(|row| row.remark.contains("95% CI"));
    let mut blocks = vec![Block::Counts(Table { notes, ..Table::new("Counts", rows, 1) })];
    blocks.extend(ci95.then(|| Block::Term(INTERVAL.to_owned())));
    Section { id: "rows", title: "Rows and audit", lead, blocks }
}

/// The unit, the four counts, and the throughput as a remark.
fn rows(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<Row> {
    if measured.is_empty() && record.audit.acknowledged == 0 {
        return Vec::new();
    }
    let mut rows = written(record, measured);
    rows.extend(
        [Unit::Queries, Unit::Transactions]
            .into_iter()
            .filter_map(|unit| ops(record, measured, unit)),
    );
    rows
}

/// Rows of the measured phases, and of the whole run if that has more.
fn written(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<Row> {
    let results = || measured.iter().flat_map(|m| m.results.iter().map(move |r| (m, r)));
    let [mut offered, mut sent, mut acknowledged] = [0_u64; 3];
    for (stream, result) in results() {
        offered += rows_offered(stream, result);
        sent += result.rows.sent;
        acknowledged += result.rows.acknowledged;
    }
    let audit = &record.audit;
    let audited = audit.status == AuditStatus::Done;
    let same = audit.acknowledged == acknowledged;
    let mut rows = Vec::new();
    if offered > 0 || sent > 0 {
        let found = match (audited, same) {
            (true, _) if audit.replaced.is_some() => format!("{} keys", count(audit.found)),
            (true, true) => count(audit.found),
            (true, false) => String::new(),
            (false, _) => ABSENT.to_owned(),
        };
        let [offered, sent, acknowledged] = shown(record, [offered, sent, acknowledged]);
        let cells = ["rows", &offered, &sent, &acknowledged, &found];
        rows.push(Row::new(cells).remark(throughput(record, measured, Unit::Rows)));
    }
    if audited && !same && audit.replaced.is_none() {
        let [acknowledged, found] = [audit.acknowledged, audit.found].map(count);
        let cells = ["all rows", "", "", &acknowledged, &found];
        rows.push(Row::new(cells).remark("with load and warm-up"));
    }
    rows
}

/// Whether it is an imported record without this field.
pub(super) fn leaves_out(record: &MeasuredRun<'_>, what: MissingField) -> bool {
    record.origin.is_some_and(|origin| origin.leaves_out(what))
}

/// The unit of a stream; imported records count ops.
pub(super) fn unit_name(record: &MeasuredRun<'_>, unit: Unit) -> &'static str {
    match unit {
        Unit::Queries | Unit::Transactions if record.origin.is_some() => "ops",
        unit => unit.name(),
    }
}

/// Offered, sent, and acknowledged, as far as they are reported.
fn shown(record: &MeasuredRun<'_>, figures: [u64; 3]) -> [String; 3] {
    let [mut offered, mut sent, mut acknowledged] = figures.map(count);
    if leaves_out(record, MissingField::Offered) {
        [offered, sent] = [ABSENT, ABSENT].map(str::to_owned);
    }
    if leaves_out(record, MissingField::Acknowledged) {
        acknowledged.insert_str(0, "≤ ");
    }
    [offered, sent, acknowledged]
}

/// Rows of the intended ops.
fn rows_offered(stream: &MeasuredStream<'_>, result: &ResultRecord) -> u64 {
    if stream.stream.unit == Unit::Rows {
        return result.offered.saturating_mul(stream.units_per_op());
    }
    // For writes among queries: ops that were not sent have as many rows each as ops that were.
    let unsent = result.offered.saturating_sub(result.sent);
    let per_op = result.rows.sent.checked_div(result.sent).unwrap_or(0);
    result.rows.sent.saturating_add(unsent.saturating_mul(per_op))
}

/// Ops of the streams that count queries, or transactions.
fn ops(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>], unit: Unit) -> Option<Row> {
    let mut streams = measured.iter().filter(|m| m.stream.unit == unit).peekable();
    streams.peek()?;
    let sum = |of: fn(&ResultRecord) -> u64| sum(streams.clone(), of);
    let counts = [sum(|r| r.offered), sum(|r| r.sent), sum(|r| r.acknowledged)];
    let [offered, sent, acknowledged] = shown(record, counts);
    let what = unit_name(record, unit);
    let cells = [what, &offered, &sent, &acknowledged, ABSENT];
    Some(Row::new(cells).remark(throughput(record, measured, unit)))
}

/// `421,200 rows/s, 95% CI 418,900 to 423,600`; empty for several steps, which have different rates.
fn throughput(record: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>], unit: Unit) -> String {
    if leaves_out(record, MissingField::Throughput) {
        return String::new();
    }
    let streams: Vec<&MeasuredStream<'_>> =
        measured.iter().filter(|m| m.stream.unit == unit).collect();
    let Some(first) = streams.first() else {
        return String::new();
    };
    if streams.iter().any(|m| m.phase.name != first.phase.name) {
        return String::new();
    }
    let name = unit_name(record, unit);
    let reached: f64 = streams.iter().map(|m| m.units_per_s()).sum();
    let due: Option<f64> = streams.iter().map(|m| m.due_rate()).sum();
    let mut text = match due {
        Some(due) => format!("{} of {} {name}/s", rate(reached), rate(due)),
        None => format!("{} {name}/s", rate(reached)),
    };
    if let ([only], Some([low, high])) = (streams.as_slice(), super::ci95(record, first)) {
        debug_assert_eq!(only.stream.stream, first.stream.stream);
        let _ = write!(text, ", 95% CI {} to {}", rate(low), rate(high));
    }
    text
}

/// The throughput drift of each stream over the phase; absent for several phases, whose judgments name streams that
/// drifted.
fn drift(measured: &[MeasuredStream<'_>]) -> Option<String> {
    let phase = &measured.first()?.phase.name;
    if measured.iter().any(|m| m.phase.name != *phase) {
        return None;
    }
    let several = measured.len() > 1;
    let streams = measured.iter().filter_map(|m| {
        let drift = m.stream.drift()?;
        Some(if several { format!("{} {drift}", m.stream.stream) } else { drift })
    });
    let all = Some(list(streams, " · ")).filter(|all| !all.is_empty());
    all.map(|all| format!("{all} over the measured phase"))
}

/// Sum over all ops of these streams.
fn sum<'a>(
    streams: impl Iterator<Item = &'a MeasuredStream<'a>>,
    of: fn(&ResultRecord) -> u64,
) -> u64 {
    streams.flat_map(|m| &m.results).map(|result| of(result)).sum()
}

/// Counts other than acknowledged work: retries, drops, and rows refused or with an unknown outcome.
pub(super) fn other_counts(measured: &[MeasuredStream<'_>]) -> Option<String> {
    let sum = |of: fn(&ResultRecord) -> u64| sum(measured.iter(), of);
    let answered = sum(|r| r.answered.ops);
    // Some ops always straddle the boundaries of a phase; it is reported only if most of them do.
    let mostly_earlier = answered > 2 * sum(|r| r.acknowledged);
    let earlier = if mostly_earlier { answered } else { 0 };
    let (partial, sent) = (sum(ResultRecord::partial_ops), sum(|r| r.sent));
    let partial = (partial > 0).then(|| {
        let part = percent_of(partial, sent);
        format!("{} ops acknowledged in part ({part} of those sent)", count(partial))
    });
    let parts = [
        (earlier, "ops answered in the phase, most of them due before it"),
        (sum(|r| r.rolled_back), "transactions rolled back as ordered"),
        (sum(|r| r.retries), "retries"),
        (sum(|r| r.dropped), "ops due and never sent"),
        (sum(|r| r.rows.refused), "rows refused"),
        (sum(|r| r.rows.unknown), "rows of unknown outcome"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", count(number)));
    let parts = partial.into_iter().chain(parts);
    Some(list(parts, " · ")).filter(|parts| !parts.is_empty())
}
