//! Connection attempts, encrypted or not, in libpq's order. Must not know a protocol.

use highwater_model::user_error::UserError;

use super::tls::Tls;
/// Why one attempt failed.
pub struct AttemptError {
    /// The reason.
    pub error: UserError,
    /// Whether the other kind of connection, encrypted or not, may succeed.
    pub other_kind: bool,
}

impl From<UserError> for AttemptError {
    /// An error that ends the attempts.
    fn from(error: UserError) -> Self {
        Self { error, other_kind: false }
    }
}

/// Tries the kinds of connection that the mode allows; `attempt` receives whether to encrypt.
///
/// # Errors
///
/// The first error is returned, because it is that of the preferred kind.
pub async fn by_kind<T>(
    tls: &Tls,
    place: &str,
    attempt: impl AsyncFn(bool) -> Result<T, AttemptError>,
) -> Result<T, UserError> {
    let mut first = None;
    for encrypted in tls.mode().kinds() {
        match attempt(*encrypted).await {
            Ok(opened) => return Ok(opened),
            Err(failed) => {
                let error = first.get_or_insert(failed.error);
                if !failed.other_kind {
                    return Err(error.clone());
                }
            }
        }
    }
    Err(first.unwrap_or_else(|| UserError::unreachable(format!("{place}: not tried"))))
}

/// TLS is required, and the server does not support it; `place` names the server.
pub fn no_tls(place: &str) -> UserError {
    UserError::refused(format!("{place}: the server offers no TLS"))
        .with_hint("`?sslmode=disable` uses none")
}
