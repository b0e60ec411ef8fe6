//! The three judgments, each with its reasons.

use maud::{Markup, html};

use crate::text::judged::{self as judgment_text, Tone};
use highwater_model::display::foreign;
use highwater_model::judgment::Reason;
use highwater_model::record::RecordRef;

use super::super::page::Part;

/// Characters of a target's own words.
const WORDS: usize = 600;

/// How a judgment looks, and its sign, told by its form and not by its color alone; its word says the
/// same.
const fn look(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Good => ("verdict good", "M3 9l4 4l8 -9"),
        Tone::Bad => ("verdict bad", "M4 4l10 10M14 4l-10 10"),
        Tone::Open => ("verdict open", "M9 3v8M9 14v1"),
        Tone::None => ("verdict none", "M4 9h10"),
    }
}

pub(in crate::html) fn judged(record: RecordRef<'_>) -> Part {
    let (judged, run) = (record.judgments(), record.measured_run());
    let cards = [
        card(
            (
                "Measurement",
                judgment_text::measurement(judged.measurement.value),
            ),
            "Are these the target's figures, and not the load generator's?",
            "",
            &judged.measurement.reasons,
        ),
        card(
            ("Data", judgment_text::data(judged.data.value)),
            "Was everything that was acknowledged found afterwards, as it was sent?",
            &judgment_text::audited(&run),
            &judged.data.reasons,
        ),
        card(
            (
                "Objective",
                judgment_text::objective(judged.objective.value),
            ),
            "Did the run meet what was stated before it?",
            &judgment_text::objectives(&run),
            &judged.objective.reasons,
        ),
    ];
    Part {
        id: "judgments",
        title: "Three judgments",
        body: html! {
            div class="verdicts" { @for card in cards { (card) } }
        },
    }
}

/// The name of a judgment, its value, and how good that is.
type Head = (&'static str, (&'static str, Tone));

fn card(head: Head, question: &str, remark: &str, reasons: &[Reason]) -> Markup {
    let (name, (value, tone)) = head;
    let (class, sign) = look(tone);
    html! {
        article class=(class) {
            h3 { (name) }
            p class="value" {
                svg class="sign" viewBox="0 0 18 18" aria-hidden="true" { path d=(sign) {} }
                (value)
            }
            p class="question" { (question) }
            @if !remark.is_empty() { p class="remark" { (remark) } }
            @for reason in reasons {
                div class="reason" {
                    p {
                        (foreign(&reason.sentence(), WORDS)) " "
                        span class="code" { "[" (reason.code.name()) "]" }
                    }
                    @if let Some(hint) = &reason.hint { p class="hint" { (hint) } }
                }
            }
        }
    }
}
