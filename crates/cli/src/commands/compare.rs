//! `highwater compare`: finds and reads groups of runs, or growths, and prints verdicts.
//!
//! Must not compare them itself; that is the core's job.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use highwater_analysis::comparison::{Comparison, Criteria, PRACTICAL, Verdict};
use highwater_analysis::growth::SizeChange;
use highwater_model::group::GroupRecord;
use highwater_model::quantity::{Ppm, parse_percent};
use highwater_model::record::Record;
use highwater_model::user_error::UserError;
use highwater_report::{self as report, CompareReport, Group, GrowthsReport, NamedGrowth};
use highwater_runner::{record, store};

use crate::grammar::flags::{CONFIG, FIGURES, NO_COLOR, OUT, OUTPUT, VERBOSE};
use crate::grammar::{CommandSpec, Flag, flag, words};
use crate::intent::RunOutput;
use crate::intent::parsers::{self, one_of};
use crate::layers::Layers;
use crate::{exit, figures, line_streams, terminal};

/// `highwater compare`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "compare",
    summary: "Compare groups of runs: better, worse, equal, or inconclusive",
    usage: "A B...",
    positionals: &[words(
        "RUN|GROUP",
        "A run, a directory of runs, or several of these separated by commas; runs made by \
         `run --repeat` stand for their variants, and growths made by `scale` are compared size by size. \
         The first is the baseline",
    )],
    flags: &[(FIGURES, FIGURES_FLAGS), (OUTPUT, OUTPUT_FLAGS)],
    main_flags: None,
    examples: "  highwater run cpu $OLD --interleave $NEW --repeat 5 -d 60s
      five runs on each of two targets, alternating, and their comparison
  highwater run cpu $URL --repeat 5 --variant a='./restart.sh a' --variant b='./restart.sh b'
      one target in two configurations
  highwater compare highwater-runs/before highwater-runs/after --fail-if-worse 5%
      a gate: exit code 1 if anything is worse by 5% or more, 3 if the result is inconclusive
  highwater compare highwater-runs/old-growth highwater-runs/new-growth
      two growths, size by size
  highwater compare r1,r2,r3 r4,r5,r6 --format markdown
      a comment for a pull request",
    run: |layers| compare(&CompareIntent::resolve(layers)?),
};

const FIGURES_FLAGS: &[Flag] = &[
    flag("--threshold <PERCENT>", "Report differences smaller than PERCENT as equal").default("5%"),
    flag(
        "--primary <FIGURE>",
        "Test FIGURE first, such as throughput, p99, or 'insert p99'; an inconclusive FIGURE makes \
         the result inconclusive [default: throughput in closed load; in open load the percentile \
         of the objective, or p99]",
    ),
    flag(
        "--fail-if-worse <PERCENT>",
        "Use PERCENT as the threshold, and exit with code 1 if anything is worse, or 3 if the \
         result is inconclusive [default: verdicts do not change the exit code]",
    ),
    flag("--allow-unknown", "With --fail-if-worse, exit with code 0 if the result is inconclusive"),
];

const OUTPUT_FLAGS: &[Flag] = &[
    flag("--format <FORMAT>", "Print text, markdown, or html").default("text"),
    VERBOSE,
    OUT,
    CONFIG,
    NO_COLOR,
];

/// Settings of `highwater compare`.
#[derive(Debug, PartialEq)]
pub(crate) struct CompareIntent {
    /// At least one: runs, directories of runs, or several of these separated by commas; a group of runs stands for its
    /// variants.
    pub(crate) groups: Vec<String>,
    /// Smallest relative difference that matters.
    pub(crate) threshold: f64,
    /// The primary figure, if it is not the default of the kind of load.
    pub(crate) primary: Option<String>,
    /// Whether the exit code reports a worse figure.
    pub(crate) gate: bool,
    /// Whether an inconclusive result passes the gate.
    pub(crate) allow_unknown: bool,
    /// Output format.
    pub(crate) format: Format,
    /// Print all details below the answer.
    verbose: bool,
    /// Directory of the run store, for looking up IDs.
    out: PathBuf,
}

impl CompareIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        if layers.positionals.is_empty() {
            return Err(too_few());
        }
        let gate: Option<Ppm> = layers.parse("fail-if-worse", parse_percent)?;
        let threshold = match gate {
            Some(gate) => Some(gate),
            None => layers.parse("threshold", parse_percent)?,
        };
        let threshold = threshold.map_or(PRACTICAL, |ppm| f64::from(ppm.0) / 1e6);
        if threshold <= 0.0 {
            let message = "the threshold is not above 0%";
            return Err(UserError::usage(message).with_hint("set it to, for example, 5%"));
        }
        Ok(Self {
            groups: layers.positionals.clone(),
            threshold,
            primary: layers.parse("primary", parsers::word)?,
            gate: gate.is_some(),
            allow_unknown: layers.switch("allow-unknown")?,
            format: layers.require("format", format)?,
            verbose: layers.switch("verbose")?,
            out: layers.require("out", parsers::word)?.into(),
        })
    }
}

/// The error for a single group.
fn too_few() -> UserError {
    let message = "compare needs at least two runs, or groups of runs";
    UserError::usage(message).with_hint("name them, the baseline first")
}

/// Output format of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for readers.
    Text,
    /// For a comment on a pull request.
    Markdown,
    /// A page.
    Html,
}

fn format(text: &str) -> Result<Format, UserError> {
    let all = [("text", Format::Text), ("markdown", Format::Markdown), ("html", Format::Html)];
    let hint = "there are `text`, `markdown` and `html`";
    one_of(&all, text, "is not a format", hint)
}

/// The page that compares growths of variants, next to the record of the first.
const VARIANTS_PAGE: &str = "variants.html";
/// Maximum runs of a group.
const MOST_RUNS: usize = 1_000;

/// Runs with their group's name.
#[derive(Clone)]
struct LoadedGroup {
    name: String,
    records: Vec<Record>,
}

/// Prints the comparison; the exit code is that of the gate, if one is requested.
fn compare(settings: &CompareIntent) -> Result<u8, UserError> {
    let groups = settings
        .groups
        .iter()
        .map(|name| load(name, &settings.out))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    if groups.len() < 2 {
        return Err(too_few());
    }
    let groups: Vec<Group<'_>> = groups
        .iter()
        .map(|loaded| Group {
            name: loaded.name.clone(),
            runs: loaded.records.iter().map(Into::into).collect(),
        })
        .collect();
    if let Some(report) = GrowthsReport::from_groups(&groups, settings.threshold) {
        return growths(settings, &report);
    }
    let criteria = Criteria { practical: settings.threshold, primary: settings.primary.as_deref() };
    let report = CompareReport::from_groups(groups, criteria).ok_or_else(too_few)?;
    check_primary(settings, &report)?;
    match settings.format {
        Format::Text => {
            terminal::summary(&report::compare_summary(&report), settings.verbose)?;
        }
        Format::Markdown => terminal::data(&report::compare_markdown(&report))?,
        Format::Html => terminal::data(&report::compare_html(&report))?,
    }
    let is = |verdict: Verdict| report.others.iter().any(|(_, of)| of.verdict() == verdict);
    Ok(gate(settings, is(Verdict::Worse), is(Verdict::Inconclusive)))
}

/// Prints the comparison of variants' growths, with the first as the baseline, and writes a page to this directory.
/// They differ in `declared` settings.
pub(super) fn variants_of_growths(
    output: &RunOutput,
    variants: Vec<NamedGrowth<'_>>,
    declared: &BTreeSet<String>,
    directory: &Path,
) -> Result<(), UserError> {
    let Some(report) = GrowthsReport::beside_first(variants, PRACTICAL, declared) else {
        return Ok(());
    };
    let page = directory.join(VARIANTS_PAGE);
    if let Err(error) = fs::write(&page, report::growths_html(&report)) {
        terminal::warn(&format!("cannot write {}: {error}", page.display()));
    }
    if output.json {
        return Ok(());
    }
    line_streams::summary(output, &report::growths_summary(&report))
}

/// Prints a comparison of growths; the exit code is that of the gate, if one is requested.
fn growths(settings: &CompareIntent, report: &GrowthsReport<'_>) -> Result<u8, UserError> {
    if settings.primary.is_some() {
        let message = "--primary: growths are compared by the figure of each size";
        return Err(UserError::usage(message).with_hint("leave it out"));
    }
    match settings.format {
        Format::Text => {
            terminal::summary(&report::growths_summary(report), settings.verbose)?;
        }
        Format::Markdown => terminal::data(&report::growths_markdown(report))?,
        Format::Html => terminal::data(&report::growths_html(report))?,
    }
    let is =
        |verdict: Option<SizeChange>| report.others.iter().any(|(_, of)| of.verdict() == verdict);
    let is_open = is(None) || is(Some(SizeChange::NotDistinguished));
    Ok(gate(settings, is(Some(SizeChange::Worse)), is_open))
}

/// The figure given as primary must exist in all runs.
fn check_primary(settings: &CompareIntent, report: &CompareReport<'_>) -> Result<(), UserError> {
    let Some(named) = &settings.primary else {
        return Ok(());
    };
    let lacks = |comparison: &&Comparison| comparison.primary().is_none();
    let mut comparisons = report.others.iter().map(|(_, comparison)| comparison);
    let Some(comparison) = comparisons.find(lacks) else {
        return Ok(());
    };
    let names: Vec<String> = comparison.figures.iter().map(|c| c.figure.full_name()).collect();
    let failure = UserError::usage(format!("--primary: not all runs have a figure `{named}`"));
    Err(if names.is_empty() {
        failure.with_hint("no figure is in all of them")
    } else {
        failure.with_hint(format!("use one of these: {}", names.join(", ")))
    })
}

/// With a gate, 1 if anything is worse; 3 if the result is inconclusive, unless that is allowed.
fn gate(settings: &CompareIntent, is_worse: bool, is_open: bool) -> u8 {
    if settings.gate && is_worse {
        exit::MISSED
    } else if settings.gate && is_open && !settings.allow_unknown {
        exit::NOT_VALID
    } else {
        exit::SUCCESS
    }
}

/// The runs of a name. Several names, separated by commas, are one group.
fn load(name: &str, out: &Path) -> Result<Vec<LoadedGroup>, UserError> {
    let loaded = name.split(',').filter(|part| !part.is_empty()).map(|part| of_part(part, out));
    let loaded = loaded.collect::<Result<Vec<_>, _>>()?.concat();
    if loaded.is_empty() {
        return Err(UserError::usage(format!("`{name}` names no runs"))
            .with_hint("name a run, a directory of runs, or several separated by commas"));
    }
    if !name.contains(',') {
        return Ok(loaded);
    }
    let records = loaded.into_iter().flat_map(|group| group.records);
    Ok(vec![LoadedGroup { name: name.to_owned(), records: records.collect() }])
}

/// A run, the runs of a directory, or those of each variant of a group of runs; `GROUP/VARIANT` is a single variant.
fn of_part(name: &str, out: &Path) -> Result<Vec<LoadedGroup>, UserError> {
    let given = Path::new(name);
    let is_group = |parent: &&Path| !given.exists() && parent.join("plan.json").exists();
    let group = given.parent().filter(is_group);
    let variant = group.and(given.file_name());
    let place = group.map_or_else(|| name.into(), Path::to_string_lossy);
    let paths = runs(&place, out)?;
    let records = paths.iter().map(|path| record::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let ([path], [Record::Experiment(experiment)]) = (&paths[..], &records[..])
        && let Some(group) = experiment.group()
    {
        return variants(group, path, variant);
    }
    if variant.is_some() {
        return Err(UserError::usage(format!("{name}: no such run"))
            .with_hint("name a run, a directory of runs, or a variant of a group"));
    }
    Ok(vec![LoadedGroup { name: name.to_owned(), records }])
}

/// The variants of a stored group with their complete runs, or one of them.
fn variants(
    group: &GroupRecord,
    path: &Path,
    named: Option<&OsStr>,
) -> Result<Vec<LoadedGroup>, UserError> {
    let directory = store::directory_of(path);
    let variants = group
        .variants
        .iter()
        .enumerate()
        .filter(|(_, variant)| named.is_none_or(|name| *name == *variant.name));
    let loaded = variants.map(|(at, variant)| {
        let trials = group.complete(at);
        let records = trials.map(|trial| record::read(&directory.join(&trial.run)));
        Ok(LoadedGroup {
            name: directory.join(&variant.name).display().to_string(),
            records: records.collect::<Result<_, _>>()?,
        })
    });
    loaded.filter(|found| !matches!(found, Ok(of) if of.records.is_empty())).collect()
}

/// A run, or all runs of a directory in the order of their names.
fn runs(name: &str, out: &Path) -> Result<Vec<PathBuf>, UserError> {
    let path = Path::new(name);
    if !path.is_dir() || path.join("plan.json").exists() {
        return Ok(vec![store::find(out, Some(name))?]);
    }
    let runs = figures::runs(path, MOST_RUNS)?;
    if runs.is_empty() || runs.len() > MOST_RUNS {
        let message = format!("{name} holds {} runs", runs.len());
        return Err(UserError::usage(message)
            .with_hint(format!("a group has from 1 to {MOST_RUNS} of them")));
    }
    Ok(runs)
}
