//! From records to charts: which figures are drawn, and with what words beside them.
//!
//! Pure selection and adding up; nothing is judged, and no percentile is averaged.

mod curve;
mod distribution;
mod growth;
mod growths;
mod machine;
mod overlaid;
mod runs;
mod scale;
mod search;
mod target;
mod time;
mod timeline;
mod tune;

pub(super) use distribution::distributions;
pub(super) use growth::growth;
pub(super) use growths::growths;
pub(super) use machine::machine;
pub(crate) use overlaid::Overlaid;
pub(super) use overlaid::overlay;
pub(super) use runs::runs;
pub(super) use scale::scale;
pub(super) use search::search;
pub(super) use target::{target, target_so_far};
pub(super) use time::over_time;
pub(super) use timeline::notes;
pub(super) use tune::tune;
