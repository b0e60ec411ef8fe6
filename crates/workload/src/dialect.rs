//! Selects a file's text for a target: the one of the first dialect that the file has. Must not name a database;
//! dialects are words in the files.

use std::collections::BTreeMap;

use highwater_model::input_error::InputError;

/// The dialect used if the file has no SQL for the target's own.
const ANY_DIALECT: &str = "any";

/// The entry of the first of `dialects` that is present; `place` is the name in the error.
pub(super) fn preferred<'m, T>(
    of: &'m BTreeMap<String, T>,
    dialects: &[String],
    place: &str,
) -> Result<&'m T, InputError> {
    dialects.iter().find_map(|dialect| of.get(dialect)).or_else(|| of.get(ANY_DIALECT)).ok_or_else(
        || {
            let dialects_of_target = dialects.join(", ");
            let present: Vec<&str> = of.keys().map(String::as_str).collect();
            let hint = format!("it has {}; add the dialect to the file", present.join(", "));
            InputError::elsewhere(format!(
                "{place} has no SQL for this target ({dialects_of_target})"
            ))
            .with_hint(Some(hint))
        },
    )
}
