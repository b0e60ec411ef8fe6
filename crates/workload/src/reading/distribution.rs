//! The options of distributions, and of generators of text that is made.

use super::section::{Reader, Section};
use crate::distribution::{Distribution, Sampler};
use crate::plain::Plain;
use crate::words::{MAX_LENGTH, MAX_WORD, MAX_WORDS, TextShape, WordShape};
use highwater_model::input_error::suggest;

/// Distributions by name.
pub(crate) const DISTRIBUTIONS: [&str; 5] =
    ["uniform", "zipfian", "latest", "hotspot", "exponential"];

/// YCSB's constant of zipfian draws.
const THETA: f64 = 0.99;
/// YCSB's shares of hotspot draws: of the data, and of the ops.
const HOT_DATA: f64 = 0.2;
const HOT_DRAWS: f64 = 0.8;
/// YCSB's exponential draws: 95 % of the ops on this share of the data.
const PERCENTILE: f64 = 0.95;
const EXPONENTIAL_DATA: f64 = 0.857_142_857_1;

/// Reads the options of the distribution called `name`, one of [`DISTRIBUTIONS`].
pub(super) fn read_distribution(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    name: &str,
) -> Option<Distribution> {
    match name {
        "zipfian" => {
            let theta = exponent(reader, section);
            let scrambled = read_order(reader, section);
            Some(Distribution::Zipfian {
                theta: theta?,
                scrambled: scrambled?,
            })
        }
        "latest" => {
            share(reader, section, "theta", THETA).map(|theta| Distribution::Latest { theta })
        }
        "hotspot" => {
            let data = share(reader, section, "data", HOT_DATA);
            let hot_draws = share(reader, section, "asked", HOT_DRAWS);
            Some(Distribution::Hotspot {
                data: data?,
                hot_draws: hot_draws?,
            })
        }
        "exponential" => {
            let percentile = share(reader, section, "percentile", PERCENTILE);
            let data = share(reader, section, "data", EXPONENTIAL_DATA);
            Some(Distribution::Exponential {
                percentile: percentile?,
                data: data?,
            })
        }
        _ => Some(Distribution::Uniform),
    }
}

/// Reads `distribution`, uniform if absent, and its options.
pub(super) fn read_chosen_distribution(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<Distribution> {
    let Some(entry) = section.optional("distribution") else {
        return Some(Distribution::Uniform);
    };
    let name = section.text_of(reader, "distribution", entry)?;
    if !DISTRIBUTIONS.contains(&name.as_str()) {
        let message = format!("unknown distribution `{name}` of {}", section.place);
        reader.report(entry.span(), message, suggest(&name, DISTRIBUTIONS));
        return None;
    }
    read_distribution(reader, section, &name)
}

/// `order = "ranked"`: the first is the most frequent; `"scrambled"`, the default: by a hash.
fn read_order(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<bool> {
    let Some(entry) = section.optional("order") else {
        return Some(true);
    };
    let word = section.text_of(reader, "order", entry)?;
    match word.as_str() {
        "scrambled" => Some(true),
        "ranked" => Some(false),
        _ => {
            let message = format!("unknown `order` `{word}` of {}", section.place);
            let hint = suggest(&word, ["scrambled", "ranked"]);
            reader.report(entry.span(), message, hint);
            None
        }
    }
}

/// The exponent of a zipfian distribution: above 0, at most 1,000, and not 1.
fn exponent(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<f64> {
    let number = section.float(reader, "theta", Some(THETA))?;
    if 0.0 < number && number <= 1_000.0 && (number - 1.0).abs() > 1e-6 {
        return Some(number);
    }
    let span = section.optional("theta").map_or(0..0, toml::Spanned::span);
    let message = format!("`theta` of {} is {number}", section.place);
    let hint = "above 0, at most 1000, and not 1; such as 0.99, or 1.1".to_owned();
    reader.report(span, message, Some(hint));
    None
}

/// A number between 0 and 1, both excluded.
fn share(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    key: &'static str,
    default: f64,
) -> Option<f64> {
    let number = section.float(reader, key, Some(default))?;
    if 0.0 < number && number < 1.0 {
        return Some(number);
    }
    let span = section.optional(key).map_or(0..0, toml::Spanned::span);
    let message = format!("`{key}` of {} is {number}", section.place);
    let hint = format!("it lies between 0 and 1, such as {default}");
    reader.report(span, message, Some(hint));
    None
}

/// `min`, `max` and a distribution over them.
pub(super) fn read_skewed(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    name: &str,
    range: std::ops::RangeInclusive<i64>,
    prefix: String,
) -> Option<Plain> {
    let min = section.integer(reader, "min", range.clone(), None);
    let max = section.integer(reader, "max", range, None);
    let distribution = read_distribution(reader, section, name);
    let (min, max) = (min?, max?);
    super::parts::ordered(reader, section, min <= max)?;
    let items = max.abs_diff(min).saturating_add(1);
    let sampler = Sampler::new(distribution?, items);
    Some(Plain::Skewed {
        min,
        prefix,
        sampler,
    })
}

/// The options of `text`.
pub(super) fn read_random_text(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<Plain> {
    let most = section.integer(reader, "length", 1..=MAX_LENGTH, None);
    let least = section.integer(
        reader,
        "least",
        0..=most.unwrap_or(MAX_LENGTH),
        most.or(Some(1)),
    );
    let digits = section.integer(reader, "digits", 0..=18, Some(0));
    let marked = match section.optional("marked") {
        None => false,
        Some(entry) => match entry.get_ref() {
            toml::de::DeValue::Boolean(marked) => *marked,
            other => {
                let found = other.type_str();
                section.wrong_type(reader, "marked", entry.span(), "boolean", found);
                false
            }
        },
    };
    let repeat = section.float(reader, "repeat", Some(1.0))?;
    let (least, most, digits) = (least?, most?, digits?);
    if repeat < 1.0 {
        let span = section.optional("repeat").map_or(0..0, toml::Spanned::span);
        let message = format!("`repeat` of {} is {repeat}", section.place);
        let hint = "1 for random text, 2 for text that shrinks to half of that, and so on";
        reader.report(span, message, Some(hint.to_owned()));
        return None;
    }
    if marked && digits > 0 {
        let message = format!("the text of {} begins with two numbers", section.place);
        let hint = "`digits` or `marked`, not both".to_owned();
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    }
    if digits > least {
        let message = format!("the text of {} is too short for its digits", section.place);
        let hint = format!("a length of at least {digits}");
        reader.report(section.span.clone(), message, Some(hint));
        return None;
    }
    Some(Plain::Text(TextShape {
        least: least.unsigned_abs(),
        most: most.unsigned_abs(),
        repeat,
        digits: digits.unsigned_abs(),
        marked,
    }))
}

/// The options of `dictionary`.
pub(super) fn read_dictionary(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
) -> Option<Plain> {
    let size = section.integer(reader, "size", 1..=MAX_WORDS, None);
    let length = section.integer(reader, "length", 1..=MAX_WORD, Some(8));
    let distribution = read_chosen_distribution(reader, section);
    let (size, length) = (size?.unsigned_abs(), length?.unsigned_abs());
    let letters = WordShape::letters(size);
    if length < letters {
        let span = section.optional("length").map_or(0..0, toml::Spanned::span);
        let message = format!(
            "words of {length} letters are too few for {}",
            section.place
        );
        let hint = format!("{size} different words need at least {letters} letters");
        reader.report(span, message, Some(hint));
        return None;
    }
    Some(Plain::Dictionary {
        words: WordShape { size, length },
        sampler: Sampler::new(distribution?, size),
    })
}
