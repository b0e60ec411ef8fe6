//! `dictionary`: one of many made words.

use super::making::{Make, Texts};
use crate::generators::distribution::{Distribution, Sampler};
use crate::generators::prelude::{ColumnType, Draws, Section, Serialize, Spec, TEXT, specs};
use crate::random::mix;

/// Words of a dictionary, at most; a column keeps them in memory.
pub(crate) const MAX_WORDS: i64 = 1_000_000;

/// Letters of a word, at most.
pub(crate) const MAX_WORD: i64 = 64;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Dictionary {
    words: Words,
    sampler: Sampler,
}

/// Words of small letters, all different.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Words {
    /// How many words there are: 1 to [`MAX_WORDS`].
    size: u64,
    /// Letters of each: enough to tell them apart.
    length: u64,
}

/// Letters that the number of the last of so many words needs.
pub(crate) fn letters(size: u64) -> u64 {
    u64::from(size.saturating_sub(1).checked_ilog(26).unwrap_or(0)) + 1
}

impl Words {
    /// Word `number`: random letters, then the number in letters, so that no two are the same.
    fn word(&self, draws: &Draws, number: u64) -> String {
        let ending = letters(self.size).min(self.length);
        // Far from the numbers that pick words.
        let mut bits = draws.word(mix(number ^ (1 << 63)));
        let letter = |number: u64| char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
        let mut text = String::new();
        for _ in ending..self.length {
            text.push(letter(bits));
            bits = mix(bits);
        }
        let mut rest = number;
        for _ in 0..ending {
            text.push(letter(rest));
            rest /= 26;
        }
        text
    }
}

impl Make for Dictionary {
    const SPECS: &'static [Spec] = specs!(
        "dictionary", "one of many made words", TEXT,
        ["size": Integer; "length": Integer, "distribution": Distribution, "theta": Float, "data": Float,
            "asked": Float, "percentile": Float, "order": Text];
    );

    fn read(of: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        let size = of.integer("size", 1..=MAX_WORDS, None).unsigned_abs();
        let length = of.integer("length", 1..=MAX_WORD, Some(8)).unsigned_abs();
        let distribution = Distribution::read(of)?;
        let letters = letters(size);
        let message = format!("words of {length} letters are too few for {}", of.place);
        let hint = format!("{size} different words need at least {letters} letters");
        of.check_at("length", length >= letters, message, hint);
        let sampler = Sampler::new(of.good(distribution)?, size);
        Some(Self { words: Words { size, length }, sampler })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.words.word(draws, self.sampler.pick(draws, n))
    }

    fn texts(&self, draws: &Draws) -> Option<Texts> {
        let word = |number| self.words.word(draws, number).into_boxed_str();
        Some((0..self.words.size).map(word).collect())
    }

    fn pick(&self, draws: &Draws, n: u64) -> u64 {
        self.sampler.pick(draws, n)
    }
}
