//! Connection attempts, encrypted or not, in libpq's order. Must not know a protocol.

use super::tls::Tls;
use crate::error::TargetError;

/// Why one attempt failed.
pub struct AttemptError {
    /// The reason.
    pub error: TargetError,
    /// Whether the other kind of connection, encrypted or not, may succeed.
    pub other_kind: bool,
}

impl From<TargetError> for AttemptError {
    /// An error that ends the attempts.
    fn from(error: TargetError) -> Self {
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
) -> Result<T, TargetError> {
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
    Err(first.unwrap_or_else(|| TargetError::unreachable(format!("{place}: not tried"))))
}

/// TLS is required, and the server does not support it; `place` names the server.
pub fn no_tls(place: &str) -> TargetError {
    TargetError::refused(format!("{place}: the server offers no TLS"))
        .with_hint("`?sslmode=disable` uses none")
}
