//! One comparison of two groups, as texts, Markdown and pages show it.

mod markdown;
mod words;

pub(crate) use markdown::blocks;
pub(crate) use words::{
    WORDS, advice_lines, against, basis, certain, difference, differing, figures_of, headlines,
    interval_words, lines, listed, named, place_of, rows, threshold, word,
};
