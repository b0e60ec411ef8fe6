//! The frame of every page: the answer first, one chart, six figures, and everything else folded behind headings that
//! summarize it; style and script.

use maud::{Markup, PreEscaped, html};

use super::answered;
use super::kept::{kept, sentence};
use super::served::document;
use crate::answer::Answer;

/// The whole style; it references no file and no address.
const STYLE: &str = include_str!("style.css");
/// The whole script.
const SCRIPT: &str = include_str!("script.js");
/// The logo: a pole in the water.
const SIGN: &str = "M3 1v16M3 3h12M6 13c2 -2 3 -2 5 0s3 2 5 0";

/// Content of a page.
pub(crate) struct Page {
    /// Kind of page: `Run`, `Find` …
    pub(crate) kind: &'static str,
    /// Name of this page among its kind, in one word.
    pub(crate) name: String,
    /// Time, duration, and subject; the most informative first.
    pub(crate) facts: Vec<String>,
    /// Conditions to know before reading the answer, such as `simulated`.
    pub(crate) tags: Vec<String>,
    /// The answer, printed first.
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
    /// Summary in one line: the part's result.
    pub(crate) abstract_line: String,
    /// The content below.
    pub(crate) body: Markup,
}

/// The bytes of the page.
pub(crate) fn page(page: &Page) -> String {
    let head = html! {
        // Nothing may be loaded, whatever the record contains.
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
