//! Whether a `Distributed` table acknowledges an insert before other servers have its rows, as set by `--with`. Must
//! not do I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use highwater_model::user_error::UserError;

use super::insert_mode::Mode;

/// The setting's original name, the only one in old versions, and its name in newer ones: 1 if the response waits for
/// all rows.
const NAMES: [&str; 2] = ["insert_distributed_sync", "distributed_foreground_insert"];
/// Recorded if the response does not wait.
pub(super) const SETTING: &str = NAMES[0];
/// The value if the response does not wait.
pub(super) const OFF: &str = "0";
/// The value if it waits.
pub(super) const ON: &str = "1";

/// Whether servers keep acknowledged rows in spools until other servers have them. Clones share the value.
#[derive(Debug, Clone, Default)]
pub(super) struct Spooling(Arc<AtomicBool>);

impl Spooling {
    /// Whether they do.
    pub(super) fn is_used(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Applies to connections that are made later.
    pub(super) fn set(&self, is_used: bool) {
        self.0.store(is_used, Ordering::Relaxed);
    }

    /// The value of a request's setting, replacing `usual`.
    pub(super) fn value<'v>(&self, name: &str, usual: &'v str) -> &'v str {
        if self.is_used() && is_name(name) { OFF } else { usual }
    }
}

/// Whether a `--with` setting controls insert responses rather than table creation.
pub(super) fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether `--with` settings allow rows to wait in spools. An error if they contradict each other, or if the insert
/// mode has no spools.
pub(super) fn is_requested(settings: &[(String, String)], mode: Mode) -> Result<bool, UserError> {
    let mut given = settings.iter().filter(|(name, _)| is_name(name));
    let Some((name, value)) = given.next() else {
        return Ok(false);
    };
    let this = format!("`--with {name}={value}`");
    if !mode.is_distributed {
        return Err(UserError::usage(format!(
            "{this}: with `--insert {}` no server passes rows on to others",
            mode.name()
        ))
        .with_hint("it is for `--insert distributed`: give that too, or leave it out"));
    }
    if ![OFF, ON].contains(&value.as_str()) {
        return Err(UserError::usage(format!("{this}: the value is 0 or 1")).with_hint(
            "1, the default: a batch is answered when all servers have their rows; 0: before that",
        ));
    }
    if let Some((other, second)) = given.find(|(_, second)| second != value) {
        return Err(UserError::usage(format!(
            "{this} and `--with {other}={second}` contradict each other"
        ))
        .with_hint("these are two names of one setting: give one of them"));
    }
    Ok(value == OFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)], insert: &str) -> Result<bool, UserError> {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings: Vec<(String, String)> = settings.collect();
        is_requested(&settings, Mode::of(insert).unwrap())
    }

    #[test]
    fn rows_wait_in_spools_only_where_that_is_given() {
        let [old, new] = NAMES;
        for (settings, expected) in [
            (&[][..], false),
            (&[("cluster", "c"), ("index_granularity", "0")], false),
            (&[(old, "1")], false),
            (&[(old, "0")], true),
            (&[("cluster", "c"), (new, "0")], true),
            (&[(old, "0"), (new, "0")], true),
        ] {
            for insert in ["distributed", "distributed-rowbinary"] {
                assert_eq!(read(settings, insert).unwrap(), expected, "{settings:?}");
            }
        }
        assert!(!read(&[], "native").unwrap());
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_hint() {
        let [old, new] = NAMES;
        for (settings, insert, says, hints) in [
            (&[(old, "2")][..], "distributed", "=2`: the value", "default"),
            (&[(new, "off")], "distributed", "=off`: the value", "default"),
            (&[(old, "0"), (new, "1")], "distributed", "contradict", "one"),
            (&[(old, "0")], "native", "--insert native", "distributed"),
            (&[(old, "1")], "rowbinary", "--insert rowbinary", "distributed"),
        ] {
            let error = read(settings, insert).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.unwrap().contains(hints));
        }
    }

    #[test]
    fn requests_say_it_by_both_names_and_copies_are_one() {
        let spooling = Spooling::default();
        let copy = spooling.clone();
        for is_used in [false, true, false] {
            spooling.set(is_used);
            let value = if is_used { OFF } else { ON };
            for name in NAMES {
                assert_eq!(copy.value(name, ON), value);
            }
            assert_eq!(copy.value("skip_unavailable_shards", ON), ON);
        }
    }
}
