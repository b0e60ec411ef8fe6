//! The parts of a page beside its charts: words and tables, from what the text report prints too.

mod audit;
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

pub(super) use audit::audit;
pub(super) use group::group;
pub(super) use head::{counts, head, title};
pub(super) use judged::judged;
pub(super) use machine::{availability, machine};
pub(super) use notes::{findings, repeat};
pub(super) use ops::{answers, latency};
pub(super) use scale::scale;
pub(super) use search::search;
pub(super) use settings::settings;
pub(super) use size::{size, size_head};
pub(crate) use tables::table;
pub(super) use tune::tune;
