//! The summary of a group of runs: a line for each variant, how they compare, and every run.
//!
//! Must show only what the record contains.

use highwater_analysis::group::comparisons;
use highwater_model::display::{duration, foreign, rate};
use highwater_model::group::{GroupRecord, GroupTrial};
use highwater_model::incident::Ended;
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue};
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};
use highwater_model::record::RunRecord;

use crate::comparison;
use crate::layout::{Row, aligned, headed, joined, list, or_absent};

/// Maximum characters of a name, and of a command.
const WORDS: usize = 120;

/// Blocks between the head and the judgments.
pub(super) fn blocks(run: &RunRecord, group: &GroupRecord) -> Vec<Vec<String>> {
    let mut blocks = vec![vec![question(run, group)], aligned(&variants(group), 1)];
    for (variant, comparison) in comparisons(group) {
        blocks.push(comparison::lines(names(group, variant), &comparison));
    }
    blocks.push(aligned(&table(group), 1));
    blocks
}

/// Names of the baseline and of another variant.
pub(crate) fn names(group: &GroupRecord, variant: usize) -> [&str; 2] {
    [0, variant].map(|at| group.variants.get(at).map_or("", |of| &of.name))
}

/// The workload, and the number of runs.
pub(crate) fn question(run: &RunRecord, group: &GroupRecord) -> String {
    let runs = group.times;
    let how_often = match group.variants.len() {
        1 => format!("{runs} times"),
        several => format!("{several} variants in turn, {runs} times each"),
    };
    let (workload, seed) = (&run.workload.name, run.plan.seed);
    format!("run {workload} {how_often} · seed {seed}")
}

/// The head and a row for each variant; the first column holds words.
pub(crate) fn variants(group: &GroupRecord) -> Vec<Row> {
    let unit = group.unit.name();
    let head = format!("variant | runs | {unit}/s | least | greatest | p99");
    let variants = group.variants.iter().enumerate().map(|(at, variant)| {
        let trials: Vec<&GroupTrial> = group.complete(at).collect();
        let reached: Vec<f64> = trials.iter().map(|trial| trial.throughput_per_s).collect();
        let p99: Option<Vec<f64>> = trials.iter().map(|t| t.p99_ns.map(to_f64)).collect();
        let p99 = p99.and_then(|p99| mean(&p99)).map(round_to_u64);
        let what = std::iter::once(variant.urls.join(" ")).chain(variant.command.clone());
        Row::new([
            variant.name.clone(),
            format!("{} of {}", trials.len(), group.times),
            or_absent(mean(&reached), rate),
            or_absent(reached.iter().copied().min_by(f64::total_cmp), rate),
            or_absent(reached.iter().copied().max_by(f64::total_cmp), rate),
            or_absent(p99, duration),
        ])
        .remark(foreign(&list(what, " · "), WORDS))
    });
    headed(&head, variants)
}

/// The geometric mean, as in comparisons; absent for an empty slice.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / len_to_f64(values.len())).exp())
}

/// The head and a row for each run; the first column holds words.
pub(crate) fn table(group: &GroupRecord) -> Vec<Row> {
    let head = format!("run | round | {}/s | p99 | took", group.unit.name());
    let trials = group.trials.iter().map(|trial| {
        let [_, name] = names(group, trial.variant);
        Row::new([
            format!("{:>2} {name}", trial.number),
            trial.round.to_string(),
            rate(trial.throughput_per_s),
            or_absent(trial.p99_ns, duration),
            duration(trial.took_ns),
        ])
        .remark(fault(trial))
    });
    headed(&head, trials)
}

/// The result of a run in a few words: `98,300 rows/s · p99 12.1 ms`.
pub fn group_trial_line(trial: &GroupTrial, unit: &str) -> String {
    let reached = format!("{} {unit}/s", rate(trial.throughput_per_s));
    let p99 = trial.p99_ns.map(|p99| format!("p99 {}", duration(p99)));
    joined([reached, p99.unwrap_or_default(), fault(trial)])
}

/// How a run ended, and its faults; empty if it has none.
fn fault(trial: &GroupTrial) -> String {
    let ended = match trial.ended {
        Ended::Complete => "",
        Ended::Interrupted => "interrupted",
        Ended::TargetLost => "TARGET LOST",
    };
    let judged = trial.judgments.iter().flat_map(faults);
    joined(std::iter::once(ended.to_owned()).chain(judged))
}

fn faults(judged: &Judgments) -> Vec<String> {
    let measurement = match judged.measurement.value {
        Measurement::Valid => None,
        Measurement::Inconclusive => Some("inconclusive"),
        Measurement::Invalid => Some("INVALID"),
    };
    let data = match judged.data.value {
        Data::Clean | Data::NotChecked => None,
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
    fn a_group_that_was_stopped_names_the_command_that_goes_on() {
        let mut stopped = grouped();
        let Question::Group(group) = &mut stopped.question else {
            panic!("it is a group");
        };
        group.trials.truncate(3);
        group.trials[2].ended = Ended::Interrupted;
        group.outcome = Some(GroupOutcome::Interrupted);
        let stopped = conclude(*stopped.last_run, group.clone(), "group".to_owned());
        insta::assert_snapshot!(text(&stopped));
    }

    #[test]
    fn a_pipeline_shows_the_verdict_on_a_group() {
        insta::assert_snapshot!(markdown(&grouped(), "highwater-runs/group"));
    }
}
