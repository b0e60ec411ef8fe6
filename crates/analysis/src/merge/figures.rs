//! Recomputes the figures that follow from counts, from the merged counts, with the same statistics.

use crate::availability::of_gaps;
use crate::judge::{littles_law_sessions, measured_streams};
use crate::throughput::{counted, throughput};
use highwater_model::plan::SteadinessRule;
use highwater_model::record::{ResultRecord, RunRecord, StreamRecord, WINDOW_NS};
use highwater_model::units::Nanos;

/// Draws throughput, interval and steadiness of the streams, Little's law, and the availability.
pub(super) fn draw(record: &mut RunRecord) {
    let rule = record.plan.definition.steadiness;
    for stream in &mut record.streams {
        draw_stream(stream, &record.results, rule);
    }
    draw_intervals(record);
    let measured = measured_streams(record);
    let expected = record.streams.iter().map(|stream| {
        let mut measured = measured.iter();
        littles_law_sessions(measured.find(|of| std::ptr::eq(of.stream, stream))?)
    });
    let expected: Vec<Option<f64>> = expected.collect();
    for (stream, sessions) in record.streams.iter_mut().zip(expected) {
        stream.littles_law_sessions = sessions;
    }
    let seen = std::mem::take(&mut record.availability);
    let (gaps, per_s) = (seen.gaps, seen.acknowledged_per_s);
    record.availability = of_gaps(gaps, per_s, &record.phases, &record.results, &[]);
}

fn draw_stream(stream: &mut StreamRecord, results: &[ResultRecord], rule: SteadinessRule) {
    let mut ops: Vec<&ResultRecord> = results.iter().collect();
    ops.retain(|r| (&r.phase, &r.stream) == (&stream.phase, &stream.stream));
    let (counts, units) = counted(stream.unit, &ops);
    stream.throughput.ops_per_s = ops.iter().map(|r| r.throughput.ops_per_s).sum();
    stream.throughput.rows_per_s = ops.iter().map(|r| r.throughput.rows_per_s).sum();
    throughput(&counts, Nanos(WINDOW_NS)).describe(stream, units, rule);
}

/// A stream with only one op takes its interval from the op.
fn draw_intervals(record: &mut RunRecord) {
    for stream in &record.streams {
        let mut of_stream: Vec<&mut ResultRecord> = record
            .results
            .iter_mut()
            .filter(|r| (&r.phase, &r.stream) == (&stream.phase, &stream.stream))
            .collect();
        if let [only] = of_stream.as_mut_slice() {
            only.throughput.ci95 = stream.throughput.ci95;
        }
    }
}
