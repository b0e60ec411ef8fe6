//! sysbench: the lines of `--report-interval`, the histogram of `--histogram`, and the end.
//!
//! With `--rate`, latency includes the time in the queue, so it begins at the intended start; otherwise it begins at
//! the sending. sysbench retries after an error that it ignores.

use highwater_model::display;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;

use super::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use super::importer::{OutputReader, wrong_file, wrong_line};
use super::timeline::{Average, Averages, count, millis, number, rate, seconds};

pub(super) const TOOL: &str = "sysbench";
const HINT: &str = "give what sysbench printed, from its first line to `execution time`";
const HISTOGRAM: &str = "Latency histogram (values are in milliseconds)";
/// Maximum number of bins in sysbench's histogram.
const BINS_MAX: usize = 4_096;
/// Percentiles of a record.
const NAMED: [(u64, &str); 4] = [(50, "p50"), (90, "p90"), (95, "p95"), (99, "p99")];

/// All lines so far.
#[derive(Default)]
pub(super) struct Reader {
    version: Option<String>,
    threads: Option<u32>,
    rate: Option<Rate>,
    lines: Averages,
    /// The percentile in the interval lines.
    line_percent: Option<u64>,
    in_histogram: bool,
    bins: Vec<(Nanos, u64)>,
    events: Option<u64>,
    per_s: Option<f64>,
    ignored: u64,
    total: Option<Nanos>,
    average: Option<Nanos>,
    greatest: Option<Nanos>,
    percentile: Option<(u64, Nanos)>,
}

/// Whether a file holds sysbench's output.
pub(super) fn is_output(head: &str) -> bool {
    head.lines().any(|line| {
        let version = line.strip_prefix("sysbench ");
        version.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            || (line.starts_with("[ ") && line.contains(" thds: ") && line.contains(" lat (ms,"))
    })
}

/// A note, and a caveat.
type Remarks = [Option<String>; 2];

impl Reader {
    fn read(&mut self, line: &str) -> Option<()> {
        let text = line.trim();
        if text == HISTOGRAM {
            self.in_histogram = true;
            return Some(());
        }
        if self.in_histogram {
            match text.split_once('|') {
                Some((value, rest)) => return self.bin(value, rest),
                None if text.contains("distribution") => return Some(()),
                None => self.in_histogram = false,
            }
        }
        if let Some(rest) = text.strip_prefix("[ ").filter(|rest| rest.contains(" tps: ")) {
            return self.interval(rest);
        }
        if let Some(version) = text.strip_prefix("sysbench ") {
            self.version = version.split(' ').next().map(str::to_owned);
            return Some(());
        }
        match text.split_once(':') {
            Some((name, value)) => self.figure(name, value.trim()),
            None => Some(()),
        }
    }

    fn figure(&mut self, name: &str, value: &str) -> Option<()> {
        let first = value.split_whitespace().next().unwrap_or_default();
        match name {
            "Number of threads" => self.threads = Some(u32::try_from(count(first)?).ok()?),
            "Target transaction rate" => {
                self.rate = Some(rate(number(first.strip_suffix("/sec")?)?)?);
            }
            "transactions" => {
                let (_, per_s) = value.split_once('(')?;
                self.per_s = Some(number(per_s.split(' ').next()?)?);
            }
            "ignored errors" => self.ignored = count(first)?,
            "total time" => self.total = Some(seconds(first.strip_suffix('s')?)?),
            "total number of events" => self.events = Some(count(first)?),
            "avg" => self.average = Some(millis(first)?),
            "max" => self.greatest = Some(millis(first)?),
            _ => {
                let percent = name.strip_suffix("th percentile").or_else(|| {
                    let name = name.strip_suffix(" percentile")?;
                    name.strip_suffix("st").or_else(|| name.strip_suffix("nd"))
                });
                if let Some(percent) = percent {
                    self.percentile = Some((count(percent)?, millis(first)?));
                }
            }
        }
        Some(())
    }

    /// `3.956 |******   35`.
    fn bin(&mut self, value: &str, rest: &str) -> Option<()> {
        if self.bins.len() == BINS_MAX {
            return None;
        }
        let number = count(rest.trim_start_matches(['*', ' ']))?;
        self.bins.push((millis(value)?, number));
        Some(())
    }

    /// `1s ] thds: 2 tps: 88.31 qps: … lat (ms,99%): 56.84 err/s: 1.96 reconn/s: 0.00`.
    fn interval(&mut self, rest: &str) -> Option<()> {
        let (end, rest) = rest.split_once("s ] ")?;
        let behind = |name: &str| {
            let (_, value) = rest.split_once(name)?;
            number(value.trim_start().split(' ').next()?)
        };
        let (_, latency) = rest.split_once("lat (ms,")?;
        let (percent, latency) = latency.split_once("%): ")?;
        let percent = count(percent)?;
        let latency = millis(latency.split(' ').next()?)?;
        self.line_percent = Some(percent);
        // With the percentile disabled, it prints the 0th one.
        let of = |expected: u64| (percent == expected).then_some(latency.0);
        let line = Average {
            end_s: number(end)?,
            ops_per_s: behind("tps:")?,
            p50_ns: of(50),
            p99_ns: of(99),
            ..Average::default()
        };
        self.lines.note(&line).then_some(())
    }

    /// Latency from the histogram if there is one, otherwise from the figures at the end.
    fn latency(&self, events: u64) -> (ParsedLatency, Remarks) {
        let [mean, max] = [self.average, self.greatest].map(|time| time.map(|time| time.0));
        if !self.bins.is_empty() {
            let mut histogram = LatencyHistogram::fine();
            for (value, number) in &self.bins {
                histogram.record_n(*value, *number);
            }
            let count = histogram.count();
            let note = "its histogram has bins that lie 1.8% apart: percentiles are as fine";
            let caveat = (count != events).then(|| {
                let [count, events] = [count, events].map(display::count);
                format!("its histogram holds {count} of {events} events")
            });
            let remarks = [Some(note.to_owned()), caveat];
            return (ParsedLatency::full(&histogram, mean, max), remarks);
        }
        let mut figures = vec![("mean", mean), ("max", max)];
        let mut note = None;
        if let Some((percent, value)) = self.percentile {
            let named = NAMED.iter().find(|(named, _)| *named == percent);
            figures.extend(named.map(|(_, name)| (*name, Some(value.0))));
            if named.is_none() {
                let shown = highwater_model::display::duration(value.0);
                note = Some(format!("its {percent}th percentile is {shown}"));
            }
        }
        (ParsedLatency::figures(events, 0, &figures), [note, None])
    }
}

impl OutputReader for Reader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        self.read(line)
            .ok_or_else(|| wrong_line(line, 0..line.len(), "this line cannot be read", HINT))
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        let (Some(events), Some(total)) = (self.events, self.total) else {
            let message = "there is no `total number of events` or no `total time`: it was cut";
            return Err(wrong_file(message, HINT));
        };
        let (latency, [note, caveat]) = self.latency(events);
        let mut notes = vec!["one op is one event, a transaction of its script".to_owned()];
        notes.extend(note);
        notes.extend(self.lines.notes());
        if self.ignored > 0 {
            notes.push("ignored errors count as further attempts".to_owned());
        }
        let unnamed = |percent: &u64| !matches!(percent, 0 | 50 | 99);
        if let Some(percent) = self.line_percent.filter(unnamed) {
            notes.push(format!(
                "its lines have the {percent}th percentile, for which the seconds of a record have \
                 no place"
            ));
        }
        Ok(ImportedRun {
            version: self.version,
            rate: self.rate,
            sessions: self.threads,
            duration: total,
            ops: vec![ParsedOp {
                retries: self.ignored,
                ops_per_s: self.per_s,
                latency,
                ..ParsedOp::acknowledged(events)
            }],
            intervals: self.lines.intervals,
            caveats: caveat.into_iter().collect(),
            notes,
            ..ImportedRun::paced(TOOL, self.rate.is_some())
        })
    }
}
