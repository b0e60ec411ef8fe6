//! A group of runs: its variants, how they compare, every run.

use maud::html;

use crate::comparison::{card, differences, rows};
use crate::text::group as group_text;
use highwater_analysis::group::comparisons;
use highwater_model::group::GroupRecord;

use super::super::page::Part;
use super::tables::table;

pub(in crate::html) fn group(group: &GroupRecord) -> Part {
    let compared = comparisons(group);
    Part {
        id: "group",
        title: "The runs together",
        body: html! {
            @for (variant, comparison) in &compared {
                (card(group_text::names(group, *variant), comparison))
            }
            h3 { "Variants" }
            (table("Variants", &group_text::variants(group), 1))
            @for (variant, comparison) in &compared {
                @let names = group_text::names(group, *variant);
                h3 { (names[0]) " against " (names[1]) }
                (table("Figures of both variants", &rows(comparison), 2))
                (differences(names, comparison))
            }
            h3 { "Runs" }
            (table("Runs", &group_text::table(group), 1))
            p class="term" {
                "Each run has a record of its own below " code { "probes/" } ". What follows on this page is \
                 the last one."
            }
        },
    }
}
