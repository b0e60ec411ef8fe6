//! The reasons of the three judgments, each with what to do.

use maud::{Markup, html};

use crate::answer::plural;
use crate::text::judged::{self as judgment_text};
use highwater_model::display::foreign;
use highwater_model::judgment::Reason;
use highwater_model::record::RecordRef;

use super::super::kept::sentence;
use super::super::page::Part;

/// Characters of a target's own words.
const WORDS: usize = 600;

pub(in crate::html) fn judged(record: RecordRef<'_>) -> Part {
    let judged = record.judgments();
    let all = [
        (
            "Measurement",
            judgment_text::measurement(judged.measurement.value).0,
            "Do the figures describe the target, rather than the load generator or random variation?",
            &judged.measurement.reasons,
        ),
        (
            "Data",
            judgment_text::data(judged.data.value).0,
            "Was everything that was acknowledged found afterwards, as it was sent?",
            &judged.data.reasons,
        ),
        (
            "Objective",
            judgment_text::objective(judged.objective.value).0,
            "Was the objective met that was stated before?",
            &judged.objective.reasons,
        ),
    ];
    let reasons: usize = all.iter().map(|(.., reasons)| reasons.len()).sum();
    let values: Vec<String> = all
        .iter()
        .map(|(name, value, ..)| format!("{} {value}", name.to_lowercase()))
        .collect();
    let reasons = match reasons {
        0 => "no reasons against it".to_owned(),
        some => plural(some, "reason"),
    };
    Part {
        id: "judgments",
        title: "Judgments",
        abstract_line: format!("{}: {reasons}", values.join(", ")),
        body: html! {
            @for (name, value, question, reasons) in all { (one(name, value, question, reasons)) }
        },
    }
}

fn one(name: &str, value: &str, question: &str, reasons: &[Reason]) -> Markup {
    html! {
        h3 { (name) ": " (value) }
        p class="term" { (question) }
        @for reason in reasons {
            div class="reason" {
                p {
                    (sentence(&foreign(&reason.sentence(), WORDS))) " "
                    span class="code" { "[" (reason.code.name()) "]" }
                }
                @if let Some(hint) = &reason.hint { p class="hint" { (sentence(hint)) } }
            }
        }
    }
}
