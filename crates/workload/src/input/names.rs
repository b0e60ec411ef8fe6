//! Names in a file: of list elements and section entries, resolved to positions. Must not interpret what they name.

use std::ops::Range;

use super::section::{Entry, Section};
use highwater_model::display;
use highwater_model::input_error::suggest;

/// Maximum number of elements in a list or section of named things: the maximum number of table columns in databases
/// that limit it. Further elements are an error, and are never dropped silently.
const MAX_ITEMS: usize = 4_096;

/// Something that is referenced by name.
pub(crate) trait Named {
    fn name(&self) -> &str;
}

impl<T: AsRef<str>> Named for T {
    fn name(&self) -> &str {
        self.as_ref()
    }
}

/// Implements [`Named`] for types with a field `name`.
macro_rules! named {
    ($($type:ty),*) => {$(
        impl $crate::input::Named for $type {
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
    pub(crate) fn named(&mut self, what: &str, taken: &[impl Named], of: &str) -> String {
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

/// Reports a name that would need quoting somewhere.
pub(crate) fn check_name(reader: &super::Reader<'_>, what: &str, name: &str, span: Range<usize>) {
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
    pub(crate) fn position(&self, what: &str, known: &[impl Named]) -> Option<usize> {
        let name = self.text()?;
        self.position_of(what, &name, known)
    }

    /// The position of a name in `known`; an unknown one is reported here.
    pub(crate) fn position_of(
        &self,
        what: &str,
        name: &str,
        known: &[impl Named],
    ) -> Option<usize> {
        let position = known.iter().position(|known| known.name() == name);
        position.or_else(|| self.error(format!("unknown {what} `{name}`"), hint(what, name, known)))
    }

    /// The position in `known` of the name in its key; an unknown key is reported.
    pub(crate) fn key_position(&self, what: &str, known: &[impl Named]) -> Option<usize> {
        let position = known.iter().position(|known| known.name() == self.key);
        if position.is_none() {
            let message = format!("unknown {what} `{}`", self.key);
            self.key_error(message, hint(what, self.key, known));
        }
        position
    }
}

fn hint(what: &str, name: &str, known: &[impl Named]) -> Option<String> {
    suggest(name, known.iter().map(Named::name))
        .or_else(|| Some(format!("there is no {what} here")))
}
