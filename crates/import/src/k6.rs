//! k6: its JSON summary (`--summary-export`, or the data of `handleSummary`), and its JSON lines
//! (`--out json`).
//!
//! An op is an HTTP request; for a script without requests, an iteration. The duration of a request begins at the
//! sending. The summary has percentiles but no distribution; the lines have each request.

use std::collections::BTreeMap;

use highwater_model::display::duration;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::hex;
use highwater_model::quantity::parse_instant;
use highwater_model::record::{LatencyBegin, MissingField};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::importer::{OutputReader, wrong_file, wrong_line};
use crate::timeline::{Event, OPS_MAX, OpTimeline, ParsedOutcome, SPAN_MAX, nanos};

pub(crate) const TOOL: &str = "k6";
/// The time of a request, without connecting.
const DURATION: &str = "http_req_duration";
/// The time of requests that did not fail.
const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// A run with the properties of both formats.
fn empty_run() -> ImportedRun {
    ImportedRun { begin: LatencyBegin::Sent, ..ImportedRun::new(TOOL) }
}

/// Maximum bytes of a summary.
const LARGEST: usize = 16 << 20;
const SUMMARY_HINT: &str =
    "give the file of `k6 run --summary-export=FILE`, or what handleSummary got";
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
pub(crate) struct SummaryReader {
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

impl OutputReader for SummaryReader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if self.text.len() + line.len() > LARGEST {
            return Err(wrong_file("it is longer than 16 MiB", SUMMARY_HINT));
        }
        self.text += line;
        self.text.push('\n');
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        let all = serde_json::from_str(&self.text)
            .map_err(|error| wrong_file(format!("it is no JSON: {error}"), SUMMARY_HINT))?;
        let metrics = Metrics { all };
        let mut run = empty_run();
        let op = metrics.op(&mut run.notes);
        let Some(op) = op.filter(|op| op.sent > 0) else {
            let message = "it counts neither HTTP requests nor iterations";
            return Err(wrong_file(message, SUMMARY_HINT));
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

const LINE_HINT: &str = "give the file of `k6 run --out json=FILE`";
/// Samples of ops that were never sent, and therefore have neither a response nor an error.
const DROPPED: &str = "dropped_iterations";
/// Maximum characters of an address in an op's name; a part of the hash distinguishes longer addresses.
const NAME_MAX: usize = 120;
const HASH_SHOWN: usize = 6;

/// A line.
#[derive(Deserialize)]
struct Line {
    metric: String,
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    time: Option<String>,
    value: Option<f64>,
    tags: Option<BTreeMap<String, String>>,
}

/// All lines so far.
#[derive(Default)]
pub(crate) struct LineReader {
    timeline: OpTimeline,
    dropped: u64,
    vus: u32,
    /// Whether any request reports if its response was expected.
    tells_errors: bool,
}

/// Whether a file begins with a line of a metric.
pub(crate) fn is_lines(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.starts_with('{')
        && first.contains("\"metric\":")
        && (first.contains("\"type\":\"Metric\"") || first.contains("\"type\":\"Point\""))
}

impl LineReader {
    fn point(&mut self, metric: &str, data: Data) -> Option<bool> {
        let value = data.value.filter(|value| value.is_finite() && *value >= 0.0)?;
        if metric == "vus" {
            let sessions = u32::try_from(highwater_model::numbers::round_to_u64(value));
            self.vus = self.vus.max(sessions.unwrap_or(u32::MAX));
            return Some(true);
        }
        let finished = parse_instant(data.time.as_deref()?).ok()?;
        if metric == DROPPED {
            // The op is unknown, except that it was never sent.
            self.dropped += highwater_model::numbers::round_to_u64(value);
            return Some(true);
        }
        let tags = data.tags.unwrap_or_default();
        let status = tags.get("status").map_or("", String::as_str);
        let expected = tags.get("expected_response").map(String::as_str);
        self.tells_errors |= expected.is_some();
        let outcome = if expected == Some("false") {
            let class = match status {
                "" | "0" => "connection".to_owned(),
                status => format!("status {status}"),
            };
            let word = tags.get("error").cloned().unwrap_or_else(|| class.clone());
            ParsedOutcome::Failed(class, word)
        } else {
            ParsedOutcome::Acknowledged
        };
        let event = Event {
            intended: finished.saturating_sub(nanos(value, 1_000_000)),
            finished,
            waited: None,
            outcome,
            retries: 0,
        };
        Some(self.timeline.add(&name_of(&tags), &event))
    }
}

/// Method and address, without potential secrets: user, password, and parameters.
fn name_of(tags: &BTreeMap<String, String>) -> String {
    let of = |name: &str| tags.get(name).map_or("", String::as_str);
    let (method, name) = (of("method"), of("name"));
    let name = name.split(['?', '#']).next().unwrap_or_default();
    let name = match name.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => name.to_owned(),
    };
    let name = format!("{method} {name}");
    let name = name.trim();
    match name.char_indices().nth(NAME_MAX) {
        None => name.to_owned(),
        Some((end, _)) => {
            let hash = hex(&Sha256::digest(name));
            format!("{}…{}", &name[..end], &hash[..HASH_SHOWN])
        }
    }
}

impl OutputReader for LineReader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if line.is_empty() {
            return Ok(());
        }
        let wrong = |message: String| wrong_line(line, 0..line.len(), message, LINE_HINT);
        let used = [DURATION, DROPPED, "vus"];
        let read: Line = serde_json::from_str(line)
            .map_err(|error| wrong(format!("it is no sample: {error}")))?;
        if read.kind != "Point" || !used.contains(&read.metric.as_str()) {
            return Ok(());
        }
        match self.point(&read.metric, read.data) {
            Some(true) => Ok(()),
            Some(false) => Err(wrong(format!(
                "this is more than {} from the other samples, or there are more than {OPS_MAX} \
                 different requests",
                duration(SPAN_MAX.0)
            ))),
            None => Err(wrong("it has no time or no value".to_owned())),
        }
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        if self.timeline.is_empty() {
            let message = format!("there is no sample of {DURATION}");
            return Err(wrong_file(message, LINE_HINT));
        }
        let mut run = empty_run();
        run.sessions = (self.vus > 0).then_some(self.vus);
        self.timeline.write_to(&mut run, &BTreeMap::new());
        if !self.tells_errors {
            run.missing_fields.insert(MissingField::Errors);
        }
        if self.dropped > 0 {
            run.missing_fields.insert(MissingField::Offered);
            run.caveats.push(format!(
                "{} iterations were dropped, and their requests are not reported: no \
                 percentile includes them",
                self.dropped
            ));
        }
        Ok(run)
    }
}
