//! `timeline`: start + tick × interval, perhaps with jitter.

use super::making::Scope;
use super::making::{Fill, Generate, MadeFor};
use crate::generators::prelude::{
    ColumnData, Draws, Section, Segments, Serialize, Spec, TIMESTAMP, Ticks, specs,
};
use crate::layout::timestamps;
use crate::parameter::ParameterKind;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Timeline(pub(crate) Ticks);

impl Generate for Timeline {
    const SPECS: &'static [Spec] = specs!(
        "timeline", "start + tick × interval", TIMESTAMP,
        ["start": Timestamp, "interval": Duration; "jitter": Durations];
    );

    fn read(of: &Section<'_>, _: &Scope<'_>) -> Option<Self> {
        of.good(Self(Ticks {
            start: of.timestamp("start"),
            interval: of.positive("interval", None),
            jitter: read_jitter(of),
        }))
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Times(self.0, column.draws())
    }
}

/// `jitter = ["-5ms", "14ms"]`: how far a row may be from its tick.
fn read_jitter(of: &Section<'_>) -> Option<(i64, i64)> {
    let entry = of.optional("jitter")?;
    let ends: Vec<i64> =
        entry.list()?.into_iter().filter_map(|end| end.number(ParameterKind::Duration)).collect();
    match ends[..] {
        [before, after] if before <= after => Some((before, after)),
        _ => {
            let message = format!("`jitter` of {} is not two durations in order", of.place);
            entry.error(message, "write jitter = [\"-5ms\", \"14ms\"]")
        }
    }
}

#[derive(Debug)]
struct Times(Ticks, Draws);

impl Fill for Times {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        let Self(ticks, draws) = self;
        timestamps(data, segments, |segment, values| {
            if ticks.jitter.is_none() {
                values.resize(values.len() + segment.rows, ticks.at(segment.tick));
            } else {
                let rows = segment.row_indexes();
                values.extend(rows.map(|row| ticks.near(segment.tick, draws, row)));
            }
        });
    }
}
