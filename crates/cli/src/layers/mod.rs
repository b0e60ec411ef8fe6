//! The values given for one command, by layer: command line over environment over file over
//! default.
//!
//! Values are still text here, each with its origin. Must not interpret a value; that is the job of
//! [`crate::intent`].

mod schemes;
mod stack;
mod value;

pub use schemes::TargetSchemes;
pub use stack::{Layers, Strength};
pub use value::{Next, Origin, SettingValue, has_scheme};
