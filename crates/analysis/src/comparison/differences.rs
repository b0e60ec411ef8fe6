//! What differs between two groups of runs besides their figures.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::import_record::{ImportedPace, LatencyBegin};
use highwater_model::judgment::{Data, Measurement};
use highwater_model::record::{Question, RecordRef};

/// How grave a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Other questions were asked, so figures mean different things.
    Question,
    /// A run cannot be trusted.
    Trust,
    /// Another target, version, setting or machine: perhaps just what is compared.
    Setting,
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How grave it is.
    pub kind: Kind,
    /// What.
    pub name: String,
    /// In A; several values are separated by commas.
    pub a: String,
    /// In B.
    pub b: String,
}

/// What differs, the gravest first.
pub(super) fn differences(a: &[RecordRef<'_>], b: &[RecordRef<'_>]) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |kind, name: &str, of: &dyn Fn(RecordRef<'_>) -> String| {
        let (a, b) = (values(a, of), values(b, of));
        // Of runs of one group that differ among themselves nobody knows which one is meant.
        let mixed = kind == Kind::Question && (a.len() > 1 || b.len() > 1);
        if a != b || mixed {
            found.push(Difference {
                kind,
                name: name.to_owned(),
                a: listed(&a),
                b: listed(&b),
            });
        }
    };
    compare(Kind::Question, "measured by", &measured_by);
    compare(Kind::Question, "workload", &|r| {
        let workload = &r.measured_run().run.workload;
        format!("{} {}", workload.name, short(&workload.fingerprint))
    });
    compare(Kind::Question, "kind of load", &kind_of_load);
    compare(Kind::Question, "plan", &|r| {
        short(&r.measured_run().plan.hash)
    });
    compare(Kind::Setting, "target", &|r| {
        r.measured_run().target.urls.join(" ")
    });
    compare(Kind::Setting, "target version", &|r| {
        r.measured_run().target.version.clone()
    });
    compare(Kind::Setting, "Highwater", &|r| {
        r.header().highwater.version.clone()
    });
    let tool = |r: RecordRef<'_>| {
        let origin = r.measured_run().origin;
        origin.and_then(|origin| origin.version.clone())
    };
    compare(Kind::Setting, "version of the tool", &|r| {
        tool(r).unwrap_or_default()
    });
    let both = [a, b].concat();
    maps(&mut compare, "setting", &both, &|r| {
        &r.measured_run().run.target.settings
    });
    maps(&mut compare, "machine", &both, &|r| &r.header().environment);
    maps(&mut compare, "parameter", &both, &|r| {
        &r.measured_run().run.workload.parameters
    });
    for (side, runs) in [(0, a), (1, b)] {
        found.extend(runs.iter().filter_map(|record| distrusted(side, *record)));
    }
    found.sort_by_key(|difference| difference.kind);
    found
}

/// Takes note of a value that differs.
type Compare<'a> = dyn FnMut(Kind, &str, &dyn Fn(RecordRef<'_>) -> String) + 'a;

/// One difference for each name whose values differ.
fn maps(
    compare: &mut Compare<'_>,
    what: &str,
    both: &[RecordRef<'_>],
    of: &dyn Fn(RecordRef<'_>) -> &BTreeMap<String, String>,
) {
    let names: BTreeSet<&String> = both.iter().flat_map(|record| of(*record).keys()).collect();
    for name in names {
        compare(Kind::Setting, &format!("{what} {name}"), &|record| {
            let value = of(record).get(name);
            value.map_or_else(|| "–".to_owned(), Clone::clone)
        });
    }
}

fn values(runs: &[RecordRef<'_>], of: &dyn Fn(RecordRef<'_>) -> String) -> BTreeSet<String> {
    runs.iter().map(|record| of(*record)).collect()
}

fn listed(values: &BTreeSet<String>) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    values.join(", ")
}

/// Tools measure from different moments; so does one, with a rate or without.
fn measured_by(record: RecordRef<'_>) -> String {
    match record.measured_run().origin {
        None => "Highwater".to_owned(),
        Some(origin) => {
            let begin = match origin.begin {
                LatencyBegin::Intended => "from the intended start",
                LatencyBegin::Sent => "from the sending",
                LatencyBegin::NotReported => "from a start not reported",
            };
            format!("{} {begin}", origin.tool)
        }
    }
}

fn kind_of_load(record: RecordRef<'_>) -> String {
    let kind = match record {
        RecordRef::Imported(imported) => match imported.origin.pace {
            ImportedPace::Open => "open",
            ImportedPace::Closed => "closed",
            ImportedPace::NotReported => "not reported",
        },
        RecordRef::Experiment(experiment) => match experiment.question {
            Question::Search(_) => "search",
            Question::Tune(_) => "tuning",
        },
        RecordRef::Run(run) if run.plan.definition.is_closed() => "closed",
        RecordRef::Run(_) => "open",
    };
    kind.to_owned()
}

/// A run whose own judgments say that its figures or data are not right.
fn distrusted(side: usize, record: RecordRef<'_>) -> Option<Difference> {
    let judged = record.judgments();
    let mut said = Vec::new();
    if judged.measurement.value == Measurement::Invalid {
        said.push("measurement invalid");
    }
    if matches!(
        judged.data.value,
        Data::Lost | Data::Duplicated | Data::Surplus | Data::Altered
    ) {
        said.push("data not right");
    }
    if said.is_empty() {
        return None;
    }
    let said = said.join(", ");
    let (a, b) = if side == 0 {
        (said, String::new())
    } else {
        (String::new(), said)
    };
    Some(Difference {
        kind: Kind::Trust,
        name: record.header().id.clone(),
        a,
        b,
    })
}

/// As many characters of a hash as tell plans apart for a reader.
fn short(hash: &str) -> String {
    hash.chars().take(8).collect()
}
