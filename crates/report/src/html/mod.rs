//! A record, a comparison, or a size plan as one page that works offline: text and tables by [`maud`], which escapes
//! its input, and charts as SVG.
//!
//! All pages share one frame (`page`): the answer first, one chart, and everything else folded. The page loads
//! nothing: style and script are inline. Everything is readable without the script, which adds the crosshair, zoom,
//! switches, and copy buttons. All content comes from the record or from `analysis`; must not judge.

mod answered;
mod chart;
mod comparison;
mod history;
mod kept;
mod page;
mod plots;
mod question;
mod sections;
mod served;
#[cfg(test)]
mod tests;
mod watched;

use maud::Markup;

use highwater_analysis::judge::measured_streams;
use highwater_model::record::{MeasuredRun, RecordRef};
use highwater_sizing::cluster::SizePlan;

use crate::answer;
use crate::compare_report::NamedGrowth;
use chart::Chart;

pub(super) use comparison::{differences, forest};
pub use history::{HistoryFilter, deletion_page, history_page, served_page};
pub(super) use page::{Page, Part, page};
pub(super) use plots::Overlaid;
use question::of_question;
use sections::short_id;

pub(super) use sections::table;
pub use watched::{LiveRights, live_page, live_parts, live_style};

/// The page of a record.
pub fn html<'a>(record: impl Into<RecordRef<'a>>) -> String {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let (hero, mut parts, over_time) = match record.experiment().map(|of| &of.question) {
        None => {
            let (hero, others) = hero_of_run(run);
            (chart::hero(&hero), Vec::new(), others)
        }
        Some(question) => {
            let (hero, parts) = of_question(run, question);
            (hero, parts, plots::over_time(run))
        }
    };
    // Parts of every record, about its run or its last run.
    parts.push(sections::judged(record));
    parts.extend(sections::latency(run, &measured, &plots::distributions(run)));
    parts.extend(sections::over_time(run, &over_time));
    let machines = [plots::machine(run), plots::target(run)].concat();
    parts.extend(sections::machine(run, &measured, &machines));
    parts.push(sections::rows(record, &measured));
    parts.push(sections::findings(record));
    parts.extend(sections::answers(&measured));
    parts.push(sections::settings(run));
    if let Some(of) = record.experiment() {
        let (number, _) = answer::trials(&of.question);
        let all = parts.iter_mut();
        for part in all.filter(|part| sections::IS_OF_LAST_RUN.contains(&part.id)) {
            part.abstract_line = format!("last of {number}: {}", part.abstract_line);
        }
    }
    let answer = answer::answer(record, &measured);
    parts.push(sections::repeat(record, &measured, &answer));
    page(&Page {
        kind: answer::kind(record),
        name: short_id(&record.header().id),
        facts: sections::facts(record, &measured),
        tags: sections::tags(run),
        answer,
        hero,
        parts,
    })
}

/// The charts above the folds of a run (throughput and latency), and all other charts over time.
fn hero_of_run(run: &MeasuredRun<'_>) -> (Vec<Chart>, Vec<Chart>) {
    let charts = plots::over_time(run);
    let mut ids = charts.iter().map(|chart| &chart.id);
    let first = ids.find(|id| id.starts_with("throughput-")).cloned();
    let is_hero = |chart: &Chart| Some(&chart.id) == first.as_ref() || chart.id == "latency";
    charts.into_iter().partition(is_hero)
}

/// Time series of several groups of runs, overlaid; absent if no run has any.
pub(super) fn overlaid(groups: &[Overlaid<'_>]) -> Option<Markup> {
    let charts = plots::overlay(groups);
    (!charts.is_empty()).then(|| chart::all(&charts))
}

/// The chart of a comparison of growths; empty if no size counts.
pub(super) fn growths_hero(growths: &[&NamedGrowth<'_>]) -> Markup {
    chart::hero(plots::growths(growths).as_slice())
}

/// The page of a size plan.
pub fn size_html(plan: &SizePlan) -> String {
    let charts = plots::growth(plan);
    let (hero, others) = charts.split_at(charts.len().min(1));
    page(&Page {
        kind: "Size",
        name: String::new(),
        facts: sections::size_facts(plan),
        tags: sections::size_tags(plan),
        answer: answer::size(plan),
        hero: chart::hero(hero),
        parts: sections::size(plan, others),
    })
}
