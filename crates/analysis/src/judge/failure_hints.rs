//! What to do about ops that failed: by what the driver says of their code, else by the class of most of them.
//!
//! Must not read what a target says: words change with versions and languages.

use std::collections::BTreeMap;

use super::measured::MeasuredStream;

/// What to do about the most frequent failures of these streams; none where none failed.
pub(super) fn failure_hint<'a>(measured: &'a [MeasuredStream<'_>]) -> Option<&'a str> {
    let mut hints: BTreeMap<&str, u64> = BTreeMap::new();
    for result in measured.iter().flat_map(|stream| &stream.results) {
        let failures = result.failures.iter();
        for failure in failures {
            let hint = failure.hint.as_deref();
            let hint = hint.unwrap_or_else(|| of_class(&failure.class));
            *hints.entry(hint).or_default() += failure.count;
        }
        if result.failures.is_empty() {
            for (class, count) in &result.errors {
                *hints.entry(of_class(class)).or_default() += count;
            }
        }
    }
    let most = hints.into_iter().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| *count > 0).map(|(hint, _)| hint)
}

/// By the name of a class, as it stands in records.
fn of_class(class: &str) -> &'static str {
    match class {
        "conflict" => {
            "retry ops that conflict with others (--retries 10), or make conflicts rarer: fewer sessions (-c), more \
             keys (--set)"
        }
        "constraint" | "data" => {
            "the rows do not fit the table: correct its constraints and types, or the values of the workload"
        }
        "statement" => "correct the statement, or grant the right that it needs",
        "authentication" => "correct user and password",
        "timeout" => "lower --rate, use fewer sessions (-c), or allow an op more time (--timeout)",
        "rejected" => "lower --rate or use fewer sessions (-c)",
        "resource" => "give the target more disk space or memory, or lower --rate",
        "connection" | "unavailable" => {
            "see the target's log for why it was away or closed connections"
        }
        _ => "see `errors` in the record for causes; a lower --rate may help",
    }
}
