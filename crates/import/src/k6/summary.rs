//! k6's summary: metrics with their figures, in either of its two shapes.

use serde_json::Value;

use crate::decimal::nanos;
use crate::error::ImportError;
use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::output_reader::OutputReader;
use highwater_model::import_record::MissingField;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::Nanos;

use super::metric::{DURATION, EXPECTED, empty_run};

/// Maximum bytes of a summary.
const LARGEST: usize = 16 << 20;
const HINT: &str = "give the file of `k6 run --summary-export=FILE`, or what handleSummary got";
/// Names of figures as k6 writes them.
const FIGURES: [(&str, &str); 8] = [
    ("avg", "mean"),
    ("med", "p50"),
    ("p(50)", "p50"),
    ("p(90)", "p90"),
    ("p(95)", "p95"),
    ("p(99)", "p99"),
    ("p(99.9)", "p999"),
    ("max", "max"),
];

/// All text so far.
#[derive(Default)]
pub(crate) struct Reader {
    text: String,
}

/// Whether a file is JSON with k6's metrics.
pub(crate) fn is_summary(head: &str) -> bool {
    let own = ["\"metrics\"", "\"root_group\""];
    head.trim_start().starts_with('{') && own.iter().any(|word| head.contains(word))
}

/// The figures of a metric.
struct Metrics {
    all: Value,
}

impl Metrics {
    fn figures(&self, metric: &str) -> Option<&Value> {
        let found = self.all.get("metrics")?.get(metric)?;
        Some(found.get("values").unwrap_or(found))
    }

    fn number(&self, metric: &str, figure: &str) -> Option<f64> {
        let found = self.figures(metric)?.get(figure)?.as_f64()?;
        (found.is_finite() && found >= 0.0).then_some(found)
    }

    fn count(&self, metric: &str, figure: &str) -> Option<u64> {
        self.number(metric, figure).map(round_to_u64)
    }

    /// The latency of a metric; all its values are in milliseconds.
    fn latency(&self, metric: &str, ops: u64, dropped: u64) -> ParsedLatency {
        let figures = FIGURES.iter().filter_map(|(theirs, ours)| {
            let found = self.number(metric, theirs)?;
            Some((*ours, Some(nanos(found, 1_000_000).0)))
        });
        ParsedLatency::figures(ops, dropped, &figures.collect::<Vec<_>>())
    }

    /// The op with its counts, time, and name.
    fn op(&self, notes: &mut Vec<String>) -> Option<ParsedOp> {
        let dropped = self.count("dropped_iterations", "count").unwrap_or(0);
        if dropped > 0 {
            notes.push("iterations that were dropped count as ops never sent".to_owned());
        }
        if let Some(sent) = self.count("http_reqs", "count") {
            // `http_req_failed` is a rate of failures, so its passes are the failed requests.
            let failed = self.count("http_req_failed", "passes").unwrap_or(0).min(sent);
            let acknowledged = sent - failed;
            let metric = match self.figures(EXPECTED) {
                Some(_) => EXPECTED,
                None => DURATION,
            };
            if metric == DURATION && failed > 0 {
                notes.push("its latency includes failed requests".to_owned());
            }
            let per_s = self.number("http_reqs", "rate");
            let share = highwater_model::display::ratio(acknowledged, sent);
            let mut op = ParsedOp {
                name: "http request".to_owned(),
                sent,
                acknowledged,
                dropped,
                ops_per_s: per_s.map(|per_s| per_s * share),
                latency: self.latency(metric, acknowledged, dropped),
                ..ParsedOp::default()
            };
            if failed > 0 {
                op.errors.insert("failed".to_owned(), failed);
            }
            return Some(op);
        }
        let done = self.count("iterations", "count")?;
        notes.push("there are no HTTP requests in it: an op is an iteration".to_owned());
        Some(ParsedOp {
            name: "iteration".to_owned(),
            dropped,
            ops_per_s: self.number("iterations", "rate"),
            latency: self.latency("iteration_duration", done, dropped),
            ..ParsedOp::acknowledged(done)
        })
    }
}

impl OutputReader for Reader {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if self.text.len() + line.len() > LARGEST {
            return Err(ImportError::new("it is longer than 16 MiB", HINT));
        }
        self.text += line;
        self.text.push('\n');
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError> {
        let all = serde_json::from_str(&self.text)
            .map_err(|error| ImportError::new(format!("it is no JSON: {error}"), HINT))?;
        let metrics = Metrics { all };
        let mut run = empty_run();
        let op = metrics.op(&mut run.notes);
        let Some(op) = op.filter(|op| op.sent > 0) else {
            let message = "it counts neither HTTP requests nor iterations";
            return Err(ImportError::new(message, HINT));
        };
        let state = metrics.all.get("state");
        let took = state.and_then(|state| state.get("testRunDurationMs")?.as_f64());
        let took = took.map(|ms| nanos(ms, 1_000_000));
        // The metric's rate is its count divided by the duration.
        let per_s = metrics.number("http_reqs", "rate");
        let per_s = per_s.or_else(|| metrics.number("iterations", "rate"));
        let divided = per_s
            .filter(|per_s| *per_s > 0.0)
            .map(|per_s| nanos(to_f64(op.sent) / per_s, 1_000_000_000));
        run.duration = took.or(divided).unwrap_or(Nanos::ZERO);
        if run.duration == Nanos::ZERO {
            run.missing_fields.insert(MissingField::Throughput);
        }
        if metrics.figures("http_req_failed").is_none() {
            run.missing_fields.insert(MissingField::Errors);
        }
        let sessions = metrics.count("vus_max", "max");
        run.sessions = sessions.and_then(|sessions| u32::try_from(sessions).ok());
        run.ops = vec![op];
        Ok(run)
    }
}
