//! The answer of a group of runs: how its variants compare, or how the runs of a single variant vary.

use highwater_analysis::group::comparisons;
use highwater_model::display::{duration, percent, rate};
use highwater_model::group::GroupRecord;
use highwater_model::record::MeasuredRun;

use super::compared::of_comparison;
use super::parts::{Answer, KeyFigure, plural, rated, target_name};
use crate::text::group::{mean, names};

pub(super) fn group(run: &MeasuredRun<'_>, group: &GroupRecord) -> Answer {
    if let Some((variant, comparison)) = comparisons(group).first() {
        return of_comparison(names(group, *variant), comparison);
    }
    let reached: Vec<f64> = group.complete(0).map(|trial| trial.throughput_per_s).collect();
    let unit = format!("{}/s", group.unit.name());
    let question = format!(
        "How many {unit} does {} acknowledge, and how much do runs differ?",
        target_name(run)
    );
    let least = reached.iter().copied().reduce(f64::min);
    let greatest = reached.iter().copied().reduce(f64::max);
    let (Some(mean), Some(least), Some(greatest)) = (mean(&reached), least, greatest) else {
        return Answer::nothing(question, "no run ended as planned");
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
