//! Converts one second of one op between its four forms: counted, in the journal, in the record, and reported. Must not
//! count, or handle files.

use highwater_model::event::{LATENCY_BOUNDS_NS, StreamCounts};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::ErrorClass;
use highwater_model::record::IntervalRecord;
use highwater_model::units::Nanos;

use crate::recorder::{Failures, IntervalDelta};
use crate::store::JournalLine;

/// The interval in a record, of a phase, stream and op.
pub(crate) fn interval_record(
    second: u64,
    names: [String; 3],
    delta: &IntervalDelta,
) -> IntervalRecord {
    let [phase, stream, op] = names;
    let finite = |q: f64| delta.latency.percentile(q).map(|percentile| percentile.ns);
    IntervalRecord {
        second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        rejected: delta.rejected,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        p50_ns: finite(0.5),
        p99_ns: finite(0.99),
        max_ns: delta.latency.summary().max,
    }
}

/// The interval in the journal.
pub(crate) fn journal_line(delta: &IntervalDelta, names: [String; 3]) -> JournalLine {
    let [phase, stream, op] = names;
    let latency = if delta.latency.is_empty() { String::new() } else { delta.latency.encode() };
    JournalLine {
        second: delta.second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        rows_sent: delta.rows_sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        partial: delta.partial,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        failures: delta.failures.records(),
        latency,
        max_ns: delta.latency.greatest().0,
        beyond: delta.latency.beyond(),
    }
}

/// The counts of a line of the journal.
pub(crate) fn delta_of(line: &JournalLine) -> IntervalDelta {
    let mut latency = LatencyHistogram::coarse();
    if let Ok(histogram) = LatencyHistogram::decode(&line.latency) {
        let is_known = line.max_ns > 0;
        let exact = Nanos(if is_known { line.max_ns } else { u64::MAX });
        latency.merge(&histogram.with_greatest(exact));
    }
    latency.record_beyond(line.beyond, Nanos::ZERO);
    IntervalDelta {
        offered: line.offered,
        sent: line.sent,
        rows_sent: line.rows_sent,
        acknowledged: line.acknowledged,
        rows_acknowledged: line.rows_acknowledged,
        errors: line.errors,
        partial: line.partial,
        rows_refused: line.rows_refused,
        dropped: line.dropped,
        failures: Failures::of_second(line.second, &line.failures),
        latency,
        ..IntervalDelta::new(line.second, 0)
    }
}

/// The reported counts of a stream.
pub(crate) fn counts(sum: &IntervalDelta) -> StreamCounts {
    let up_to = sum.latency.up_to(&LATENCY_BOUNDS_NS);
    StreamCounts {
        offered: sum.offered,
        sent: sum.sent,
        dropped: sum.dropped,
        acknowledged: sum.acknowledged,
        rows_acknowledged: sum.rows_acknowledged,
        rows_refused: sum.rows_refused,
        latency_up_to: if sum.latency.is_empty() { Vec::new() } else { up_to },
        latency_sum_ns: sum.latency.sum_ns(),
        service_up_to: sum.service.up_to(),
        service_sum_ns: sum.service.sum_ns,
        lag_up_to: sum.lag.up_to(),
        lag_sum_ns: sum.lag.sum_ns,
        failed: ErrorClass::ALL
            .into_iter()
            .zip(sum.failed)
            .filter(|(_, failed)| *failed > 0)
            .collect(),
    }
}
