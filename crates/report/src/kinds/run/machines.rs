//! Availability of the target, and the load on its machines and on the load generator. Must not judge.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::measurement::{CEILING_HEADROOM, ceiling, greatest, overstated_by};
use highwater_analysis::memory::data_in_memory;
use highwater_analysis::telemetry::{TimeRange, mean, measured, named, rejected, total};
use highwater_model::display::{
    bytes, count, duration, foreign, percent, plain, rate, significant,
};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::{
    AvailabilityRecord, MeasuredRun, MissingField, RunRecord, SchedulingClass,
};
use highwater_model::target_telemetry::{SERIES_MAX, TargetTelemetry, names};

use crate::blocks::{Block, Section};
use crate::chart::Chart;
use crate::layout::Remark;
use crate::{limit, plots};

/// Maximum characters of a reason.
const WORDS: usize = 160;
/// Minimum mean number of waiting tasks that is reported.
const WAITING: f64 = 0.05;
/// What the words mean.
const GAPS: &str = "The longest gap is the longest time without any acknowledgement; a dip is a whole second without \
                    one. A target has recovered when it acknowledges the offered rate, and all ops that waited, until \
                    the end or for long enough; the time counts from its last acknowledgement before.";
const LAG: &str = "Client lag is how late the load generator sent an op although a session was free; only that can \
                   spoil a measurement.";

const MEANS: &str = "Means are those of the measured phases, and maxima those of the whole run.";

/// The limit, availability, and the charts over time that are not above the folds; absent if nothing was measured.
pub(super) fn over_time(
    record: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
    charts: Vec<Chart>,
) -> Option<Section> {
    let availability = availability(record);
    let limit = record.limit.as_ref().map(limit::remark);
    (!measured.is_empty()).then(|| Section {
        id: "over-time",
        title: "Over time",
        lead: availability.replace(" · ", ", "),
        blocks: vec![
            Block::Remarks(
                limit.into_iter().chain([Remark::new("availability", availability)]).collect(),
            ),
            Block::Term(GAPS.to_owned()),
            Block::Charts(charts),
        ],
    })
}

/// The machines of the target and the load generator; absent if nothing is known about them.
pub(super) fn section(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Section> {
    let client = (!record.clients.is_empty()).then(|| client(record, measured));
    let target = target(record);
    let first = target.first().map(|remark| format!("{} {}", remark.label, remark.sentence));
    let lead =
        first.or_else(|| client.as_ref().map(|client| format!("load generator {client}")))?;
    let charts = [plots::machine(record), plots::target(record)].concat();
    let client = client.map(|client| Remark::new("client", client));
    let mut blocks = vec![
        Block::Remarks(client.into_iter().chain(target).collect()),
        Block::Term(LAG.to_owned()),
    ];
    if !charts.is_empty() {
        blocks.push(Block::Term(MEANS.to_owned()));
        blocks.push(Block::Sparklines(charts.clone()));
        let title = "The same charts at full size, with values under the pointer".to_owned();
        blocks.push(Block::Folded(title, vec![Block::Charts(charts)]));
    }
    Some(Section { id: "machines", title: "Machines", lead: lead.replace(" · ", ", "), blocks })
}

pub(super) fn availability(record: &MeasuredRun<'_>) -> String {
    if let Some(origin) = record.origin
        && origin.leaves_out(MissingField::Availability)
    {
        return format!("not reported by {}", origin.tool);
    }
    let seen = &record.availability;
    let mut parts = vec![format!("longest gap {}", duration(seen.longest_gap_ns))];
    if seen.dips == 0 && seen.seconds_below_half == 0 && seen.recovery.is_none() {
        parts.push("no dips".to_owned());
        return parts.join(" · ");
    }
    let _ = write!(parts[0], " at {}", duration(seen.longest_gap_start_ns));
    let seconds = [
        (seen.seconds_below_half, "below half of the median"),
        (seen.dips, "without an acknowledgement"),
    ];
    let seconds = seconds.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(seconds.map(|(number, what)| format!("{} s {what}", count(number))));
    parts.extend(recovery(seen));
    parts.join(" · ")
}

/// Recovery from an outage, at the finest resolution that a record has.
fn recovery(seen: &AvailabilityRecord) -> Vec<String> {
    let after = |recovery: Option<u64>| match recovery {
        Some(recovery) => format!("recovered after {}", duration(recovery)),
        None => "not recovered".to_owned(),
    };
    match seen.recovery {
        None if seen.dips == 0 => Vec::new(),
        None => vec![after(seen.recovery_ns)],
        Some(finer) => {
            let again = finer.rate_again_ns.filter(|_| finer.recovered_ns != finer.rate_again_ns);
            let again = again.map(|ns| format!("offered rate again after {}", duration(ns)));
            let recovered = after(finer.recovered_ns);
            again.into_iter().chain([recovered]).collect()
        }
    }
}

fn client(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    let clients = &record.clients;
    let cores: u32 = clients.iter().map(|client| client.cores).sum();
    let used: f64 = clients.iter().map(|c| c.cpu_fraction * f64::from(c.cores)).sum();
    let mut parts = Vec::new();
    let several = clients.len();
    parts.extend((several > 1).then(|| format!("{several} load generators")));
    parts.push(format!("{used:.2} of {cores} cores"));
    let results = || measured.iter().flat_map(|stream| &stream.results);
    let stalls = || clients.iter().flat_map(|client| &client.stalls);
    if let Some(longest) = stalls().map(|stall| stall.duration_ns).max() {
        let times = count(stalls().count() as u64);
        parts.push(format!("stood still {times}×, up to {}", duration(longest)));
    }
    if let Some(lag) = results().filter_map(|r| r.client_lag_ns.p99).max() {
        let by = results().filter_map(|result| overstated_by(result)).max();
        let by = by.filter(|by| *by > 0).map(duration);
        let by = by.map_or_else(String::new, |by| format!(" (overstates latency by at most {by})"));
        parts.push(format!("lag p99 {}{by}", duration(lag)));
    }
    let class = clients.iter().map(|client| client.scheduling).max();
    parts.extend(class.and_then(scheduled));
    parts.push(match (ceiling(record), greatest(measured)) {
        _ if record.target.sink => "this is its ceiling".to_owned(),
        (Some(ceiling), Some((reached, unit))) if reached > 0.0 => format!(
            "ceiling {} {unit}/s, {} times this run",
            rate(ceiling),
            significant(ceiling / reached)
        ),
        (Some(ceiling), _) => format!("ceiling {}/s", rate(ceiling)),
        (None, reached) => unmeasured(record, reached),
    });
    parts.join(" · ")
}

/// The result of other loads' ceilings, or the command that measures the ceiling of this load.
fn unmeasured(record: &RunRecord, reached: Option<(f64, &'static str)>) -> String {
    let [client] = record.clients.as_slice() else {
        return "ceiling not measured".to_owned();
    };
    if let (Some(bound), Some((reached, unit))) = (client.ceiling_at_least, reached)
        && reached > 0.0
        && bound.units_per_s > reached * CEILING_HEADROOM
    {
        return format!(
            "ceiling at least {} {unit}/s, {} times this run (by that of {} sessions)",
            rate(bound.units_per_s),
            significant(bound.units_per_s / reached),
            count(bound.sessions.into())
        );
    }
    match &client.sink {
        Some(sink) => {
            format!("ceiling of this load not measured ({})", highwater_next::ceiling(record, sink))
        }
        None => "ceiling not calibrated (highwater check)".to_owned(),
    }
}

/// The scheduling class of the sending threads, if it is not the default.
fn scheduled(class: SchedulingClass) -> Option<String> {
    match class {
        SchedulingClass::Normal | SchedulingClass::NotPermitted => None,
        SchedulingClass::RealTime => Some("in the real-time class".to_owned()),
        SchedulingClass::RealTimeGivenUp => {
            Some("in the real-time class until it took more than a quarter of a core".to_owned())
        }
    }
}

/// Telemetry of the target and its host, and its missing parts.
fn target(record: &RunRecord) -> Vec<Remark> {
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
    let said = (!parts.is_empty()).then(|| Remark::new("target", parts.join(" · ")));
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
        lines.push(Remark::new("note", foreign(&said, WORDS)));
    }
    let left_out = record.target_telemetry.as_ref();
    let left_out = left_out.map_or(0, |telemetry| telemetry.series_left_out);
    if left_out > 0 {
        let said = format!(
            "{} series of telemetry are not in the record, which holds {}",
            count(left_out),
            count(SERIES_MAX as u64)
        );
        lines.push(Remark::new("note", said));
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
