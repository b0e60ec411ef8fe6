//! The start of a timeline when the data's time follows the clock.
//!
//! Must not read a clock. The result is settings with a fixed start, which the plan stores: the same settings give the
//! same rows at any later time.

use std::collections::BTreeMap;

use super::definition::{DataTimeMode, Definition};
use super::parameter::{ParameterKind, Setting};

/// `settings` with the start of the data's time set, if they request one that follows the clock; `now` is in
/// milliseconds since 1970.
///
/// Live data begin at `now`. A backfill begins such that the tick of the last row to load is the last one up to `now`,
/// and the load continues from there. It loads `rows`, or as many as the definition says. A start that is already set
/// is kept: the data continue.
pub(super) fn settled(
    definition: &Definition,
    settings: &BTreeMap<String, String>,
    now: i64,
    rows: Option<u64>,
) -> BTreeMap<String, String> {
    let mut settled = settings.clone();
    let data_time = definition.data_time.as_ref();
    let Some(data_time) = data_time.filter(|of| !settings.contains_key(&of.start)) else {
        return settled;
    };
    let ticks = match data_time.mode {
        DataTimeMode::Fixed => return settled,
        DataTimeMode::Live => 0,
        DataTimeMode::Backfill => {
            let rows = rows.unwrap_or_else(|| definition.load.map_or(0, |load| load.rows));
            rows.div_ceil(data_time.rows).saturating_sub(1)
        }
    };
    let name = &data_time.start;
    let back = i64::try_from(ticks).map_or(i64::MAX, |t| t.saturating_mul(data_time.interval));
    let start = Setting::Number(ParameterKind::Timestamp, now.saturating_sub(back));
    settled.insert(name.clone(), start.to_string());
    settled
}
