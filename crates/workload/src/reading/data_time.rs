//! `[data_time]`: how the data's time follows the clock.

use crate::definition::{DataTime, DataTimeMode};
use crate::input::Section;
use crate::parameter::ParameterKind;

/// Reads `[data_time]`; if absent, the data's time never follows the clock.
pub(super) fn read_data_time(root: &Section<'_>) -> Option<DataTime> {
    let of = root.part("data_time", "`data_time`")?;
    let modes = [
        ("fixed", DataTimeMode::Fixed),
        ("backfill", DataTimeMode::Backfill),
        ("live", DataTimeMode::Live),
    ];
    let mode = of.word("mode", &modes, None);
    let settings = of.reader.settings.borrow();
    let times: Vec<&str> = settings
        .iter()
        .filter(|(_, setting)| setting.kind() == ParameterKind::Timestamp)
        .map(|(name, _)| name.as_str())
        .collect();
    let entry = of.required("start", "\"start\"");
    let start = entry.and_then(|entry| entry.position("timestamp parameter", &times));
    let start = start.and_then(|position| times.get(position).copied());
    let interval = of.positive("interval", None);
    let rows = of.natural("rows", 1, Some(1));
    of.finish();
    let (mode, start) = (mode?, start?.to_owned());
    of.good(DataTime { mode, start, interval, rows })
}
