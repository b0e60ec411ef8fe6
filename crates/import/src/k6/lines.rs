//! k6's JSON lines: one sample of one metric each, with its end time.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::decimal::nanos;
use crate::error::ImportError;
use crate::imported_run::ImportedRun;
use crate::op_timeline::{Event, OPS_MAX, OpTimeline, ParsedOutcome, SPAN_MAX};
use crate::output_reader::OutputReader;
use highwater_model::display::duration;
use highwater_model::import_record::MissingField;
use highwater_model::plan::hex;
use highwater_model::quantity::parse_instant;

use super::metric::{DURATION, empty_run};

const HINT: &str = "give the file of `k6 run --out json=FILE`";
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
pub(crate) struct Reader {
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

impl Reader {
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

impl OutputReader for Reader {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if line.is_empty() {
            return Ok(());
        }
        let wrong = |message: String| ImportError::new(message, HINT).at(0..line.len());
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

    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError> {
        if self.timeline.is_empty() {
            let message = format!("there is no sample of {DURATION}");
            return Err(ImportError::new(message, HINT));
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
