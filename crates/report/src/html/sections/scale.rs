//! A growth: the answer, its second chart, the sizes next to each other, the models, and each size's own page.

use maud::{Markup, html};

use crate::answer::plural;
use crate::layout::{first_upper, list};
use crate::size as size_text;
use crate::text::scale as scale_text;
use highwater_model::display::percent;
use highwater_model::scale::ScaleRecord;
use highwater_sizing::growth::GrowthReport;

use super::super::chart::{self, Chart};
use super::super::page::Part;
use super::tables::{remarks, table};

/// `charts` are the ones that are not above the folds.
pub(in crate::html) fn scale(
    scale: &ScaleRecord,
    grown: &GrowthReport<'_>,
    charts: &[Chart],
) -> Vec<Part> {
    let linear = grown.sizes.last().map_or_else(String::new, |last| {
        format!(", {} of linear", percent(last.compared.of_linear))
    });
    let mut parts = vec![Part {
        id: "growth",
        title: "Growth",
        abstract_line: format!("{}{linear}", plural(grown.sizes.len(), "size")),
        body: html! {
            (remarks(&scale_text::answer(scale, grown)))
            (table("Sizes beside each other", &scale_text::growth_table(scale, grown), 0))
            p class="term" {
                "Of linear: throughput divided by that of the first size times as many nodes. The 0.8 rule takes a \
                 further node to add 0.8 of what each node before had; off is how far the rule is from what was \
                 measured."
            }
            (each_op(scale, grown))
            (chart::all(charts))
        },
    }];
    if !grown.models.is_empty() {
        let models = grown.models.iter();
        parts.push(Part {
            id: "models",
            title: "Scaling models",
            abstract_line: list(models.map(|model| model.model.name()), ", "),
            body: html! {
                (table("Scaling models", &size_text::models(&grown.models), 1))
                @if let Some(identifiability) = &grown.identifiability {
                    @for sentence in &identifiability.sentences { p { (sentence) } }
                }
            },
        });
    }
    parts.push(Part {
        id: "sizes",
        title: "Measured sizes",
        abstract_line: plural(scale.trials.len(), "measurement"),
        body: html! {
            (table("Measured sizes", &scale_text::table(scale), 1))
            p { "Each size has a record and a page of its own:" }
            ul {
                @for trial in &scale.alone.trials {
                    li {
                        a href=(format!("{}/report.html", trial.run)) {
                            "node " (trial.node.unwrap_or(0)) ", alone"
                        }
                    }
                }
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
        },
    });
    parts
}

/// Throughput of each op at each size; empty if the stream has one op.
fn each_op(scale: &ScaleRecord, grown: &GrowthReport<'_>) -> Markup {
    let rows = scale_text::by_op_table(grown);
    html! {
        @if !rows.is_empty() {
            h3 { "Each op" }
            (table("Each op at each size", &rows, 0))
            p class="term" { (first_upper(&scale_text::by_op_sentence(scale))) "." }
        }
    }
}
