//! From records to charts: selects the figures to draw, and their texts.
//!
//! Pure selection and addition; must not judge or average a percentile.

mod distribution;
mod groups;
mod machines;
mod nodes;
mod search;
mod time;
mod timeline;
mod tune;

pub(crate) use distribution::distributions;
pub(crate) use groups::{Overlaid, overlay, runs};
pub(crate) use machines::{machine, target, target_so_far};
pub(crate) use nodes::{growth, growths, known_word, scale};
pub(crate) use search::search;
pub(crate) use time::{over_time, so_far};
pub(crate) use tune::{by, others, tune, values};
