//! Reports in each output: terminal, text, Markdown, CSV. Pages are in `html`.
//!
//! Must not have a sentence of its own about a kind of record.

mod csv;
mod markdown;
mod terminal;
mod text;

pub use csv::{csv, results_csv, telemetry_csv};
pub use markdown::markdown;
pub(crate) use markdown::markdown_of;
pub use terminal::{Summary, summary, without_color};
pub(crate) use text::text_of;
pub use text::{text, text_at};
