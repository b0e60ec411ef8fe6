//! A growth: the answer, its charts, the sizes beside each other, the models, every size's own page.

use maud::html;

use crate::size as size_text;
use crate::text::scale as scale_text;
use highwater_model::scale::ScaleRecord;
use highwater_sizing::growth::report;

use super::super::page::Part;
use super::super::{chart, plots};
use super::tables::{remarks, table};

pub(in crate::html) fn scale(scale: &ScaleRecord) -> Part {
    let grown = report(scale);
    let charts = plots::scale(scale, &grown);
    Part {
        id: "growth",
        title: "How it grows",
        body: html! {
            (remarks(&scale_text::answer(scale, &grown)))
            (chart::all(&charts))
            h3 { "Sizes beside each other" }
            (table("Sizes beside each other", &scale_text::growth_table(scale, &grown), 0))
            p class="term" {
                "Of linear: throughput over that of the first size times as many nodes. The 0.8 rule takes a \
                 further node to add 0.8 of what each node before had; off is how far the rule is from what was \
                 measured."
            }
            @if !grown.models.is_empty() {
                h3 { "Scaling models" }
                (table("Scaling models", &size_text::models(&grown.models), 1))
            }
            @if let Some(identifiability) = &grown.identifiability {
                @for sentence in &identifiability.sentences { p { (sentence) } }
            }
            h3 { "Measured sizes" }
            (table("Measured sizes", &scale_text::table(scale), 1))
            p { "Each size has a record and a page of its own:" }
            ul {
                @for trial in &scale.trials {
                    li {
                        a href=(format!("{}/report.html", trial.run)) {
                            (trial.number) " · " (scale_text::nodes(trial.size.nodes))
                            ", " (trial.purpose.name())
                        }
                        @if let Some(before) = &trial.before_quota {
                            ", after its "
                            a href=(format!("{}/report.html", before.run)) { "warm-up before quotas" }
                        }
                    }
                }
            }
            p class="term" { "What follows on this page is the last run of the last size." }
        },
    }
}
