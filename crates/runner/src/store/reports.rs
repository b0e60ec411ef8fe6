//! Reports of a run or an experiment in progress, for other processes: one JSON value per line, in a file that exists
//! while the process runs. A telemetry series is named once, and referenced by number afterwards. Must not interpret
//! reports.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use highwater_model::event::Event;
use highwater_model::target_telemetry::{TelemetryPoint, TelemetryValue};
use highwater_model::units::Nanos;
use serde::{Deserialize, Serialize};

use super::journal::LineTail;

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub enum Reported {
    /// Something worth showing.
    Event(Box<Event>),
    /// Telemetry of target and host.
    Telemetry(TelemetryPoint),
}

/// A report as a line, after its time.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Event(Box<Event>),
    Telemetry {
        time_ns: u64,
        /// Number of series named before.
        known: usize,
        /// New series.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        series: Vec<TelemetryValue>,
        /// For each series with a value: its number, and the value.
        values: Vec<(usize, f64)>,
    },
}

/// The file being written. It is removed at the end, because the record has more.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// Absent if it cannot be written.
    file: Option<File>,
    /// Series named so far.
    series: Vec<TelemetryValue>,
}

impl ReportFile {
    /// Creates it. Without it, other processes see less, and nothing else is lost.
    pub(super) fn create(path: PathBuf) -> Self {
        // Removes the file of a killed process: readers with an open handle then notice the new file.
        let _ = fs::remove_file(&path);
        Self { file: File::create(&path).ok(), path, series: Vec::new() }
    }

    /// Appends a report with its wall-clock time.
    pub fn append(&mut self, at: Nanos, reported: &Reported) {
        let line = match reported {
            Reported::Event(event) => Line::Event(event.clone()),
            Reported::Telemetry(point) => self.line_of(point),
        };
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_vec(&(at, line)).map(|mut bytes| {
            bytes.push(b'\n');
            file.write_all(&bytes)
        });
        if !matches!(written, Ok(Ok(()))) {
            self.file = None;
        }
    }

    fn line_of(&mut self, point: &TelemetryPoint) -> Line {
        let known = self.series.len();
        let finite = point.values.iter().filter(|of| of.value.is_finite());
        let values = finite.enumerate().map(|(at, value)| {
            // They nearly always come in the same order.
            let is_next = self.series.get(at).is_some_and(|of| of.is_same_series(value));
            let found = || self.series.iter().position(|of| of.is_same_series(value));
            let number = is_next.then_some(at).or_else(found).unwrap_or_else(|| {
                self.series.push(value.clone());
                self.series.len() - 1
            });
            (number, value.value)
        });
        Line::Telemetry {
            time_ns: point.time_ns,
            known,
            values: values.collect(),
            series: self.series[known..].to_vec(),
        }
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        // It may have been removed with its directory.
        let _ = fs::remove_file(&self.path);
    }
}

/// The file being read.
#[derive(Debug)]
pub struct ReportTail {
    lines: LineTail,
    series: Vec<TelemetryValue>,
}

impl ReportTail {
    /// The tail of this file, from its start.
    pub(super) const fn of(path: PathBuf) -> Self {
        Self { lines: LineTail::of(path), series: Vec::new() }
    }

    /// New reports with their wall-clock times, at most some megabytes.
    pub fn read(&mut self) -> Vec<(Nanos, Reported)> {
        let lines =
            self.lines.read().into_iter().filter_map(|line| serde_json::from_slice(&line).ok());
        lines
            .map(|(at, line): (Nanos, Line)| match line {
                Line::Event(event) => (at, Reported::Event(event)),
                Line::Telemetry { time_ns, known, series, values } => {
                    // A restarted file names its series again.
                    self.series.truncate(known);
                    self.series.extend(series);
                    let values = values.into_iter().filter_map(|(number, value)| {
                        let of = self.series.get(number)?.clone();
                        Some(TelemetryValue { value, ..of })
                    });
                    let values = values.collect();
                    (at, Reported::Telemetry(TelemetryPoint { time_ns, values }))
                }
            })
            .collect()
    }

    /// Whether there was more than the last call returned.
    pub const fn is_behind(&self) -> bool {
        self.lines.is_behind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::target_telemetry::SeriesKind;

    fn value(name: &str, value: f64) -> TelemetryValue {
        TelemetryValue {
            source: "target".to_owned(),
            name: name.to_owned(),
            unit: "1".to_owned(),
            node: None,
            kind: SeriesKind::Level,
            value,
        }
    }

    fn point(time_ns: u64, values: Vec<TelemetryValue>) -> Reported {
        Reported::Telemetry(TelemetryPoint { time_ns, values })
    }

    fn warmed_up(took_s: u64) -> Reported {
        Reported::Event(Box::new(Event::WarmedUp { took: Nanos::from_secs(took_s), steady: true }))
    }

    #[test]
    fn what_is_reported_is_read_as_it_was_while_it_is_written_and_once_after_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reports");
        let mut tail = ReportTail::of(directory.path().join("reports"));
        assert_eq!(tail.read(), [], "nothing is there");
        let mut file = ReportFile::create(path.clone());
        // Series appear, pause for a while, and change their order.
        let all = [
            point(1, vec![value("a", 0.5), value("b", 2.0)]),
            warmed_up(3),
            point(2, vec![value("b", 3.0)]),
            point(3, vec![value("c", 4.0), value("b", 5.0), value("a", 6.0)]),
        ];
        for (at, reported) in (1..).zip(&all[..2]) {
            file.append(Nanos(at), reported);
        }
        let read = |from: u64, reported: &[Reported]| -> Vec<(Nanos, Reported)> {
            (from..).map(Nanos).zip(reported.iter().cloned()).collect()
        };
        assert_eq!(tail.read(), read(1, &all[..2]));
        for (at, reported) in (3..).zip(&all[2..]) {
            file.append(Nanos(at), reported);
        }
        let length = fs::metadata(&path).unwrap().len();
        drop(file);
        assert!(!path.exists() && length < 900, "{length} bytes");
        assert_eq!(tail.read(), read(3, &all[2..]));
        assert_eq!(tail.read(), [], "nothing twice");
        // A resumed experiment restarts it, whether the previous process removed it or was killed.
        for number in 0..2 {
            let again = point(4, vec![value("b", 7.0)]);
            let mut file = ReportFile::create(path.clone());
            file.append(Nanos(9), &again);
            assert_eq!(tail.read(), [(Nanos(9), again)], "{number}");
            std::mem::forget(file);
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_left_out_and_a_file_that_cannot_be_written_harms_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = ReportFile::create(directory.path().join("reports"));
        let values = vec![value("a", f64::NAN), value("b", 1.0)];
        file.append(Nanos(1), &point(1, values));
        let read = ReportTail::of(directory.path().join("reports")).read();
        assert_eq!(read, [(Nanos(1), point(1, vec![value("b", 1.0)]))]);
        let mut nowhere = ReportFile::create(PathBuf::from("/nowhere/at/all"));
        nowhere.append(Nanos(1), &warmed_up(1));
    }
}
