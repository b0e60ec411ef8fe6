//! The answer of a tuning: the best setting, and whether it is really better.

use highwater_model::display::{count, duration, percent_signed};
use highwater_model::record::MeasuredRun;
use highwater_model::tune::{BestConfiguration, TuneFigure, TuneOutcome, TuneRecord};

use super::parts::{Answer, KeyFigure, target_name};
use crate::text::tune::{figure, named, no_best_reason};

pub(super) fn tune(run: &MeasuredRun<'_>, tune: &TuneRecord) -> Answer {
    let answer = match &tune.outcome {
        Some(TuneOutcome::Best(best)) => found(tune, best),
        Some(TuneOutcome::NoBest(no_best)) => Answer {
            figure: match &no_best.best_so_far {
                Some(at) => setting(tune, at),
                None => "None".to_owned(),
            },
            condition: no_best
                .best_so_far
                .as_ref()
                .map_or_else(String::new, |_| "so far".to_owned()),
            caveat: Some("not confirmed"),
            interval: no_best_reason(no_best.why).to_owned(),
            ..Answer::default()
        },
        None => Answer {
            figure: "None yet".to_owned(),
            caveat: Some("the tuning has not ended"),
            ..Answer::default()
        },
    };
    let axes: Vec<&str> = tune.axes.iter().map(|axis| axis.name.as_str()).collect();
    let what = match tune.by {
        TuneFigure::Throughput => format!("the most {}/s", tune.unit.name()),
        TuneFigure::ServerCpuPerRow => "the least CPU per row".to_owned(),
        TuneFigure::DiskBytesPerRow => "the fewest bytes per row".to_owned(),
    };
    Answer {
        question: format!(
            "Which {} gives {what} on {}?",
            axes.join(" and "),
            target_name(run)
        ),
        keys: [answer.keys.clone(), vec![measured(tune)]].concat(),
        ..answer
    }
}

fn setting(tune: &TuneRecord, at: &[usize]) -> String {
    named(tune, at).replace(" · ", ", ")
}

fn found(tune: &TuneRecord, best: &BestConfiguration) -> Answer {
    let mut keys = vec![KeyFigure::new(
        "best",
        figure(tune, best.figure),
        setting(tune, &best.at),
    )];
    let (interval, basis, caveat) = match &best.runner_up {
        None => (
            figure(tune, best.figure),
            "no other configuration is valid".to_owned(),
            None,
        ),
        Some(other) => {
            let [low, high] = other.gain95.map(percent_signed);
            keys.push(KeyFigure::new(
                "runner-up",
                figure(tune, other.figure),
                setting(tune, &other.at),
            ));
            let times = tune.policy.confirmations;
            (
                format!("95% CI {low} to {high}"),
                format!(
                    "compared with {}, each measured {times} times more",
                    setting(tune, &other.at)
                ),
                (!other.is_significant)
                    .then_some("inconclusive: it cannot be distinguished from the runner-up"),
            )
        }
    };
    Answer {
        figure: setting(tune, &best.at),
        condition: format!("with {}", figure(tune, best.figure)),
        caveat,
        interval,
        basis,
        keys,
        ..Answer::default()
    }
}

fn measured(tune: &TuneRecord) -> KeyFigure {
    let grid: usize = tune.axes.iter().map(|axis| axis.values.len()).product();
    let mut different: Vec<&[usize]> = tune.trials.iter().map(|trial| &trial.at[..]).collect();
    different.sort_unstable();
    different.dedup();
    let took: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
    KeyFigure::new(
        "measured",
        format!("{} of {}", different.len(), count(grid as u64)),
        format!(
            "configurations, {} probes in {}",
            tune.trials.len(),
            duration(took)
        ),
    )
}
