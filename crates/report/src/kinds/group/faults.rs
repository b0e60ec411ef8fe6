//! A group of faults: what each did to the load, and what was lost.

use highwater_model::display::{count, duration, foreign, percent_whole, rate};
use highwater_model::group::{FaultRecord, GroupRecord, GroupTrial, VariantRecord};
use highwater_model::record::MeasuredRun;

use super::{WORDS, mean};
use crate::answer::{Answer, KeyFigure, plural, rated, target_name};
use crate::layout::{Row, headed, list};

/// The fault from which the load took longest to recover.
pub(super) fn answer(run: &MeasuredRun<'_>, group: &GroupRecord) -> Answer {
    let question = format!("What do faults do to the load on {}?", target_name(run));
    let seen: Vec<(&VariantRecord, &FaultRecord)> = (1..group.variants.len())
        .filter_map(|variant| Some((&group.variants[variant], worst(group, variant)?)))
        .collect();
    let lasted =
        |of: &FaultRecord| of.dip.as_ref().map_or(0, |dip| dip.rate_again_ns.unwrap_or(u64::MAX));
    let Some((variant, of)) = seen.iter().max_by_key(|(_, of)| lasted(of)) else {
        return Answer::nothing(question, "no run with a fault is complete");
    };
    let lost: Option<u64> = seen.iter().map(|(_, of)| of.lost).sum();
    let unknown: u64 = seen.iter().map(|(_, of)| of.unknown).sum();
    let unit = format!("{}/s", group.unit.name());
    let reached: Vec<f64> = group.complete(0).map(|trial| trial.throughput_per_s).collect();
    Answer {
        question,
        figure: of.dip.as_ref().map_or("no dip".to_owned(), |dip| again(dip.rate_again_ns)),
        condition: match of.dip {
            None => "after any fault".to_owned(),
            Some(_) => format!("until the full rate is back, at worst: {}", variant.name),
        },
        basis: plural(seen.len(), "fault"),
        keys: vec![
            KeyFigure::new("rows lost", lost.map_or("not verified".to_owned(), count), ""),
            KeyFigure::new("rows unknown", count(unknown), ""),
            KeyFigure::new(
                "baseline",
                mean(&reached).map_or(String::new(), |mean| rated(mean, &unit)),
                "",
            ),
        ],
        ..Answer::default()
    }
}

/// The head and a row for each variant, with the worst of its runs; the first column holds words.
pub(super) fn rows(group: &GroupRecord) -> Vec<Row> {
    let head = format!(
        "fault | runs | {}/s | lowest second | behind after | full rate after | caught up after | lost | \
         unknown",
        group.unit.name()
    );
    let rows = group.variants.iter().enumerate().map(|(at, variant)| {
        let trials: Vec<&GroupTrial> = group.complete(at).collect();
        let reached: Vec<f64> = trials.iter().map(|trial| trial.throughput_per_s).collect();
        let of = worst(group, at);
        let dip = of.and_then(|of| of.dip.as_ref());
        let of_dip = |text: Option<String>| match of {
            None => String::new(),
            Some(_) => text.unwrap_or_else(|| "–".to_owned()),
        };
        let of_fault = |text: &dyn Fn(&FaultRecord) -> String| of.map(text).unwrap_or_default();
        let actions = variant
            .faults
            .iter()
            .map(|fault| format!("{} at {}", fault.action, duration(fault.at.0)));
        let failed = of.and_then(|of| of.failed.as_ref()).map(|why| format!("FAILED: {why}"));
        Row::new([
            variant.name.clone(),
            trials.len().to_string(),
            mean(&reached).map_or(String::new(), rate),
            of_dip(dip.map(|dip| percent_whole(dip.lowest.max(0.0)))),
            of_dip(dip.map(|dip| duration(dip.noticed_ns))),
            of_dip(dip.map(|dip| again(dip.rate_again_ns))),
            of_dip(dip.map(|dip| again(dip.recovered_ns))),
            of_fault(&|of| of.lost.map_or("?".to_owned(), count)),
            of_fault(&|of| count(of.unknown)),
        ])
        .remark(foreign(&list(actions.chain(failed), " · "), WORDS))
    });
    headed(&head, rows)
}

fn again(time_ns: Option<u64>) -> String {
    time_ns.map_or("not again".to_owned(), duration)
}

/// What a variant's fault did in the run that took longest to recover, or that failed.
fn worst(group: &GroupRecord, variant: usize) -> Option<&FaultRecord> {
    let lasted = |of: &&FaultRecord| {
        let again = of.dip.as_ref().map(|dip| dip.rate_again_ns.unwrap_or(u64::MAX));
        (of.failed.is_some(), again)
    };
    group.complete(variant).filter_map(|trial| trial.fault.as_ref()).max_by_key(lasted)
}
