//! The data's time and the clock's: where a timeline starts when the data should follow the clock.
//!
//! No clock is read here. What comes out are settings with a fixed start, which a plan writes
//! down: the same settings make the same rows again, whenever that is.

use std::collections::BTreeMap;

use super::definition::{DataTimeMode, Definition};
use super::parameter::{ParameterKind, Setting};

/// `settings` with the start of the data's time set, if they ask for one that follows the clock;
/// `now` is in milliseconds since 1970.
///
/// Live data begins at `now`. A backfill begins so that the tick of the last row to load is the
/// last one up to `now`; the load goes on from there. It loads `rows`, or as many as the definition says. A start that
/// is set was settled before: the data go on.
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
