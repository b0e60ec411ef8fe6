//! Generators of texts and of values listed in the file: `text`, `dictionary`, `choice`, `constant`, and `uuid`.

use std::fmt::Write as _;

use serde::Serialize;
use toml::de::DeValue;

use highwater_model::op::{ColumnType, Value};

use super::{Make, Texts, range_of};
use crate::generators::{SCALARS, Spec, TEXT, specs};
use crate::input::{Entry, Section};
use crate::parameter::ParameterKind;
use crate::random::{Distribution, Draws, Sampler, mix};

/// Six bits per character; none needs escaping in JSON, CSV, or SQL.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Number of characters from one 64-bit number.
const PER_WORD: u64 = 10;

/// The digits of a number in base 64, most significant first; it must be below 2⁴⁸.
const MARK: u64 = 8;

/// Maximum number of characters of a random text.
pub(crate) const MAX_LENGTH: i64 = 1 << 20;

/// `text`: random text of a given compressibility.
///
/// Random text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Text {
    /// Minimum number of characters; at least `digits`.
    least: u64,
    /// Maximum number of characters, up to [`MAX_LENGTH`].
    most: u64,
    /// Number of repetitions of the random part: at least 1. With 1, all characters are random.
    repeat: f64,
    /// Number of leading characters that are the value's number in decimal, padded with zeros; 0
    /// for none.
    digits: u64,
    /// Whether texts of at least [`MARK`] characters begin with their number in base 64.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    marked: bool,
}

impl Text {
    /// Whether every text contains its number.
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
        // A wrong length is reported only once.
        let whole = of.good(most);
        let least = of.integer("least", 0..=whole.unwrap_or(MAX_LENGTH), Some(most));
        let digits = of.integer("digits", 0..=18, Some(0));
        let marked = of.optional("marked").is_some_and(|entry| match entry.value() {
            DeValue::Boolean(marked) => *marked,
            _ => entry.wrong_type::<()>("boolean").is_some(),
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
        // Each text has its own range of random numbers: one for the length, the others for the
        // characters.
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

/// `pattern`: a text in which each `#` is a random digit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Pattern(String);

impl Make for Pattern {
    const SPECS: &'static [Spec] = specs!(
        "pattern", "a text in which each `#` is a random digit", TEXT,
        ["pattern": Text;];
    );

    fn read(of: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        let pattern = of.text("pattern");
        of.good(Self(pattern))
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        let base = n.wrapping_mul(self.0.len() as u64 / DIGITS_PER_WORD + 1);
        let mut text = String::with_capacity(self.0.len());
        let (mut word, mut drawn) = (0, 0);
        for character in self.0.chars() {
            if character != '#' {
                text.push(character);
                continue;
            }
            if drawn % DIGITS_PER_WORD == 0 {
                word = draws.word(base.wrapping_add(drawn / DIGITS_PER_WORD)) >> 10;
            }
            text.push(char::from(b'0' + u8::try_from(word % 10).unwrap_or(0)));
            word /= 10;
            drawn += 1;
        }
        text
    }
}

/// Number of digits from one 64-bit number; their bias is below 10⁻⁶.
const DIGITS_PER_WORD: u64 = 10;

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

/// Maximum number of words of a dictionary; a column keeps them in memory.
pub(crate) const MAX_WORDS: i64 = 1_000_000;

/// Maximum number of letters of a word.
pub(crate) const MAX_WORD: i64 = 64;

/// `dictionary`: one of many generated words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Dictionary {
    words: Words,
    sampler: Sampler,
}

/// Distinct words of lowercase letters.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Words {
    /// Number of words: 1 to [`MAX_WORDS`].
    size: u64,
    /// Letters per word: enough to make the words distinct.
    length: u64,
}

/// Number of letters needed to number this many words.
pub(crate) fn letters(size: u64) -> u64 {
    u64::from(size.saturating_sub(1).checked_ilog(26).unwrap_or(0)) + 1
}

impl Words {
    /// Word `number`: random letters followed by the number in letters, so that all words differ.
    fn word(&self, draws: &Draws, number: u64) -> String {
        let ending = letters(self.size).min(self.length);
        // A range of numbers far from those that pick words.
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
        "dictionary", "one of many generated words", TEXT,
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

/// `choice`: one of a list, by weight.
///
/// Values to choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Choice {
    /// At least one.
    pub(crate) values: Vec<Literal>,
    /// Per value, the sum of its weight and those of all values before it; the last one is
    /// positive.
    cumulative: Vec<u64>,
}

/// A choice among values with one weight each; `None` without values.
pub(crate) fn choice(values: Vec<Literal>, weights: &[u64]) -> Option<Choice> {
    let mut sum = 0_u64;
    let up_to = |weight: &u64| {
        sum = sum.saturating_add(*weight);
        sum
    };
    let cumulative = weights.iter().map(up_to).collect();
    (!values.is_empty()).then_some(Choice { values, cumulative })
}

impl Choice {
    /// The position of the n-th choice.
    pub(crate) fn position(&self, draws: &Draws, n: u64) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0);
        let point = draws.below(n, total);
        self.cumulative
            .partition_point(|sum| *sum <= point)
            .min(self.values.len().saturating_sub(1))
    }

    /// The n-th choice as text.
    pub(crate) fn value_text(&self, draws: &Draws, n: u64) -> String {
        self.value(draws, n).map_or_else(String::new, Literal::text)
    }

    fn value(&self, draws: &Draws, n: u64) -> Option<&Literal> {
        self.values.get(self.position(draws, n))
    }
}

impl Make for Choice {
    const SPECS: &'static [Spec] = specs!(
        "choice", "one of a list, by weight", SCALARS,
        ["values": Literals; "weights": Integers, "by": Text];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        let values = literals(of.required("values", "[…]")?, kind, &of.place);
        let Some(entry) = of.optional("weights") else {
            let weights = vec![1; values.len()];
            return choice(values, &weights);
        };
        let weights: Vec<u64> = entry
            .list()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|weight| u64::try_from(weight.number(ParameterKind::Integer)?).ok())
            .filter(|weight| *weight <= 1_000_000_000)
            .collect();
        if weights.len() != values.len() || weights.iter().sum::<u64>() == 0 {
            let message = format!("`weights` of {} do not match its values", of.place);
            let hint = "one whole number from 0 to 1,000,000,000 for each value, not all 0";
            of.check_at("weights", false, message, hint);
            return None;
        }
        choice(values, &weights)
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.value_text(draws, n)
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        self.value(draws, n).map_or(0, Literal::integer)
    }

    fn float(&self, draws: &Draws, n: u64) -> f64 {
        self.value(draws, n).map_or(0.0, Literal::float)
    }

    fn boolean(&self, draws: &Draws, n: u64) -> bool {
        self.value(draws, n) == Some(&Literal::Boolean(true))
    }

    fn texts(&self, _: &Draws) -> Option<Texts> {
        Some(self.values.iter().map(|value| value.text().into()).collect())
    }

    fn extremes(&self, _: ColumnType) -> Vec<Value> {
        let mut before = 0;
        let weighted = self.values.iter().zip(&self.cumulative).filter(|(_, sum)| {
            let is_chosen = **sum > before;
            before = **sum;
            is_chosen
        });
        weighted.map(|(value, _)| value.value()).collect()
    }

    fn pick(&self, draws: &Draws, n: u64) -> u64 {
        self.position(draws, n) as u64
    }
}

/// A value of a column or of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Literal {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Milliseconds since 1970.
    Timestamp(i64),
    Text(String),
}

impl Literal {
    /// Reads a value of type `kind`.
    pub(super) fn read(entry: Entry<'_>, kind: ColumnType) -> Option<Self> {
        let literal = match (kind, entry.value()) {
            (ColumnType::Text, DeValue::String(_)) => return entry.text().map(Self::Text),
            (ColumnType::Integer | ColumnType::Bigint, _) => {
                let number = entry.integer();
                number.filter(|number| range_of(kind).contains(number)).map(Self::Integer)
            }
            (ColumnType::Float, _) => entry.float().map(Self::Float),
            (ColumnType::Boolean, DeValue::Boolean(value)) => Some(Self::Boolean(*value)),
            (ColumnType::Timestamp, DeValue::String(text)) => {
                ParameterKind::Timestamp.parse(text).map(Self::Timestamp)
            }
            _ => None,
        };
        literal.or_else(|| entry.wrong_type(kind.name()))
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The value as stored in a column.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Integer(number) => Value::Integer(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Timestamp(ms) => Value::TimestampMs(*ms),
            Self::Text(text) => Value::Text(text.as_str().into()),
        }
    }

    /// The value as an integer; 0 if it is not an integer.
    pub(super) fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) | Self::Timestamp(number) => *number,
            Self::Float(_) | Self::Boolean(_) | Self::Text(_) => 0,
        }
    }

    /// The value as a floating-point number; 0 if it is not a number.
    pub(super) fn float(&self) -> f64 {
        match self {
            Self::Float(number) => *number,
            _ => 0.0,
        }
    }
}

/// Reads a list of values of type `kind`; an empty list is reported as an error.
pub(crate) fn literals(entry: Entry<'_>, kind: ColumnType, place: &str) -> Vec<Literal> {
    let elements = entry.list();
    if elements.as_ref().is_some_and(Vec::is_empty) {
        let message = format!("`{}` of {place} is empty", entry.key);
        entry.error::<()>(message, format!("write at least one {}", kind.name()));
    }
    elements
        .unwrap_or_default()
        .into_iter()
        .filter_map(|element| Literal::read(element, kind))
        .collect()
}

/// `constant`: always the same value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Constant(pub(crate) Literal);

impl Make for Constant {
    const SPECS: &'static [Spec] =
        specs!("constant", "always the same", SCALARS, ["value": Literal;];);

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        Literal::read(of.required("value", "…")?, kind).map(Self)
    }

    fn text(&self, _: &Draws, _: u64) -> String {
        self.0.text()
    }

    fn integer(&self, _: &Draws, _: u64) -> i64 {
        self.0.integer()
    }

    fn float(&self, _: &Draws, _: u64) -> f64 {
        self.0.float()
    }

    fn boolean(&self, _: &Draws, _: u64) -> bool {
        self.0 == Literal::Boolean(true)
    }

    fn texts(&self, _: &Draws) -> Option<Texts> {
        Some([self.0.text().into()].into())
    }
}

/// `uuid`: UUIDs of version 4, or of version 7.
///
/// For version 4, only its name is part of fingerprints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Uuid {
    Uuid,
    /// The time of the n-th one is start + n · interval, in milliseconds since 1970.
    Uuid7 {
        start: i64,
        /// At least 1.
        interval: i64,
    },
}

impl Make for Uuid {
    const SPECS: &'static [Spec] = specs!(
        "uuid", "a UUID of version 4", TEXT, [;];
        "uuid7", "a UUID of version 7, whose time is start + number × interval", TEXT,
        ["start": Timestamp, "interval": Duration;];
    );

    fn read(of: &Section<'_>, name: &str, _: ColumnType) -> Option<Self> {
        if name == "uuid" {
            return Some(Self::Uuid);
        }
        let (start, interval) = (of.timestamp("start"), of.positive("interval", None));
        of.good(Self::Uuid7 { start, interval })
    }

    /// The n-th UUID (RFC 9562): 122 random bits, or 48 bits of time and 74 random ones.
    fn text(&self, draws: &Draws, n: u64) -> String {
        let high = draws.word(n.wrapping_mul(2)) & !0xf000;
        let high = match self {
            Self::Uuid => high | 0x4000,
            Self::Uuid7 { start, interval } => {
                let since = i64::try_from(n).map_or(i64::MAX, |n| n.saturating_mul(*interval));
                let ms = start.saturating_add(since).cast_unsigned();
                ms << 16 | high & 0xfff | 0x7000
            }
        };
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
}
