//! The parts that only the page of an experiment has: one chart, and its own parts. Must not depend on the parts that
//! every page has.

use maud::Markup;

use highwater_analysis::group::comparisons;
use highwater_model::record::{MeasuredRun, Question};

use super::chart;
use super::comparison::forest;
use super::page::Part;
use super::{plots, sections};

/// The one chart of an experiment, and its own parts.
pub(super) fn of_question(run: &MeasuredRun<'_>, question: &Question) -> (Markup, Vec<Part>) {
    match question {
        Question::Search(search) => {
            let mut charts = plots::search(run, search);
            // The objective is about latency; without an objective, the reached rate is drawn.
            let hero = chart::hero(charts.pop().as_slice());
            (hero, vec![sections::search(run, search, &charts)])
        }
        Question::Tune(tune) => {
            let charts = plots::tune(tune);
            let (hero, others) = charts.split_at(charts.len().min(1));
            let hero = hero.first().map(|(_, chart)| chart.clone());
            (chart::hero(hero.as_slice()), sections::tune(tune, others))
        }
        Question::Group(group) => {
            let compared = comparisons(group);
            let runs = plots::runs(group);
            match compared.first() {
                Some((_, first)) => (forest(first), sections::group(group, &runs)),
                None => (chart::hero(&runs), sections::group(group, &[])),
            }
        }
        Question::Scale(scale) => {
            let grown = highwater_sizing::growth::report(scale);
            let charts = plots::scale(scale, &grown);
            let (hero, others) = charts.split_at(charts.len().min(1));
            (chart::hero(hero), sections::scale(scale, &grown, others))
        }
    }
}
