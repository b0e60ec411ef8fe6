//! `data-time`: the time of the last row before the stream, and an offset.

use super::making::{OpScope, Parameter, read_ticks};
use crate::generators::columns::Scope;
use crate::generators::prelude::{Section, Serialize, Spec, TIMESTAMP, Ticks, Value, specs};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DataTime {
    table: usize,
    timeline: Ticks,
    /// Milliseconds that are added.
    offset: i64,
}

impl Parameter for DataTime {
    const SPECS: &'static [Spec] = specs!(
        "data-time", "the time of the last row before the stream, and an offset", TIMESTAMP,
        ["table": Text; "offset": Duration];
    );

    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let offset = of.duration("offset", Some(0));
        let (table, timeline) = read_ticks(of, scope)?;
        of.good(Self { table, timeline, offset })
    }

    fn append(&self, op: &OpScope<'_>, values: &mut Vec<Value>) {
        let time = self.timeline.at(op.last_tick(self.table)).saturating_add(self.offset);
        op.append_each(values, |_| Value::TimestampMs(time));
    }
}
