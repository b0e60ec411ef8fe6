//! The answer of a search: the mark, with the lowest value that failed.

use highwater_analysis::limit::of_search;
use highwater_model::display::{count, duration, percent, rate, span};
use highwater_model::record::MeasuredRun;
use highwater_model::search::{
    Mark, NoMark, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};

use super::parts::{Answer, KeyFigure, limit_line, plural, target_name};
use crate::text::judged::objectives;
use crate::text::search::no_mark_reason;

pub(super) fn search(run: &MeasuredRun<'_>, search: &SearchRecord) -> Answer {
    let answer = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => found(search, mark),
        Some(SearchOutcome::NoMark(no_mark)) => not_found(search, no_mark),
        None => Answer {
            figure: "None yet".to_owned(),
            caveat: Some("the search has not ended"),
            ..Answer::default()
        },
    };
    Answer {
        question: question(run, search),
        limit: of_search(search).map(limit_line),
        ..answer
    }
}

fn unit(search: &SearchRecord) -> String {
    match search.axis {
        SearchAxis::Rate => format!("{}/s", search.unit.name()),
        SearchAxis::Sessions => "sessions".to_owned(),
    }
}

fn question(run: &MeasuredRun<'_>, search: &SearchRecord) -> String {
    let within = match objectives(run).replace(" · ", ", ").as_str() {
        "" => String::new(),
        stated => format!(" within {stated}"),
    };
    let who = target_name(run);
    match search.axis {
        SearchAxis::Rate => {
            let unit = search.unit.name();
            format!("What is the most {unit}/s that {who} sustains{within}?")
        }
        SearchAxis::Sessions => format!("How many sessions does {who} serve{within}?"),
    }
}

fn found(search: &SearchRecord, mark: &Mark) -> Answer {
    let unit = unit(search);
    let held = format!(
        "{} times for {}",
        search.policy.confirmations,
        span(mark.hold_ns)
    );
    let basis = match mark.failed {
        Some(failed) => format!("confirmed {held}; {} failed", apart(mark.confirmed, failed)),
        None => format!("confirmed {held}; nothing above it failed"),
    };
    Answer {
        figure: rate(mark.confirmed),
        unit: unit.clone(),
        condition: "confirmed".to_owned(),
        interval: match mark.failed {
            Some(failed) => format!("mark {} to {} {unit}", rate(mark.confirmed), rate(failed)),
            None => format!("mark at least {} {unit}", rate(mark.confirmed)),
        },
        basis,
        keys: keys(search, mark, &unit),
        ..Answer::default()
    }
}

/// `1.1 % above`.
fn apart(confirmed: f64, failed: f64) -> String {
    format!("{} more", percent(failed / confirmed - 1.0))
}

fn keys(search: &SearchRecord, mark: &Mark, unit: &str) -> Vec<KeyFigure> {
    let confirming = search.probes.iter().filter(|probe| {
        probe.purpose == ProbePurpose::Confirm && probe.verdict == ProbeVerdict::Passed
    });
    let at_mark = confirming.filter(|probe| probe.at.total_cmp(&mark.confirmed).is_eq());
    let at_mark: Vec<&ProbeRecord> = at_mark.collect();
    let mut keys = vec![KeyFigure::new(
        "highest confirmed",
        format!("{} {unit}", rate(mark.confirmed)),
        format!("{} of {}", at_mark.len(), search.policy.confirmations),
    )];
    if let Some(failed) = mark.failed {
        let figure = format!("{} {unit}", rate(failed));
        keys.push(KeyFigure::new(
            "lowest failed",
            figure,
            apart(mark.confirmed, failed),
        ));
    }
    if let Some(found) = mark.estimate {
        let known = format!(
            "90% interval {} to {}",
            rate(found.low90),
            rate(found.high90)
        );
        let figure = format!("{} {unit}", rate(found.value));
        keys.push(KeyFigure::new("just meets it", figure, known));
    }
    if let Some(p99) = at_mark.iter().filter_map(|probe| probe.p99_ns).max() {
        let times = plural(at_mark.len(), "probe");
        keys.push(KeyFigure::new(
            "p99 at the mark",
            duration(p99),
            format!("slowest of {times}"),
        ));
    }
    let rows = count(mark.rows);
    keys.push(KeyFigure::new("rows before", rows, "in the tables"));
    keys.push(probes(search));
    keys
}

fn probes(search: &SearchRecord) -> KeyFigure {
    let took: u64 = search.probes.iter().map(|probe| probe.took_ns).sum();
    let number = count(search.probes.len() as u64);
    KeyFigure::new("probes", number, format!("in {}", duration(took)))
}

fn not_found(search: &SearchRecord, no_mark: &NoMark) -> Answer {
    let unit = unit(search);
    let why = no_mark_reason(no_mark.why).to_owned();
    let keys = vec![probes(search)];
    match no_mark.highest_met {
        Some(met) => Answer {
            figure: rate(met),
            unit,
            condition: "not confirmed".to_owned(),
            caveat: Some("not confirmed: not to be quoted as a mark"),
            interval: "no mark".to_owned(),
            basis: why,
            keys,
            ..Answer::default()
        },
        None => Answer {
            figure: "No mark".to_owned(),
            caveat: Some("nothing met the objective for certain"),
            interval: why,
            basis: no_mark.lowest_failed.map_or_else(String::new, |failed| {
                format!("{} {unit} failed", rate(failed))
            }),
            keys,
            ..Answer::default()
        },
    }
}
