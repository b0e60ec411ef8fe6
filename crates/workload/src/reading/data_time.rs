//! `[data_time]`: how the data's time follows the clock.

use super::names::position_of;
use super::parts;
use super::parts::positive;
use super::section::{Reader, Section};
use crate::definition::{DataTime, DataTimeMode};
use crate::parameter::ParameterKind;

/// Reads `[data_time]`; absent, the data's time never follows the clock.
pub(super) fn read_data_time(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
) -> Option<DataTime> {
    let mut section = root.section(reader, "data_time", "`data_time`".to_owned())?;
    let mode = parts::word(
        reader,
        &mut section,
        "mode",
        &[
            ("fixed", DataTimeMode::Fixed),
            ("backfill", DataTimeMode::Backfill),
            ("live", DataTimeMode::Live),
        ],
    );
    let start = section.required(reader, "start", "\"start\"");
    let start = start.and_then(|entry| {
        let name = section.text_of(reader, "start", entry)?;
        let times: Vec<String> = reader
            .settings
            .iter()
            .filter(|(_, setting)| setting.kind() == ParameterKind::Timestamp)
            .map(|(name, _)| name.clone())
            .collect();
        let names = times.iter().map(String::as_str);
        position_of(reader, names, "timestamp parameter", &name, entry.span())?;
        Some(name)
    });
    let interval = positive(reader, &mut section, "interval", None);
    let rows = section.integer(reader, "rows", 1..=i64::MAX, Some(1));
    section.finish(reader);
    Some(DataTime {
        mode: mode?,
        start: start?,
        interval: interval?,
        rows: rows?.unsigned_abs(),
    })
}
