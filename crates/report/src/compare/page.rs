//! A comparison as a page: verdicts, figures, time courses laid over each other, what differs.

use maud::{Markup, html};

use highwater_analysis::comparison::{Comparison, Verdict};
use highwater_model::display::foreign;

use super::super::html::{Overlaid, Page, Part, overlaid, page, table};
use super::{CompareReport, Group, WORDS, basis, differing, directions, named, rows, word};

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
                 difference would be rare between equal groups. Inconclusive: too few runs. The \
                 interval is Welch's, of the logarithms, from the spread between runs; shares of ops \
                 and seconds are compared by their difference, in percentage points."
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
    let groups: Vec<&Group<'_>> = std::iter::once(&report.baseline)
        .chain(report.others.iter().map(|(group, _)| group))
        .collect();
    let overlaid = overlaid(
        &groups
            .iter()
            .map(|group| Overlaid {
                name: foreign(&group.name, WORDS),
                runs: group
                    .runs
                    .iter()
                    .map(|run| run.measured_run().run)
                    .collect(),
            })
            .collect::<Vec<_>>(),
    );
    if let Some(body) = overlaid {
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

/// What else differs between two groups of these names.
pub(crate) fn differences(names: [&str; 2], comparison: &Comparison) -> Markup {
    let lines = differing(comparison);
    let [_, b] = named(names, comparison);
    html! {
        h3 { (b) }
        @if lines.is_empty() {
            p { "Nothing that the records know of." }
        } @else {
            ul class="noted" { @for line in lines { li { (line) } } }
        }
    }
}

/// The verdict on the second of two groups of these names.
pub(crate) fn card(names: [&str; 2], comparison: &Comparison) -> Markup {
    let [_, b] = named(names, comparison);
    let class = match comparison.verdict() {
        Verdict::Worse => "verdict bad",
        Verdict::Inconclusive => "verdict open",
        Verdict::Equal => "verdict none",
        Verdict::Better => "verdict good",
    };
    html! {
        article class=(class) {
            h3 { (b) }
            p class="value" { (word(comparison.verdict(), false)) }
            @let directions = directions(comparison);
            @if !directions.is_empty() { p class="remark" { (directions) } }
            @for line in basis(comparison) { p class="question" { (line) } }
        }
    }
}
