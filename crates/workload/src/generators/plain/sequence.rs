//! `sequence`: evenly spaced numbers, which may begin again.

use super::making::{Make, prefix_of, range_of};
use crate::generators::prelude::{ColumnType, Draws, NUMBERED, Section, Serialize, Spec, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sequence {
    start: i64,
    step: i64,
    /// start + (step · number mod modulo); 0 for no end.
    #[serde(skip_serializing_if = "crate::is_default")]
    modulo: u64,
    prefix: String,
}

impl Make for Sequence {
    const SPECS: &'static [Spec] = specs!(
        "sequence", "start + step × number, of which the multiple of step modulo `modulo`", NUMBERED,
        [; "start": Integer, "step": Integer, "modulo": Integer, "prefix": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        of.good(Self {
            start: of.integer("start", range_of(kind), Some(0)),
            step: of.integer("step", range_of(kind), Some(1)),
            modulo: of.natural("modulo", 0, Some(0)),
            prefix: prefix_of(of, kind),
        })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        format!("{}{}", self.prefix, self.integer(draws, n))
    }

    fn integer(&self, _: &Draws, n: u64) -> i64 {
        let steps = if self.modulo == 0 {
            self.step.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX))
        } else {
            let round = i128::from(self.step) * i128::from(n);
            let round = round.rem_euclid(i128::from(self.modulo));
            i64::try_from(round).unwrap_or(i64::MAX)
        };
        self.start.saturating_add(steps)
    }

    fn prefix(&self) -> Option<&str> {
        Some(&self.prefix)
    }
}
