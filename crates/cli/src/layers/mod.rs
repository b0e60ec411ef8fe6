//! Where settings come from: command line over environment over file over default.
//!
//! Values are still text here, each with its origin. Must not interpret a value; that is the job of
//! [`crate::settings`].

pub mod file;
mod gather;
mod names;
mod stack;
mod value;

pub use names::variable;
pub use stack::{Layers, Strength};
pub use value::{Origin, SettingValue, has_scheme};
