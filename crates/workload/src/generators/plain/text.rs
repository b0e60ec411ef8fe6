//! `text`: random text of a given compressibility.

use std::fmt::Write as _;

use toml::de::DeValue;

use super::making::Make;
use crate::generators::prelude::{ColumnType, Draws, Section, Serialize, Spec, TEXT, Value, specs};

/// Six bits a character; none needs escaping in JSON, CSV or SQL.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters made of one 64-bit number.
const PER_WORD: u64 = 10;

/// Characters of a number in base 64, the greatest digit first; it must be below 2⁴⁸.
const MARK: u64 = 8;

/// Characters of a random text, at most.
pub(crate) const MAX_LENGTH: i64 = 1 << 20;

/// Random text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Text {
    /// Characters at least; at least `digits`.
    least: u64,
    /// Characters at most, up to [`MAX_LENGTH`].
    most: u64,
    /// How often the random part is repeated: at least 1. At 1 all characters are random.
    repeat: f64,
    /// Characters at the beginning that are the value's number in decimal, with zeros before it;
    /// 0 for none.
    digits: u64,
    /// Whether texts of at least [`MARK`] characters begin with their number in base 64.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    marked: bool,
}

impl Text {
    /// Whether every text has its number in it.
    pub(crate) fn is_marked(&self) -> bool {
        self.marked && self.least >= MARK
    }
}

impl Make for Text {
    const SPECS: &'static [Spec] = specs!(
        "text", "random text of a length and a compressibility", TEXT,
        ["length": Integer; "least": Integer, "repeat": Float, "digits": Integer, "marked": Literal];
    );

    fn read(of: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        let most = of.integer("length", 1..=MAX_LENGTH, None);
        // Of a length that is wrong nothing more is said.
        let whole = of.good(most);
        let least = of.integer("least", 0..=whole.unwrap_or(MAX_LENGTH), Some(most));
        let digits = of.integer("digits", 0..=18, Some(0));
        let marked = of.optional("marked").is_some_and(|entry| match entry.value() {
            DeValue::Boolean(marked) => *marked,
            _ => entry.wrong_type::<()>("boolean", entry.type_name()).is_some(),
        });
        let repeat = of.float("repeat", Some(1.0));
        let message = format!("`repeat` of {} is {repeat}", of.place);
        let hint = "1 for random text, 2 for text that shrinks to half of that, and so on";
        of.check_at("repeat", repeat >= 1.0, message, hint);
        let message = format!("the text of {} begins with two numbers", of.place);
        of.check(!marked || digits == 0, message, "`digits` or `marked`, not both");
        let message = format!("the text of {} is too short for its digits", of.place);
        of.check(digits <= least, message, format!("a length of at least {digits}"));
        of.good(Self {
            least: least.unsigned_abs(),
            most: most.unsigned_abs(),
            repeat,
            digits: digits.unsigned_abs(),
            marked,
        })
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lengths are at most 2^20, the factor at least 1"
    )]
    fn text(&self, draws: &Draws, n: u64) -> String {
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
            text.extend((0..MARK).rev().map(|place| letter(n >> (6 * place))));
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

    fn extremes(&self, _: ColumnType) -> Vec<Value> {
        let text = |length: u64| "0".repeat(usize::try_from(length).unwrap_or(0));
        [self.least, self.most].map(|length| Value::Text(text(length).into())).to_vec()
    }
}

/// The character of the last six bits.
fn letter(bits: u64) -> char {
    char::from(ALPHABET[usize::try_from(bits & 63).unwrap_or(0)])
}

fn push_random(text: &mut String, draws: &Draws, base: u64, characters: u64) {
    let mut left = characters;
    for position in 0..characters.div_ceil(PER_WORD) {
        let mut word = draws.word(base.wrapping_add(position));
        for _ in 0..left.min(PER_WORD) {
            text.push(letter(word));
            word >>= 6;
        }
        left = left.saturating_sub(PER_WORD);
    }
}
