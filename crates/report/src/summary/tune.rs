//! A tuning: the best configuration, and whether it is better than the runner-up.

use highwater_model::record::MeasuredRun;
use highwater_model::tune::{TuneOutcome, TuneRecord};

use super::layout::{Ink, Line, Span};
use crate::text::tune as report;

/// The answer, and additional facts.
pub(super) fn lines(record: &MeasuredRun<'_>, tune: &TuneRecord) -> (Vec<Line>, Vec<Line>) {
    let parts = match &tune.outcome {
        Some(TuneOutcome::Best(best)) => {
            let configuration = report::named(tune, &best.at);
            let figure = report::figure(tune, best.figure);
            vec![
                Span::new(Ink::Strong, configuration),
                Span::new(Ink::Strong, figure),
                Span::plain(report::standing(best)),
            ]
        }
        Some(TuneOutcome::NoBest(no_best)) => {
            let why = format!("no best configuration: {}", report::no_best_reason(no_best.why));
            let so_far = no_best.best_so_far.as_ref().map(|at| {
                let named = report::named(tune, at);
                Span::plain(format!("{named} is the best so far, not confirmed"))
            });
            let why = Span::new(Ink::Open, why);
            std::iter::once(why).chain(so_far).collect()
        }
        None => vec![Span::new(Ink::Open, "no best configuration yet: the tuning did not end")],
    };
    // The first of them is the answer.
    let mut about: Vec<Line> = report::outcome(tune)
        .into_iter()
        .skip(1)
        .map(|remark| Line::labeled(remark.label, remark.sentence))
        .collect();
    let measured = report::measured(tune);
    if let [first, faults @ ..] = measured.as_slice() {
        let more = match faults.len() {
            0 => String::new(),
            faults => format!("; {faults} do not count (-v)"),
        };
        let sentence = format!("{}{more}", first.sentence);
        about.push(Line::labeled(first.label, sentence));
    }
    about.push(Line::labeled("load", report::question(record, tune)));
    (vec![Line::Answer(parts)], about)
}
