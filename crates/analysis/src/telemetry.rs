//! Statistics of telemetry series over a time range. Pure. Must not hold rules or judgments.

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::PhaseKind;
use highwater_model::record::{PhaseRecord, RunRecord};
use highwater_model::target_telemetry::{
    SeriesKind, TargetTelemetry, TelemetrySeries, names, sources,
};

/// Bytes per second of networks: 1, 2.5, 10, 25 and 100 Gbit/s.
const NETWORKS: [f64; 5] = [125e6, 312.5e6, 1.25e9, 3.125e9, 12.5e9];
/// A network is full between these fractions of its speed: headers take the rest.
const NETWORK_FULL: (f64, f64) = (0.9, 1.0);

/// A time range of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// Its start, nanoseconds from the start of the run.
    pub from_ns: u64,
    /// Its end, exclusive.
    pub to_ns: u64,
}

/// The values of a series for charts: levels unchanged, counts per second.
pub fn values_of(telemetry: &TargetTelemetry, series: &TelemetrySeries) -> Vec<Option<f64>> {
    let points = points(telemetry, series);
    let mut values = vec![None; series.values.len()];
    for point in points {
        values[point.position] = match series.kind {
            SeriesKind::Level => Some(point.value),
            SeriesKind::Count => point.span_s().map(|span| point.value / span),
        };
    }
    values
}

/// Mean of a level, or of a count per second, over the samples that began in the range.
pub fn mean(
    telemetry: &TargetTelemetry,
    series: &TelemetrySeries,
    range: TimeRange,
) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for point in points(telemetry, series).filter(|point| point.is_in(range)) {
        let Some(span) = point.span_s() else { continue };
        seconds += span;
        sum += match series.kind {
            SeriesKind::Level => point.value * span,
            SeriesKind::Count => point.value,
        };
    }
    (seconds > 0.0).then(|| sum / seconds)
}

/// Sum of a count over the samples that began in the range; absent for a level, and without any value in the range.
pub fn total(
    telemetry: &TargetTelemetry,
    series: &TelemetrySeries,
    range: TimeRange,
) -> Option<f64> {
    if series.kind == SeriesKind::Level {
        return None;
    }
    points(telemetry, series)
        .filter(|point| point.is_in(range))
        .map(|point| point.value)
        .reduce(|sum, value| sum + value)
}

/// From the start of the first measured phase to the end of the last.
pub fn measured(record: &RunRecord) -> Option<TimeRange> {
    let mut measured = record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let first = measured.next()?;
    let last = measured.next_back().unwrap_or(first);
    Some(TimeRange {
        from_ns: first.start_ns,
        to_ns: last.start_ns.saturating_add(last.duration_ns),
    })
}

/// All series of this name.
pub fn named<'a>(
    telemetry: &'a TargetTelemetry,
    name: &'a str,
) -> impl Iterator<Item = &'a TelemetrySeries> + 'a {
    let series = telemetry.series.iter();
    series.filter(move |series| series.name == name)
}

/// Tasks that the target reports as rejected in measured phases; absent if it does not report them. The target defines
/// a task, which need not be an op.
pub fn rejected(record: &RunRecord) -> Option<u64> {
    let telemetry = record.target_telemetry.as_ref()?;
    let range = measured(record)?;
    let series = named(telemetry, names::REJECTED);
    series
        .filter_map(|series| total(telemetry, series, range))
        .reduce(|sum, total| sum + total)
        .map(round_to_u64)
}

/// Whether a series is of a node with a quota, which may be invisible to the node and its machine.
fn is_of_control_groups(series: &TelemetrySeries) -> bool {
    series.source == sources::CONTROL_GROUPS
}

/// Busy CPU fraction of each node that reports it, over the measured time, by node name; for nodes with quotas, the
/// used fraction of the quota.
pub fn busy_cpus(record: &RunRecord) -> Vec<(&str, f64)> {
    let (Some(telemetry), Some(range)) = (&record.target_telemetry, measured(record)) else {
        return Vec::new();
    };
    let has_groups = named(telemetry, names::CPU_BUSY).any(is_of_control_groups);
    let busy = named(telemetry, names::CPU_BUSY)
        .filter(|series| !has_groups || is_of_control_groups(series))
        .filter_map(|series| {
            let node = series.node.as_deref().unwrap_or(&series.source);
            Some((node, mean(telemetry, series, range)?))
        });
    busy.collect()
}

/// The node whose queue grew most from the first to the last third of a phase, and by how much; absent if no node
/// has a queue.
pub fn longest_growing_queue<'a>(
    record: &'a RunRecord,
    phase: &PhaseRecord,
) -> Option<(&'a str, f64)> {
    let telemetry = record.target_telemetry.as_ref()?;
    let (from_ns, third) = (phase.start_ns, phase.duration_ns / 3);
    let thirds = [0, 2]
        .map(|n| TimeRange { from_ns: from_ns + n * third, to_ns: from_ns + (n + 1) * third });
    let grown = named(telemetry, names::QUEUE).filter_map(|series| {
        let [first, last] = thirds.map(|range| mean(telemetry, series, range));
        // Means of thirds are two thirds of a phase apart.
        Some((series.node.as_deref()?, (last? - first?) * 1.5))
    });
    grown.reduce(|most, other| if most.1 < other.1 { other } else { most })
}

/// Growth of the tables in bytes per row acknowledged after their first measurement, which follows
/// the load phase. Absent if the target does not report sizes, or the tables did not grow.
pub fn disk_bytes_per_row(record: &RunRecord) -> Option<f64> {
    let target = &record.target;
    let grown = target.bytes_after?.checked_sub(target.bytes_before?)?;
    let is_load = |phase: &str| PhaseRecord::is_load(&record.phases, phase);
    let rows: u64 = record
        .results
        .iter()
        .filter(|r| !is_load(&r.phase))
        .map(|result| result.rows.acknowledged)
        .sum();
    (grown > 0 && rows > 0).then(|| highwater_model::display::ratio(grown, rows))
}

/// Telemetry over a time range.
pub(crate) struct OverTime<'a> {
    pub(crate) telemetry: &'a TargetTelemetry,
    pub(crate) range: TimeRange,
}

impl<'a> OverTime<'a> {
    /// Absent if the record has no telemetry.
    pub(crate) fn within(record: &'a RunRecord, range: TimeRange) -> Option<Self> {
        let telemetry = record.target_telemetry.as_ref()?;
        Some(Self { telemetry, range })
    }

    /// All series of that name from the nodes' control groups, or else from the first source that reports it; if this
    /// is an endpoint, from all endpoints.
    pub(crate) fn series(
        &self,
        name: &'static str,
    ) -> impl Iterator<Item = &'a TelemetrySeries> + use<'a> {
        let telemetry = self.telemetry;
        let mut of_groups = named(telemetry, name).filter(|series| is_of_control_groups(series));
        let first = of_groups.next().or_else(|| named(telemetry, name).next());
        let source = first.map_or("", |series| series.source.as_str());
        let others = [sources::TARGET, sources::HOST, sources::CONTROL_GROUPS];
        let is_endpoint = move |source: &str| !others.contains(&source);
        named(telemetry, name).filter(move |series| {
            series.source == source || is_endpoint(source) && is_endpoint(&series.source)
        })
    }

    /// The same series with their means.
    pub(crate) fn means(&self, name: &'static str) -> Vec<(&'a TelemetrySeries, f64)> {
        self.series(name)
            .filter_map(|series| Some((series, mean(self.telemetry, series, self.range)?)))
            .collect()
    }

    /// The greatest of these means.
    pub(crate) fn greatest(&self, name: &'static str) -> Option<(&'a TelemetrySeries, f64)> {
        self.means(name).into_iter().max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The machine's CPU, and how busy it was.
    pub(crate) fn host_cpu(&self) -> Option<(&'a TelemetrySeries, f64)> {
        let mut all = named(self.telemetry, names::CPU_BUSY);
        let series = all.find(|series| series.source == sources::HOST)?;
        Some((series, mean(self.telemetry, series, self.range)?))
    }

    /// The highest value of all series of that name.
    pub(crate) fn highest(&self, name: &'static str) -> Option<f64> {
        let series = named(self.telemetry, name);
        let inside = series
            .flat_map(|series| points(self.telemetry, series))
            .filter(|point| point.is_in(self.range));
        inside.map(|point| point.value).reduce(f64::max)
    }

    /// The sum of the means.
    pub(crate) fn sum(&self, name: &'static str) -> f64 {
        self.means(name).iter().map(|(_, mean)| mean).sum()
    }

    /// A network that transfers about as much as one of its speed can: its series, and bytes per second of both.
    pub(crate) fn full_network(&self) -> Option<(&'a TelemetrySeries, f64, f64)> {
        let directions = [names::NET_RECEIVED, names::NET_SENT];
        let all = directions.into_iter().flat_map(|name| self.means(name));
        // Loopback traffic is not on a network.
        let mut wires = all.filter(|(series, _)| series.node.as_deref() != Some("lo"));
        wires.find_map(|(series, carried)| {
            let (least, most) = NETWORK_FULL;
            let mut speeds = NETWORKS.into_iter();
            let speed = speeds.find(|speed| least * speed <= carried && carried <= most * speed)?;
            Some((series, carried, speed))
        })
    }

    /// Busy CPU fraction, mean over all nodes.
    pub(crate) fn cpu(&self) -> Option<f64> {
        let nodes = self.means(names::CPU_BUSY);
        let number = f64::from(u32::try_from(nodes.len()).ok()?);
        (!nodes.is_empty()).then(|| nodes.iter().map(|(_, mean)| mean).sum::<f64>() / number)
    }
}

/// The fraction of the samples that began in the range whose value was at least this high; absent without any sample.
pub(crate) fn part_at_least(
    telemetry: &TargetTelemetry,
    series: &TelemetrySeries,
    range: TimeRange,
    least: f64,
) -> Option<f64> {
    let (mut all, mut high) = (0_u64, 0_u64);
    for point in points(telemetry, series).filter(|point| point.is_in(range)) {
        all += 1;
        high += u64::from(point.value >= least);
    }
    (all > 0).then(|| highwater_model::display::ratio(high, all))
}

/// A value and the time that it covers.
struct Point {
    position: usize,
    value: f64,
    from_ns: u64,
    to_ns: u64,
}

impl Point {
    fn span_s(&self) -> Option<f64> {
        (self.to_ns > self.from_ns).then(|| to_f64(self.to_ns - self.from_ns) / 1e9)
    }

    /// Whether the covered time begins in the range.
    fn is_in(&self, range: TimeRange) -> bool {
        self.to_ns > self.from_ns && range.from_ns <= self.from_ns && self.from_ns < range.to_ns
    }
}

/// The values that are present. A count covers the time since the previous value.
fn points<'a>(
    telemetry: &'a TargetTelemetry,
    series: &'a TelemetrySeries,
) -> impl Iterator<Item = Point> + 'a {
    let mut last_said = None;
    telemetry.times_ns.iter().zip(&series.values).enumerate().filter_map(
        move |(position, (time, value))| {
            let value = (*value)?;
            let sample_before = position.checked_sub(1);
            let before = match series.kind {
                SeriesKind::Level => sample_before,
                SeriesKind::Count => last_said.or(sample_before),
            };
            last_said = Some(position);
            Some(Point {
                position,
                value,
                from_ns: before.map_or(*time, |before| telemetry.times_ns[before]),
                to_ns: *time,
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const S: u64 = 1_000_000_000;

    fn series(kind: SeriesKind, values: &[Option<f64>]) -> (TargetTelemetry, TelemetrySeries) {
        let series = TelemetrySeries {
            source: "target".to_owned(),
            name: names::REJECTED.to_owned(),
            unit: "1".to_owned(),
            node: None,
            kind,
            values: values.to_vec(),
        };
        let points = u64::try_from(values.len()).unwrap();
        let telemetry = TargetTelemetry {
            interval_ns: S,
            times_ns: (0..points).map(|second| second * S).collect(),
            series: vec![series.clone()],
            ..TargetTelemetry::default()
        };
        (telemetry, series)
    }

    #[test]
    fn a_count_after_a_gap_is_spread_over_the_time_since_the_last_one() {
        let values = [None, Some(10.0), None, Some(30.0), Some(0.0)];
        let (telemetry, count) = series(SeriesKind::Count, &values);
        let drawn = [None, Some(10.0), None, Some(15.0), Some(0.0)];
        assert_eq!(values_of(&telemetry, &count), drawn);
        let (telemetry, level) = series(SeriesKind::Level, &values);
        assert_eq!(values_of(&telemetry, &level), values);
    }

    fn range(from_ns: u64, to_ns: u64) -> TimeRange {
        TimeRange { from_ns, to_ns }
    }

    #[test]
    fn a_range_has_the_samples_that_begin_in_it() {
        let values = [None, Some(1.0), Some(2.0), Some(4.0), Some(8.0)];
        let (telemetry, count) = series(SeriesKind::Count, &values);
        assert_eq!(total(&telemetry, &count, range(S, 3 * S)), Some(6.0));
        assert_eq!(mean(&telemetry, &count, range(S, 3 * S)), Some(3.0));
        assert_eq!(total(&telemetry, &count, range(9 * S, 10 * S)), None);
        // A value that began before the range is not part of it; one that ends after it is.
        let half = S / 2;
        let found = total(&telemetry, &count, range(half, 2 * S + half));
        assert_eq!(found, Some(6.0));
        let (telemetry, level) = series(SeriesKind::Level, &values);
        assert_eq!(mean(&telemetry, &level, range(0, 4 * S)), Some(3.75));
        assert_eq!(total(&telemetry, &level, range(0, 4 * S)), None);
    }

    #[test]
    fn a_mean_weighs_a_value_by_the_time_that_it_stands_for() {
        // The second response took three seconds.
        let values = [None, Some(1.0), Some(5.0)];
        for (kind, expected) in [
            // 1 for one second and 5 for three of them.
            (SeriesKind::Level, 4.0),
            // 6 more within four seconds.
            (SeriesKind::Count, 1.5),
        ] {
            let (mut telemetry, series) = series(kind, &values);
            telemetry.times_ns = vec![0, S, 4 * S];
            assert_eq!(mean(&telemetry, &series, range(0, 4 * S)), Some(expected));
        }
    }

    #[test]
    fn the_measured_time_spans_from_the_first_step_to_the_last() {
        let steps = fixture::open_steps();
        assert_eq!(steps.phases.len(), 3, "a warm-up and two steps");
        let lengths = steps.phases[1..].iter().map(|phase| phase.duration_ns);
        let found = measured(&steps);
        assert_eq!(found, Some(range(2 * S, 2 * S + lengths.sum::<u64>())));
    }

    #[test]
    fn rejections_of_the_warm_up_are_not_those_of_the_measurement() {
        let mut record = fixture::closed();
        let from = measured(&record).unwrap().from_ns;
        assert_eq!(from, 2 * S, "two seconds of warm-up");
        let values = [None, Some(100.0), Some(10.0), Some(1.0), Some(2.0)];
        record.target_telemetry = Some(series(SeriesKind::Count, &values).0);
        assert_eq!(rejected(&record), Some(3));
        record.target_telemetry = Some(series(SeriesKind::Level, &values).0);
        assert_eq!(rejected(&record), None);
    }

    #[test]
    fn bytes_per_row_are_those_of_the_rows_that_came_between() {
        let mut record = fixture::closed();
        let rows: u64 = record.results.iter().map(|r| r.rows.acknowledged).sum();
        record.target.bytes_before = Some(1_000);
        record.target.bytes_after = Some(1_000 + 3 * rows);
        assert_eq!(disk_bytes_per_row(&record), Some(3.0));
        record.phases[0].kind = PhaseKind::Load;
        let of_load = record.phases[0].name.clone();
        record.results[0].phase = of_load;
        let rest: u64 = record.results[1..].iter().map(|r| r.rows.acknowledged).sum();
        let expected = (rest > 0).then(|| 3.0 * highwater_model::display::ratio(rows, rest));
        assert_eq!(disk_bytes_per_row(&record), expected);
        record.target.bytes_after = Some(900);
        assert_eq!(disk_bytes_per_row(&record), None, "it shrank");
    }
}
