//! Comparisons of groups, or growths, with the first one as text, Markdown, and a page. Must not compare anything.

mod growths;
#[cfg(test)]
mod tests;

use maud::{Markup, html};

use highwater_model::display::foreign;

use crate::answer::{self, plural};
use crate::compare_report::CompareReport;
use crate::comparison::{WORDS, basis, blocks, certain, differing, lines, named, rows};
use crate::html::{Overlaid, Page, Part, differences, forest, overlaid, page, table};
use crate::layout::list;

pub use growths::{growths_html, growths_markdown, growths_text};

/// The comparison as text, without colors.
pub fn compare_text(report: &CompareReport<'_>) -> String {
    let blocks = report.others.iter().map(|(group, comparison)| {
        lines([&report.baseline.name, &group.name], comparison).join("\n") + "\n"
    });
    list(blocks, "\n")
}

/// The comparison as Markdown; text from targets is escaped.
pub fn compare_markdown(report: &CompareReport<'_>) -> String {
    let blocks = report
        .others
        .iter()
        .flat_map(|(group, comparison)| blocks([&report.baseline.name, &group.name], comparison));
    list(blocks, "\n\n") + "\n"
}

/// The page; works offline.
pub fn compare_html(report: &CompareReport<'_>) -> String {
    let mut parts = vec![figures(report)];
    parts.extend(courses(report).map(|body| Part {
        id: "courses",
        title: "Time courses",
        abstract_line: "all runs, laid over each other".to_owned(),
        body,
    }));
    let others = report.others.iter();
    let lines: usize = others.map(|(_, of)| differing(of).len()).sum();
    parts.push(Part {
        id: "differences",
        title: "What else differs",
        abstract_line: plural(lines, "difference"),
        body: html! {
            @for (group, comparison) in &report.others {
                (differences([&report.baseline.name, &group.name], comparison))
            }
        },
    });
    let facts = report.all().map(|group| {
        let name = foreign(&group.name, WORDS);
        format!("{name}, {}", plural(group.runs.len(), "run"))
    });
    let hero = report.others.first();
    page(&Page {
        kind: "Compare",
        name: String::new(),
        facts: facts.collect(),
        tags: Vec::new(),
        answer: answer::compared(report),
        hero: html! { @if let Some((_, comparison)) = hero { (forest(comparison)) } },
        parts,
    })
}

/// Each group against the first one.
fn figures(report: &CompareReport<'_>) -> Part {
    let first = report.others.first();
    Part {
        id: "figures",
        title: "Figures",
        abstract_line: first.map_or_else(String::new, |(_, comparison)| certain(comparison)),
        body: html! {
            @for (group, comparison) in &report.others {
                @let [a, b] = named([&report.baseline.name, &group.name], comparison);
                h3 { (a) " against " (b) }
                @if report.others.len() > 1 { (forest(comparison)) }
                (table("Figures of both groups", &rows(comparison), 2))
                ul class="noted" { @for line in basis(comparison) { li { (line) } } }
            }
            p class="term" {
                "Equal: the whole interval is inside the difference that matters. Better or worse: the \
                 difference would be rare between equal groups. Inconclusive: too few runs, or runs \
                 that differ too much. The interval is Welch's, of the logarithms, from the spread \
                 between runs; fractions of ops and seconds are compared by their difference, in \
                 percentage points."
            }
        },
    }
}

/// The time series of all runs, overlaid.
fn courses(report: &CompareReport<'_>) -> Option<Markup> {
    let groups = report.all().map(|group| {
        let runs = group.runs.iter();
        Overlaid {
            name: foreign(&group.name, WORDS),
            runs: runs.map(|run| run.measured_run().run).collect(),
        }
    });
    overlaid(&groups.collect::<Vec<_>>())
}
