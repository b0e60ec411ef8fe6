//! Reads records of `highwater-record/1`: their JSON becomes that of the current version.
//!
//! Keys and values are renamed at the objects that have them, never inside maps that users fill
//! (parameters, settings, labels). What version 1 held as the code of a finding becomes a typed
//! fact. Must not change a figure.

use serde_json::{Map, Value, json};

/// The version that is read here.
pub(super) const SCHEMA: &str = "highwater-record/1";

/// Keys of version 1 and of today, by the path of the objects that have them. `*` is any element.
const KEYS: &[(&str, &[(&str, &str)])] = &[
    ("", &[("judgements", "judgments"), ("findings", "notes")]),
    ("plan", &[("intention", "definition")]),
    ("results.*", &[("door_wait_ns", "session_wait_ns")]),
    ("results.*.histograms", &[("door_wait", "session_wait")]),
    ("streams.*", &[("rate_asked", "planned_rate")]),
    ("clients.*", SHARES),
    ("telemetry.*", SHARES),
    ("tune", &[("intention_hash", "definition_hash"), ("cells", "trials")]),
    ("tune.policy", &[("cell_cost_ns", "trial_cost_ns")]),
    ("tune.outcome.best.runner_up", &[("is_told", "is_significant")]),
    (
        "given",
        &[
            ("begin", "start"),
            ("highest", "max"),
            ("width", "tolerance"),
            ("practical", "threshold"),
            ("law", "model"),
            ("chance", "confidence"),
            ("copy-cost", "replica-cost"),
            ("spare", "headroom"),
            ("survive", "tolerate-failures"),
        ],
    ),
];

const SHARES: &[(&str, &str)] = &[
    ("cpu_share", "cpu_fraction"),
    ("machine_cpu_share", "machine_cpu_fraction"),
    ("steal_share", "steal_fraction"),
];

/// Values of version 1 and of today, by their path.
const VALUES: &[(&str, &[(&str, &str)])] = &[
    (
        "judgments.measurement.value",
        &[("sound", "valid"), ("unsound", "invalid"), ("unknown", "inconclusive")],
    ),
    ("judgments.data.value", &[("off", "not_checked")]),
    ("judgments.objective.value", &[("none", "none_set")]),
    ("judgments.*.reasons.*.code", CODES),
    (
        "probes.*.verdict",
        &[
            ("unsound", "invalid"),
            ("met", "passed"),
            ("missed", "failed"),
            ("not_shown", "not_decided"),
        ],
    ),
    ("probes.*.reasons.*", CODES),
    ("tune.trials.*.verdict", &[("unsound", "invalid")]),
    ("tune.trials.*.reasons.*", CODES),
    ("search.outcome.*.limited_by.*", CODES),
];

const CODES: &[(&str, &str)] = &[("not_quiet", "not_idle")];

/// Codes of findings, and the kinds of incidents that they are today.
const INCIDENTS: &[(&str, &str)] = &[
    ("interrupted", "interrupted"),
    ("audit_interrupted", "audit_interrupted"),
    ("target_lost", "target_lost"),
    ("disk_full", "disk_full"),
    ("record_incomplete", "record_incomplete"),
    ("not_quiet", "not_idle"),
];

/// A record of version 1 as one of the version `schema`.
pub(super) fn upgraded(mut record: Value, schema: &str) -> Value {
    for (path, keys) in KEYS {
        each(&mut record, path, &mut |value| {
            if let Value::Object(object) = value {
                rename(object, keys);
            }
        });
    }
    for (path, words) in VALUES {
        each(&mut record, path, &mut |value| replace(value, words));
    }
    if let Value::Object(object) = &mut record {
        object.insert("schema".to_owned(), json!(schema));
        add_facts(object);
        return by_kind(std::mem::take(object));
    }
    record
}

/// Version 1 kept a search or a tuning in the record of its last run, and the origin of an import in that of
/// a run.
fn by_kind(mut record: Map<String, Value>) -> Value {
    let mut part = |name: &str| record.remove(name).filter(|part| !part.is_null());
    let (search, tune) = (part("search"), part("tune"));
    let (imported, probes) = (part("imported"), part("probes"));
    let question = match (search, tune) {
        (Some(mut search), _) => {
            search["probes"] = probes.unwrap_or_else(|| json!([]));
            json!({"search": search})
        }
        (None, Some(tune)) => json!({"tune": tune}),
        (None, None) => {
            record.insert(KIND.to_owned(), json!("run"));
            if let Some(origin) = imported {
                record.insert(KIND.to_owned(), json!("imported"));
                record.insert("origin".to_owned(), origin);
            }
            return Value::Object(record);
        }
    };
    let of_record = |name: &&str| {
        let value = record.get(*name).cloned().unwrap_or_default();
        ((*name).to_owned(), value)
    };
    let mut experiment: Map<String, Value> = OF_EXPERIMENTS.iter().map(of_record).collect();
    experiment.insert(KIND.to_owned(), json!("experiment"));
    experiment.insert("question".to_owned(), question);
    experiment.insert("last_run".to_owned(), Value::Object(record));
    Value::Object(experiment)
}

const KIND: &str = "kind";

/// What an experiment has in common with its last run.
const OF_EXPERIMENTS: &[&str] = &[
    "schema",
    "id",
    "highwater",
    "started_at",
    "environment",
    "labels",
    "given",
    "judgments",
    "incidents",
];

/// Calls `change` with each value at a path.
fn each(value: &mut Value, path: &str, change: &mut dyn FnMut(&mut Value)) {
    if path.is_empty() {
        return change(value);
    }
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    match value {
        Value::Array(items) if first == "*" => {
            for item in items {
                each(item, rest, change);
            }
        }
        Value::Object(object) if first == "*" => {
            for item in object.values_mut() {
                each(item, rest, change);
            }
        }
        Value::Object(object) => {
            if let Some(inner) = object.get_mut(first) {
                each(inner, rest, change);
            }
        }
        _ => {}
    }
}

fn rename(object: &mut Map<String, Value>, keys: &[(&str, &str)]) {
    for (old, new) in keys {
        if let Some(value) = object.remove(*old) {
            object.insert((*new).to_owned(), value);
        }
    }
}

fn replace(value: &mut Value, words: &[(&str, &str)]) {
    let found = words.iter().find(|(old, _)| value.as_str() == Some(old));
    if let Some((_, new)) = found {
        *value = json!(new);
    }
}

/// Incidents from the findings that were some, and how each table started.
fn add_facts(record: &mut Map<String, Value>) {
    let notes = match record.remove("notes") {
        Some(Value::Array(notes)) => notes,
        _ => Vec::new(),
    };
    let mut incidents = Vec::new();
    let mut others = Vec::new();
    let mut continued = false;
    for note in notes {
        let code = note.get("code").and_then(Value::as_str).unwrap_or_default();
        continued |= code == "continued";
        match INCIDENTS.iter().find(|(old, _)| *old == code) {
            Some((_, kind)) => {
                let message = note.get("message").cloned().unwrap_or_default();
                incidents.push(json!({"kind": kind, "message": message}));
            }
            None => others.push(note),
        }
    }
    add_answered(record);
    record.insert("incidents".to_owned(), Value::Array(incidents));
    record.insert("notes".to_owned(), Value::Array(others));
    let start = if continued { "continued" } else { "fresh" };
    if let Some(Value::Object(target)) = record.get_mut("target")
        && let Some(Value::Array(tables)) = target.get_mut("tables")
    {
        for table in tables.iter_mut().filter_map(Value::as_object_mut) {
            table.insert("start".to_owned(), json!(start));
        }
    }
}

/// What was acknowledged in a phase was not distinguished from what was due in it.
fn add_answered(record: &mut Map<String, Value>) {
    let Some(Value::Array(results)) = record.get_mut("results") else {
        return;
    };
    for result in results.iter_mut().filter_map(Value::as_object_mut) {
        let rows = result.get("rows").and_then(|rows| rows.get("acknowledged"));
        let answered = json!({"ops": result.get("acknowledged"), "rows": rows});
        result.insert("answered".to_owned(), answered);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::parse;
    use highwater_model::record::{Ended, IncidentKind, RECORD_SCHEMA, RecordRef};

    fn stored(path: &str) -> String {
        let fixtures = "../cli/tests/fixtures/version-1";
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixtures);
        fs::read_to_string(root.join(path)).unwrap()
    }

    #[test]
    fn every_stored_record_of_version_1_is_read_with_its_figures() {
        let kinds = ["steps", "share-1", "share-2", "merged", "find", "tune", "import"];
        for kind in kinds {
            let text = stored(&format!("{kind}/record.json"));
            let old: serde_json::Value = serde_json::from_str(&text).unwrap();
            let record = parse(&text).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let record = RecordRef::from(&record);
            assert_eq!(record.header().schema, RECORD_SCHEMA, "{kind}");
            let run = record.measured_run();
            let results = old["results"].as_array().unwrap();
            assert_eq!(run.results.len(), results.len(), "{kind}");
            for (new, old) in run.results.iter().zip(results) {
                assert_eq!(Some(new.acknowledged), old["acknowledged"].as_u64());
                assert_eq!(new.latency_ns.p99, old["latency_ns"]["p99"].as_u64());
                assert_eq!(new.session_wait_ns.p99, old["door_wait_ns"]["p99"].as_u64());
                assert_eq!(new.histograms.session_wait, old["histograms"]["door_wait"]);
            }
            assert_eq!(Ended::of(record.incidents()), Ended::Complete, "{kind}");
        }
        let draft = parse(&stored("killed/draft.json")).unwrap();
        assert!(draft.run().unwrap().results.is_empty());
    }

    #[test]
    fn judgments_of_version_1_keep_their_meaning() {
        let values = |path: &str| {
            let record = parse(&stored(path)).unwrap();
            let judged = RecordRef::from(&record).judgments();
            let (data, objective) = (judged.data.value, judged.objective.value);
            format!("{:?} {data:?} {objective:?}", judged.measurement.value)
        };
        let shown = ["find", "import"].map(|kind| values(&format!("{kind}/record.json")));
        insta::assert_snapshot!(shown.join("\n"), @"
        Valid Clean Met
        Inconclusive NotChecked NoneSet
        ");
    }

    #[test]
    fn codes_of_findings_become_typed_facts() {
        let mut old: serde_json::Value =
            serde_json::from_str(&stored("steps/record.json")).unwrap();
        old["findings"] = serde_json::json!([
            {"code": "not_quiet", "message": "still at work"},
            {"code": "continued", "message": "5 rows were there"},
            {"code": "target_lost", "message": "gone"},
        ]);
        old["given"] = serde_json::json!({"highest": ["5"], "set": ["highest=1"]});
        let record = parse(&old.to_string()).unwrap();
        let record = record.run().unwrap();
        let kinds: Vec<IncidentKind> = record.incidents.iter().map(|i| i.kind).collect();
        assert_eq!(kinds, [IncidentKind::NotIdle, IncidentKind::TargetLost]);
        assert_eq!(Ended::of(&record.incidents), Ended::TargetLost);
        assert_eq!(record.notes.len(), 1);
        assert_eq!(record.header.given["max"], ["5"]);
        assert_eq!(record.header.given["set"], ["highest=1"]);
    }
}
