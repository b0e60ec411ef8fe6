//! A report as one page that works offline: text and tables by [`maud`], which escapes its input, and charts as SVG.
//!
//! All pages share one frame (`page`): the answer first, one chart, and everything else folded. The page loads
//! nothing: style and script are inline. Everything is readable without the script, which adds the crosshair, zoom,
//! switches, and copy buttons. All content comes from the report of a record; must not judge.

mod blocks;
mod history;
mod page;
mod sections;
#[cfg(test)]
mod tests;
mod watched;

use maud::html;

use highwater_analysis::judge::measured_streams;
use highwater_model::record::RecordRef;

use crate::blocks::Report;
use crate::layout::first_upper;
use crate::{judgments, kinds};
use blocks::part;
use page::{Page, page};
use sections::short_id;

pub use history::{HistoryFilter, deletion_page, history_page, served_page};
pub use watched::{LiveRights, live_page, live_parts, live_style};

/// The page of a record.
pub fn html<'a>(record: impl Into<RecordRef<'a>>) -> String {
    html_with_links(record.into(), &[])
}

/// The page of a record with links beside its name, each a name and an address; without an address it is text.
pub fn html_with_links(record: RecordRef<'_>, links: &[[String; 2]]) -> String {
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let report = kinds::report(record, run, &measured);
    // Parts of every record, about its run or its last run.
    let (own, of_run) = match record.experiment() {
        None => (Vec::new(), report.sections),
        Some(_) => (report.sections, kinds::last_run(run, &measured)),
    };
    let mut parts: Vec<_> = own.iter().map(part).collect();
    parts.push(sections::judgments(record));
    for section in &of_run {
        let mut part = part(section);
        if part.id == "rows" {
            part.body = html! { (part.body) (sections::audited(run)) };
        }
        parts.push(part);
    }
    parts.push(sections::findings(record));
    parts.extend(kinds::run::responses(&measured).as_ref().map(part));
    parts.push(sections::settings(run));
    if let Some(of) = record.experiment() {
        let (number, _) = judgments::trials(&of.question);
        let all = parts.iter_mut();
        for part in all.filter(|part| sections::IS_OF_LAST_RUN.contains(&part.id)) {
            part.abstract_line = format!("last of {number}: {}", part.abstract_line);
        }
    }
    let answer = report.answer.cautioned(record.judgments());
    parts.push(sections::repeat(record, &measured, &answer));
    page(&Page {
        kind: &first_upper(kinds::kind(record).name()),
        name: short_id(&record.header().id),
        facts: sections::facts(record, &measured),
        tags: sections::tags(record, run),
        answer,
        hero: blocks::hero(&report.hero, true),
        parts,
        links,
    })
}

/// The page of a report without a record.
pub(crate) fn page_of(kind: &str, report: Report) -> String {
    let parts = report.sections.iter().map(part).collect();
    page(&Page {
        kind,
        name: String::new(),
        facts: report.page_facts,
        tags: report.page_tags,
        hero: blocks::hero(&report.hero, true),
        answer: report.answer,
        parts,
        links: &[],
    })
}
