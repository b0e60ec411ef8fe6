//! What each command does with its settings.

pub mod check;
pub mod manual;
mod plan_input;
pub mod run;
pub mod show;
pub mod size;
