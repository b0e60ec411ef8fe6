//! The answer of a tuning: the best setting, and whether it is significantly better.

use highwater_model::display::{count, duration, percent_signed};
use highwater_model::record::MeasuredRun;
use highwater_model::tune::{BestConfiguration, TuneFigure, TuneOutcome, TuneRecord};

use super::parts::{Answer, KeyFigure, target_name};
use crate::layout::list;
use crate::text::tune::{different, figure, grid, named, no_best_reason, standing};

pub(super) fn tune(run: &MeasuredRun<'_>, tune: &TuneRecord) -> Answer {
    let answer = match &tune.outcome {
        Some(TuneOutcome::Best(best)) => found(tune, best),
        Some(TuneOutcome::NoBest(no_best)) => {
            let (figure, condition) = match &no_best.best_so_far {
                Some(at) => (setting(tune, at), "so far"),
                None => ("None".to_owned(), ""),
            };
            Answer {
                condition: condition.to_owned(),
                interval: no_best_reason(no_best.why).to_owned(),
                ..Answer::without_figure(&figure, "not confirmed")
            }
        }
        None => Answer::without_figure("None yet", "the tuning has not ended"),
    };
    let axes = list(tune.axes.iter().map(|axis| axis.name.as_str()), " and ");
    let what = match tune.by {
        TuneFigure::Throughput => format!("the most {}/s", tune.unit.name()),
        TuneFigure::ServerCpuPerRow => "the least CPU per row".to_owned(),
        TuneFigure::DiskBytesPerRow => "the fewest bytes per row".to_owned(),
    };
    Answer {
        question: format!("Which {axes} gives {what} on {}?", target_name(run)),
        keys: [answer.keys.clone(), vec![measured(tune)]].concat(),
        ..answer
    }
}

fn setting(tune: &TuneRecord, at: &[usize]) -> String {
    named(tune, at).replace(" · ", ", ")
}

fn found(tune: &TuneRecord, best: &BestConfiguration) -> Answer {
    let (found, reached) = (setting(tune, &best.at), figure(tune, best.figure));
    let mut keys = vec![KeyFigure::new("best", reached.clone(), found.clone())];
    let (interval, basis, caveat) = match &best.runner_up {
        None => (reached.clone(), standing(best).to_owned(), None),
        Some(other) => {
            let [low, high] = other.gain95.map(percent_signed);
            let (second, times) = (setting(tune, &other.at), tune.policy.confirmations);
            let basis = format!("compared with {second}, each measured {times} times more");
            let figure = figure(tune, other.figure);
            keys.push(KeyFigure::new("runner-up", figure, second));
            let open = if other.is_tied {
                "a tie: the runner-up is as good; of two that are tied the smaller one is named"
            } else {
                "inconclusive: it cannot be distinguished from the runner-up"
            };
            let caveat = (!other.is_significant).then_some(open);
            (format!("95% CI {low} to {high}"), basis, caveat)
        }
    };
    Answer {
        figure: found,
        condition: format!("with {reached}"),
        caveat,
        interval,
        basis,
        keys,
        ..Answer::default()
    }
}

fn measured(tune: &TuneRecord) -> KeyFigure {
    let took: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
    let (probes, took) = (tune.trials.len(), duration(took));
    KeyFigure::new(
        "measured",
        format!("{} of {}", different(tune).len(), count(grid(tune) as u64)),
        format!("configurations, {probes} probes in {took}"),
    )
}
