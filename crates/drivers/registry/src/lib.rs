//! The list of drivers, and the selection of one by URL. The list is explicit; nothing registers itself.

use std::sync::Arc;

use highwater_driver::contract::{Driver, Target, TargetOptions};
use highwater_driver::target_url::{Secret, TargetUrl, is_secret, remember};
use highwater_driver_clickhouse::ClickHouseDriver;
use highwater_driver_cratedb::CrateDbDriver;
use highwater_driver_mysql::MySqlDriver;
use highwater_driver_null::NullDriver;
use highwater_driver_postgres::PostgresDriver;
use highwater_driver_sim::SimDriver;
use highwater_driver_sqlite::SqliteDriver;
use highwater_model::user_error::UserError;

/// The parameters of a simulated cluster.
pub use highwater_driver_sim::PARAMETERS as SIMULATION_PARAMETERS;

/// All drivers, in the order of help texts.
pub fn drivers() -> &'static [&'static dyn Driver] {
    &[
        &SqliteDriver,
        &CrateDbDriver,
        &PostgresDriver,
        &MySqlDriver,
        &ClickHouseDriver,
        &SimDriver,
        &NullDriver,
    ]
}

/// Opens the target of these URLs. All of them must belong to one driver.
pub fn open(urls: &[String], options: &TargetOptions) -> Result<Arc<dyn Target>, UserError> {
    open_urls(&TargetUrl::parse_all(urls)?, options)
}

/// Opens the target of these URLs. All of them must belong to one driver.
pub fn open_urls(
    urls: &[TargetUrl],
    options: &TargetOptions,
) -> Result<Arc<dyn Target>, UserError> {
    let driver = driver_of(urls)?;
    remember_secrets(driver, urls);
    driver.open(urls, options)
}

/// Remembers the login secrets in URLs and environment, so that servers' texts do not show them.
fn remember_secrets(driver: &dyn Driver, urls: &[TargetUrl]) {
    for url in urls {
        let password = url.password.as_ref().map(Secret::reveal);
        let parameters = url
            .parameters
            .iter()
            .filter(|(name, _)| is_secret(name))
            .map(|(_, value)| value.as_str());
        password.into_iter().chain(parameters).for_each(remember);
    }
    let values = driver.secret_variables().iter().filter_map(|name| std::env::var(name).ok());
    values.for_each(|value| remember(&value));
}

/// The default target's URL: it needs nothing installed.
pub fn default_url() -> Option<&'static str> {
    drivers().iter().find_map(|driver| driver.default_url())
}

/// The driver of all these URLs.
pub fn driver_of(urls: &[TargetUrl]) -> Result<&'static dyn Driver, UserError> {
    let first = urls.first().ok_or_else(|| UserError::usage("no target given"))?;
    let serves = |schemes: &[&str], url: &TargetUrl| schemes.contains(&url.scheme.as_str());
    let mut all = drivers().iter();
    let Some(driver) = all.find(|driver| serves(driver.schemes(), first)) else {
        let schemes: Vec<String> =
            drivers().iter().flat_map(|d| d.schemes().iter().map(|s| format!("{s}:"))).collect();
        return Err(UserError::usage(format!(
            "the target has the unknown scheme `{}:`",
            first.scheme
        ))
        .with_hint(format!("known schemes are {}", schemes.join(", "))));
    };
    match urls.iter().find(|url| !serves(driver.schemes(), url)) {
        Some(other) => Err(UserError::usage(format!(
            "targets `{}:` and `{}:` are of different kinds",
            first.scheme, other.scheme
        ))
        .with_hint("several targets of one run must share a driver")),
        None => Ok(*driver),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// Neither an error nor a parsed URL shows a password, whatever its characters and its context.
        #[test]
        fn no_text_causes_a_panic_or_shows_a_password(
            scheme in "(db|crate|sqlite|postgres|\\PC{0,6})",
            slashes in "(://|:/|//|:|)",
            user in "[a-z@%☃]{0,4}",
            before in "\\PC{0,6}",
            after in "(\\PC{0,6}|[?@:/&=#%]{0,4})",
            end in "(\\PC{0,12}|h:[0-9]{1,6}/n\\?x=1)",
        ) {
            let text = format!("{scheme}{slashes}{user}:x{before}S3cr3t{after}@{end}");
            let known = |url: TargetUrl| driver_of(std::slice::from_ref(&url)).map(|_| url);
            let shown = match TargetUrl::parse(&text).and_then(known) {
                Ok(url) if url.hosts.is_empty() && url.user.is_none() => String::new(),
                Ok(url) => format!("{url} {url:?}"),
                Err(error) => format!("{error:?}"),
            };
            proptest::prop_assert!(!shown.contains("S3cr3t"), "{text} -> {shown}");
            drop(TargetUrl::parse(&end));
        }
    }
}
