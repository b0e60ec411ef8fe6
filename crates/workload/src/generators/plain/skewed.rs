//! `zipfian`, `latest`, `hotspot` and `exponential`: some numbers of a range more often than others.
//!
//! What must not be here: the distributions themselves.

use super::making::{Make, ends, prefix_of, range_of};
use crate::generators::distribution::{Distribution, Sampler};
use crate::generators::prelude::{
    ColumnType, Draws, NUMBERED, Section, Serialize, Spec, Value, specs,
};

/// `min` and an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Skewed {
    min: i64,
    prefix: String,
    sampler: Sampler,
}

impl Make for Skewed {
    const SPECS: &'static [Spec] = specs!(
        "zipfian", "few of min to max often, most of them rarely", NUMBERED,
        ["min": Integer, "max": Integer; "theta": Float, "order": Text, "prefix": Text];
        "latest", "zipfian counted back from max", NUMBERED,
        ["min": Integer, "max": Integer; "theta": Float, "prefix": Text];
        "hotspot", "a share of min to max gets a share of the draws", NUMBERED,
        ["min": Integer, "max": Integer; "data": Float, "asked": Float, "prefix": Text];
        "exponential", "exponentially fewer from min to max", NUMBERED,
        ["min": Integer, "max": Integer; "percentile": Float, "data": Float, "prefix": Text];
    );

    fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self> {
        let prefix = prefix_of(of, kind);
        let min = of.integer("min", range_of(kind), None);
        let max = of.integer("max", range_of(kind), None);
        let distribution = Distribution::read_as(of, name)?;
        of.check_order(min <= max);
        let items = max.abs_diff(min).saturating_add(1);
        let sampler = of.good(distribution).map(|of| Sampler::new(of, items))?;
        Some(Self { min, prefix, sampler })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        format!("{}{}", self.prefix, self.integer(draws, n))
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        self.min.saturating_add_unsigned(self.sampler.pick(draws, n))
    }

    fn extremes(&self, kind: ColumnType) -> Vec<Value> {
        let max = self.min.saturating_add_unsigned(self.sampler.items() - 1);
        ends(kind, &self.prefix, [self.min, max])
    }

    fn prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}
