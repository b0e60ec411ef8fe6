//! The parts of a TOML document with their positions: the text and the errors so far, sections, and names resolved to
//! positions.
//!
//! Reading continues after errors and collects them. A [`Section`] records which keys were read, so that all other keys
//! are reported at its end with a suggestion. Must not interpret the sections of a workload file.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use highwater_model::display;
use highwater_model::user_error::{UserError, suggest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::parameter::{ParameterKind, Setting};

/// Maximum number of errors kept; more usually have one cause.
const MAX_ERRORS: usize = 50;

/// The input; collects errors through shared references.
#[derive(Default)]
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    pub(crate) settings: RefCell<BTreeMap<String, Setting>>,
    pub(crate) errors: RefCell<Vec<UserError>>,
}

/// A suggested fix, if any.
pub(crate) trait Hint {
    fn hint(self) -> Option<String>;
}

impl Hint for &str {
    fn hint(self) -> Option<String> {
        Some(self.to_owned())
    }
}

impl Hint for String {
    fn hint(self) -> Option<String> {
        Some(self)
    }
}

impl Hint for Option<String> {
    fn hint(self) -> Option<String> {
        self
    }
}

impl Reader<'_> {
    /// Reports an error at a position of the text.
    pub(crate) fn report(&self, at: Range<usize>, message: impl Into<String>, hint: impl Hint) {
        self.note(UserError::in_text(self.text, &at, &message.into()).hinted(hint.hint()));
    }

    /// Adds an error.
    pub(crate) fn note(&self, error: UserError) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < MAX_ERRORS {
            errors.push(error);
        }
    }

    /// The text with every `${name}` replaced by the parameter's value.
    fn interpolate(&self, text: &str, span: &Range<usize>) -> String {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            whole.push_str(before);
            let Some((name, behind)) = after.split_once('}') else {
                self.report(self.place_of("${", span), "`${` without a `}`", "write ${name}");
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

    /// The value of a parameter; an unknown one is reported.
    fn setting(&self, name: &str, span: &Range<usize>) -> Option<Setting> {
        let settings = self.settings.borrow();
        let found = settings.get(name).cloned();
        if found.is_none() {
            let hint = suggest(name, settings.keys().map(String::as_str));
            let place = self.place_of(&format!("${{{name}}}"), span);
            self.report(place, format!("unknown parameter `{name}`"), hint);
        }
        found
    }

    /// The position of `word` inside `span`; the whole span if an escape hides it.
    pub(crate) fn place_of(&self, word: &str, span: &Range<usize>) -> Range<usize> {
        let within = self.text.get(span.clone()).unwrap_or_default();
        within.find(word).map_or_else(
            || span.clone(),
            |offset| span.start + offset..span.start + offset + word.len(),
        )
    }
}

/// Maximum number of elements in a list or section of named things: the maximum number of table columns in databases
/// that limit it. Further elements are an error, and are never dropped silently.
const MAX_ITEMS: usize = 4_096;

/// Maximum number of copies of an attribute or a field.
const MAX_COPIES: i64 = 1_000;

/// Something that is referenced by name.
pub(crate) trait HasName {
    fn name(&self) -> &str;
}

impl<T: AsRef<str>> HasName for T {
    fn name(&self) -> &str {
        self.as_ref()
    }
}

/// Implements [`Named`] for types with a field `name`.
macro_rules! named {
    ($($type:ty),*) => {$(
        impl $crate::input::HasName for $type {
            fn name(&self) -> &str {
                &self.name
            }
        }
    )*};
}
pub(crate) use named;

impl Section<'_> {
    /// The `name` of a list element: an identifier that differs from all earlier ones. From now on, messages call the
    /// element `what`, its name, and the text `of`.
    pub(crate) fn named(&mut self, what: &str, taken: &[impl HasName], of: &str) -> String {
        let name = self.text("name");
        let span = self.optional("name").map(Entry::span);
        // A wrong name does not invalidate the rest of the element.
        self.forgive();
        if let Some(span) = span.filter(|_| !name.is_empty()) {
            check_name(self.reader, what, &name, span.clone());
            if taken.iter().any(|other| other.name() == name) {
                let message = format!("there are two of {what} `{name}`");
                let hint = "give one of them another name";
                self.reader.report(span, message, hint);
            }
            self.place = format!("{what} `{name}` of {of}");
        }
        name
    }

    /// The names of an element's copies: its own, or with `repeat` as many with a number after it.
    pub(crate) fn copies(&self, name: &str) -> Vec<String> {
        if self.optional("repeat").is_none() {
            return vec![name.to_owned()];
        }
        let copies = self.integer("repeat", 0..=MAX_COPIES, None);
        (0..copies).map(|n| format!("{name}{n}")).collect()
    }

    /// Reads each entry of a section of named `things` below the root; empty if there is no such section.
    pub(crate) fn each<T>(
        &self,
        things: &'static str,
        thing: &str,
        read: impl FnMut(Entry<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(all) = self.part(things, &format!("the {things}")) else {
            return Vec::new();
        };
        all.things(thing, things).into_iter().filter_map(read).collect()
    }

    /// The entries of a section of named `things`, up to the maximum.
    pub(crate) fn things(&self, thing: &str, things: &str) -> Vec<Entry<'_>> {
        let entries = self.bounded(self.entries(), things, Entry::key_span);
        for entry in &entries {
            check_name(self.reader, thing, entry.key, entry.key_span());
        }
        entries
    }

    /// The elements of a list of named `things`, up to the maximum.
    pub(crate) fn items(&self, things: &'static str) -> Vec<Entry<'_>> {
        self.bounded(self.list(things), things, Entry::span)
    }

    /// Entries up to the maximum; the first one beyond is reported at its position.
    fn bounded<'e>(
        &self,
        mut entries: Vec<Entry<'e>>,
        things: &str,
        place: fn(Entry<'e>) -> Range<usize>,
    ) -> Vec<Entry<'e>> {
        if let Some(beyond) = entries.get(MAX_ITEMS) {
            let message = format!(
                "{} has {} {things}, more than {}",
                self.place,
                display::count(entries.len() as u64),
                display::count(MAX_ITEMS as u64)
            );
            let hint = "split it: what is beyond the bound would not be written";
            self.reader.report(place(*beyond), message, hint);
            entries.truncate(MAX_ITEMS);
        }
        entries
    }
}

/// Whether a column can have this name: in SQL it is quoted.
pub(crate) fn is_column_name(name: &str) -> bool {
    let quotes = |c: char| c.is_control() || matches!(c, '"' | '`' | '\\' | '$' | '{' | '}');
    !name.is_empty() && name.len() <= 63 && !name.contains(quotes)
}

/// Reports a name that would need quoting somewhere.
pub(crate) fn check_name(reader: &Reader<'_>, what: &str, name: &str, span: Range<usize>) {
    if what == "column" && is_column_name(name) {
        return;
    }
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let dash = matches!(what, "workload" | "op" | "stream" | "invariant");
    let goes_on = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || (dash && c == '-'));
    if !starts || !goes_on || name.len() > 63 {
        let article = match what.chars().next() {
            Some('a' | 'e' | 'i' | 'o' | 'u') => "an",
            _ => "a",
        };
        let hint = "a name is a letter, then letters, digits and _, at most 63";
        reader.report(span, format!("`{name}` cannot name {article} {what}"), hint);
    }
}

impl Entry<'_> {
    /// The position in `known` of the name in its text; an unknown name is reported.
    pub(crate) fn position(&self, what: &str, known: &[impl HasName]) -> Option<usize> {
        let name = self.text()?;
        self.position_of(what, &name, known)
    }

    /// The position of a name in `known`; an unknown one is reported here.
    pub(crate) fn position_of(
        &self,
        what: &str,
        name: &str,
        known: &[impl HasName],
    ) -> Option<usize> {
        let position = known.iter().position(|known| known.name() == name);
        position.or_else(|| self.error(format!("unknown {what} `{name}`"), hint(what, name, known)))
    }

    /// The position in `known` of the name in its key; an unknown key is reported.
    pub(crate) fn key_position(&self, what: &str, known: &[impl HasName]) -> Option<usize> {
        let position = known.iter().position(|known| known.name() == self.key);
        if position.is_none() {
            let message = format!("unknown {what} `{}`", self.key);
            self.key_error(message, hint(what, self.key, known));
        }
        position
    }
}

fn hint(what: &str, name: &str, known: &[impl HasName]) -> Option<String> {
    suggest(name, known.iter().map(HasName::name))
        .or_else(|| Some(format!("there is no {what} here")))
}

/// A table of the document.
pub(crate) struct Section<'a> {
    pub(crate) reader: &'a Reader<'a>,
    /// What it describes, such as "column `ts` of table `cpu`".
    pub(crate) place: String,
    pub(crate) span: Range<usize>,
    table: &'a DeTable<'a>,
    read_keys: RefCell<Vec<&'static str>>,
    failed: Cell<bool>,
}

/// A value of a section: that of a key, or an element of its list.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'s> {
    section: &'s Section<'s>,
    pub(crate) key: &'s str,
    value: &'s Spanned<DeValue<'s>>,
}

impl<'a> Section<'a> {
    pub(crate) fn new(
        place: String,
        span: Range<usize>,
        reader: &'a Reader<'a>,
        table: &'a DeTable<'a>,
    ) -> Self {
        Self { reader, place, span, table, read_keys: RefCell::default(), failed: Cell::new(false) }
    }

    /// Marks a key as known.
    pub(crate) fn know(&self, key: &'static str) {
        let mut keys = self.read_keys.borrow_mut();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }

    /// The value of an optional key.
    pub(crate) fn optional(&self, key: &'static str) -> Option<Entry<'_>> {
        self.know(key);
        let value = self.table.get(key)?;
        Some(Entry { section: self, key, value })
    }

    /// The value of a required key.
    pub(crate) fn required(&self, key: &'static str, example: &str) -> Option<Entry<'_>> {
        self.optional(key).or_else(|| {
            let message = format!("{} has no `{key}`", self.place);
            self.error(message, format!("add {key} = {example}"))
        })
    }

    /// A key's value if it is present, or if there is no `default`.
    fn unless<T>(
        &self,
        default: Option<&T>,
        key: &'static str,
        example: &str,
    ) -> Option<Entry<'_>> {
        match default {
            None => self.required(key, example),
            Some(_) => self.optional(key),
        }
    }

    /// All entries in the order of the file.
    pub(crate) fn entries(&self) -> Vec<Entry<'_>> {
        let mut all: Vec<_> = self.table.iter().collect();
        all.sort_by_key(|(key, _)| key.span().start);
        all.into_iter()
            .map(|(key, value)| Entry { section: self, key: key.get_ref(), value })
            .collect()
    }

    /// Reports every key that was not read.
    pub(crate) fn finish(&self) {
        let known = self.read_keys.borrow();
        for entry in self.entries() {
            if !known.contains(&entry.key) {
                let message = format!("unknown key `{}` in {}", entry.key, self.place);
                let hint = suggest(entry.key, known.iter().copied());
                self.reader.report(entry.key_span(), message, hint);
            }
        }
    }

    /// Reports an error in the section as a whole.
    pub(crate) fn error<T>(&self, message: impl Into<String>, hint: impl Hint) -> Option<T> {
        self.error_in(self.span.clone(), message, hint)
    }

    /// Reports an error at the value of a key.
    pub(crate) fn error_at<T>(
        &self,
        key: &'static str,
        message: impl Into<String>,
        hint: impl Hint,
    ) -> Option<T> {
        let span = self.optional(key).map_or(self.span.clone(), Entry::span);
        self.error_in(span, message, hint)
    }

    fn error_in<T>(
        &self,
        at: Range<usize>,
        message: impl Into<String>,
        hint: impl Hint,
    ) -> Option<T> {
        self.failed.set(true);
        self.reader.report(at, message, hint);
        None
    }

    /// Reports an error in the whole section unless it is `good`, or has failed already.
    pub(crate) fn check(&self, good: bool, message: impl Into<String>, hint: impl Hint) {
        if !good && !self.failed.get() {
            self.error::<()>(message, hint);
        }
    }

    /// Reports an error at a key's value unless it is `good`, or the section has failed already.
    pub(crate) fn check_at(
        &self,
        key: &'static str,
        good: bool,
        message: impl Into<String>,
        hint: impl Hint,
    ) {
        if !good && !self.failed.get() {
            self.error_at::<()>(key, message, hint);
        }
    }

    /// Reports bounds in the wrong order.
    pub(crate) fn check_order(&self, good: bool) {
        let message = format!("`max` of {} must be above its `min`", self.place);
        self.check_at("max", good, message, "swap the two");
    }

    /// The result of the section, unless it has failed.
    pub(crate) fn good<T>(&self, made: T) -> Option<T> {
        (!self.failed.get()).then_some(made)
    }

    /// Clears the failure; the error stays reported.
    fn forgive(&self) {
        self.failed.set(false);
    }

    /// Text with parameters substituted.
    pub(crate) fn text(&self, key: &'static str) -> String {
        let entry = self.required(key, "\"…\"");
        entry.and_then(Entry::text).unwrap_or_default()
    }

    /// Text with parameters substituted, empty if absent.
    pub(crate) fn text_or_empty(&self, key: &'static str) -> String {
        let entry = self.optional(key);
        entry.and_then(Entry::text).unwrap_or_default()
    }

    /// One of several words; if absent, `default`, or an error if there is none.
    pub(crate) fn word<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
        default: Option<T>,
    ) -> Option<T> {
        let first = words.first().map_or("", |(word, _)| word);
        let Some(entry) = self.unless(default.as_ref(), key, &format!("\"{first}\"")) else {
            return default;
        };
        entry.word(&format!("`{key}`"), words)
    }

    /// A whole number within `range`; if absent, `default`, or an error if there is none.
    pub(crate) fn integer(
        &self,
        key: &'static str,
        range: RangeInclusive<i64>,
        default: Option<i64>,
    ) -> i64 {
        let (least, most) = (*range.start(), *range.end());
        let Some(entry) = self.unless(default.as_ref(), key, "1") else {
            return default.unwrap_or(least);
        };
        let Some(number) = entry.number(ParameterKind::Integer) else {
            return least;
        };
        if range.contains(&number) {
            return number;
        }
        let hint = match (least, most) {
            (least, most) if least == most => format!("it must be {least}"),
            _ => format!("it must be from {least} to {most}"),
        };
        entry.error::<()>(format!("`{key}` of {} is {number}", self.place), hint);
        least
    }

    /// The same as an unsigned number, from `least` on.
    pub(crate) fn natural(&self, key: &'static str, least: i64, default: Option<i64>) -> u64 {
        self.integer(key, least..=i64::MAX, default).unsigned_abs()
    }

    /// A duration in milliseconds.
    pub(crate) fn duration(&self, key: &'static str, default: Option<i64>) -> i64 {
        let entry = self.unless(default.as_ref(), key, "\"10s\"");
        let read = entry.and_then(|entry| entry.number(ParameterKind::Duration));
        read.or(default).unwrap_or(1)
    }

    /// A duration of at least a millisecond.
    pub(crate) fn positive(&self, key: &'static str, default: Option<i64>) -> i64 {
        let duration = self.duration(key, default);
        if duration < 1 {
            let message = format!("`{key}` of {} must be longer than nothing", self.place);
            self.error_at::<()>(key, message, "write \"10s\"");
        }
        duration.max(1)
    }

    /// A timestamp in milliseconds since 1970.
    pub(crate) fn timestamp(&self, key: &'static str) -> i64 {
        let entry = self.required(key, "\"2016-01-01T00:00:00Z\"");
        let read = entry.and_then(|entry| entry.number(ParameterKind::Timestamp));
        read.unwrap_or(0)
    }

    /// A finite number, also from a parameter of any type with a numeric value; if absent, `default`, or an error if
    /// there is none.
    pub(crate) fn float(&self, key: &'static str, default: Option<f64>) -> f64 {
        let entry = self.unless(default.as_ref(), key, "1.0");
        entry.and_then(Entry::finite).or(default).unwrap_or(0.0)
    }

    /// The section of an optional key.
    pub(crate) fn section(&self, key: &'static str) -> Option<Section<'_>> {
        self.optional(key)?.section(format!("`{key}` of {}", self.place))
    }

    /// A table of names below the root, called `place` in messages.
    pub(crate) fn part(&self, key: &'static str, place: &str) -> Option<Section<'_>> {
        self.optional(key)?.section(place.to_owned())
    }

    /// A required table from dialects to values.
    pub(crate) fn per_dialect(&self, key: &'static str) -> Option<Section<'_>> {
        let entry = self.required(key, "{ DIALECT = \"…\" }")?;
        let part = entry.section(format!("`{key}` of {}", self.place))?;
        if part.table.is_empty() {
            let message = format!("{} names no dialect", part.place);
            entry.error::<()>(message, "write { any = \"…\" } for all targets");
        }
        Some(part)
    }

    /// The elements of a list; none if the key is absent.
    pub(crate) fn list(&self, key: &'static str) -> Vec<Entry<'_>> {
        let entry = self.optional(key);
        entry.and_then(Entry::list).unwrap_or_default()
    }

    /// The text elements of a list.
    pub(crate) fn texts(&self, key: &'static str) -> Vec<String> {
        self.list(key).into_iter().filter_map(Entry::text).collect()
    }
}

impl<'s> Entry<'s> {
    pub(crate) fn span(self) -> Range<usize> {
        self.value.span()
    }

    pub(crate) fn value(self) -> &'s DeValue<'s> {
        self.value.get_ref()
    }

    pub(crate) fn key_span(self) -> Range<usize> {
        let key = self.section.table.get_key_value(self.key);
        key.map_or(self.span(), |(key, _)| key.span())
    }

    /// Reports an error at the value.
    pub(crate) fn error<T>(self, message: impl Into<String>, hint: impl Hint) -> Option<T> {
        self.section.error_in(self.span(), message, hint)
    }

    /// Reports an error at a word of the text; at the whole text if the word is empty or not found.
    pub(crate) fn error_word(self, word: &str, message: String, hint: String) {
        let at = match word {
            "" => self.span(),
            _ => self.section.reader.place_of(word, &self.span()),
        };
        self.section.error_in::<()>(at, message, hint);
    }

    /// Reports an error at the key.
    pub(crate) fn key_error(self, message: impl Into<String>, hint: impl Hint) {
        self.section.error_in::<()>(self.key_span(), message, hint);
    }

    /// TOML's name of its type.
    pub(crate) fn type_name(self) -> &'static str {
        self.value().type_str()
    }

    /// Reports a type other than the expected one.
    pub(crate) fn wrong_type<T>(self, expected: &str) -> Option<T> {
        self.unexpected(expected, &format!("this {}", self.type_name()))
    }

    fn unexpected<T>(self, expected: &str, found: &str) -> Option<T> {
        let (key, place) = (self.key, &self.section.place);
        let message = format!("`{key}` of {place} must be {expected}, not {found}");
        self.error(message, format!("write {}", example_of(expected)))
    }

    /// Its text, with parameters substituted.
    pub(crate) fn text(self) -> Option<String> {
        match self.value() {
            DeValue::String(text) => Some(self.section.reader.interpolate(text, &self.span())),
            _ => self.wrong_type("text in quotes"),
        }
    }

    /// Its text, which must be one of several words.
    pub(crate) fn word<T: Copy>(self, what: &str, words: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).or_else(|| {
            let hint = suggest(&text, words.iter().map(|(word, _)| *word));
            self.error(format!("unknown {what} `{text}` of {}", self.section.place), hint)
        })
    }

    /// Its elements as a list.
    pub(crate) fn list(self) -> Option<Vec<Entry<'s>>> {
        let element = |value| Entry { value, ..self };
        match self.value() {
            DeValue::Array(elements) => Some(elements.iter().map(element).collect()),
            _ => self.wrong_type("a list"),
        }
    }

    /// Whether it is a table.
    pub(crate) fn is_table(self) -> bool {
        matches!(self.value(), DeValue::Table(_))
    }

    /// Whether it is the word `true`.
    pub(crate) fn is_true(self) -> bool {
        matches!(self.value(), DeValue::Boolean(true))
    }

    /// Its content as a section.
    pub(crate) fn section(self, place: String) -> Option<Section<'s>> {
        match self.value() {
            DeValue::Table(table) => {
                Some(Section::new(place, self.span(), self.section.reader, table))
            }
            _ => self.wrong_type("a table"),
        }
    }

    /// The number of a literal or of a parameter of `kind`; times are in milliseconds.
    pub(crate) fn number(self, kind: ParameterKind) -> Option<i64> {
        let expected = match kind {
            ParameterKind::Integer => "a whole number",
            _ => kind.example(),
        };
        let literal = || match self.value() {
            DeValue::Integer(_) if kind == ParameterKind::Integer => self.integer(),
            DeValue::String(text) if kind != ParameterKind::Integer => kind.parse(text),
            DeValue::Datetime(time) if kind == ParameterKind::Timestamp => {
                kind.parse(&time.to_string())
            }
            _ => None,
        };
        let parameter = |of: &Setting| of.number().filter(|_| of.kind() == kind);
        self.literal_or_parameter(expected, literal, parameter, i64::checked_neg)
    }

    /// The finite number of a literal or of a parameter of any type.
    fn finite(self) -> Option<f64> {
        let parameter = |of: &Setting| of.in_text().parse().ok().filter(|n: &f64| n.is_finite());
        self.literal_or_parameter("a finite number", || self.float(), parameter, |n| Some(-n))
    }

    /// The number of a literal, or of a parameter that may be negated; anything else is reported.
    fn literal_or_parameter<T>(
        self,
        expected: &str,
        literal: impl FnOnce() -> Option<T>,
        parameter: impl FnOnce(&Setting) -> Option<T>,
        negated: impl FnOnce(T) -> Option<T>,
    ) -> Option<T> {
        let name = match self.value() {
            DeValue::String(text) => parameter_in(text),
            _ => None,
        };
        let Some((name, negative)) = name else {
            return literal().or_else(|| self.wrong_type(expected));
        };
        let Some(setting) = self.section.reader.setting(name, &self.span()) else {
            self.section.failed.set(true);
            return None;
        };
        let number = parameter(&setting);
        let number = if negative { number.and_then(negated) } else { number };
        let found = format!("the {} parameter `{name}`", setting.kind());
        number.or_else(|| self.unexpected(expected, &found))
    }

    /// The number of a TOML integer.
    pub(crate) fn integer(self) -> Option<i64> {
        match self.value() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
    }

    /// The finite number of a TOML integer or float.
    pub(crate) fn float(self) -> Option<f64> {
        let number = match self.value() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok()?,
            _ => self.integer()?.to_string().parse().ok()?,
        };
        number.is_finite().then_some(number)
    }
}

/// An example for a value of another type.
fn example_of(expected: &str) -> &str {
    match expected {
        "a table" => "{ key = value }",
        "a list" => "[first, second]",
        "text in quotes" | "text" => "\"…\", in quotes",
        "boolean" => "true or false",
        "float" | "a finite number" => "a number such as 1.5",
        "a whole number" | "integer" | "bigint" => "a whole number such as 5",
        "timestamp" => "\"2016-01-01T00:00:00Z\", in quotes",
        other => other,
    }
}

/// The parameter that a text consists of, and whether it is negated.
fn parameter_in(text: &str) -> Option<(&str, bool)> {
    let (rest, negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let name = rest.strip_prefix("${")?.strip_suffix('}')?;
    Some((name, negative))
}
