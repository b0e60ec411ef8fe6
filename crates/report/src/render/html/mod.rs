//! A report as one page that works offline: text and tables by [`maud`], which escapes its input, and charts as SVG.
//!
//! All pages share one frame: the answer first, one chart, six figures, and everything else folded behind headings that
//! summarize it. A stored page loads nothing: style and script are inline; a served one has them in separate files, because
//! of its content security policy. Everything is readable without the script, which adds the crosshair, zoom, switches, and
//! copy buttons. All content comes from the report of a record; must not judge.

mod blocks;
mod history;
mod sections;
mod watched;

#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use highwater_analysis::judge::measured_streams;
use highwater_model::display::harmless;
use highwater_model::record::RecordRef;

use self::blocks::{Part, kept, part, sentence};
use crate::answer::{Answer, JudgmentLine, KeyFigure, LimitLine, Tone};
use crate::blocks::Report;
use crate::layout::first_upper;
use crate::{judgments, kinds};

pub use history::{
    HistoryFilter, deletion_page, error_page, history_page, names_apart, served_page,
};
pub use watched::{LiveRights, live_page, live_parts, live_style};

/// The page of a record.
pub fn html<'a>(record: impl Into<RecordRef<'a>>) -> String {
    html_with_links(record.into(), &[])
}

/// The page of a record with links next to its name, each a name and an address; without an address it is
/// text.
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
        let last = of.scale().and_then(|scale| scale.trials.last());
        let which =
            last.map_or_else(String::new, |last| format!(", {}", kinds::growth::size_name(last)));
        let all = parts.iter_mut();
        for part in all.filter(|part| sections::IS_OF_LAST_RUN.contains(&part.id)) {
            part.abstract_line = format!("last of {number}{which}: {}", part.abstract_line);
        }
    }
    let answer = report.answer.cautioned(record.judgments());
    parts.push(sections::repeat(record, &measured, &answer));
    let [kind, name] = sections::named(record);
    page(&Page {
        kind,
        name,
        facts: sections::facts(record, &measured),
        tags: sections::tags(record, run),
        answer,
        hero: blocks::hero(&report.hero, true),
        parts,
        links,
    })
}

/// The page of a report without a record, with the command that repeats it if it is known.
pub(crate) fn page_of(
    kind: &str,
    report: Report,
    links: &[[String; 2]],
    command: Option<&str>,
) -> String {
    let mut parts: Vec<Part> = report.sections.iter().map(part).collect();
    parts.extend(command.map(|command| sections::repeat_command(command, &report.answer)));
    page(&Page {
        kind: kind.to_owned(),
        name: String::new(),
        facts: report.page_facts,
        tags: report.page_tags,
        hero: blocks::hero(&report.hero, true),
        answer: report.answer,
        parts,
        links,
    })
}

/// The whole style; it references no file and no address.
const STYLE: &str = include_str!("style.css");
/// The whole script.
const SCRIPT: &str = include_str!("script.js");
/// The logo: a pole in the water.
const SIGN: &str = "M3 1v16M3 3h12M6 13c2 -2 3 -2 5 0s3 2 5 0";

/// Content of a page.
pub(crate) struct Page<'a> {
    /// Kind of page: `Run`, `Find` …
    pub(crate) kind: String,
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
    /// Names and addresses next to the name of a served page; without an address, texts.
    links: &'a [[String; 2]],
}

/// The bytes of the page.
pub(crate) fn page(page: &Page<'_>) -> String {
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
        header { (top(page)) (links(page.links)) }
        main id="content" { (content(page)) }
        footer {
            p {
                "Made by Highwater. This page is complete in itself: it loads nothing from the network."
            }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    document(&head, &body)
}

fn content(page: &Page<'_>) -> Markup {
    html! {
        (head(&page.answer, &page.tags))
        div class="hero" { (page.hero) }
        (keys(&page.answer.keys))
        (assumptions(&page.answer.assumptions))
        div class="folds" {
            @for part in &page.parts { (folded(part, false)) }
        }
    }
}

/// The line above the answer: the kind of page, and its name.
fn top(page: &Page<'_>) -> Markup {
    html! {
        (brand())
        p class="where" {
            b { (page.kind) } span class="name" { " " (page.name) }
            @for fact in &page.facts { span class="fact" { " · " (kept(fact)) } }
        }
    }
}

/// Links, and files that are in their own address.
fn links(links: &[[String; 2]]) -> Markup {
    html! {
        @if !links.is_empty() { p class="links" {
            @for [name, address] in links {
                @if address.is_empty() {
                    span class="fact" { (name) }
                } @else {
                    a href=(address) download=[address.starts_with("data:").then_some(name)] { (name) }
                }
            }
        } }
    }
}

/// The logo.
fn brand() -> Markup {
    html! {
        p class="brand" {
            svg viewBox="0 0 18 18" aria-hidden="true" { path d=(SIGN) {} }
            "Highwater"
        }
    }
}

/// A part behind its heading, open or not.
fn folded(part: &Part, is_open: bool) -> Markup {
    html! {
        details id=(part.id) open[is_open] {
            summary {
                h2 { (part.title) }
                p { (sentence(&part.abstract_line)) }
            }
            div class="body" { (part.body) }
        }
    }
}

/// Maximum characters of a figure; longer texts are settings.
const FIGURE_MAX: usize = 12;

/// The question and the answer with its judgments.
fn head(answer: &Answer, tags: &[String]) -> Markup {
    html! {
        section class="head" aria-label="Answer" {
            div class="said" {
                h1 {
                    (kept(&answer.question))
                    @for tag in tags { " " span class="tag" { (tag) } }
                }
                (figure(answer))
                @if let Some(failed) = &answer.failed { p class="caveat" { (first_upper(failed)) "." } }
                @if let Some(caveat) = answer.caveat { p class="caveat" { (first_upper(caveat)) "." } }
                @if !answer.interval.is_empty() || !answer.basis.is_empty() {
                    p class="interval" {
                        @if !answer.interval.is_empty() { b { (kept(&answer.interval)) } }
                        @if !answer.interval.is_empty() && !answer.basis.is_empty() { "; " }
                        (kept(&answer.basis))
                    }
                }
                @if let Some(limit) = &answer.limit { (limit_line(limit)) }
            }
            (judgments(&answer.judgments))
        }
    }
}

fn judgments(lines: &[JudgmentLine]) -> Markup {
    html! { ul class="judgments" { @for line in lines { (judgment(line)) } } }
}

fn figure(answer: &Answer) -> Markup {
    let is_long = answer.figure.chars().count() > FIGURE_MAX;
    html! {
        p.answer.long[is_long].weak[answer.caveat.is_some()] {
            @if !answer.lead.is_empty() { span class="lead" { (answer.lead) } " " }
            span id="answer" {
                @for (number, part) in answer.figure.split(", ").enumerate() {
                    @if number > 0 { ", " }
                    span class="whole" { (part) }
                }
            }
            @if !answer.unit.is_empty() {
                @if answer.unit != "%" { " " }
                span class="unit" { (answer.unit) }
            }
            @if !answer.condition.is_empty() {
                " " span class="condition" { (kept(&answer.condition)) }
            }
        }
    }
}

fn limit_line(limit: &LimitLine) -> Markup {
    html! {
        p.limit.reached[limit.is_reached] {
            (limit.label)
            @if !limit.what.is_empty() { " " b { (sentence(&limit.what)) } }
            @if limit.what.is_empty() || limit.more.is_empty() { "." }
            @if !limit.more.is_empty() { " " span { (sentence(&limit.more)) } }
        }
    }
}

/// The style and sign of a judgment. Its form distinguishes it, not only its color; its word has the same meaning.
const fn look(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Good => ("good", "M10 2a8 8 0 1 0 .01 0M6 10l3 3l5 -6"),
        Tone::Bad => ("bad", "M3 3h14v14h-14zM7 7l6 6M13 7l-6 6"),
        Tone::Open => ("open", "M10 2.5L18.5 17h-17zM10 8v4M10 14.4v.2"),
        Tone::None => ("none", "M10 2a8 8 0 1 0 .01 0M7 10h6"),
    }
}

fn judgment(line: &JudgmentLine) -> Markup {
    let (class, sign) = look(line.tone);
    html! {
        li class=(class) {
            svg viewBox="0 0 20 20" aria-hidden="true" { path d=(sign) {} }
            p class="badge" { (line.name) " " b { (line.value) } }
            p class="evidence" { (sentence(&line.sentence)) }
        }
    }
}

/// A judgment in a list: its sign and its value, with its name as a tooltip and for screen readers.
fn verdict(tone: Tone, name: &str, value: &str) -> Markup {
    let (class, sign) = look(tone);
    html! {
        span class=(format!("badge {class}")) title=(name) {
            svg viewBox="0 0 20 20" aria-hidden="true" { path d=(sign) {} }
            " " b { (value) } " "
        }
    }
}

/// At most six figures.
fn keys(keys: &[KeyFigure]) -> Markup {
    if keys.is_empty() {
        return html! {};
    }
    html! {
        dl class="keys" {
            @for key in keys {
                div {
                    dt { (key.name) }
                    dd class="figure" { (key.figure) }
                    @if !key.note.is_empty() { dd class="note" { (kept(&key.note)) } }
                }
            }
        }
    }
}

/// The most influential assumptions.
fn assumptions(assumptions: &[String]) -> Markup {
    if assumptions.is_empty() {
        return html! {};
    }
    html! {
        section class="assumed" aria-label="Assumptions" {
            p class="caption" {
                b { "What the answer rests on." }
                " The assumption that moves it most first, each with the flag that changes it:"
            }
            ol { @for assumption in assumptions { li { (kept(assumption)) } } }
        }
    }
}

/// The bytes of a served page; `head` is added to its head.
fn served(title: &str, head: &Markup, body: &Markup) -> String {
    let head = html! {
        title { (title) " · Highwater" }
        // Without it, browsers request a missing file, or report that the policy forbids the request.
        link rel="icon" href="data:,";
        link rel="stylesheet" href="/live.css";
        script src="/live.js" defer {}
        (head)
    };
    document(&head, body)
}

/// The bytes of any page.
fn document(head: &Markup, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
            }
            body { (body) }
        }
    };
    harmless(&page.into_string()) + "\n"
}
