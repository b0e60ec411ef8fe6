//! The first screen of a page: question, answer with its interval, the limit, three judgments, key figures.

use maud::{Markup, html};

use super::kept::{kept, sentence};
use crate::answer::{Answer, JudgmentLine, KeyFigure, LimitLine};
use crate::layout::first_upper;
use crate::text::judged::Tone;

/// Maximum characters of a figure; longer texts are settings.
const FIGURE_MAX: usize = 12;

pub(super) fn head(answer: &Answer, tags: &[String]) -> Markup {
    html! {
        section class="head" aria-label="Answer" {
            div class="said" {
                h1 {
                    (kept(&answer.question))
                    @for tag in tags { " " span class="tag" { (tag) } }
                }
                (figure(answer))
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

/// Only the limit and the judgments, for a running run.
pub(super) fn so_far(answer: &Answer) -> Markup {
    html! {
        section class="so-far-judged" aria-label="What is known so far" {
            @if let Some(limit) = &answer.limit { (limit_line(limit)) }
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

/// At most six figures.
pub(super) fn keys(keys: &[KeyFigure]) -> Markup {
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
pub(super) fn assumptions(assumptions: &[String]) -> Markup {
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
