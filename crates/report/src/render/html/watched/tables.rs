//! The ops of a running run, and its failures, as tables. Must not judge.

use std::collections::BTreeMap;

use maud::html;

use highwater_analysis::judge::measured_streams;
use highwater_model::display::{ABSENT, count, duration, foreign, rate};
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Unit;

use crate::answer::{plural, to_the_second};
use crate::layout::{Row, headed, list, or_absent};
use crate::render::html::blocks::{Part, table};
use crate::watched::{RunWatched, Watched};

/// Maximum characters of a message of the target.
const WORDS: usize = 200;

/// Requests, failures, rate and latency of each op in the current phase; absent before the first measured second.
pub(super) fn ops(run: &RunWatched) -> Option<Part> {
    let measured = measured_streams(run.record.as_deref()?);
    let phase = measured.last()?.phase;
    let (mut rows, mut requests, mut failed) = (Vec::new(), 0, 0);
    for stream in measured.iter().filter(|of| of.phase.name == phase.name) {
        for result in &stream.results {
            let per_s = match stream.stream.unit {
                Unit::Rows => result.throughput.rows_per_s,
                Unit::Queries => result.throughput.ops_per_s,
            };
            requests += result.sent;
            failed += result.failed_ops();
            let latency = &result.latency_ns;
            let latencies = [latency.p50, latency.p95, latency.p99, latency.max]
                .map(|ns| or_absent(ns, duration));
            let counts = [
                count(result.sent),
                count(result.failed_ops()),
                format!("{} {}/s", rate(per_s), stream.stream.unit.name()),
            ];
            let name = if result.stream == result.op {
                result.op.clone()
            } else {
                format!("{} {}", result.stream, result.op)
            };
            rows.push(Row::new(std::iter::once(name).chain(counts).chain(latencies)));
        }
    }
    let lead = format!(
        "{}: {}, {} failed",
        phase.name,
        plural(usize::try_from(requests).unwrap_or(usize::MAX), "request"),
        count(failed)
    );
    let rows = headed("op | requests | failed | rate | p50 | p95 | p99 | max", rows);
    let caption = format!("In {}, {} so far.", phase.name, to_the_second(phase.duration_ns));
    Some(Part {
        id: "ops",
        title: "Ops",
        abstract_line: lead,
        body: html! { (table("Figures of each op", &rows, 1)) p class="term" { (caption) } },
    })
}

/// Failed ops of all runs so far by class and message, the most frequent first; absent without any.
pub(super) fn failures(watched: &Watched) -> Option<Part> {
    let mut by_class: BTreeMap<&str, u64> = BTreeMap::new();
    for stream in &watched.totals.streams {
        for (class, failed) in ErrorClass::ALL.into_iter().zip(stream.failed) {
            *by_class.entry(class.name()).or_default() += failed;
        }
    }
    by_class.retain(|_, failed| *failed > 0);
    let all: u64 = by_class.values().sum();
    let lead =
        list(by_class.iter().map(|(class, failed)| format!("{} {class}", count(*failed))), ", ");
    let rows = by_class.into_iter().map(|(class, failed)| {
        Row::new([class.to_owned(), foreign(ABSENT, WORDS), count(failed), ABSENT.to_owned()])
    });
    let rows = headed("class | message | count | last seen", rows);
    (all > 0).then(|| Part {
        id: "failures",
        title: "Failures",
        abstract_line: lead,
        body: table("Failed ops", &rows, 2),
    })
}
