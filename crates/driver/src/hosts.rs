//! Several hosts of one target: which of them a session takes, and which one answers for all.
//!
//! What must not be here: connecting, and what a host is.

use crate::error::TargetError;

/// The host that session `number` takes for its attempt: in turns, and another one each time.
pub(crate) fn round_robin(number: u32, attempt: u32, hosts: usize) -> usize {
    let position = u64::from(number) + u64::from(attempt);
    usize::try_from(position).unwrap_or(0) % hosts.max(1)
}

/// Nothing can be asked.
pub(crate) fn none_given() -> TargetError {
    TargetError::usage("no host given")
}

/// The first host that opens, and what it gave; if there is none, why the last one did not.
pub(crate) async fn first_to_open<'h, H, T>(
    hosts: &'h [H],
    open: impl AsyncFn(&'h H) -> Result<T, TargetError>,
) -> Result<(&'h H, T), TargetError> {
    let mut failed = none_given();
    for host in hosts {
        match open(host).await {
            Ok(opened) => return Ok((host, opened)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
