//! `highwater compare`: groups of runs in, verdicts out.
//!
//! It finds and reads the runs. Must not compare them; that is the core's job.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_analysis::comparison::{Verdict, compare as judged};
use highwater_model::record::Record;
use highwater_report::{self as report, CompareReport, Group};
use highwater_runner::{record, store};

use crate::exit;
use crate::failure::Failure;
use crate::settings::{CompareFormat, CompareSettings};
use crate::terminal;

/// Most runs of a group.
const MOST_RUNS: usize = 1_000;

/// Runs with the name of their group.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) records: Vec<Record>,
}

/// Prints the comparison; the exit code is that of the gate, if one is requested.
pub fn compare(settings: &CompareSettings) -> Result<u8, Failure> {
    let groups = settings.groups.iter();
    let groups = groups
        .map(|name| load(name, &settings.out))
        .collect::<Result<Vec<_>, _>>()?;
    let report = against_first(&groups, settings.threshold);
    terminal::data(&match settings.format {
        CompareFormat::Text => report::compare_text(&report),
        CompareFormat::Markdown => report::compare_markdown(&report),
        CompareFormat::Html => report::compare_html(&report),
    })?;
    Ok(if settings.gate {
        gate(&report)
    } else {
        exit::SUCCESS
    })
}

/// 1 if anything is worse; 3 if no verdict could be given at all.
fn gate(report: &CompareReport<'_>) -> u8 {
    let comparisons = || report.others.iter().map(|(_, comparison)| comparison);
    if comparisons().any(|comparison| comparison.verdict() == Verdict::Worse) {
        return exit::MISSED;
    }
    let blind = comparisons().any(|comparison| {
        let figures = &comparison.figures;
        comparison.is_guarded() || figures.iter().all(|compared| compared.effect.is_none())
    });
    if blind {
        exit::NOT_VALID
    } else {
        exit::SUCCESS
    }
}

/// The first group against each other one.
pub(super) fn against_first(groups: &[Loaded], threshold: f64) -> CompareReport<'_> {
    let mut named = groups.iter().map(|loaded| Group {
        name: loaded.name.clone(),
        runs: loaded.records.iter().map(Into::into).collect(),
    });
    let baseline = named.next().unwrap_or_else(|| Group {
        name: String::new(),
        runs: Vec::new(),
    });
    let others = named.map(|group| {
        let comparison = judged(&baseline.runs, &group.runs, threshold);
        (group, comparison)
    });
    let others = others.collect();
    CompareReport { baseline, others }
}

fn load(name: &str, out: &Path) -> Result<Loaded, Failure> {
    let mut records = Vec::new();
    for part in name.split(',').filter(|part| !part.is_empty()) {
        for path in runs(part, out)? {
            records.push(record::read(&path)?);
        }
    }
    if records.is_empty() {
        return Err(Failure::usage(format!("`{name}` names no runs"))
            .with_hint("name a run, a directory of runs, or several separated by commas"));
    }
    Ok(Loaded {
        name: name.to_owned(),
        records,
    })
}

/// A run, or all runs of a directory in the order of their names.
fn runs(name: &str, out: &Path) -> Result<Vec<PathBuf>, Failure> {
    let path = Path::new(name);
    if !path.is_dir() || path.join("plan.json").exists() {
        return Ok(vec![store::find(out, Some(name))?]);
    }
    let entries = fs::read_dir(path)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let mut runs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|run| run.join("plan.json").exists())
        .take(MOST_RUNS + 1)
        .collect();
    if runs.is_empty() || runs.len() > MOST_RUNS {
        let message = format!("{name} holds {} runs", runs.len());
        return Err(
            Failure::usage(message).with_hint(format!("a group has from 1 to {MOST_RUNS} of them"))
        );
    }
    runs.sort();
    Ok(runs)
}
