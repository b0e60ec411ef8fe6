//! The answer of a search: the mark, and the lowest value that failed.

use highwater_analysis::limit::of_search;
use highwater_analysis::search::times_confirmed;
use highwater_model::display::{count, duration, percent, rate};
use highwater_model::record::MeasuredRun;
use highwater_model::search::{Mark, NoMark, ProbeRecord, SearchAxis, SearchOutcome, SearchRecord};

use super::parts::{Answer, KeyFigure, interval90, limit_line, plural, rated, target_name, within};
use crate::text::search::{confirming, no_mark_reason, unit};

pub(super) fn search(run: &MeasuredRun<'_>, search: &SearchRecord) -> Answer {
    let answer = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => found(search, mark),
        Some(SearchOutcome::NoMark(no_mark)) => not_found(search, no_mark),
        None => Answer::without_figure("None yet", "the search has not ended"),
    };
    Answer { question: question(run, search), limit: of_search(search).map(limit_line), ..answer }
}

fn question(run: &MeasuredRun<'_>, search: &SearchRecord) -> String {
    let (within, who) = (within(run), target_name(run));
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
    let times = times_confirmed(search, mark);
    let figure = rate(mark.confirmed);
    let (interval, above) = match mark.failed {
        Some(failed) => {
            (format!("mark {figure} to {} {unit}", rate(failed)), apart(mark.confirmed, failed))
        }
        None => (format!("mark at least {figure} {unit}"), "nothing above it".to_owned()),
    };
    Answer {
        figure,
        unit: unit.clone(),
        condition: "confirmed".to_owned(),
        interval,
        basis: format!("confirmed {times}; {above} failed"),
        keys: keys(search, mark, &unit),
        ..Answer::default()
    }
}

/// `1.1% more`.
fn apart(confirmed: f64, failed: f64) -> String {
    format!("{} more", percent(failed / confirmed - 1.0))
}

fn keys(search: &SearchRecord, mark: &Mark, unit: &str) -> Vec<KeyFigure> {
    let at_mark: Vec<&ProbeRecord> = confirming(search, mark).collect();
    let (confirmed, times) = (rated(mark.confirmed, unit), times_confirmed(search, mark));
    let mut keys = vec![KeyFigure::new("highest confirmed", confirmed, times)];
    keys.extend(mark.failed.map(|failed| {
        let more = apart(mark.confirmed, failed);
        KeyFigure::new("lowest failed", rated(failed, unit), more)
    }));
    keys.extend(mark.estimate.map(|found| {
        let known = interval90(found.low90, found.high90, rate);
        KeyFigure::new("just meets it", rated(found.value, unit), known)
    }));
    let slowest = at_mark.iter().filter_map(|probe| probe.p99_ns).max();
    keys.extend(slowest.map(|p99| {
        let which = format!("slowest of {}", plural(at_mark.len(), "probe"));
        KeyFigure::new("p99 at the mark", duration(p99), which)
    }));
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
            interval: why,
            basis: no_mark
                .lowest_failed
                .map_or_else(String::new, |failed| format!("{} {unit} failed", rate(failed))),
            keys,
            ..Answer::without_figure("No mark", "nothing met the objective for certain")
        },
    }
}
