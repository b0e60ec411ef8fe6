//! `choice`: one of a list, by weight.

use super::literal::{Literal, literals};
use super::making::{Make, Texts};
use crate::generators::prelude::{
    ColumnType, Draws, SCALARS, Section, Serialize, Spec, Value, specs,
};
use crate::parameter::ParameterKind;

/// Values to choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Choice {
    /// At least one.
    pub(crate) values: Vec<Literal>,
    /// Per value the sum of its weight and all before it; the last one is positive.
    cumulative: Vec<u64>,
}

/// A choice among values with as many weights; none without values.
pub(crate) fn choice(values: Vec<Literal>, weights: &[u64]) -> Option<Choice> {
    let mut sum = 0_u64;
    let up_to = |weight: &u64| {
        sum = sum.saturating_add(*weight);
        sum
    };
    let cumulative = weights.iter().map(up_to).collect();
    (!values.is_empty()).then_some(Choice { values, cumulative })
}

impl Choice {
    /// The position of the n-th choice.
    pub(crate) fn position(&self, draws: &Draws, n: u64) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0);
        let point = draws.below(n, total);
        self.cumulative
            .partition_point(|sum| *sum <= point)
            .min(self.values.len().saturating_sub(1))
    }

    /// The n-th choice as text.
    pub(crate) fn value_text(&self, draws: &Draws, n: u64) -> String {
        self.value(draws, n).map_or_else(String::new, Literal::text)
    }

    fn value(&self, draws: &Draws, n: u64) -> Option<&Literal> {
        self.values.get(self.position(draws, n))
    }
}

impl Make for Choice {
    const SPECS: &'static [Spec] = specs!(
        "choice", "one of a list, by weight", SCALARS,
        ["values": Literals; "weights": Integers, "by": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        let values = literals(of.required("values", "[…]")?, kind, &of.place);
        let Some(entry) = of.optional("weights") else {
            let weights = vec![1; values.len()];
            return choice(values, &weights);
        };
        let weights: Vec<u64> = entry
            .list()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|weight| u64::try_from(weight.number(ParameterKind::Integer)?).ok())
            .filter(|weight| *weight <= 1_000_000_000)
            .collect();
        if weights.len() != values.len() || weights.iter().sum::<u64>() == 0 {
            let message = format!("`weights` of {} do not match its values", of.place);
            let hint = "one whole number from 0 to 1,000,000,000 for each value, not all 0";
            return entry.error(message, hint);
        }
        choice(values, &weights)
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.value_text(draws, n)
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        self.value(draws, n).map_or(0, Literal::integer)
    }

    fn float(&self, draws: &Draws, n: u64) -> f64 {
        self.value(draws, n).map_or(0.0, Literal::float)
    }

    fn boolean(&self, draws: &Draws, n: u64) -> bool {
        self.value(draws, n) == Some(&Literal::Boolean(true))
    }

    fn texts(&self, _: &Draws) -> Option<Texts> {
        Some(self.values.iter().map(|value| value.text().into()).collect())
    }

    fn extremes(&self, _: ColumnType) -> Vec<Value> {
        let mut before = 0;
        let weighted = self.values.iter().zip(&self.cumulative).filter(|(_, sum)| {
            let is_chosen = **sum > before;
            before = **sum;
            is_chosen
        });
        weighted.map(|(value, _)| value.value()).collect()
    }

    fn pick(&self, draws: &Draws, n: u64) -> u64 {
        self.position(draws, n) as u64
    }
}
