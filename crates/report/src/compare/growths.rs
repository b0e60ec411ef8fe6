//! Comparisons of growths with the first one as text, Markdown, and a page. Must not compute the comparison.

use maud::html;

use highwater_model::display::foreign;

use crate::answer::{self, plural};
use crate::compare_report::GrowthsReport;
use crate::comparison::listed;
use crate::growths::{Pair, basis, differing, limits, lone, named, pairs, rows, sentence};
use crate::html::{Page, Part, growths_hero, page, table};
use crate::layout::{aligned, labeled, list};
use crate::markdown_words::{compared, table as markdown_table};

/// Maximum characters of a name.
const WORDS: usize = 120;

/// The comparison as text, without colors.
pub fn growths_text(report: &GrowthsReport<'_>) -> String {
    let blocks = pairs(report).into_iter();
    list(blocks.map(|pair| lines(pair).join("\n") + "\n"), "\n")
}

fn lines(pair: Pair<'_>) -> Vec<String> {
    let mut lines = vec![labeled("A", &named(pair.a)), labeled("B", &named(pair.b)), String::new()];
    lines.extend(aligned(&rows(pair), 0));
    let lone = lone(pair).into_iter();
    lines.extend(lone.map(|(of, size)| labeled(&format!("only in {of}"), &size)));
    lines.extend(listed("limits", &limits(pair)));
    lines.push(String::new());
    lines.push(labeled("verdict", &sentence(pair.compared)));
    lines.extend(basis(pair).iter().map(|line| labeled("", line)));
    lines.extend(listed("differs", &differing(pair)));
    lines
}

/// The comparison as Markdown; text from targets is escaped.
pub fn growths_markdown(report: &GrowthsReport<'_>) -> String {
    list(pairs(report).into_iter().flat_map(blocks), "\n\n") + "\n"
}

fn blocks(pair: Pair<'_>) -> Vec<String> {
    let lone = lone(pair).into_iter().map(|(of, size)| format!("only in {of}: {size}"));
    let limits = limits(pair).into_iter();
    let limits = limits.map(|line| format!("limits at {line}"));
    let all = lone.chain(limits).chain(basis(pair)).chain(differing(pair));
    let (names, sizes) = ([pair.a, pair.b].map(named), markdown_table(&rows(pair), 0));
    compared(&sentence(pair.compared), names, sizes, all)
}

/// The page; works offline.
pub fn growths_html(report: &GrowthsReport<'_>) -> String {
    let growths: Vec<_> = report.all().collect();
    let facts = growths.iter().map(|of| foreign(&of.name, WORDS)).collect();
    let all = pairs(report);
    let differences: usize = all.iter().map(|pair| differing(*pair).len()).sum();
    let parts = vec![
        sizes(&all),
        Part {
            id: "differences",
            title: "What else differs",
            abstract_line: plural(differences, "difference"),
            body: html! {
                @for pair in &all {
                    h3 { (named(pair.b)) }
                    ul class="noted" { @for line in differing(*pair) { li { (line) } } }
                }
            },
        },
    ];
    page(&Page {
        kind: "Compare",
        name: String::new(),
        facts,
        tags: Vec::new(),
        answer: answer::growths(report),
        hero: growths_hero(&growths),
        parts,
    })
}

/// Each growth against the first one.
fn sizes(all: &[Pair<'_>]) -> Part {
    let first = all.first();
    Part {
        id: "sizes",
        title: "Sizes",
        abstract_line: first.map_or_else(String::new, |pair| sentence(pair.compared)),
        body: html! {
            @for pair in all {
                h3 { (named(pair.a)) " against " (named(pair.b)) }
                (table("Sizes of both growths", &rows(*pair), 0))
                ul class="noted" {
                    @for (of, size) in lone(*pair) { li { "Only in " (of) ": " (size) } }
                    @for line in limits(*pair) { li { "Limits at " (line) } }
                    @for line in basis(*pair) { li { (line) } }
                }
            }
            p class="term" {
                "Not distinguished: the change is no larger than what measurements of one cluster differ by, which \
                 the first size and the same again show. Equal: whatever the noise, the change is smaller than what \
                 matters. Better or worse: it is larger than the noise."
            }
        },
    }
}
