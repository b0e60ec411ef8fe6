//! Telemetry of the target and its host, in one line.

use highwater_analysis::memory::data_in_memory;
use highwater_analysis::telemetry::{TimeRange, mean, measured, named, rejected, total};
use highwater_model::display::{bytes, count, foreign, percent, plain, rate};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::{SERIES_MAX, TargetTelemetry, names};

use crate::layout::labeled;

/// Maximum characters of a reason.
const WORDS: usize = 160;
/// Minimum mean number of waiting tasks that is reported.
const WAITING: f64 = 0.05;

pub(crate) fn lines(record: &RunRecord) -> Vec<String> {
    let mut parts = Vec::new();
    if let (Some(telemetry), Some(range)) = (&record.target_telemetry, measured(record)) {
        let seen = Seen { telemetry, range };
        parts.extend(seen.cpu());
        parts.extend(seen.waiting(names::QUEUE, "queued"));
        parts.extend(seen.waiting(names::LOCK_WAITS, "waiting for locks"));
        parts.extend(seen.disk());
        parts.extend(seen.checkpoints());
        let rejected = rejected(record).filter(|pieces| *pieces > 0);
        parts.extend(rejected.map(|pieces| format!("{} rejected", count(pieces))));
    }
    parts.extend(data_in_memory(record).map(|data| data.words()));
    let size = record.target.disk_bytes_per_row.map(plain);
    parts.extend(size.map(|size| format!("{size} bytes on disk per row")));
    let said = (!parts.is_empty()).then(|| labeled("target", &parts.join(" · ")));
    let mut lines = Vec::from_iter(said);
    let sources = record.target_telemetry.iter().flat_map(|t| &t.sources);
    for source in sources.filter(|source| source.failed > 0) {
        let said = format!(
            "telemetry of {}: {} of {} readings failed: {}",
            source.name,
            count(source.failed),
            count(source.readings),
            source.failure.as_deref().unwrap_or("no answer in time")
        );
        lines.push(labeled("note", &foreign(&said, WORDS)));
    }
    let left_out = record.target_telemetry.as_ref();
    let left_out = left_out.map_or(0, |telemetry| telemetry.series_left_out);
    if left_out > 0 {
        let said = format!(
            "{} series of telemetry are not in the record, which holds {}",
            count(left_out),
            count(SERIES_MAX as u64)
        );
        lines.push(labeled("note", &said));
    }
    lines
}

/// Telemetry over the measured phases.
struct Seen<'a> {
    telemetry: &'a TargetTelemetry,
    range: TimeRange,
}

impl Seen<'_> {
    /// Means over the range, one for each series of the first source that has any.
    fn means(&self, name: &str) -> Vec<f64> {
        let sources = self.telemetry.sources.iter();
        let of_source = |source: &str| -> Vec<f64> {
            named(self.telemetry, name)
                .filter(|series| series.source == source)
                .filter_map(|series| mean(self.telemetry, series, self.range))
                .collect()
        };
        sources
            .map(|source| of_source(&source.name))
            .find(|means| !means.is_empty())
            .unwrap_or_default()
    }

    fn cpu(&self) -> Option<String> {
        let nodes = self.means(names::CPU_BUSY);
        let busiest = nodes.iter().copied().reduce(f64::max)?;
        let number = f64::from(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
        let all = nodes.iter().sum::<f64>() / number;
        Some(match nodes.len() {
            1 => format!("cpu {}", percent(all)),
            _ => format!("cpu {}, busiest node {}", percent(all), percent(busiest)),
        })
    }

    fn waiting(&self, name: &str, word: &str) -> Option<String> {
        let waiting: f64 = self.means(name).iter().sum();
        (waiting >= WAITING).then(|| format!("{} {word}", plain(waiting)))
    }

    fn disk(&self) -> Option<String> {
        let busy = self.means(names::DISK_BUSY).into_iter().reduce(f64::max);
        let written = self.means(names::DISK_WRITTEN);
        let written = (!written.is_empty()).then(|| round_to_u64(written.iter().sum()));
        match (busy, written) {
            (Some(busy), Some(written)) => {
                Some(format!("disk {} busy, {}/s written", percent(busy), bytes(written)))
            }
            (Some(busy), None) if busy > 0.0 => Some(format!("disk {} busy", percent(busy))),
            (None, Some(written)) => Some(format!("{}/s written to disk", bytes(written))),
            (_, None) => None,
        }
    }

    fn checkpoints(&self) -> Option<String> {
        let series = named(self.telemetry, names::CHECKPOINTS);
        let number: f64 =
            series.filter_map(|series| total(self.telemetry, series, self.range)).sum();
        (number > 0.0).then(|| format!("{} checkpoints", rate(number)))
    }
}
