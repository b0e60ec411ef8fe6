//! From records to charts: selects the figures to draw, and their texts.
//!
//! Pure selection and addition; must not judge or average a percentile.

mod experiments;
mod machines;
mod nodes;
mod time;
mod timeline;

pub(crate) use experiments::{Overlaid, axis_values, by, others, overlay, runs, search, tune};
pub(crate) use machines::{machine, target, target_so_far};
pub(crate) use nodes::{growth, growths, known_word, scale, text_plot};
pub(crate) use time::{distributions, over_time, so_far};
