//! One comparison of two groups, as texts, Markdown and pages show it.

mod markdown;
mod words;

pub(crate) use markdown::blocks;
pub(crate) use words::{
    WORDS, advice_lines, basis, difference, differing, directions, figures_of, headlines,
    interval_words, lines, named, place_of, rows, threshold, word,
};
