//! The three judgments, each with its reasons.

use maud::{Markup, html};

use crate::text::judged as judgment_text;
use highwater_model::display::foreign;
use highwater_model::judgment::{Data, Measurement, ObjectiveValue, Reason};
use highwater_model::record::RecordRef;

use super::super::page::Part;

/// Characters of a target's own words.
const WORDS: usize = 600;

/// How a judgment looks; its word says the same.
#[derive(Clone, Copy)]
enum Tone {
    Good,
    Bad,
    Open,
    None,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Good => "verdict good",
            Self::Bad => "verdict bad",
            Self::Open => "verdict open",
            Self::None => "verdict none",
        }
    }

    /// Told by its form, not by its color alone.
    const fn sign(self) -> &'static str {
        match self {
            Self::Good => "M3 9l4 4l8 -9",
            Self::Bad => "M4 4l10 10M14 4l-10 10",
            Self::Open => "M9 3v8M9 14v1",
            Self::None => "M4 9h10",
        }
    }
}

pub(in crate::html) fn judged(record: RecordRef<'_>) -> Part {
    let (judged, run) = (record.judgments(), record.measured_run());
    let (measurement, valid) = match judged.measurement.value {
        Measurement::Valid => ("valid", Tone::Good),
        Measurement::Invalid => ("invalid", Tone::Bad),
        Measurement::Inconclusive => ("inconclusive", Tone::Open),
    };
    let (data, clean) = match judged.data.value {
        Data::Clean => ("clean", Tone::Good),
        Data::Lost => ("lost", Tone::Bad),
        Data::Duplicated => ("duplicated", Tone::Bad),
        Data::Surplus => ("surplus", Tone::Bad),
        Data::Altered => ("altered", Tone::Bad),
        Data::Unverified => ("unverified", Tone::Open),
        Data::NotChecked => ("not checked", Tone::None),
    };
    let (objective, met) = match judged.objective.value {
        ObjectiveValue::Met => ("met", Tone::Good),
        ObjectiveValue::Missed => ("missed", Tone::Bad),
        ObjectiveValue::NotDecided => ("not decided", Tone::Open),
        ObjectiveValue::NoneSet => ("none set", Tone::None),
    };
    let cards = [
        card(
            Head {
                name: "Measurement",
                value: measurement,
                tone: valid,
            },
            "Are these the target's figures, and not the load generator's?",
            "",
            &judged.measurement.reasons,
        ),
        card(
            Head {
                name: "Data",
                value: data,
                tone: clean,
            },
            "Was everything that was acknowledged found afterwards, as it was sent?",
            &judgment_text::audited(&run),
            &judged.data.reasons,
        ),
        card(
            Head {
                name: "Objective",
                value: objective,
                tone: met,
            },
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

/// What a card shows first.
#[derive(Clone, Copy)]
struct Head {
    name: &'static str,
    value: &'static str,
    tone: Tone,
}

fn card(head: Head, question: &str, remark: &str, reasons: &[Reason]) -> Markup {
    let Head { name, value, tone } = head;
    html! {
        article class=(tone.class()) {
            h3 { (name) }
            p class="value" {
                svg class="sign" viewBox="0 0 18 18" aria-hidden="true" { path d=(tone.sign()) {} }
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
