//! The reasons of the three judgments, each with advice.

use maud::{Markup, html};

use crate::answer::plural;
use crate::text::judged::{Judged, three};
use highwater_model::display::foreign;
use highwater_model::record::RecordRef;

use super::super::kept::sentence;
use super::super::page::Part;

/// Maximum characters of text from the target.
const WORDS: usize = 600;

/// The questions of the judgments, in their order.
const QUESTIONS: [&str; 3] = [
    "Do the figures describe the target, rather than the load generator or random variation?",
    "Was everything that was acknowledged found afterwards, as it was sent?",
    "Was the objective met that was stated before?",
];

pub(in crate::html) fn judged(record: RecordRef<'_>) -> Part {
    let all = three(record.judgments());
    let reasons: usize = all.iter().map(|of| of.reasons.len()).sum();
    let values = all.map(|of| format!("{} {}", of.name.to_lowercase(), of.value));
    let reasons = match reasons {
        0 => "no reasons against it".to_owned(),
        some => plural(some, "reason"),
    };
    Part {
        id: "judgments",
        title: "Judgments",
        abstract_line: format!("{}: {reasons}", values.join(", ")),
        body: html! {
            @for (of, question) in all.into_iter().zip(QUESTIONS) { (one(of, question)) }
        },
    }
}

fn one(of: Judged<'_>, question: &str) -> Markup {
    html! {
        h3 { (of.name) ": " (of.value) }
        p class="term" { (question) }
        @for reason in of.reasons {
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
