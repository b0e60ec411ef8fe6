//! Points of a series from other sources than a user's file: run records (one point per measured phase and stream),
//! trials of a tuning, and the published figures that are compiled in.
//!
//! The number of nodes and other facts about the cluster that the record lacks come from the run's labels (`--label
//! nodes=3`); a label overrides what the target reports.

use std::collections::BTreeMap;

use highwater_analysis::growth::{replicas_of, table_layout};
use highwater_analysis::judge::{MeasuredStream, measured_streams};
use highwater_analysis::telemetry::disk_bytes_per_row;
use highwater_model::judgment::{Measurement, ObjectiveValue, RunEnding};
use highwater_model::numbers::to_f64;
use highwater_model::record::{Question, RecordRef, RunRecord, TableRecord, TableStart};
use highwater_model::scale::{ScaleEach, ScaleRecord, SizeVerdict};
use highwater_model::tune::{TrialRecord, TrialVerdict, TuneRecord};
use highwater_model::units::Nanos;

use super::columns::{by_name, normalized};
use super::{Origin, Point, Setting, names, read};

/// The points of a set of records, in their order.
pub fn of_records<'a>(records: impl IntoIterator<Item = RecordRef<'a>>) -> Vec<Point> {
    records.into_iter().flat_map(of_record).collect()
}

/// The sizes of a growth that count, with the workload and target of its last run.
fn grown(scale: &ScaleRecord, record: RecordRef<'_>) -> Vec<Point> {
    let (id, last) = (&record.header().id, record.measured_run().run);
    let measured = measured_streams(last);
    let mut measured = measured.iter();
    let of_stream = measured.find(|one| one.stream.stream == scale.stream);
    let Some(of_stream) = of_stream else {
        return Vec::new();
    };
    let counting = scale.trials.iter().filter(|trial| trial.figures.verdict.counts());
    let points = counting.map(|trial| {
        let figures = &trial.figures;
        let mut point = point(last, id, of_stream, false);
        // Trials of a growth that was resumed are in its directory, which is a sibling.
        let of_resumed = trial.run.strip_prefix("../").map(str::to_owned);
        point.origin = Origin::Run(of_resumed.unwrap_or_else(|| format!("{id}/{}", trial.run)));
        point.throughput = figures.per_s;
        point.invalid = false;
        point.missed = figures.verdict == SizeVerdict::Missed;
        // For a search it is the interval of its estimate, not of its confirmed mark.
        point.interval = figures.interval.filter(|_| scale.each == ScaleEach::Run);
        // For a search or a tuning they are of one of its runs, whose throughput is not the size's figure.
        if scale.each == ScaleEach::Run {
            point.parts.clone_from(&figures.per_s_by_op);
        }
        point.figures.retain(|name, _| name == names::STORED_BYTES_PER_ROW);
        let mut set = |name: &str, to: Setting| point.settings.insert(name.to_owned(), to);
        set(names::NODES, Setting::Number(trial.size.nodes.into()));
        if scale.rows_everywhere {
            set(names::PLACEMENT, Setting::Word("everywhere".to_owned()));
        }
        // The settings of the last run are not those of a size with other shards or replicas.
        if let Some(shards) = figures.shards {
            set(names::PRIMARY_SHARDS, Setting::Number(to_f64(shards)));
        }
        if figures.replicas.is_some() {
            set(names::REPLICAS, Setting::Number(replicas_of(trial).into()));
        }
        if !of_stream.is_open() {
            set(names::SESSIONS, Setting::Number(figures.sessions.into()));
        }
        if let Some(p99) = figures.p99_ns.filter(|_| !figures.p99_at_least) {
            let seconds = Nanos(p99).as_secs_f64();
            point.figures.insert(names::P99_LATENCY.to_owned(), seconds);
        }
        for (name, value) in &trial.size.settings {
            insert(&mut point.settings, super::setting_of(name), value);
        }
        point
    });
    points.collect()
}

/// The points of one record. A stream without acknowledgments in a phase has none. Neither does a search without a
/// confirmed mark: its last probe shows a rate that the target did not sustain.
pub fn of_record<'a>(record: impl Into<RecordRef<'a>>) -> Vec<Point> {
    let record = record.into();
    match record.experiment().map(|experiment| &experiment.question) {
        Some(Question::Tune(tune)) => return tuned_points(tune, |_| true),
        Some(Question::Search(search)) if !search.has_mark() => return Vec::new(),
        Some(Question::Scale(scale)) => return grown(scale, record),
        // From its last run only; a caller with the directory also reads the others.
        Some(Question::Search(_) | Question::Group(_)) | None => {}
    }
    let id = &record.header().id;
    let record = record.measured_run().run;
    let measured = measured_streams(record);
    let several = measured.len() > 1;
    measured
        .iter()
        .filter(|stream| stream.units_per_s() > 0.0)
        .map(|stream| point(record, id, stream, several))
        .collect()
}

fn point(record: &RunRecord, id: &str, measured: &MeasuredStream<'_>, several: bool) -> Point {
    let unit = measured.stream.unit.name();
    let origin = if several { format!("{id} {measured}") } else { id.to_owned() };
    Point {
        origin: Origin::Run(origin),
        series: format!("{} {}", record.workload.name, measured.stream.stream),
        source: format!("run {id}"),
        throughput: measured.units_per_s(),
        unit: format!("{unit}/s"),
        interval: measured.stream.throughput.ci95,
        settings: settings(record, measured),
        figures: figures(record, measured),
        offered_per_s: measured.stream.planned_rate,
        invalid: record.judgments.measurement.value == Measurement::Invalid
            || RunEnding::from_incidents(&record.incidents) != RunEnding::Complete,
        missed: record.judgments.objective.value == ObjectiveValue::Missed,
        simulated: record.target.simulated,
        ..Point::default()
    }
}

fn settings(record: &RunRecord, measured: &MeasuredStream<'_>) -> BTreeMap<String, Setting> {
    let mut settings = BTreeMap::new();
    let mut word = |name: &str, text: String| settings.insert(name.to_owned(), Setting::Word(text));
    word(names::ENGINE, record.target.version.clone());
    word(names::WORKLOAD, record.workload.name.clone());
    let pace = if measured.is_open() { "open" } else { "closed" };
    word(names::PACE, pace.to_owned());
    let mut count = |name: &str, number: f64| {
        settings.insert(name.to_owned(), Setting::Number(number));
    };
    if !measured.is_open() {
        count(names::SESSIONS, f64::from(measured.stream.sessions));
    }
    if measured.units_per_op() > 1 {
        count(names::BATCH_ROWS, to_f64(measured.units_per_op()));
    }
    if record.target.embedded {
        count(names::NODES, 1.0);
    }
    let stated = record.target.settings.iter().filter(|(name, _)| is_one_of(name, &STATED));
    // Tables that were there before have the layout with which they were created, which only the target knows.
    let is_continued = |table: &TableRecord| table.start == TableStart::Continued;
    let is_known = |name: &&str| {
        record.target.settings.contains_key(*name) || !record.target.tables.iter().any(is_continued)
    };
    let laid_out = LAYOUT.into_iter().filter(is_known);
    let laid_out = laid_out.filter_map(|name| Some((name, table_layout(record, name)?)));
    for (name, text) in stated.map(|(name, text)| (name.as_str(), text.as_str())).chain(laid_out) {
        insert(&mut settings, setting_of(name), text);
    }
    for (name, text) in &record.header.labels {
        insert(&mut settings, name, text);
    }
    settings
}

/// The settings of a cluster that are taken from the target's report.
const STATED: [&str; 2] = [names::NODES, names::VCPUS_PER_NODE];
/// How the tables are laid out, by the names of the workload's parameters.
const LAYOUT: [&str; 2] = ["shards", "replicas"];

fn is_one_of(name: &str, settings: &[&str]) -> bool {
    by_name(&normalized(name)).is_some_and(|known| settings.contains(&known.name))
}

fn insert(settings: &mut BTreeMap<String, Setting>, name: &str, text: &str) {
    let name = normalized(name);
    let name = by_name(&name).map_or(name.as_str(), |known| known.name);
    let value = super::read::number(text, super::Dimension::Count, None)
        .map_or_else(|_| Setting::Word(text.to_owned()), Setting::Number);
    settings.insert(name.to_owned(), value);
}

fn figures(record: &RunRecord, measured: &MeasuredStream<'_>) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut figure = |name: &str, number: Option<f64>| {
        if let Some(number) = number {
            figures.insert(name.to_owned(), number);
        }
    };
    let mean = measured.mean_seconds(|result| result.latency_ns.mean);
    figure(names::MEAN_LATENCY, mean);
    if let [only] = &measured.results[..] {
        let p99 = only.latency_ns.p99;
        let p99 = p99.filter(|_| !measured.p99_at_least());
        figure(names::P99_LATENCY, p99.map(|ns| Nanos(ns).as_secs_f64()));
    }
    figure(names::DURATION, Some(measured.seconds()));
    figure(names::STORED_BYTES_PER_ROW, disk_bytes_per_row(record));
    figures
}

/// The configurations that count, as points of one series for tables over an axis.
pub fn tuned_points(tune: &TuneRecord, of: impl Fn(&TrialRecord) -> bool) -> Vec<Point> {
    let trials = tune
        .trials
        .iter()
        .filter(|c| c.verdict == TrialVerdict::Counts)
        .filter(|trial| of(trial) && trial.throughput_per_s > 0.0);
    trials.map(|trial| tuned_point(tune, trial)).collect()
}

fn tuned_point(tune: &TuneRecord, trial: &TrialRecord) -> Point {
    let own = tune.sessions.map(|sessions| {
        let sessions = Setting::Number(f64::from(sessions));
        (names::SESSIONS.to_owned(), sessions)
    });
    let settings = tune.values(&trial.at).into_iter().map(|(axis, value)| {
        let setting = value.parse().map_or_else(|_| Setting::Word(value.clone()), Setting::Number);
        (setting_of(&axis).to_owned(), setting)
    });
    Point {
        origin: Origin::Run(trial.run.clone()),
        series: tune.stream.clone(),
        throughput: trial.throughput_per_s,
        unit: format!("{}/s", tune.unit.name()),
        settings: own.into_iter().chain(settings).collect(),
        ..Point::default()
    }
}

/// The setting of points for the name of an axis.
pub fn setting_of(axis: &str) -> &str {
    match axis {
        "batch" => names::BATCH_ROWS,
        "sessions" => names::SESSIONS,
        "shards" => names::PRIMARY_SHARDS,
        "replicas" => names::REPLICAS,
        "rows" => names::ROWS,
        "sim.nodes" => names::NODES,
        other => other,
    }
}

/// A file of published figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedFile {
    /// Its name in `examples/published`.
    pub file: &'static str,
    /// The file's text, for [`super::read`].
    pub text: &'static str,
}

macro_rules! published {
    ($($file:literal),+ $(,)?) => {
        &[$(PublishedFile {
            file: $file,
            text: include_str!(concat!("../../../../examples/published/", $file)),
        }),+]
    };
}

/// The examples.
pub const PUBLISHED: &[PublishedFile] = published![
    "one-million-rows.csv",
    "query-scaling.csv",
    "kv-writes.csv",
    "big-bite.csv",
    "benchmarking-guide.csv",
];

/// Series of many systems, each along an axis.
const LIBRARY: &str = include_str!("../../data/library.csv");

/// Series of systems in which every node holds all rows.
const EVERYWHERE: &str = include_str!("../../data/everywhere.csv");

/// Points of systems in which every node holds all rows; the library does not contain them.
pub fn everywhere() -> Vec<Point> {
    points(EVERYWHERE)
}

/// Points of the library: series of many systems, by nodes, shards, sessions or CPUs.
pub fn library() -> Vec<Point> {
    points(LIBRARY)
}

/// All published points, each series once: those of the examples, the rest of the library, and systems in which every
/// node holds all rows.
pub fn published() -> Vec<Point> {
    let mut all: Vec<Point> = PUBLISHED.iter().flat_map(|file| points(file.text)).collect();
    let is_known = |point: &Point| all.iter().any(|known| known.series == point.series);
    let others: Vec<Point> = library().into_iter().filter(|point| !is_known(point)).collect();
    all.extend(others);
    all.extend(everywhere());
    all
}

/// The tests read every file, so none fails here.
fn points(text: &str) -> Vec<Point> {
    read(text).map(|set| set.points).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_the_library_can_be_read_and_names_its_source() {
        let set = read(LIBRARY).unwrap();
        assert_eq!(set.series().len(), 75);
        let others = read(EVERYWHERE).unwrap();
        assert_eq!(others.series().len(), 8);
        assert!(others.points.iter().all(|point| point.word("placement") == Some("everywhere")));
        let set = others.points.iter().chain(&set.points);
        for point in set {
            assert!(!point.source.is_empty(), "{point:?}");
            assert!(point.number("size").is_some() && point.word("axis").is_some());
        }
    }

    #[test]
    fn replicas_of_a_table_that_was_there_before_are_not_those_of_the_workload() {
        let replicas = |start: TableStart, reported: Option<&str>| {
            let mut run = highwater_analysis::fixture::closed();
            run.target.settings.insert("nodes".to_owned(), "3".to_owned());
            run.workload.parameters.insert("replicas".to_owned(), "1".to_owned());
            let settings = &mut run.target.settings;
            settings.remove("replicas");
            settings.extend(reported.map(|text| ("replicas".to_owned(), text.to_owned())));
            run.target.tables = vec![TableRecord {
                name: "cpu".to_owned(),
                start,
                rows_before: None,
                first_index: 0,
                next_index: None,
                recovered: false,
            }];
            of_record(&run)[0].number(names::REPLICAS)
        };
        assert_eq!(replicas(TableStart::Fresh, None), Some(1.0));
        assert_eq!(replicas(TableStart::Continued, None), None);
        assert_eq!(replicas(TableStart::Continued, Some("2")), Some(2.0));
    }

    #[test]
    fn a_series_of_the_examples_is_not_taken_twice() {
        let all = published();
        let of = |name: &str| all.iter().filter(|point| point.series == name).count();
        assert_eq!((of("cratedb-1m"), of("cratedb-queries")), (5, 4));
        assert_eq!(of("bigtable-scan"), 4);
    }
}
