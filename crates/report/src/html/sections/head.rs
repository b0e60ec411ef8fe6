//! The facts next to the name of a page (time, duration, subject), and the conditions to know before the answer.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::foreign;
use highwater_model::record::{MeasuredRun, RecordRef};

use crate::answer::{to_the_second, trials};
use crate::text::{head, tail};

/// Maximum characters of text from the target.
const WORDS: usize = 60;
/// Characters of a time to the second, `2026-11-20T18:20:11`.
const TO_THE_SECOND: usize = 19;

/// The last part of an ID, which distinguishes runs: `6c109b`.
pub(crate) fn short_id(id: &str) -> String {
    let last = id.rsplit(['-', '/']).next().unwrap_or(id);
    foreign(last, WORDS)
}

/// Start, duration, target, and labels.
pub(in crate::html) fn facts(
    record: RecordRef<'_>,
    measured: &[MeasuredStream<'_>],
) -> Vec<String> {
    let (header, run) = (record.header(), record.measured_run());
    let mut facts = vec![time(&header.started_at), extent(record, measured)];
    facts.push(run.workload.name.clone());
    facts.push(foreign(&run.target.version, WORDS));
    let labels = header.labels.iter();
    facts.extend(labels.map(|(name, value)| foreign(&format!("{name}={value}"), WORDS)));
    facts.retain(|fact| !fact.is_empty());
    facts
}

/// `2026-11-20 18:20:11 UTC`, to the second.
fn time(started_at: &str) -> String {
    match started_at.get(..TO_THE_SECOND) {
        Some(text) if started_at.ends_with('Z') => format!("{} UTC", text.replace('T', " ")),
        _ => foreign(started_at, WORDS),
    }
}

fn extent(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> String {
    if let Some(of) = record.experiment() {
        let (number, took_ns) = trials(&of.question);
        return format!("{number} in {}", to_the_second(took_ns));
    }
    let total: u64 = head::phases(measured).iter().map(|(_, ns)| ns).sum();
    match total {
        0 => String::new(),
        total => format!("{} measured", to_the_second(total)),
    }
}

/// Conditions to know before reading the answer.
pub(in crate::html) fn tags(run: &MeasuredRun<'_>) -> Vec<String> {
    let mut tags = Vec::new();
    if let Some(origin) = run.origin {
        let tool = foreign(&origin.tool_and_version(), WORDS);
        tags.push(format!("measured by {tool}, not by Highwater"));
    }
    if run.target.simulated {
        tags.push("simulated: a model, not a database".to_owned());
    }
    if run.target.sink {
        tags.push("a sink that stores nothing: the load generator's ceiling".to_owned());
    }
    tags.extend(tail::changes(run).iter().map(|change| format!("changed: {change}")));
    tags
}
