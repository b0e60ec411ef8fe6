//! A tuning: the best configuration and its lead, a chart and a table for each axis, and all configurations.

use maud::{Markup, html};

use crate::answer::to_the_second;
use crate::figures as articles;
use crate::layout::{Row, list, or_absent};
use crate::text::tune as tune_text;
use highwater_model::display::{ABSENT, count, foreign};
use highwater_model::numbers::len_to_f64;
use highwater_model::tune::{TrialVerdict, TuneOutcome, TuneRecord};
use highwater_sizing::axis_line::base;

use super::super::chart::{Chart, figure};
use super::super::page::Part;
use super::settings::folded;
use super::tables::{remarks, table};

/// Maximum characters of a value, and of a fault.
const WORDS: usize = 200;

/// `charts` are the ones that are not above the folds, each with its axis.
pub(in crate::html) fn tune(tune: &TuneRecord, charts: &[(usize, Chart)]) -> Vec<Part> {
    let grid = tune_text::grid(tune);
    let measured = tune_text::different(tune).len();
    let names = list(tune.axes.iter().map(|axis| axis.name.as_str()), ", ");
    let outcome = tune_text::outcome(tune);
    let base = base(tune);
    let better = outcome.iter().find(|remark| remark.label == "better");
    let better = better.or(outcome.first());
    vec![
        Part {
            id: "tuning",
            title: "Best setting",
            abstract_line: better.map_or_else(String::new, |remark| {
                format!("{}: {}", remark.label, remark.sentence.replace(" · ", ", "))
            }),
            body: html! {
                (remarks(&outcome))
                p class="term" {
                    "The search chose the best configuration by these figures, so they favor it. To show \
                     whether it is really better, it and the runner-up are measured again in alternation: \
                     \"better\" is the result of these confirmations, \"inconclusive\" if their \
                     interval includes zero, and \"a tie\" if they are besides within 1% of each other."
                }
            },
        },
        Part {
            id: "axes",
            title: "Axes",
            abstract_line: foreign(&names, WORDS),
            body: html! {
                @if let Some(base) = base {
                    @for axis in 0..tune.axes.len() {
                        (along(tune, base, axis, charts))
                    }
                }
            },
        },
        Part {
            id: "configurations",
            title: "Configurations",
            abstract_line: format!(
                "{measured} of {grid} measured, in {} probes",
                tune.trials.len()
            ),
            body: html! {
                (remarks(&tune_text::measured(tune)))
                (trials(tune))
                p class="term" {
                    "Each measurement of a configuration is a run with a record and a page of its own below "
                    code { "probes/" } "."
                }
            },
        },
    ]
}

fn along(tune: &TuneRecord, base: &[usize], axis: usize, charts: &[(usize, Chart)]) -> Markup {
    let name = &tune.axes[axis].name;
    let others = tune_text::others(tune, base, axis);
    let title = list([format!("Over {name}")].into_iter().chain(others), " · ");
    html! {
        @for (_, chart) in charts.iter().filter(|(of, _)| *of == axis) { (figure(chart)) }
        @for found in tune_text::tables_along(tune, base, axis) {
            @let (rows, words) = articles::rows::rows(&found);
            h4 { (foreign(&title, WORDS)) }
            (table(&format!("Throughput over {name}"), &rows, words))
            (remarks(&articles::remarks(&found)))
        }
    }
}

/// Every measured configuration; with two axes, also as a grid.
fn trials(tune: &TuneRecord) -> Markup {
    let different = tune_text::different(tune);
    let list = table("All configurations", &rows_of(tune, &different), tune.axes.len());
    html! {
        @if let [down, right] = &tune.axes[..] {
            @let label = format!("{} down, {} to the right", down.name, right.name);
            h4 { (tune_text::by(tune.by)) ", " (label) }
            (table(&label, &grid(tune), 1))
            (folded(&format!("{} configurations, one by one", count(different.len() as u64)), &list))
        } @else {
            (list)
        }
    }
}

/// Figures of a configuration's measurements that count.
fn figures(tune: &TuneRecord, at: &[usize]) -> Vec<f64> {
    let counting = tune
        .trials
        .iter()
        .filter(|trial| trial.at == at)
        .filter(|trial| trial.verdict == TrialVerdict::Counts);
    counting.filter_map(|trial| trial.figure).collect()
}

fn mean(figures: &[f64]) -> Option<f64> {
    let sum: f64 = figures.iter().sum();
    (!figures.is_empty()).then(|| sum / len_to_f64(figures.len()))
}

/// The mean of each configuration; rows are the first axis.
fn grid(tune: &TuneRecord) -> Vec<Row> {
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
            match mean(&figures(tune, &at)) {
                Some(mean) => tune_text::figure(tune, mean),
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
        let figures = figures(tune, at);
        let shown =
            |figure: Option<f64>| or_absent(figure, |figure| tune_text::figure(tune, figure));
        let of_configuration = || tune.trials.iter().filter(|trial| trial.at == *at);
        let values = tune.axes.iter().zip(*at);
        let trials = values.map(|(axis, at)| foreign(&axis.values[*at], WORDS)).chain([
            shown(mean(&figures)),
            shown(figures.iter().copied().min_by(f64::total_cmp)),
            shown(figures.iter().copied().max_by(f64::total_cmp)),
            count(of_configuration().count() as u64),
            to_the_second(of_configuration().map(|trial| trial.took_ns).sum()),
        ]);
        let faults: Vec<String> = of_configuration().filter_map(tune_text::fault).collect();
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
            roles.insert(0, "runner-up".to_owned());
        }
    }
    roles.join(" · ")
}
