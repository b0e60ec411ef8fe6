//! The ops of a running run, and its failures, as tables. Must not judge.

use maud::html;

use highwater_analysis::judge::measured_streams;
use highwater_model::display::{count, duration, foreign, rate, span};
use highwater_model::plan::Unit;

use crate::answer::{plural, to_the_second};
use crate::layout::{Row, headed, or_absent};
use crate::render::html::blocks::{Part, table};
use crate::watched::RunWatched;

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
                Unit::Queries | Unit::Transactions => result.throughput.ops_per_s,
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

/// Failed ops by class and message, the most frequent first, with the time of the last one; absent without any. Messages
/// are known a few seconds later than the number of ops.
pub(super) fn failures(run: &RunWatched) -> Option<Part> {
    let slots = run.seconds.slots.iter().flat_map(|slot| &slot.streams);
    let failed: u64 = slots.map(|stream| stream.errors).sum();
    let now = run.last.as_ref().map_or(0, |last| last.second);
    let rows = run.failures.iter().map(|(failure, second)| {
        let ago =
            format!("{} ago", span(now.saturating_sub(*second).saturating_mul(1_000_000_000)));
        Row::new([
            failure.class.clone(),
            foreign(&failure.cause(), WORDS),
            count(failure.count),
            ago,
        ])
    });
    let rows = headed("class | message | count | last seen", rows);
    let lead = match run.failures.first() {
        Some((first, _)) => {
            format!("{} ops; most often: {}", count(failed), foreign(&first.cause(), WORDS))
        }
        None => format!("{} ops", count(failed)),
    };
    (failed > 0).then(|| Part {
        id: "failures",
        title: "Failures",
        abstract_line: lead,
        body: if run.failures.is_empty() {
            html! {}
        } else {
            table("Failed ops", &rows, 2)
        },
    })
}
