//! From records to charts: selects the figures to draw, and their texts.
//!
//! Pure selection and addition; must not judge or average a percentile.

mod distribution;
mod machine;
mod nodes;
mod overlaid;
mod runs;
mod search;
mod target;
mod time;
mod timeline;
mod tune;

pub(super) use distribution::distributions;
pub(super) use machine::machine;
pub(super) use nodes::{growth, growths, scale};
pub(crate) use overlaid::Overlaid;
pub(super) use overlaid::overlay;
pub(super) use runs::runs;
pub(super) use search::search;
pub(super) use target::{target, target_so_far};
pub(super) use time::over_time;
pub(super) use timeline::notes;
pub(super) use tune::tune;
