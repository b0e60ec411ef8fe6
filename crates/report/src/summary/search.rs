//! A search: the highest confirmed rate, the failure above it, and the limit.

use highwater_analysis::limit::of_search;
use highwater_analysis::search::{of_axis, times_confirmed};
use highwater_model::display::{duration, rate};
use highwater_model::judgment::ReasonCode;
use highwater_model::search::{Mark, NoMark, SearchOutcome, SearchRecord};

use super::layout::{Ink, Line, Span};
use super::run;
use crate::layout::list;
use crate::text::search as report;

/// Maximum number of codes that explain the failure of the value above.
const CODES_SHOWN: usize = 2;

/// The answer, and additional facts.
pub(super) fn lines(search: &SearchRecord) -> (Vec<Line>, Vec<Line>) {
    let parts = match &search.outcome {
        None => vec![Span::new(Ink::Open, "no mark yet: the search did not end")],
        Some(SearchOutcome::Mark(mark)) => found(search, mark),
        Some(SearchOutcome::NoMark(no_mark)) => not_found(search, no_mark),
    };
    let answer = vec![Line::Answer(parts)];
    let mut about = Vec::new();
    let estimate = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => mark.estimate,
        Some(SearchOutcome::NoMark(no_mark)) => no_mark.estimate,
        None => None,
    };
    about.extend(estimate.map(|of| Line::labeled("estimate", report::estimate(search, of))));
    about.extend(of_search(search).map(run::limited));
    about.extend(report::soak(search).map(|soak| Line::labeled("soak", soak)));
    if let Some(SearchOutcome::Mark(mark)) = &search.outcome {
        about.extend(caveat(mark));
    }
    let took: u64 = search.probes.iter().map(|probe| probe.took_ns).sum();
    let probes = search.probes.len();
    let plural = if probes == 1 { "" } else { "s" };
    about.push(Line::labeled(
        "search",
        format!(
            "{} of {}: {probes} probe{plural} in {} (-v lists them)",
            report::varied(search.axis),
            search.stream,
            duration(took)
        ),
    ));
    (answer, about)
}

fn found(search: &SearchRecord, mark: &Mark) -> Vec<Span> {
    let confirmed = format!("{} confirmed", of_axis(search, mark.confirmed));
    let held = times_confirmed(search, mark);
    let failed = match mark.failed {
        Some(failed) => failed_at(search, failed, &mark.limited_by),
        None => "nothing was shown to fail above it".to_owned(),
    };
    vec![Span::new(Ink::Strong, confirmed), Span::plain(held), Span::plain(failed)]
}

fn failed_at(search: &SearchRecord, failed: f64, codes: &[ReasonCode]) -> String {
    let shown = report::codes(&codes[..codes.len().min(CODES_SHOWN)]);
    let at = of_axis(search, failed);
    if shown.is_empty() { format!("{at} failed") } else { format!("{at} failed: {shown}") }
}

fn not_found(search: &SearchRecord, no_mark: &NoMark) -> Vec<Span> {
    let why = format!("no mark: {}", report::no_mark_reason(no_mark.why));
    let met = no_mark.highest_met.map(|met| {
        let met = of_axis(search, met);
        Span::plain(format!("{met} passed, not confirmed"))
    });
    let failed = no_mark
        .lowest_failed
        .map(|failed| Span::plain(failed_at(search, failed, &no_mark.limited_by)));
    let why = Span::new(Ink::Open, why);
    [Some(why), met, failed].into_iter().flatten().collect()
}

/// A limitation that the mark alone does not show.
fn caveat(mark: &Mark) -> Option<Line> {
    if mark.wider {
        let why = "wider than requested: the search ran out of probes or time";
        return Some(Line::labeled("mark", why));
    }
    let above = list(mark.passed_above.iter().map(|at| rate(*at)), ", ");
    (!above.is_empty()).then(|| {
        let why = format!("passed above the lowest that failed: {above}");
        Line::labeled("not monotone", why)
    })
}
