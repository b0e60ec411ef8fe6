//! How a plan says its shares.

use crate::analysis::scaling::LEVEL;
use crate::model::display;

/// The level of every interval of a plan, as text.
pub(super) fn level() -> String {
    percent(LEVEL)
}

/// `95 %`, with as few digits as it needs.
pub(super) fn percent(part: f64) -> String {
    format!("{} %", display::plain(100.0 * part))
}
