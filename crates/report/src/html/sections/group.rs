//! A group of runs: its variants, how they compare, every run.

use maud::html;

use crate::answer::plural;
use crate::comparison::{basis, certain, named, rows};
use crate::text::group as group_text;
use highwater_analysis::group::comparisons;
use highwater_model::group::GroupRecord;

use super::super::chart::{self, Chart};
use super::super::comparison::differences;
use super::super::page::Part;
use super::tables::table;

/// `charts` are the ones that are not above the folds.
pub(in crate::html) fn group(group: &GroupRecord, charts: &[Chart]) -> Vec<Part> {
    let runs = Part {
        id: "runs",
        title: "Runs",
        abstract_line: format!(
            "{} of {}",
            plural(group.trials.len(), "run"),
            plural(group.variants.len(), "variant")
        ),
        body: html! {
            (table("Variants", &group_text::variants(group), 1))
            (chart::all(charts))
            (table("Runs", &group_text::table(group), 1))
            p class="term" {
                "Each run has a record and a page of its own below " code { "probes/" } "."
            }
        },
    };
    figures(group).into_iter().chain([runs]).collect()
}

/// How the variants compare; absent for a single one.
fn figures(group: &GroupRecord) -> Option<Part> {
    let compared = comparisons(group);
    let (_, first) = compared.first()?;
    Some(Part {
        id: "figures",
        title: "Figures",
        abstract_line: certain(first),
        body: html! {
            @for (variant, comparison) in &compared {
                @let names = group_text::names(group, *variant);
                @let [a, b] = named(names, comparison);
                h3 { (a) " against " (b) }
                (table("Figures of both variants", &rows(comparison), 2))
                ul class="noted" { @for line in basis(comparison) { li { (line) } } }
                (differences(names, comparison))
            }
        },
    })
}
