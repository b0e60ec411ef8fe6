//! The report of a broken rule. Must not know any rule.

use std::fmt::Debug;

use highwater_model::user_error::UserError;

/// The expected and the actual result.
#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

impl From<UserError> for Broken {
    fn from(error: UserError) -> Self {
        Self(match error.hint {
            Some(hint) => format!("{:?}: {} ({hint})", error.kind, error.message),
            None => format!("{:?}: {}", error.kind, error.message),
        })
    }
}

/// Fails with a message unless a condition holds.
macro_rules! require {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err($crate::conformance::broken::Broken(format!($($message)+)));
        }
    };
}
pub(super) use require;

/// Fails unless both are equal.
pub(super) fn same<F: PartialEq<E> + Debug, E: Debug>(
    found: &F,
    expected: &E,
    what: &str,
) -> Result<(), Broken> {
    require!(found == expected, "{what}: {found:?} instead of {expected:?}");
    Ok(())
}
