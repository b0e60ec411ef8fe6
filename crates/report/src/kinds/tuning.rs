//! A tuning: the best configuration and its lead, a table for each axis, and every configuration.
//!
//! Must show only what the record contains.

use highwater_analysis::tuning::TIE;
use highwater_model::display::{
    ABSENT, count, duration, foreign, percent, percent_plain, percent_signed, plain, rate, ratio,
};
use highwater_model::numbers::len_to_f64;
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::tune::{
    BestConfiguration, NoBestReason, RunnerUp, TrialRecord, TrialVerdict, TuneFigure, TuneOutcome,
    TuneRecord,
};
use highwater_sizing::series::setting_of;
use highwater_sizing::tables::axis::{along, base};
use highwater_sizing::tables::{Table, tables};

use super::P99;
use super::run::load;
use super::search::codes;
use crate::answer::{Answer, HistoryAnswer, KeyFigure, plural, target_name, to_the_second};
use crate::blocks::{Block, Report, Section};
use crate::chart::Chart;
use crate::figures;
use crate::layout::{Remark, Row, latency, list, or_absent};
use crate::plots::{self, axis_values, by, others};

/// Maximum characters of a value, and of a fault.
const WORDS: usize = 200;
/// What the words of a tuning mean.
const TERMS: &str = "The search chose the best configuration by these figures, so they favor it. To show whether it is \
                     really better, it and the runner-up are measured again in alternation: \"better\" is the result \
                     of these confirmations, \"inconclusive\" if their interval includes zero, and \"a tie\" if they \
                     are besides within 1% of each other.";
const RUNS: &str = "Each measurement of a configuration is a run with a record and a page of its own below `probes/`.";

/// The throughput with the best configuration.
pub(super) fn value(tune: &TuneRecord) -> Option<HistoryAnswer> {
    let TuneOutcome::Best(best) = tune.outcome.as_ref()? else {
        return None;
    };
    let last = tune.trials.iter().rfind(|trial| trial.at == best.at)?;
    Some(HistoryAnswer { value: last.throughput_per_s, interval: None, unit: Some(tune.unit) })
}

/// `no best configuration`; empty if there is one, and while the tuning has not ended.
pub(super) fn without_best(tune: &TuneRecord) -> String {
    let is_without = matches!(tune.outcome, Some(TuneOutcome::NoBest(_)));
    if is_without { "no best configuration".to_owned() } else { String::new() }
}

/// The report of a tuning.
pub(super) fn report(run: &MeasuredRun<'_>, tune: &TuneRecord) -> Report {
    let mut charts = plots::tune(tune);
    let hero = charts.drain(..charts.len().min(1)).map(|(_, chart)| chart).collect();
    let answer = answer(run, tune);
    let (others, measured) = (others_than_best(tune), measured(tune));
    let load = question(run, tune);
    let facts = others.iter().chain(&measured).cloned();
    Report {
        opening: vec![load::target(run), load.clone()],
        facts: facts.chain([Remark::new("load", load)]).collect(),
        hero: vec![Block::Charts(hero)],
        sections: vec![best(&answer, others), axes(tune, charts), configurations(tune, measured)],
        answer,
        ..Report::default()
    }
}

fn best(answer: &Answer, others: Vec<Remark>) -> Section {
    let best = std::iter::once(Remark::new("best", answer.in_words()));
    let caveat = answer.caveat.map(|caveat| Remark::new("verdict", caveat));
    Section {
        id: "tuning",
        title: "Best setting",
        lead: answer.in_words(),
        blocks: vec![
            Block::Remarks(best.chain(caveat).chain(others).collect()),
            Block::Term(TERMS.to_owned()),
        ],
    }
}

/// The tables along each axis through the best configuration, each with its chart.
fn axes(tune: &TuneRecord, charts: Vec<(usize, Chart)>) -> Section {
    let names = list(tune.axes.iter().map(|axis| axis.name.as_str()), ", ");
    let mut blocks = Vec::new();
    let mut charts = charts.into_iter().peekable();
    for (axis, base) in (0..tune.axes.len()).filter_map(|axis| Some((axis, base(tune)?))) {
        let name = &tune.axes[axis].name;
        let of_axis = std::iter::from_fn(|| charts.next_if(|(of, _)| *of == axis));
        blocks.push(Block::Charts(of_axis.map(|(_, chart)| chart).collect()));
        let title = [format!("Over {name}")].into_iter().chain(others(tune, base, axis));
        let title = foreign(&list(title, " · "), WORDS);
        for found in tables_along(tune, base, axis) {
            blocks.push(Block::Heading(title.clone()));
            blocks.extend(figures::blocks_of_tuning(&found, &format!("Throughput over {name}")));
        }
    }
    Section { id: "axes", title: "Axes", lead: foreign(&names, WORDS), blocks }
}

/// Every measured configuration; with two axes, also as a grid.
fn configurations(tune: &TuneRecord, measured: Vec<Remark>) -> Section {
    let different = different(tune);
    let list = Block::table("All configurations", rows_of(tune, &different), tune.axes.len());
    let mut blocks = vec![Block::Remarks(measured)];
    if let [down, right] = &tune.axes[..] {
        let label = format!("{} down, {} to the right", down.name, right.name);
        blocks.push(Block::Heading(format!("{}, {label}", by(tune.by))));
        blocks.push(Block::table(label, grid_rows(tune), 1));
        let number = count(different.len() as u64);
        blocks.push(Block::Folded(format!("{number} configurations, one by one"), vec![list]));
    } else {
        blocks.push(list);
    }
    blocks.push(Block::Term(RUNS.to_owned()));
    Section {
        id: "configurations",
        title: "Configurations",
        lead: format!(
            "{} of {} measured, in {}",
            different.len(),
            grid(tune),
            plural(tune.trials.len(), "probe")
        ),
        blocks,
    }
}

fn answer(run: &MeasuredRun<'_>, tune: &TuneRecord) -> Answer {
    let answer = match &tune.outcome {
        Some(TuneOutcome::Best(best)) => answer_of_best(tune, best),
        Some(TuneOutcome::NoBest(no_best)) => {
            let (figure, condition) = match &no_best.best_so_far {
                Some(at) => (setting(tune, at), "so far"),
                None => ("No best configuration".to_owned(), ""),
            };
            Answer {
                condition: condition.to_owned(),
                interval: no_best_reason(no_best.why).to_owned(),
                ..Answer::without_figure(&figure, "not confirmed")
            }
        }
        None => best_so_far(tune),
    };
    let axes = list(tune.axes.iter().map(|axis| axis.name.as_str()), " and ");
    let what = match tune.by {
        TuneFigure::Throughput => format!("the most {}/s", tune.unit.name()),
        TuneFigure::ServerCpuPerRow => "the least CPU per row".to_owned(),
        TuneFigure::DiskBytesPerRow => "the fewest bytes per row".to_owned(),
    };
    Answer {
        question: format!("Which {axes} {} {what} on {}?", give(tune), target_name(run)),
        keys: [answer.keys.clone(), vec![measured_key(tune)]].concat(),
        ..answer
    }
}

const fn give(tune: &TuneRecord) -> &'static str {
    if tune.axes.len() > 1 { "give" } else { "gives" }
}

/// The configuration with the best mean so far.
fn best_so_far(tune: &TuneRecord) -> Answer {
    let means = different(tune).into_iter().filter_map(|at| Some((at, mean(&counting(tune, at))?)));
    let gain = |value: f64| if tune.by.is_gain() { value } else { -value };
    let best = means.max_by(|(_, a), (_, b)| gain(*a).total_cmp(&gain(*b)));
    let caveat = "the tuning has not ended: not confirmed";
    match best {
        None => Answer::without_figure(ABSENT, "the tuning has not ended: nothing is measured yet"),
        Some((at, mean)) => Answer {
            condition: format!("best so far, with {}", figure(tune, mean)),
            ..Answer::without_figure(&setting(tune, at), caveat)
        },
    }
}

fn answer_of_best(tune: &TuneRecord, best: &BestConfiguration) -> Answer {
    let (found, reached) = (setting(tune, &best.at), figure(tune, best.figure));
    let mut keys = vec![KeyFigure::new("best", reached.clone(), found.clone())];
    let p99 = p99(tune).map(|p99| latency(p99.ns, p99.is_at_least));
    keys.extend(
        p99.clone().map(|p99| KeyFigure::new("p99", p99, "the highest of its measurements")),
    );
    let (interval, basis, caveat) = match &best.runner_up {
        None => ("no other configuration is valid".to_owned(), String::new(), None),
        Some(other) if other.is_tied => {
            let (second, within) = (setting(tune, &other.at), percent_plain(TIE));
            keys.push(KeyFigure::new("ties with", second.clone(), format!("within {within}")));
            let smaller = match tune.axes.len() {
                _ if !has_smaller_values(tune, best, other) => String::new(),
                1 => format!("; {found} is the smaller"),
                _ => format!("; {found} has the smaller values"),
            };
            let interval = format!("{found} and {second} tie (within {within}){smaller}");
            (interval, measured_again(tune), None)
        }
        Some(other) => {
            let [low, high] = other.gain95.map(percent_signed);
            let second = setting(tune, &other.at);
            let interval = format!("ahead of {second} by {low} to {high} with 95% confidence");
            let figure = figure(tune, other.figure);
            keys.push(KeyFigure::new("runner-up", figure, second));
            let open = "inconclusive: it cannot be distinguished from the runner-up";
            let caveat = (!other.is_significant).then_some(open);
            (interval, measured_again(tune), caveat)
        }
    };
    Answer {
        figure: found,
        condition: list([format!("with {reached}")].into_iter().chain(p99), " at p99 "),
        caveat,
        interval,
        basis,
        keys,
        ..Answer::default()
    }
}

/// The highest p99 of the measurements of the best configuration that count.
pub(super) fn p99(tune: &TuneRecord) -> Option<P99> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else { return None };
    let counting = tune.trials.iter().filter(|trial| trial.verdict == TrialVerdict::Counts);
    let showed = counting.filter(|trial| trial.at == best.at).filter_map(|of| of.showed.as_ref());
    showed.filter_map(|of| P99::new(of.p99_ns, of.p99_at_least)).max()
}

fn measured_again(tune: &TuneRecord) -> String {
    format!("each measured {} times more", tune.policy.confirmations)
}

/// Whether the best configuration was selected for its smaller values, although the confirming round
/// measured slightly less for it.
fn has_smaller_values(tune: &TuneRecord, best: &BestConfiguration, other: &RunnerUp) -> bool {
    let gain =
        if tune.by.is_gain() { best.figure - other.figure } else { other.figure - best.figure };
    other.is_tied && gain < 0.0
}

fn measured_key(tune: &TuneRecord) -> KeyFigure {
    let took: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
    let (probes, took) = (plural(tune.trials.len(), "probe"), duration(took));
    KeyFigure::new(
        "measured",
        format!("{} of {}", different(tune).len(), count(grid(tune) as u64)),
        format!("configurations, {probes} in {took}"),
    )
}

/// The axes, and the figure by which configurations are compared.
fn question(record: &RunRecord, tune: &TuneRecord) -> String {
    let axes = tune.axes.iter().map(|axis| format!("{} ({} values)", axis.name, axis.values.len()));
    let (stream, axes) = (&tune.stream, list(axes, " × "));
    let (grid, by, seed) = (grid(tune), tune.by.name(), record.plan.seed);
    format!("tune {stream} over {axes} · {grid} configurations · by {by} · seed {seed}")
}

/// The tables along one axis through a configuration, from the measured ones.
fn tables_along(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<Table> {
    let set = along(tune, base, axis);
    let name = setting_of(&tune.axes[axis].name);
    let found = tables(&set, Some(name)).unwrap_or_default();
    found.into_iter().filter(|table| table.rows.len() > 1).collect()
}

/// The runner-up, and whether the search was cut short.
fn others_than_best(tune: &TuneRecord) -> Vec<Remark> {
    let Some(TuneOutcome::Best(best)) = &tune.outcome else {
        return Vec::new();
    };
    // A tied configuration may have measured slightly more than the selected one.
    let runner_up = best.runner_up.as_ref().filter(|other| !other.is_tied).map(|other| {
        let (at, reached) = (setting(tune, &other.at), figure(tune, other.figure));
        Remark::new("runner-up", format!("{at} with {reached}"))
    });
    let why = "the search ran out of probes or time before it had settled";
    let cut_short = best.cut_short.then(|| Remark::new("cut short", why));
    runner_up.into_iter().chain(cut_short).collect()
}

/// Why a tuning has no best configuration.
const fn no_best_reason(why: NoBestReason) -> &'static str {
    match why {
        NoBestReason::NoneCounts => "no configuration is valid",
        NoBestReason::BudgetSpent => "the search ran out of probes or time",
        NoBestReason::TargetLost => "lost the connection to the target",
        NoBestReason::WrongData => "acknowledged data not found",
        NoBestReason::Interrupted => "you stopped the tuning",
    }
}

/// `batch 4000, sessions 8`.
fn setting(tune: &TuneRecord, at: &[usize]) -> String {
    list(axis_values(tune, at), ", ")
}

/// The compared figure of configurations, with its unit.
fn figure(tune: &TuneRecord, value: f64) -> String {
    match tune.by {
        TuneFigure::Throughput => format!("{} {}/s", rate(value), tune.unit.name()),
        TuneFigure::ServerCpuPerRow => format!("{} µs of CPU per row", plain(value * 1e6)),
        TuneFigure::DiskBytesPerRow => format!("{} bytes per row", plain(value)),
    }
}

/// Number of configurations.
fn grid(tune: &TuneRecord) -> usize {
    tune.axes.iter().map(|axis| axis.values.len()).product()
}

/// Positions of measured configurations, in the order of the grid.
fn different(tune: &TuneRecord) -> Vec<&[usize]> {
    let mut different: Vec<&[usize]> = tune.trials.iter().map(|trial| &trial.at[..]).collect();
    different.sort_unstable();
    different.dedup();
    different
}

/// Number of measured configurations, and the ones that did not count.
fn measured(tune: &TuneRecord) -> Vec<Remark> {
    let (grid, different) = (grid(tune), different(tune));
    let took: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
    let share = percent(ratio(different.len() as u64, grid.max(1) as u64));
    let mut lines = vec![Remark::new(
        "measured",
        format!(
            "{} of {grid} configurations, {share}, in {} and {}",
            different.len(),
            plural(tune.trials.len(), "probe"),
            duration(took)
        ),
    )];
    for trial in &tune.trials {
        if let Some(what) = fault(trial) {
            lines.push(Remark::new("", format!("{}: {what}", setting(tune, &trial.at))));
        }
    }
    lines
}

/// Why a configuration does not count; absent if it does.
fn fault(trial: &TrialRecord) -> Option<String> {
    let what = match trial.verdict {
        TrialVerdict::Counts => return None,
        TrialVerdict::Missed => "missed its objective",
        TrialVerdict::Invalid => "INVALID",
        TrialVerdict::NotMeasured => "not measured",
        TrialVerdict::TargetLost => "TARGET LOST",
        TrialVerdict::WrongData => "WRONG DATA",
        TrialVerdict::Interrupted => "interrupted",
    };
    let words = format!("{what} · {}", codes(&trial.reasons));
    Some(words.trim_matches([' ', '·']).to_owned())
}

/// The result of a measured configuration in a few words.
pub fn trial_line(trial: &TrialRecord, unit: &str) -> String {
    let reached = format!("{} {unit}/s", rate(trial.throughput_per_s));
    if trial.verdict == TrialVerdict::Counts {
        return reached;
    }
    format!("does not count · {reached} · {}", codes(&trial.reasons))
}

/// Figures of a configuration's measurements that count.
fn counting(tune: &TuneRecord, at: &[usize]) -> Vec<f64> {
    let of_configuration = tune
        .trials
        .iter()
        .filter(|trial| trial.at == at)
        .filter(|trial| trial.verdict == TrialVerdict::Counts);
    of_configuration.filter_map(|trial| trial.figure).collect()
}

fn mean(figures: &[f64]) -> Option<f64> {
    let sum: f64 = figures.iter().sum();
    (!figures.is_empty()).then(|| sum / len_to_f64(figures.len()))
}

/// The mean of each configuration; rows are the first axis.
fn grid_rows(tune: &TuneRecord) -> Vec<Row> {
    let [down, right] = &tune.axes[..] else {
        return Vec::new();
    };
    let name = |axis: &str, value: &str| foreign(&format!("{axis} {value}"), WORDS);
    let head = right.values.iter().map(|value| name(&right.name, value));
    let mut rows = vec![Row::new([String::new()].into_iter().chain(head))];
    rows.extend(down.values.iter().enumerate().map(|(first, value)| {
        let trials = (0..right.values.len()).map(|second| {
            let at = [first, second];
            let is_known = tune.trials.iter().any(|trial| trial.at == at);
            match mean(&counting(tune, &at)) {
                Some(mean) => figure(tune, mean),
                None if is_known => "does not count".to_owned(),
                None => ABSENT.to_owned(),
            }
        });
        Row::new([name(&down.name, value)].into_iter().chain(trials))
    }));
    rows
}

fn rows_of(tune: &TuneRecord, different: &[&[usize]]) -> Vec<Row> {
    let mut head: Vec<String> = tune.axes.iter().map(|axis| axis.name.clone()).collect();
    head.extend(["mean", "least", "greatest", "measured", "took"].map(str::to_owned));
    let mut rows = vec![Row::new(head)];
    rows.extend(different.iter().map(|at| {
        let figures = counting(tune, at);
        let shown = |figure: Option<f64>| or_absent(figure, |value| self::figure(tune, value));
        let of_configuration = || tune.trials.iter().filter(|trial| trial.at == *at);
        let values = tune.axes.iter().zip(*at);
        let trials = values.map(|(axis, at)| foreign(&axis.values[*at], WORDS)).chain([
            shown(mean(&figures)),
            shown(figures.iter().copied().min_by(f64::total_cmp)),
            shown(figures.iter().copied().max_by(f64::total_cmp)),
            count(of_configuration().count() as u64),
            to_the_second(of_configuration().map(|trial| trial.took_ns).sum()),
        ]);
        let faults: Vec<String> = of_configuration().filter_map(fault).collect();
        Row::new(trials).remark(role(tune, at, &faults))
    }));
    rows
}

/// The role of a configuration in the tuning.
fn role(tune: &TuneRecord, at: &[usize], faults: &[String]) -> String {
    let mut roles = faults.to_vec();
    roles.dedup();
    if let Some(TuneOutcome::Best(best)) = &tune.outcome {
        let second = best.runner_up.as_ref();
        if best.at == at {
            roles.insert(0, "best".to_owned());
        } else if second.is_some_and(|second| second.at == at) {
            let is_tied = second.is_some_and(|second| second.is_tied);
            roles.insert(0, if is_tied { "ties with the best" } else { "runner-up" }.to_owned());
        }
    }
    roles.join(" · ")
}
