//! Availability of the target, and the load on its machines and on the load generator.

use maud::html;

use crate::layout::list;
use crate::text::{tail as tail_text, target};
use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{MeasuredRun, RunRecord};

use super::super::chart::{self, Chart};
use super::super::page::Part;
use super::settings::folded;

/// Availability, and the charts over time that are not above the folds.
pub(in crate::html) fn over_time(record: &MeasuredRun<'_>, charts: &[Chart]) -> Option<Part> {
    if record.phases.is_empty() || (charts.is_empty() && record.intervals.is_empty()) {
        return None;
    }
    let availability = tail_text::availability(record);
    Some(Part {
        id: "over-time",
        title: "Over time",
        abstract_line: availability.replace(" · ", ", "),
        body: html! {
            p class="lead" { "Availability: " (availability) "." }
            p class="term" {
                "The longest gap is the longest time without any acknowledgement; a dip is a whole second \
                 without one. A target has recovered when it acknowledges the offered rate, and all ops \
                 that waited, until the end or for long enough; the time counts from its last \
                 acknowledgement before."
            }
            (chart::all(charts))
        },
    })
}

/// Small multiples of machine telemetry, and the same charts with a crosshair, folded.
pub(in crate::html) fn machine(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    charts: &[Chart],
) -> Option<Part> {
    if record.clients.is_empty() {
        return None;
    }
    let client = tail_text::client(record, measured);
    let lines = target::lines(record);
    let words = lines.first().map(|line| line.split_whitespace());
    let first = words.map(|words| list(words, " ").replace(" · ", ", "));
    Some(Part {
        id: "machines",
        title: "Machines",
        abstract_line: first
            .unwrap_or_else(|| format!("load generator {}", client.replace(" · ", ", "))),
        body: html! {
            p class="lead" { "Load generator: " (client) "." }
            p class="term" {
                "Client lag is how late the load generator sent an op although a session was free; only \
                 that can spoil a measurement."
            }
            @for line in &lines { p class="lead" { (line) } }
            @if !charts.is_empty() {
                (chart::sparklines(charts))
                (folded("The same as charts with a crosshair", &chart::all(charts)))
            }
        },
    })
}
