//! The text of a file, the chosen values of its parameters, and the errors so far. Must not depend on TOML structure.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::parameter::Setting;
use highwater_model::input_error::{InputError, suggest};

/// Maximum number of errors kept; more usually have one cause.
const MAX_ERRORS: usize = 50;

/// The input; collects errors through shared references.
#[derive(Default)]
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    pub(crate) settings: RefCell<BTreeMap<String, Setting>>,
    pub(crate) errors: RefCell<Vec<InputError>>,
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
        self.note(InputError::at(self.text, at, message).with_hint(hint.hint()));
    }

    /// Adds an error.
    pub(crate) fn note(&self, error: InputError) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < MAX_ERRORS {
            errors.push(error);
        }
    }

    /// The text with every `${name}` replaced by the parameter's value.
    pub(super) fn interpolate(&self, text: &str, span: &Range<usize>) -> String {
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
    pub(super) fn setting(&self, name: &str, span: &Range<usize>) -> Option<Setting> {
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
