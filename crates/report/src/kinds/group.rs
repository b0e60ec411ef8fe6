//! A group of runs: how its variants compare, or how much the runs of one variant differ.
//!
//! Must show only what the record contains.

use highwater_analysis::comparison::Comparison;
use highwater_analysis::group::comparisons;
use highwater_model::display::{duration, foreign, percent, rate};
use highwater_model::group::{GroupRecord, GroupTrial};
use highwater_model::judgment::RunEnding;
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};
use highwater_model::plan::Objective;
use highwater_model::record::{MeasuredRun, RunRecord};

mod faults;

use super::comparison;
use crate::answer::{Answer, KeyFigure, plural, rated, target_name};
use crate::blocks::{Block, Report, Section, Table};
use crate::layout::{Remark, Row, headed, joined, latency, list, or_absent};
use crate::plots;

/// Maximum characters of a name, and of a command.
const WORDS: usize = 120;

/// The report of a group.
pub(super) fn report(run: &MeasuredRun<'_>, group: &GroupRecord) -> Report {
    let of_faults = group.is_of_faults();
    let compared = if of_faults { Vec::new() } else { comparisons(group) };
    let load = question(run, group);
    let mut charts = plots::runs(group);
    let (answer, hero) = match compared.first() {
        Some((variant, first)) => (
            comparison::answer(names(group, *variant), first),
            Block::Intervals(Box::new(first.clone())),
        ),
        None if of_faults => {
            (faults::answer(run, group), Block::table("Faults", faults::rows(group), 1))
        }
        None => (repeated(run, group), Block::Charts(std::mem::take(&mut charts))),
    };
    let others = compared.iter().skip(1).map(|(variant, comparison)| {
        Remark::new("also", comparison::sentence(names(group, *variant), comparison))
    });
    let variants = if of_faults {
        Table::new("Faults", faults::rows(group), 1)
    } else {
        Table::new("Variants", variants(group), 1)
    };
    let runs = Section {
        id: "runs",
        title: "Runs",
        lead: format!(
            "{} of {}",
            plural(group.trials.len(), "run"),
            plural(group.variants.len(), "variant")
        ),
        blocks: vec![
            Block::Table(variants.clone()),
            Block::Charts(charts),
            Block::table("Runs", trials(group), 1),
            Block::Term("Each run has a record and a page of its own below `probes/`.".to_owned()),
        ],
    };
    Report {
        answer: Answer { failed: failed(run, group), ..answer },
        brief: (group.variants.len() > 1).then_some(variants),
        facts: others.chain([Remark::new("load", load.clone())]).collect(),
        opening: vec![load],
        hero: vec![hero],
        sections: figures(group, &compared).into_iter().chain([runs]).collect(),
        ..Report::default()
    }
}

/// How the variants compare; absent for a single one.
fn figures(group: &GroupRecord, compared: &[(usize, Comparison)]) -> Option<Section> {
    let (_, first) = compared.first()?;
    let of = |(variant, of): &(usize, Comparison)| comparison::blocks(names(group, *variant), of);
    Some(comparison::section(first, compared.iter().flat_map(of).collect()))
}

/// The mean of all runs of one variant, and how much they differ.
fn repeated(run: &MeasuredRun<'_>, group: &GroupRecord) -> Answer {
    let reached: Vec<f64> = group.complete(0).map(|trial| trial.throughput_per_s).collect();
    let unit = format!("{}/s", group.unit.name());
    let question = format!(
        "How many {unit} does {} acknowledge, and how much do runs differ?",
        target_name(run)
    );
    let least = reached.iter().copied().reduce(f64::min);
    let greatest = reached.iter().copied().reduce(f64::max);
    let (Some(mean), Some(least), Some(greatest)) = (mean(&reached), least, greatest) else {
        return Answer::nothing(question, "no run is complete");
    };
    let took: u64 = group.trials.iter().map(|trial| trial.took_ns).sum();
    let (runs, took) = (reached.len(), format!("in {}", duration(took)));
    let made = format!("{runs} of {}", group.times);
    Answer {
        question,
        figure: rate(mean),
        unit: unit.clone(),
        condition: format!("mean of {}", plural(runs, "run")),
        interval: format!("runs from {} to {} {unit}", rate(least), rate(greatest)),
        basis: format!("{} apart", percent(greatest / least - 1.0)),
        keys: vec![
            KeyFigure::new("lowest run", rated(least, &unit), ""),
            KeyFigure::new("highest run", rated(greatest, &unit), ""),
            KeyFigure::new("runs", made, took),
        ],
        ..Answer::default()
    }
}

/// The number of runs in which too much failed without a stated bound, and the failures of the
/// first of them.
fn failed(record: &MeasuredRun<'_>, group: &GroupRecord) -> Option<String> {
    let mut objectives = record.plan.definition.objectives.iter();
    if objectives.any(|of| matches!(of, Objective::Errors { .. })) {
        return None;
    }
    let is_it = |reason: &&Reason| reason.code == ReasonCode::ObjectiveErrors;
    let judged = || group.trials.iter().filter_map(|trial| trial.judgments.as_ref());
    let failed: Vec<&Reason> =
        judged().filter_map(|of| of.objective.reasons.iter().find(is_it)).collect();
    let first = &failed.first()?.sentence();
    Some(format!("too much failed in {} of {} runs: {first}", failed.len(), judged().count()))
}

/// Names of the baseline and of another variant.
fn names(group: &GroupRecord, variant: usize) -> [&str; 2] {
    [0, variant].map(|at| group.variants.get(at).map_or("", |of| &of.name))
}

/// The workload, and the number of runs.
fn question(run: &RunRecord, group: &GroupRecord) -> String {
    let runs = group.times;
    let how_often = match group.variants.len() {
        faults if group.is_of_faults() => {
            let faults = plural(faults - 1, "fault");
            let how_often = if runs == 1 { "once".to_owned() } else { format!("{runs} times") };
            format!("with {faults}, each after a baseline, {how_often}")
        }
        1 => format!("{runs} times"),
        several => format!("{several} variants in turn, {runs} times each"),
    };
    let (workload, seed) = (&run.workload.name, run.plan.seed);
    format!("run {workload} {how_often} · seed {seed}")
}

/// The head and a row for each variant; the first column holds words.
fn variants(group: &GroupRecord) -> Vec<Row> {
    let unit = group.unit.name();
    let head = format!("variant | runs | {unit}/s | least | greatest | p99");
    let variants = group.variants.iter().enumerate().map(|(at, variant)| {
        let trials: Vec<&GroupTrial> = group.complete(at).collect();
        let reached: Vec<f64> = trials.iter().map(|trial| trial.throughput_per_s).collect();
        let p99: Option<Vec<f64>> = trials.iter().map(|t| t.p99_ns.map(to_f64)).collect();
        let p99 = p99.and_then(|p99| mean(&p99)).map(round_to_u64);
        let what = std::iter::once(variant.urls.join(" ")).chain(variant.command.clone());
        // The answer has a letter in place of a long name.
        let letter = ["A ", "B "].get(at).filter(|_| group.variants.len() == 2);
        Row::new([
            format!("{}{}", letter.unwrap_or(&""), variant.name),
            format!("{} of {}", trials.len(), group.times),
            or_absent(mean(&reached), rate),
            or_absent(reached.iter().copied().min_by(f64::total_cmp), rate),
            or_absent(reached.iter().copied().max_by(f64::total_cmp), rate),
            or_absent(p99, |ns| latency(ns, trials.iter().any(|trial| trial.p99_at_least))),
        ])
        .remark(foreign(&list(what, " · "), WORDS))
    });
    headed(&head, variants)
}

/// The geometric mean, as in comparisons; absent for an empty slice.
fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / len_to_f64(values.len())).exp())
}

/// The head and a row for each run; the first column holds words.
fn trials(group: &GroupRecord) -> Vec<Row> {
    let head = format!("run | round | {}/s | p99 | took", group.unit.name());
    let trials = group.trials.iter().map(|trial| {
        let [_, name] = names(group, trial.variant);
        Row::new([
            format!("{:>2} {name}", trial.number),
            trial.round.to_string(),
            rate(trial.throughput_per_s),
            or_absent(trial.p99_ns, |ns| latency(ns, trial.p99_at_least)),
            duration(trial.took_ns),
        ])
        .remark(fault(trial))
    });
    headed(&head, trials)
}

/// The result of a run in a few words: `98,300 rows/s · p99 12.1 ms`.
pub fn group_trial_line(trial: &GroupTrial, unit: &str) -> String {
    let reached = format!("{} {unit}/s", rate(trial.throughput_per_s));
    let p99 = trial.p99_ns.map(|ns| format!("p99 {}", latency(ns, trial.p99_at_least)));
    joined([reached, p99.unwrap_or_default(), fault(trial)])
}

/// How a run ended, and its faults; empty if it has none.
fn fault(trial: &GroupTrial) -> String {
    let ended = match trial.ended {
        RunEnding::Complete => "",
        RunEnding::Interrupted => "interrupted",
        RunEnding::TargetLost => "TARGET LOST",
    };
    let judged = trial.judgments.iter().flat_map(misjudged);
    joined(std::iter::once(ended.to_owned()).chain(judged))
}

fn misjudged(judged: &Judgments) -> Vec<String> {
    let measurement = match judged.measurement.value {
        Measurement::Valid => None,
        Measurement::Inconclusive => Some("inconclusive"),
        Measurement::Invalid => Some("INVALID"),
    };
    let data = match judged.data.value {
        Data::Clean | Data::NotChecked => None,
        Data::LostAllowed => Some("rows lost, as allowed"),
        Data::Unverified => Some("UNVERIFIED"),
        Data::Lost | Data::Duplicated | Data::Surplus | Data::Altered => Some("WRONG DATA"),
    };
    let objective = match judged.objective.value {
        ObjectiveValue::Met | ObjectiveValue::NoneSet => None,
        ObjectiveValue::Missed => Some("missed"),
        ObjectiveValue::NotDecided => Some("not decided"),
    };
    let reasons = [
        (measurement, &judged.measurement.reasons),
        (data, &judged.data.reasons),
        (objective, &judged.objective.reasons),
    ];
    let faults = reasons.into_iter().filter_map(|(word, reasons)| {
        let codes = list(reasons.iter().map(|reason| reason.code.name()), ", ");
        Some(format!("{} {codes}", word?).trim_end().to_owned())
    });
    faults.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::record::Question;

    use crate::{markdown, text};
    use highwater_analysis::fixture::group::grouped;
    use highwater_analysis::group::conclude;
    use highwater_model::group::GroupOutcome;

    #[test]
    fn a_group_shows_its_variants_how_they_compare_and_every_run() {
        insta::assert_snapshot!(text(&grouped()));
    }

    #[test]
    fn a_stopped_group_names_the_command_that_continues_it() {
        let mut stopped = grouped();
        let Question::Group(group) = &mut stopped.question else {
            panic!("it is a group");
        };
        group.trials.truncate(3);
        group.trials[2].ended = RunEnding::Interrupted;
        group.outcome = Some(GroupOutcome::Interrupted);
        let stopped = conclude(*stopped.last_run, group.clone(), "group".to_owned());
        insta::assert_snapshot!(text(&stopped));
    }

    #[test]
    fn a_pipeline_shows_the_verdict_on_a_group() {
        insta::assert_snapshot!(markdown(&grouped(), "highwater-runs/group"));
    }
}
