//! One comparison of two groups, as texts, Markdown and pages show it.

mod markdown;
mod page;
mod words;

pub(crate) use markdown::blocks;
pub(crate) use page::{card, differences};
pub(crate) use words::{WORDS, lines, named, rows};
