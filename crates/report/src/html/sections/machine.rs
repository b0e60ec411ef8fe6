//! Whether the target answered all the time, and what the load generator did.

use maud::{Markup, html};

use crate::text::{tail as tail_text, target};
use highwater_analysis::judge::MeasuredStream;
use highwater_model::record::{MeasuredRun, RunRecord};

use super::super::chart::{self, Chart};
use super::super::page::Part;

pub(in crate::html) fn availability(record: &MeasuredRun<'_>) -> Markup {
    html! {
        p class="lead" { "Availability: " (tail_text::availability(record)) "." }
        p class="term" {
            "The longest gap is the longest time without any acknowledgement; a dip is a whole second \
             without one. A target has recovered from when on it answers the offered rate, and all \
             that waited, for 10 s or to the end; the time counts from its last acknowledgement before."
        }
    }
}

pub(in crate::html) fn machine(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    charts: &[Chart],
) -> Option<Part> {
    if record.clients.is_empty() {
        return None;
    }
    Some(Part {
        id: "machines",
        title: "Machines",
        body: html! {
            p class="lead" { "Load generator: " (tail_text::client(record, measured)) "." }
            p class="term" {
                "Client lag is how late our own program sent an op although a session was free; only \
                 that can spoil a measurement."
            }
            @for line in target::lines(record) { p class="lead" { (line) } }
            (chart::all(charts))
        },
    })
}
