//! The rule that retired names and phrases do not come back; each has one plain word instead.
//!
//! Identifiers are looked for in Rust code only, so that ordinary English stays free; names of
//! files, keys, flags, and phrases are looked for wherever people read them.

use super::finding::Finding;
use super::tokens::{Token, tokens};
use super::tree::{Tree, code_lines, extension_of, has_word, is_test};

/// Identifiers of Rust, with what replaces them.
const IDENTIFIERS: &[(&str, &str)] = &[
    ("Asking", "TelemetryPoller"),
    ("Asks", "SqlQuery"),
    ("BatchLaw", "BatchCostModel"),
    ("Beat", "PeriodicSlowdown"),
    ("Belief", "ModelPosterior"),
    ("Believed", "WeightedCurve"),
    ("CannotTell", "Inconclusive"),
    ("Carried", "CapacityUse"),
    ("CellRecord", "TrialRecord"),
    ("CellWish", "CellRequest"),
    ("CopyCost", "ReplicaCost"),
    ("Course", "SearchState, TuneState, or a time series"),
    ("Departed", "LingeringBackends"),
    ("Desk", "ConnectionWorker"),
    ("Fate", "RowOutcome or TableAction"),
    ("Ground", "ExistingTables"),
    ("Heard", "client_rejections"),
    ("Known", "ProbeHistory or EstimateInput"),
    ("Law", "ScalingModel"),
    ("Look", "NodeSnapshot"),
    ("Looked", "TargetInspection"),
    ("Mistake", "InputError"),
    ("Moved", "TelemetryShift"),
    ("Objection", "PlausibilityWarning"),
    ("Pressure", "ObjectiveMargin"),
    ("ProbeWish", "ProbeRequest"),
    ("STILL_AT_WORK", "STILL_RUNNING"),
    ("Stretch", "TimeRange"),
    ("TableNote", "RegistryEntry"),
    ("TableWish", "TablePolicy"),
    ("Telling", "AuditProgressReporter"),
    ("Told", "RuleFinding or ImportedRun"),
    ("Trouble", "ClusterStability"),
    ("Turn", "ChangePoint"),
    ("Turns", "FairWriterLock"),
    ("Unasked", "SkippedAudit"),
    ("Unsound", "Invalid"),
    ("Untold", "MissingField"),
    ("Wish", "a request or a policy"),
    ("asked", "sent, planned, or requested"),
    ("asking", "polling"),
    ("asks", "queries"),
    ("belief", "posterior"),
    ("beats", "periodicity"),
    ("chance", "probability"),
    ("departed", "lingering_backends"),
    ("desk", "worker"),
    ("fate", "outcome"),
    ("give_up", "time_out or abandon"),
    ("ground", "table_setup"),
    ("heard", "client_rejections"),
    ("hindsight", "backtest"),
    ("lateness", "exceedance"),
    ("looked", "inspection"),
    ("mistake", "error"),
    ("objection", "warning"),
    ("summing", "summary"),
    ("tell", "report or show"),
    ("tells", "reports or shows"),
    ("told", "reported or parsed"),
    ("unasked", "skipped"),
    ("unsound", "invalid"),
    ("untold", "missing"),
    ("wanted", "requested or expected"),
    ("wish", "request"),
    ("wished", "requested"),
];

/// Names of Rust files and folders; those of identifiers are retired for files, too.
const FILES: &[(&str, &str)] = &[
    ("course", "change_points, search_state, or progress"),
    ("law", "model"),
    ("turns", "fair_lock"),
    ("door", "session_wait"),
];

/// Keys of records, values, flags, and settings, found as whole words.
const WORDS: &[(&str, &str)] = &[
    ("--begin", "--start"),
    ("--chance", "--confidence"),
    ("--copy-cost", "--replica-cost"),
    ("--highest", "--max"),
    ("--law", "--model"),
    ("--practical", "--threshold"),
    ("--spare", "--headroom"),
    ("--survive", "--tolerate-failures"),
    ("--width", "--tolerance"),
    ("HIGHWATER_SKIP_POSTGRES", "HIGHWATER_REQUIRE_ALL"),
    ("cpu_share", "cpu_fraction"),
    ("door_wait", "session_wait"),
    ("door_wait_ns", "session_wait_ns"),
    ("not_quiet", "not_idle"),
    ("rate_asked", "planned_rate"),
];

/// Phrases and British spellings, found in any case and inside of words.
const PHRASES: &[(&str, &str)] = &[
    ("behaviour", "behavior"),
    ("best cell", "best configuration"),
    ("cannot be told", "cannot be identified, or distinguished"),
    ("catalogue", "catalog"),
    ("centre", "center"),
    ("colour", "color"),
    ("door wait", "session wait"),
    ("does not tell", "does not report"),
    ("favour", "favor"),
    ("gone on with", "resumed"),
    ("initialis", "initializ"),
    ("judgement", "judgment"),
    ("labelled", "labeled"),
    ("licence", "license"),
    ("list of tables", "table registry"),
    ("load machine", "load generator"),
    ("measurement sound", "measurement valid"),
    ("measurement unsound", "measurement invalid"),
    ("neighbour", "neighbor"),
    ("not told", "not reported"),
    ("normalis", "normaliz"),
    ("optimis", "optimiz"),
    ("organis", "organiz"),
    ("recognis", "recogniz"),
    ("wait at the door", "wait for a session"),
];

/// Phrases that users do not read any more: in documents, help texts, and messages. Comments may have them.
const READ: &[(&str, &str)] = &[
    ("anew", "again, or recreated"),
    ("ask again", "retry, or send the next op"),
    ("asked", "sent, planned, requested, or queried"),
    ("asks", "sends, runs, queries, or requires"),
    ("at work", "running, or busy"),
    ("but for", "except"),
    ("cannot tell", "does not distinguish, or show"),
    ("come to rest", "become idle"),
    ("everybody", "the passive, or all that are meant"),
    ("for want of", "for lack of"),
    ("further copies", "replicas"),
    ("gave out", "reached its limit"),
    ("gave up", "timed out, stopped, or abandoned"),
    ("give up", "time out, stop, drop, or abandon"),
    ("given up", "timed out, dropped, or abandoned"),
    ("gives out", "reaches its limit"),
    ("gives up", "times out, stops, or abandons"),
    ("nobody", "the passive, or no one that is meant"),
    ("op was answered", "op got a response"),
    ("pieces of work", "tasks"),
    ("somebody", "another program, user, or writer"),
    ("tells", "reports, shows, or distinguishes"),
    ("told", "reported, parsed, or distinguished"),
    ("unknown fate", "unknown outcome"),
    ("whoever", "the reader, or the thing"),
    ("with a chance of", "with a probability of"),
];

/// An option of the format of workload files, as code and documents name it.
const OPTION_OF_FILES: [&str; 2] = ["\"asked\"", "`asked`"];

/// Files that must name what is retired: history, the reader of old records, flags that still
/// work under their old names, and what other programs wrote.
const EXCEPTIONS: &[&str] = &[
    "CHANGELOG.md",
    "crates/cli/src/intent/tests/old_names.rs",
    "crates/cli/tests/fixtures/version-1",
    "crates/cli/tests/command_line/version_1.rs",
    "crates/import/src/samples/",
    "crates/report/src/version1",
    "xtask/src/tidy/retired.rs",
    "target/",
];

/// No retired identifier, file name, key, flag, phrase, or spelling is used.
pub(super) fn stays_retired(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let extension = extension_of(path);
        let is_text =
            matches!(extension, Some("rs" | "md" | "snap" | "toml" | "txt" | "js" | "json"));
        if !is_text || EXCEPTIONS.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        findings.extend(retired_text(path, text));
        findings.extend(retired_reading(path, text));
        if extension == Some("rs") {
            findings.extend(retired_path(path));
            findings.extend(retired_identifiers(path, text));
        }
    }
    findings
}

fn retired_text(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for &(word, instead) in WORDS {
            // `--width-of` is a flag of its own.
            let longer = word.starts_with("--") && line.contains(&format!("{word}-"));
            if has_word(line, word) && !longer {
                findings.push(finding(path, i + 1, word, instead));
            }
        }
        // HTML spells this attribute so.
        let lower = line.to_lowercase().replace("aria-labelledby", "");
        for &(phrase, instead) in PHRASES {
            if lower.contains(phrase) {
                findings.push(finding(path, i + 1, phrase, instead));
            }
        }
    }
    findings
}

/// What stands in documents, and in code outside comments.
fn retired_reading(path: &str, text: &str) -> Vec<Finding> {
    let extension = extension_of(path);
    let is_document = matches!(path, "README.md" | "CONTRIBUTING.md" | "ARCHITECTURE.md")
        || path.starts_with("docs/")
        || path.starts_with("crates/workload/workloads/")
        || path.starts_with("crates/cli/src/") && extension == Some("txt")
        || path.starts_with("crates/report/src/html/") && extension == Some("js");
    let is_product =
        path.starts_with("crates/") && path.contains("/src/") && extension == Some("rs");
    let lines: Vec<(usize, &str)> = if is_document {
        (1..).zip(text.lines()).collect()
    } else if is_product && !is_test(path) {
        code_lines(text).collect()
    } else {
        Vec::new()
    };
    let mut findings = Vec::new();
    for (number, line) in lines {
        let mut lower = line.to_lowercase();
        for option in OPTION_OF_FILES {
            lower = lower.replace(option, "");
        }
        for &(phrase, instead) in READ {
            if has_word(&lower, phrase) {
                findings.push(finding(path, number, phrase, instead));
            }
        }
    }
    findings
}

fn retired_path(path: &str) -> Option<Finding> {
    path.split('/').find_map(|part| {
        let stem = part.strip_suffix(".rs").unwrap_or(part);
        let mut names = IDENTIFIERS.iter().chain(FILES);
        let (name, instead) = names.find(|(name, _)| *name == stem)?;
        Some(finding(path, 1, name, instead))
    })
}

fn retired_identifiers(path: &str, text: &str) -> Vec<Finding> {
    tokens(text)
        .iter()
        .filter_map(|token| {
            let word = Token::word(token)?;
            let (name, instead) = IDENTIFIERS.iter().find(|(name, _)| *name == word)?;
            Some(finding(path, token.line, name, instead))
        })
        .collect()
}

fn finding(path: &str, line: usize, retired: &str, instead: &str) -> Finding {
    let what = format!("`{retired}` is retired");
    Finding::at(path, line, what, format!("use {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found: Vec<String> = stays_retired(&Tree::of(&[(path, text)]))
            .iter()
            .map(|finding| format!("{}: {}", finding.line, finding.what))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn identifiers_count_in_code_and_not_in_prose() {
        let code = "//! A Wish.\nstruct Wish;\nfn f() { let looked = \"Looked\"; wished_for() }\n";
        let found = ["2: `Wish` is retired", "3: `looked` is retired"];
        check("crates/model/src/a.rs", code, &found);
        check("docs/a.md", "You can tell, as looked up.\n", &[]);
    }

    #[test]
    fn keys_flags_phrases_and_spellings_count_everywhere() {
        check(
            "docs/a.md",
            "`door_wait_ns` and `--spare 2`\nthe Load machine's colours\n--width-of door_waits\n",
            &[
                "1: `--spare` is retired",
                "1: `door_wait_ns` is retired",
                "2: `colour` is retired",
                "2: `load machine` is retired",
            ],
        );
    }

    #[test]
    fn what_users_read_counts_in_documents_and_messages_but_not_in_comments() {
        let found = ["1: `nobody` is retired"];
        check("docs/a.md", "Nobody knows.\n", &found);
        check("README.md", "nobody\n", &found);
        let code = "//! For nobody.\nfn f() {\n    // nobody\n    say(\"nobody looked\");\n}\n";
        check("crates/model/src/a.rs", code, &["4: `nobody` is retired"]);
        check("crates/model/tests/a.rs", code, &[]);
        check("ARCHITECTURE.md", "nobody\n", &found);
        check("docs/reference/record.schema.json", "nobody\n", &found);
        check("crates/model/src/a.sql", "nobody\n", &[]);
        let option = "| `hotspot` | `asked` |\nwhat is asked\n";
        check("docs/a.md", option, &["2: `asked` is retired"]);
    }

    #[test]
    fn files_and_folders_count() {
        check("crates/model/src/desk.rs", "", &["1: `desk` is retired"]);
        check("crates/model/src/turns/mod.rs", "", &["1: `turns` is retired"]);
        check("crates/model/src/golden_course.rs", "", &[]);
    }

    #[test]
    fn history_and_foreign_text_may_name_them() {
        check("CHANGELOG.md", "`--spare`, colour\n", &[]);
        check("crates/report/src/version1.rs", "// door_wait_ns\n", &[]);
        check("a.sql", "-- colour\n", &[]);
    }
}
