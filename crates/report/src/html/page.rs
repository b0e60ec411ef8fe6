//! The frame of every page: the answer first, one chart, six figures, and everything else folded behind headings
//! that say what is inside; style and script.

use maud::{Markup, PreEscaped, html};

use super::answered;
use super::kept::{kept, sentence};
use super::served::document;
use crate::answer::Answer;

/// All of the style; it names no file and no address.
const STYLE: &str = include_str!("style.css");
/// All of the script.
const SCRIPT: &str = include_str!("script.js");
/// The mark of the program: a pole in the water.
const SIGN: &str = "M3 1v16M3 3h12M6 13c2 -2 3 -2 5 0s3 2 5 0";

/// What a page says.
pub(crate) struct Page {
    /// Which kind of page: `Run`, `Find` …
    pub(crate) kind: &'static str,
    /// Which one of its kind, in a word.
    pub(crate) name: String,
    /// When, how long, of what; the first is the most telling.
    pub(crate) facts: Vec<String>,
    /// What must be known before the answer is read, such as `simulated`.
    pub(crate) tags: Vec<String>,
    /// What is said first.
    pub(crate) answer: Answer,
    /// The one chart; may be empty.
    pub(crate) hero: Markup,
    /// Everything else, folded, in order.
    pub(crate) parts: Vec<Part>,
}

/// A part of a page, folded.
pub(crate) struct Part {
    /// Unique on its page.
    pub(crate) id: &'static str,
    /// The heading.
    pub(crate) title: &'static str,
    /// What is inside, in one line: the part's own result.
    pub(crate) abstract_line: String,
    /// What stands below.
    pub(crate) body: Markup,
}

/// The bytes of the page.
pub(crate) fn page(page: &Page) -> String {
    let head = html! {
        // Nothing may be asked for, whatever stands in the record.
        meta http-equiv="Content-Security-Policy"
            content="default-src 'none'; style-src 'unsafe-inline'; \
                     script-src 'unsafe-inline'; img-src data: blob:";
        title { (page.answer.question) " · Highwater" }
        style { (PreEscaped(STYLE)) }
    };
    let body = html! {
        a class="skip" href="#content" { "To the answer" }
        header { (top(page)) }
        main id="content" { (content(page)) }
        footer {
            p {
                "Made by Highwater. Equal records give equal pages; this one loads nothing from \
                 elsewhere."
            }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    document(&head, &body)
}

fn content(page: &Page) -> Markup {
    html! {
        (answered::head(&page.answer, &page.tags))
        div class="hero" { (page.hero) }
        (answered::keys(&page.answer.keys))
        (answered::assumptions(&page.answer.assumptions))
        div class="folds" {
            @for part in &page.parts { (folded(part)) }
        }
    }
}

fn top(page: &Page) -> Markup {
    html! {
        p class="brand" {
            svg viewBox="0 0 18 18" aria-hidden="true" { path d=(SIGN) {} }
            "Highwater"
        }
        p class="where" {
            b { (page.kind) } " " (page.name)
            @for fact in &page.facts { span class="fact" { " · " (kept(fact)) } }
        }
    }
}

fn folded(part: &Part) -> Markup {
    html! {
        details id=(part.id) {
            summary {
                h2 { (part.title) }
                p { (sentence(&part.abstract_line)) }
            }
            div class="body" { (part.body) }
        }
    }
}
