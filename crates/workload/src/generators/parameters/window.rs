//! `window`: the start of a window of the data's time, uniform over those that the rows before the
//! stream fill.

use super::making::{OpScope, Parameter, read_ticks};
use crate::generators::columns::Scope;
use crate::generators::prelude::{Section, Serialize, Spec, TIMESTAMP, Ticks, Value, specs};

/// All but the table in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Window {
    table: usize,
    timeline: Ticks,
    length: i64,
    /// Between possible starts.
    step: i64,
    /// Added to the start.
    offset: i64,
}

impl Parameter for Window {
    const SPECS: &'static [Spec] = specs!(
        "window", "the start of a window of the data's time", TIMESTAMP,
        ["table": Text, "length": Duration; "step": Duration, "offset": Duration];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let length = of.positive("length", None);
        let step = of.positive("step", Some(1));
        let offset = of.duration("offset", Some(0));
        let (table, timeline) = read_ticks(of, scope)?;
        of.good(Self { table, timeline, length, step, offset })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let begin = self.timeline.at(0);
        let end = self.timeline.at(op.last_tick(self.table).saturating_add(1));
        let span = end.saturating_sub(begin).saturating_sub(self.length).max(0);
        let starts = (span / self.step.max(1)).unsigned_abs().saturating_add(1);
        op.append_each(values, |n| {
            let start = i64::try_from(op.draws.below(n, starts)).unwrap_or(0);
            let start = begin.saturating_add(start.saturating_mul(self.step));
            Value::TimestampMs(start.saturating_add(self.offset))
        });
    }
}
