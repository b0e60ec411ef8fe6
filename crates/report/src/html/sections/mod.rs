//! The parts of a page, each folded behind a heading and a line that summarizes it: words and tables, as in the text
//! report.

mod counts;
mod group;
mod head;
mod judged;
mod machine;
mod notes;
mod ops;
mod scale;
mod search;
mod settings;
mod size;
mod tables;
mod tune;

pub(super) use counts::rows;
pub(super) use group::group;
pub(crate) use head::short_id;
pub(super) use head::{facts, tags};
pub(super) use judged::judged;
pub(super) use machine::{machine, over_time};
pub(super) use notes::{findings, repeat};
pub(super) use ops::{answers, latency};
pub(super) use scale::scale;
pub(super) use search::search;
pub(super) use settings::settings;
pub(super) use size::{known_word, size, size_facts, size_tags};
pub(crate) use tables::table;
pub(super) use tune::tune;

/// Parts that show one run; on the page of an experiment they name that run.
pub(super) const IS_OF_LAST_RUN: [&str; 6] =
    ["latency-of-ops", "over-time", "machines", "rows", "answers", "settings"];
