//! Several hosts of one target: selects each session's host, and finds the first one that opens.
//!
//! Must not connect by itself, or know what a host is.

use highwater_model::user_error::UserError;

use crate::contract::TargetOptions;
use crate::target_url::{Environment, TargetUrl};

/// The error for a missing host.
pub fn none_given() -> UserError {
    UserError::usage("no host given")
}

/// The host of a session's attempt.
pub fn nth<H>(hosts: &[H], nth: usize) -> Result<&H, UserError> {
    hosts.get(nth).ok_or_else(none_given)
}

/// The hosts of all URLs, at least one; `read` returns those of one URL, given the process's environment.
pub fn of_urls<H>(
    urls: &[TargetUrl],
    options: &TargetOptions,
    read: impl Fn(&TargetUrl, &TargetOptions, Environment<'_>) -> Result<Vec<H>, UserError>,
) -> Result<Vec<H>, UserError> {
    let environment = |name: &str| std::env::var(name).ok();
    let mut hosts = Vec::new();
    for url in urls {
        hosts.extend(read(url, options, &environment)?);
    }
    if hosts.is_empty() {
        return Err(none_given());
    }
    Ok(hosts)
}

/// The first host that opens, with its connection; if none opens, the error of the last one.
pub async fn first_to_open<'h, H, T>(
    hosts: &'h [H],
    open: impl AsyncFn(&'h H) -> Result<T, UserError>,
) -> Result<(&'h H, T), UserError> {
    let mut failed = none_given();
    for host in hosts {
        match open(host).await {
            Ok(opened) => return Ok((host, opened)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
