//! Reading the tables of a TOML document with spans: every error is noted and reading goes on.
//!
//! A [`Section`] records which keys were read, so that at its end every other key is an error with
//! a suggestion. A number may be written as a literal, as `"${parameter}"` or as
//! `"-${parameter}"`.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::parameter::{ParameterKind, Setting};
use highwater_model::input_error::{InputError, suggest};

/// Errors that are kept; a file with more of them has one cause.
const MAX_ERRORS: usize = 50;

/// The text, what was chosen for its parameters, and what is wrong so far.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) settings: BTreeMap<String, Setting>,
    pub(super) errors: Vec<InputError>,
}

impl Reader<'_> {
    /// Notes an error at a place of the text.
    pub(super) fn report(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.note(InputError::at(self.text, span, message).with_hint(hint));
    }

    /// Notes an error.
    pub(super) fn note(&mut self, error: InputError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    /// The text with every `${name}` replaced by the parameter's value.
    pub(super) fn interpolate(&mut self, text: &str, span: &Range<usize>) -> String {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            whole.push_str(before);
            let Some((name, behind)) = after.split_once('}') else {
                let hint = Some("write ${name}".to_owned());
                self.report(self.place_of("${", span), "`${` without a `}`", hint);
                return whole;
            };
            if let Some(setting) = self.setting(name, span) {
                whole.push_str(&setting.in_text());
            }
            rest = behind;
        }
        whole.push_str(rest);
        whole
    }

    /// The value of a parameter; an unknown one is noted.
    fn setting(&mut self, name: &str, span: &Range<usize>) -> Option<Setting> {
        let found = self.settings.get(name).cloned();
        if found.is_none() {
            let hint = suggest(name, self.settings.keys().map(String::as_str));
            let place = self.place_of(&format!("${{{name}}}"), span);
            self.report(place, format!("unknown parameter `{name}`"), hint);
        }
        found
    }

    /// Where `word` stands inside `span`; the whole span if an escape hides it.
    pub(super) fn place_of(&self, word: &str, span: &Range<usize>) -> Range<usize> {
        let within = self.text.get(span.clone()).unwrap_or_default();
        within.find(word).map_or_else(
            || span.clone(),
            |offset| span.start + offset..span.start + offset + word.len(),
        )
    }
}

/// A table of the document.
pub(super) struct Section<'a, 't> {
    /// What it describes, such as "column `ts` of table `cpu`".
    pub(super) place: String,
    pub(super) span: Range<usize>,
    table: &'a DeTable<'t>,
    read_keys: Vec<&'static str>,
}

/// A key's value.
pub(super) type Entry<'a, 't> = &'a Spanned<DeValue<'t>>;

impl<'a, 't> Section<'a, 't> {
    pub(super) fn new(place: String, span: Range<usize>, table: &'a DeTable<'t>) -> Self {
        Self {
            place,
            span,
            table,
            read_keys: Vec::new(),
        }
    }

    /// The value of a key that may be absent.
    pub(super) fn optional(&mut self, key: &'static str) -> Option<Entry<'a, 't>> {
        if !self.read_keys.contains(&key) {
            self.read_keys.push(key);
        }
        self.table.get(key)
    }

    /// The value of a key that must be there.
    pub(super) fn required(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        example: &str,
    ) -> Option<Entry<'a, 't>> {
        let entry = self.optional(key);
        if entry.is_none() {
            let message = format!("{} has no `{key}`", self.place);
            reader.report(
                self.span.clone(),
                message,
                Some(format!("add {key} = {example}")),
            );
        }
        entry
    }

    /// All keys with their spans and values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'a str, Range<usize>, Entry<'a, 't>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
            .collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    /// Notes every key that was not read.
    pub(super) fn finish(self, reader: &mut Reader<'_>) {
        for (key, span, _) in self.entries() {
            if !self.read_keys.contains(&key) {
                let message = format!("unknown key `{key}` in {}", self.place);
                reader.report(span, message, suggest(key, self.read_keys.iter().copied()));
            }
        }
    }

    /// Text with its parameters filled in.
    pub(super) fn text(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
        let entry = self.required(reader, key, "\"…\"")?;
        self.text_of(reader, key, entry)
    }

    /// Text with its parameters filled in, or an empty one.
    pub(super) fn text_or_empty(&mut self, reader: &mut Reader<'_>, key: &'static str) -> String {
        self.optional(key)
            .and_then(|entry| self.text_of(reader, key, entry))
            .unwrap_or_default()
    }

    /// The text of a value.
    pub(super) fn text_of(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        entry: Entry<'a, 't>,
    ) -> Option<String> {
        match entry.get_ref() {
            DeValue::String(text) => Some(reader.interpolate(text, &entry.span())),
            other => {
                self.wrong_type(
                    reader,
                    key,
                    entry.span(),
                    "text in quotes",
                    other.type_str(),
                );
                None
            }
        }
    }

    /// A whole number within `range`; absent, it is `default`, or an error if there is none.
    pub(super) fn integer(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        range: RangeInclusive<i64>,
        default: Option<i64>,
    ) -> Option<i64> {
        let entry = match default {
            None => self.required(reader, key, "1")?,
            Some(default) => match self.optional(key) {
                None => return Some(default),
                Some(entry) => entry,
            },
        };
        let number = self.number_of(reader, key, entry, ParameterKind::Integer)?;
        if range.contains(&number) {
            return Some(number);
        }
        let message = format!("`{key}` of {} is {number}", self.place);
        let hint = match (range.start(), range.end()) {
            (least, most) if least == most => format!("it must be {least}"),
            (least, most) => format!("it must be from {least} to {most}"),
        };
        reader.report(entry.span(), message, Some(hint));
        None
    }

    /// A duration in milliseconds.
    pub(super) fn duration(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        default: Option<i64>,
    ) -> Option<i64> {
        let entry = match default {
            None => self.required(reader, key, "\"10s\"")?,
            Some(default) => match self.optional(key) {
                None => return Some(default),
                Some(entry) => entry,
            },
        };
        self.number_of(reader, key, entry, ParameterKind::Duration)
    }

    /// A point in time in milliseconds since 1970.
    pub(super) fn timestamp(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<i64> {
        let entry = self.required(reader, key, "\"2016-01-01T00:00:00Z\"")?;
        self.number_of(reader, key, entry, ParameterKind::Timestamp)
    }

    /// A finite number, also that of a parameter of any type that is one; absent, it is `default`,
    /// or an error if there is none.
    pub(super) fn float(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        default: Option<f64>,
    ) -> Option<f64> {
        let entry = match default {
            None => self.required(reader, key, "1.0")?,
            Some(default) => match self.optional(key) {
                None => return Some(default),
                Some(entry) => entry,
            },
        };
        let number = match entry.get_ref() {
            DeValue::String(text) => parameter_in(text).and_then(|(name, negative)| {
                let setting = reader.setting(name, &entry.span())?;
                let number: f64 = setting.in_text().parse().ok()?;
                Some(if negative { -number } else { number }).filter(|n| n.is_finite())
            }),
            _ => float_of(entry),
        };
        number.or_else(|| {
            let other = entry.get_ref().type_str();
            self.wrong_type(reader, key, entry.span(), "a finite number", other);
            None
        })
    }

    /// The number of a literal or of a parameter of `kind`; times are in milliseconds.
    pub(super) fn number_of(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        entry: Entry<'a, 't>,
        kind: ParameterKind,
    ) -> Option<i64> {
        let literal = match entry.get_ref() {
            DeValue::String(text) => match parameter_in(text) {
                Some((name, negative)) => {
                    let setting = reader.setting(name, &entry.span())?;
                    if setting.kind() == kind {
                        let number = setting.number()?;
                        return if negative {
                            number.checked_neg()
                        } else {
                            Some(number)
                        };
                    }
                    let is = format!("the {} parameter `{name}`", setting.kind());
                    self.wrong_type(reader, key, entry.span(), kind.example(), &is);
                    return None;
                }
                None if kind == ParameterKind::Integer => None,
                None => Setting::parse(kind, text),
            },
            DeValue::Integer(number) if kind == ParameterKind::Integer => {
                integer_of(number).map(Setting::Integer)
            }
            DeValue::Datetime(time) if kind == ParameterKind::Timestamp => {
                Setting::parse(kind, &time.to_string())
            }
            _ => None,
        };
        let number = literal.as_ref().and_then(Setting::number);
        if number.is_none() {
            let is = entry.get_ref().type_str();
            let is = format!("this {is}");
            self.wrong_type(reader, key, entry.span(), kind.example(), &is);
        }
        number
    }

    /// Notes that a key's value has another type than expected.
    pub(super) fn wrong_type(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        span: Range<usize>,
        expected: &str,
        found: &str,
    ) {
        let message = format!("`{key}` of {} must be {expected}, not {found}", self.place);
        reader.report(span, message, Some(example_of(expected)));
    }

    /// The section below a key; an empty list of entries if it is absent.
    pub(super) fn section(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        place: String,
    ) -> Option<Section<'a, 't>> {
        let entry = self.optional(key)?;
        self.as_section(reader, key, entry, place)
    }

    /// A value as a section.
    pub(super) fn as_section(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        entry: Entry<'a, 't>,
        place: String,
    ) -> Option<Section<'a, 't>> {
        if let DeValue::Table(table) = entry.get_ref() {
            return Some(Section::new(place, entry.span(), table));
        }
        let found = entry.get_ref().type_str();
        self.wrong_type(reader, key, entry.span(), "a table", found);
        None
    }

    /// The elements of a list; none noted if the key is absent.
    pub(super) fn list(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
    ) -> Vec<Entry<'a, 't>> {
        match self.optional(key).map(|entry| (entry, entry.get_ref())) {
            None => Vec::new(),
            Some((_, DeValue::Array(elements))) => elements.iter().collect(),
            Some((entry, other)) => {
                self.wrong_type(reader, key, entry.span(), "a list", other.type_str());
                Vec::new()
            }
        }
    }
}

/// What to write where the value has another type.
fn example_of(expected: &str) -> String {
    let example = match expected {
        "a table" => "{ key = value }",
        "a list" => "[first, second]",
        "text in quotes" | "text" => "\"…\", in quotes",
        "boolean" => "true or false",
        "float" | "a finite number" => "a number such as 1.5",
        "integer" | "bigint" => "a whole number such as 5",
        "timestamp" => "\"2016-01-01T00:00:00Z\", in quotes",
        other => other,
    };
    format!("write {example}")
}

/// The parameter that a text consists of, and whether its negative is meant.
fn parameter_in(text: &str) -> Option<(&str, bool)> {
    let (rest, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let name = rest.strip_prefix("${")?.strip_suffix('}')?;
    Some((name, negative))
}

/// The number of a TOML integer.
pub(super) fn integer_of(number: &toml::de::DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The finite number of a TOML integer or float.
pub(super) fn float_of(entry: &Spanned<DeValue<'_>>) -> Option<f64> {
    let number = match entry.get_ref() {
        DeValue::Integer(number) => integer_of(number)?.to_string().parse().ok()?,
        DeValue::Float(number) => number.as_str().parse::<f64>().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
