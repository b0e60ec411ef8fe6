//! Latencies of the ops as a table, errors, and the sizes of responses.

use maud::html;

use crate::answer::plural;
use crate::layout::{Row, headed, list, or_absent};
use crate::text::ops as op_text;
use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{bytes, count, duration, foreign, plain, ratio};
use highwater_model::import_record::LatencyBegin;
use highwater_model::numbers::round_to_u64;
use highwater_model::record::{MeasuredRun, ResultRecord};

use super::super::chart::{self, Chart};
use super::super::page::Part;
use super::tables::table;

/// Maximum characters of the target's text about an error.
const WORDS: usize = 600;

pub(in crate::html) fn latency(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    charts: &[Chart],
) -> Option<Part> {
    let (rows, words) = op_text::table(record, measured)?;
    let open = measured.iter().any(MeasuredStream::is_open);
    let errors = errors(measured);
    Some(Part {
        id: "latency-of-ops",
        title: "Latency",
        abstract_line: slowest(measured),
        body: html! {
            (table("Latency of each op", &rows, words))
            p class="term" {
                "A percentile is the latency that this part of the ops did not exceed; p50 is the median. It \
                 needs enough ops and is left out without them; ≥ marks ops that failed or never ended. "
                @if let Some(origin) = record.origin {
                    (begin(origin.begin))
                } @else if open {
                    "Open load: ops are sent at a rate, whatever the target does. Service time \
                     counts from the sending, latency from the intended time; session wait is how long \
                     an op waited for a free session."
                } @else {
                    "Closed load: each session sends its next op when the previous one completes, so no op \
                     waits, and latency is the service time."
                }
            }
            @if !errors.is_empty() {
                h3 { "Errors" }
                (table("Failed ops by cause", &errors, 1))
            }
            (chart::all(charts))
        },
    })
}

/// The slowest op by its p99, otherwise by its maximum.
fn slowest(measured: &[MeasuredStream<'_>]) -> String {
    let all = || {
        measured
            .iter()
            .flat_map(|stream| stream.results.iter().map(move |result| (stream, *result)))
    };
    let of = |result: &ResultRecord| result.latency_ns.p99.or(result.latency_ns.max);
    let slowest = all().filter_map(|(stream, result)| Some((of(result)?, stream, result)));
    let Some((_, stream, result)) = slowest.max_by_key(|(ns, ..)| *ns) else {
        return "not measured".to_owned();
    };
    let shown = [
        ("p50", result.latency_ns.p50),
        ("p99", result.latency_ns.p99),
        ("max", result.latency_ns.max),
    ];
    let shown =
        shown.into_iter().filter_map(|(name, ns)| Some(format!("{name} {}", duration(ns?))));
    let which = if all().count() > 1 { "slowest op: " } else { "" };
    let place = foreign(&stream.place_of(result), WORDS);
    format!("{which}{place} {}", list(shown, ", "))
}

/// Where another tool's latency begins.
const fn begin(begin: LatencyBegin) -> &'static str {
    match begin {
        LatencyBegin::Intended => {
            "Latency begins at the intended start, so that waiting for a session counts."
        }
        LatencyBegin::Sent => "Latency begins at the sending: what waited before is not in it.",
        LatencyBegin::NotReported => "The tool does not report where its latency begins.",
    }
}

/// Class, number, op, and the target's text.
fn errors(measured: &[MeasuredStream<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for stream in measured {
        for result in &stream.results {
            for failure in &result.failures {
                let place = stream.place_of(result);
                let cells = [failure.class.clone(), count(failure.count), place];
                rows.push(Row::new(cells).remark(foreign(&failure.cause(), WORDS)));
            }
            if !result.failures.is_empty() {
                continue;
            }
            for (class, number) in result.errors.iter().filter(|(_, number)| **number > 0) {
                let example = result.error_examples.get(class);
                let example = example.map_or_else(String::new, |words| foreign(words, WORDS));
                let place = stream.place_of(result);
                rows.push(Row::new([class.clone(), count(*number), place]).remark(example));
            }
        }
    }
    if !rows.is_empty() {
        rows.insert(0, Row::new(["class", "ops", "op"]));
    }
    rows
}

/// Amount of returned data; absent if nothing was returned.
pub(in crate::html) fn answers(measured: &[MeasuredStream<'_>]) -> Option<Part> {
    let head = "op | responses | bytes per response | rows per response | bytes per second";
    let of_streams = measured.iter().flat_map(|stream| {
        stream
            .results
            .iter()
            .filter(|r| r.response_bytes > 0)
            .map(move |result| answer(stream, result))
    });
    let rows = headed(head, of_streams);
    if rows.len() == 1 {
        return None;
    }
    Some(Part {
        id: "answers",
        title: "Response sizes",
        abstract_line: format!("of {}", plural(rows.len() - 1, "op")),
        body: html! {
            (table("Sizes of responses", &rows, 1))
            p class="term" {
                "A response of an unexpected size is a sign of a query that finds nothing, or too much."
            }
        },
    })
}

fn answer(stream: &MeasuredStream<'_>, result: &ResultRecord) -> Row {
    let acknowledged = result.acknowledged;
    let rows = (acknowledged > 0).then(|| ratio(result.response_rows, acknowledged));
    let seconds = round_to_u64(stream.seconds().max(1.0));
    Row::new([
        stream.place_of(result),
        count(acknowledged),
        or_absent(result.response_bytes.checked_div(acknowledged), bytes),
        or_absent(rows, plain),
        bytes(result.response_bytes / seconds.max(1)),
    ])
}
