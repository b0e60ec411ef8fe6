//! Which drivers there are, and which one a URL means. An explicit list; nothing registers itself.

use std::sync::Arc;

use crate::contract::{Driver, Target, TargetError, TargetOptions};
use crate::target_url::TargetUrl;

/// All drivers, in the order of help texts.
pub fn drivers() -> &'static [&'static dyn Driver] {
    &[
        &crate::sqlite::SqliteDriver,
        &crate::cratedb::CrateDbDriver,
        &crate::postgres::PostgresDriver,
        &crate::sim::SimDriver,
        &crate::null::NullDriver,
    ]
}

/// Opens the target that the URLs name. All of them must be of one driver.
pub fn open(urls: &[String], options: &TargetOptions) -> Result<Arc<dyn Target>, TargetError> {
    let parsed: Vec<TargetUrl> = urls
        .iter()
        .map(|url| TargetUrl::parse(url))
        .collect::<Result<_, _>>()?;
    open_urls(&parsed, options)
}

/// Opens the target that these URLs name. All of them must be of one driver.
pub fn open_urls(
    urls: &[TargetUrl],
    options: &TargetOptions,
) -> Result<Arc<dyn Target>, TargetError> {
    driver_of(urls)?.open(urls, options)
}

/// The URL of the target that is used when none is named: it needs nothing installed.
pub fn default_url() -> Option<&'static str> {
    drivers().iter().find_map(|driver| driver.default_url())
}

/// The driver of all these URLs.
pub fn driver_of(urls: &[TargetUrl]) -> Result<&'static dyn Driver, TargetError> {
    let first = urls
        .first()
        .ok_or_else(|| TargetError::usage("no target given"))?;
    let found = drivers()
        .iter()
        .find(|driver| driver.schemes().contains(&first.scheme.as_str()));
    let Some(driver) = found else {
        let schemes: Vec<String> = drivers()
            .iter()
            .flat_map(|d| d.schemes().iter().map(|s| format!("{s}:")))
            .collect();
        return Err(TargetError::usage(format!(
            "target `{first}`: unknown scheme `{}:`",
            first.scheme
        ))
        .with_hint(format!("known schemes are {}", schemes.join(", "))));
    };
    match urls
        .iter()
        .find(|url| !driver.schemes().contains(&url.scheme.as_str()))
    {
        Some(other) => Err(TargetError::usage(format!(
            "targets `{first}` and `{other}` are of different kinds"
        ))
        .with_hint("several targets of one run must share a driver")),
        None => Ok(*driver),
    }
}
