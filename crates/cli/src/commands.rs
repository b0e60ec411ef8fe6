//! What each command does with its settings.

pub mod check;
pub mod manual;
pub mod run;
pub mod show;
