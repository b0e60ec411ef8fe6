//! Text that is made rather than listed: random text of a given compressibility, the words of a
//! dictionary, and UUIDs.

use std::fmt::Write as _;

use serde::Serialize;

use super::random::{Draws, mix};

/// Six bits a character; none needs escaping in JSON, CSV or SQL.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters made of one 64-bit number.
const PER_WORD: u64 = 10;

/// Random text.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct TextShape {
    /// Characters at least; at least `digits`.
    pub(super) least: u64,
    /// Characters at most, up to [`MAX_LENGTH`].
    pub(super) most: u64,
    /// How often the random part is repeated: at least 1. At 1 all characters are random.
    pub(super) repeat: f64,
    /// Characters at the beginning that are the value's number in decimal, with zeros before it;
    /// 0 for none.
    pub(super) digits: u64,
    /// Whether texts of at least [`MARK`] characters begin with their number in base 64.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) marked: bool,
}

/// Characters of a number in base 64, the greatest digit first; it must be below 2⁴⁸.
pub(super) const MARK: u64 = 8;

/// Characters of a random text, at most.
pub(super) const MAX_LENGTH: i64 = 1 << 20;

impl TextShape {
    /// The n-th text.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths are at most 2^20, the factor at least 1"
    )]
    pub(super) fn text(&self, draws: &Draws, n: u64) -> String {
        // Each text has its own range of numbers: one for the length, the others for characters.
        let base = n.wrapping_mul(self.most / PER_WORD + 2);
        let length = self.least + draws.below(base, self.most - self.least + 1);
        let mut text = String::with_capacity(usize::try_from(length).unwrap_or(0));
        if self.digits > 0 {
            let width = usize::try_from(self.digits).unwrap_or(0);
            // Writing to a string cannot fail.
            let _ = write!(text, "{n:0width$}");
        }
        if self.marked && length >= MARK {
            let digits = (0..MARK).rev().map(|place| n >> (6 * place) & 63);
            text.extend(
                digits.map(|digit| char::from(ALPHABET[usize::try_from(digit).unwrap_or(0)])),
            );
        }
        let made = length.saturating_sub(text.len() as u64);
        let random = ((made as f64 / self.repeat).ceil() as u64).clamp(1, made.max(1));
        let begin = text.len();
        push_random(&mut text, draws, base.wrapping_add(1), made.min(random));
        let part = text.get(begin..).unwrap_or_default().to_owned();
        while (text.len() as u64) < length && !part.is_empty() {
            let missing = usize::try_from(length).unwrap_or(0) - text.len();
            text.push_str(part.get(..missing.min(part.len())).unwrap_or_default());
        }
        text
    }
}

fn push_random(text: &mut String, draws: &Draws, base: u64, characters: u64) {
    let mut left = characters;
    for position in 0..characters.div_ceil(PER_WORD) {
        let mut word = draws.word(base.wrapping_add(position));
        for _ in 0..left.min(PER_WORD) {
            text.push(char::from(
                ALPHABET[usize::try_from(word & 63).unwrap_or(0)],
            ));
            word >>= 6;
        }
        left = left.saturating_sub(PER_WORD);
    }
}

/// Words of small letters, all different.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct WordShape {
    /// How many words there are: 1 to [`MAX_WORDS`].
    pub(super) size: u64,
    /// Letters of each: enough to tell them apart.
    pub(super) length: u64,
}

/// Words of a dictionary, at most; a column keeps them in memory.
pub(super) const MAX_WORDS: i64 = 1_000_000;

/// Letters of a word, at most.
pub(super) const MAX_WORD: i64 = 64;

impl WordShape {
    /// Letters that the number of the last word needs.
    pub(super) fn letters(size: u64) -> u64 {
        let mut rest = size.saturating_sub(1);
        let mut letters = 1;
        while rest >= 26 {
            rest /= 26;
            letters += 1;
        }
        letters
    }

    /// Word `number`: random letters, then the number in letters, so that no two are the same.
    pub(super) fn word(&self, draws: &Draws, number: u64) -> String {
        let ending = Self::letters(self.size).min(self.length);
        // Far from the numbers that pick words.
        let mut bits = draws.word(mix(number ^ (1 << 63)));
        let mut letter = |text: &mut Vec<u8>| {
            text.push(b'a' + u8::try_from(bits % 26).unwrap_or(0));
            bits = mix(bits);
        };
        let mut text = Vec::new();
        (ending..self.length).for_each(|_| letter(&mut text));
        let mut rest = number;
        for _ in 0..ending {
            text.push(b'a' + u8::try_from(rest % 26).unwrap_or(0));
            rest /= 26;
        }
        text.into_iter().map(char::from).collect()
    }
}

/// The n-th UUID of version 4 (RFC 9562): 122 random bits.
pub(super) fn uuid(draws: &Draws, n: u64) -> String {
    let high = draws.word(n.wrapping_mul(2)) & !0xf000;
    let high = high | 0x4000;
    let low = draws.word(n.wrapping_mul(2).wrapping_add(1)) & !(0b11 << 62) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
