//! Which of a file's texts a target takes: the one of the first dialect that the file has.
//!
//! No database is named here; dialects are words of the files.

use std::collections::BTreeMap;

use highwater_model::input_error::InputError;

/// The dialect whose SQL is used where none of a target's own is there.
const ANY_DIALECT: &str = "any";

/// The entry of the first of `dialects` that is there; `place` names what has no such entry.
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
