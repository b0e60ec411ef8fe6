//! A record, or a size plan, as one page that opens offline: text and tables by [`maud`], which
//! escapes what it is given, and charts as SVG.
//!
//! The page asks for nothing: style and script stand in it. Without the script everything can be
//! read; the script adds the crosshair, zoom, switches, copies. What stands in the page comes from
//! the record or from `analysis`; nothing is judged here.

mod chart;
mod page;
mod plots;
mod sections;
#[cfg(test)]
mod tests;

use maud::{Markup, html};

use highwater_analysis::judge::measured_streams;
use highwater_model::record::{MeasuredRun, Question, RecordRef};
use highwater_sizing::cluster::SizePlan;

pub(super) use page::{Page, Part, page};
pub(super) use plots::Overlaid;
pub(super) use sections::table;

/// The page of a record; names it by its id.
pub fn html<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let mut parts = vec![
        sections::judged(record),
        sections::counts(record, &measured),
    ];
    parts.extend(record.experiment().map(|of| match &of.question {
        Question::Search(search) => sections::search(&of.last_run, search),
        Question::Tune(tune) => sections::tune(tune),
        Question::Group(group) => sections::group(group),
        Question::Scale(scale) => sections::scale(scale),
    }));
    parts.extend(over_time(run));
    parts.extend(sections::latency(
        run,
        &measured,
        &plots::distributions(run),
    ));
    let machines = [plots::machine(run), plots::target(run)].concat();
    parts.extend(sections::machine(run, &measured, &machines));
    parts.extend([sections::audit(run), sections::findings(record)]);
    parts.extend(sections::answers(&measured));
    parts.extend([sections::settings(run), sections::repeat(record, &measured)]);
    page(&Page {
        title: sections::title(record),
        head: sections::head(record, &measured),
        parts,
    })
}

/// Courses of several groups of runs, laid over each other; none where no run has any.
pub(super) fn overlaid(groups: &[Overlaid<'_>]) -> Option<Markup> {
    let charts = plots::overlay(groups);
    (!charts.is_empty()).then(|| chart::all(&charts))
}

/// The page of a size plan.
pub fn size_html(plan: &SizePlan) -> String {
    page(&Page {
        title: "Which cluster a rate needs".to_owned(),
        head: sections::size_head(plan),
        parts: sections::size(plan, &plots::growth(plan)),
    })
}

fn over_time(record: &MeasuredRun<'_>) -> Option<Part> {
    let charts = plots::over_time(record);
    if charts.is_empty() {
        return None;
    }
    Some(Part {
        id: "over-time",
        title: "Over time",
        body: html! {
            (sections::availability(record))
            (chart::all(&charts))
        },
    })
}
