//! A comparison as a page: verdicts, figures, time courses laid over each other, what differs.

use maud::{Markup, html};

use highwater_model::display::foreign;

use super::{CompareReport, Group};
use crate::comparison::{WORDS, card, differences, named, rows};
use crate::html::{Overlaid, Page, Part, overlaid, page, table};

/// The page; it opens offline.
pub fn compare_html(report: &CompareReport<'_>) -> String {
    let mut parts = vec![Part {
        id: "verdicts",
        title: "Verdicts",
        body: html! {
            @for (group, comparison) in &report.others {
                (card([&report.baseline.name, &group.name], comparison))
            }
            p class="term" {
                "Equal: the whole interval is inside the practical difference. Better or worse: the \
                 difference would be rare between equal groups. Inconclusive: too few runs, or runs \
                 that differ too much. The interval is Welch's, of the logarithms, from the spread \
                 between runs; shares of ops and seconds are compared by their difference, in \
                 percentage points."
            }
        },
    }];
    parts.push(Part {
        id: "figures",
        title: "Figures",
        body: html! {
            @for (group, comparison) in &report.others {
                @let [a, b] = named([&report.baseline.name, &group.name], comparison);
                h3 { (a) " against " (b) }
                (table("Figures of both groups", &rows(comparison), 2))
            }
        },
    });
    if let Some(body) = courses(report) {
        parts.push(Part {
            id: "courses",
            title: "Time courses",
            body,
        });
    }
    parts.push(Part {
        id: "differences",
        title: "What else differs",
        body: html! {
            @for (group, comparison) in &report.others {
                (differences([&report.baseline.name, &group.name], comparison))
            }
        },
    });
    let others: Vec<String> = report
        .others
        .iter()
        .map(|(group, _)| group.name.clone())
        .collect();
    let title = format!(
        "{} against {}",
        foreign(&report.baseline.name, WORDS),
        foreign(&others.join(", "), WORDS)
    );
    page(&Page {
        head: html! {
            p class="brand" { "Highwater" }
            h1 { (title) }
        },
        title,
        parts,
    })
}

/// The time courses of all runs, laid over each other.
fn courses(report: &CompareReport<'_>) -> Option<Markup> {
    let others = report.others.iter().map(|(group, _)| group);
    let groups = std::iter::once(&report.baseline).chain(others);
    overlaid(&groups.map(runs_of).collect::<Vec<_>>())
}

fn runs_of<'a>(group: &'a Group<'_>) -> Overlaid<'a> {
    let runs = group.runs.iter();
    Overlaid {
        name: foreign(&group.name, WORDS),
        runs: runs.map(|run| run.measured_run().run).collect(),
    }
}
