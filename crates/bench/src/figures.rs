//! A table of figures, each with its peer or floor from the same run and its budget.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use highwater_model::display::rate;

/// The maximum or minimum of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// No budget.
    None,
    /// Maximum of the value, in its unit.
    AtMost(f64),
    /// Minimum of the value, in its unit.
    AtLeast(f64),
    /// Maximum of the value divided by its peer's.
    RatioAtMost(f64),
}

/// One line of a benchmark's table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The measured quantity.
    pub what: String,
    /// Its unit.
    pub unit: &'static str,
    /// The figure.
    pub value: f64,
    /// A peer or floor, in the same unit, measured in the same run.
    pub peer: Option<(&'static str, f64)>,
    /// The budget.
    pub budget: Budget,
}

impl Figure {
    /// A figure without a peer and without a budget.
    pub fn new(what: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { what: what.into(), unit, value, peer: None, budget: Budget::None }
    }

    /// The same with a peer or floor.
    pub fn beside(mut self, what: &'static str, value: f64) -> Self {
        self.peer = Some((what, value));
        self
    }

    /// The same with a budget.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    fn ratio(&self) -> Option<f64> {
        let (_, peer) = self.peer?;
        (peer > 0.0).then(|| self.value / peer)
    }

    fn verdict(&self) -> String {
        let (sign, bound, met) = match self.budget {
            Budget::None => return "–".to_owned(),
            Budget::AtMost(bound) => ("≤", rate(bound), self.value <= bound),
            Budget::AtLeast(bound) => ("≥", rate(bound), self.value >= bound),
            Budget::RatioAtMost(bound) => {
                ("ratio ≤", format!("{bound:.1}"), self.ratio().is_some_and(|ratio| ratio <= bound))
            }
        };
        format!("{sign} {bound}: {}", if met { "met" } else { "**missed**" })
    }
}

/// Prints a Markdown table of figures, a blank line, and a remark on how they were measured.
///
/// # Errors
///
/// If stdout cannot be written to.
pub fn print(figures: &[Figure], remark: &str) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{}\n\n{}", table(figures), remark.trim())?)
}

fn table(figures: &[Figure]) -> String {
    let mut text =
        "| figure | unit | value | peer or floor | ratio | budget |\n|---|---|---|---|---|---|"
            .to_owned();
    for figure in figures {
        let peer =
            figure.peer.map_or_else(|| "–".to_owned(), |(what, n)| format!("{what} {}", rate(n)));
        let ratio = figure.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
        // Writing to a string cannot fail.
        let _written = write!(
            text,
            "\n| {} | {} | {} | {peer} | {ratio} | {} |",
            figure.what,
            figure.unit,
            rate(figure.value),
            figure.verdict()
        );
    }
    text
}

/// The median of a figure over all rounds.
pub fn middle<T>(rounds: &[T], of: impl Fn(&T) -> f64) -> f64 {
    median(&rounds.iter().map(of).collect::<Vec<f64>>())
}

/// The median; the mean of the two middle values if their number is even, and not a number without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len().is_multiple_of(2), sorted.get(middle)) {
        (false, Some(value)) => *value,
        (true, Some(value)) => f64::midpoint(*value, sorted[middle - 1]),
        (_, None) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_shown_with_its_peer_and_its_budget() {
        let line = |budget| {
            let figure = Figure::new("an op", "ns", 90.0).beside("floor", 45.0);
            table(&[figure.budget(budget)]).lines().last().map(str::to_owned)
        };
        assert_eq!(
            line(Budget::AtMost(100.0)).as_deref(),
            Some("| an op | ns | 90.0 | floor 45.0 | 2.00 | ≤ 100: met |")
        );
        assert_eq!(
            line(Budget::RatioAtMost(1.0)).as_deref(),
            Some("| an op | ns | 90.0 | floor 45.0 | 2.00 | ratio ≤ 1.0: **missed** |")
        );
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&[]).is_nan());
    }
}
