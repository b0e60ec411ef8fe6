//! Targets named by a developer pass every rule of the conformance suite: the URLs in `HIGHWATER_TEST_URLS`, separated
//! by commas or spaces. Without it, there is nothing to check.
//!
//! Each URL is one target; its user must be allowed to create tables. The suite leaves tables whose names start with
//! `highwater_conformance_`, and `highwater_tables`.

use highwater_driver::TargetUrl;
use highwater_drivers::driver_of;
use highwater_model::user_error::UserError;
use highwater_testkit::conformance::{Subject, broken_rules};
use highwater_testkit::{support, words};
use words::words;

/// The variable with the URLs.
const NAMED: &str = "HIGHWATER_TEST_URLS";

/// The rules that a target breaks, or why it cannot be tested.
async fn check(url: &str) -> Vec<String> {
    match broken(url).await {
        Ok(broken) => broken,
        Err(error) => vec![error],
    }
}

async fn broken(url: &str) -> Result<Vec<String>, String> {
    let timeline = support::WallTimeline::start();
    let options = support::options();
    let urls = vec![url.to_owned()];
    let message = |error: UserError| error.to_string();
    let parsed = TargetUrl::parse_all(&urls).map_err(message)?;
    let driver = driver_of(&parsed).map_err(message)?;
    let target = driver.open(&parsed, &options).map_err(message)?;
    if target.capabilities().simulated_clock {
        return Err("the suite runs on the wall's time here: add `clock=real`".to_owned());
    }
    let mut admin = target.administer(timeline.clone()).await.map_err(message)?;
    let dialects = admin.facts().await.map_err(message)?.dialects;
    drop(admin);
    // A target that stores nothing never reads statements.
    let best = match dialects.first() {
        Some(best) if target.capabilities().stores_values => best.as_str(),
        _ => "sqlite",
    };
    let sql = words(best).ok_or_else(|| format!("there are no words for `{best}`"))?;
    let subject = Subject { driver, urls, options, timeline, sql, cut: None };
    let broken = broken_rules(&subject).await.map_err(message)?;
    Ok(broken.iter().map(ToString::to_string).collect())
}

fn named(list: &str) -> Vec<&str> {
    list.split([',', ' ', '\n', '\t']).filter(|url| !url.is_empty()).collect()
}

/// Checks every named target, even after one that fails.
fn failures(list: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for (position, url) in named(list).into_iter().enumerate() {
        // The URL itself may contain a password.
        let number = position + 1;
        let broken = support::block_on(check(url));
        failures.extend(broken.iter().map(|rule| format!("URL {number}: {rule}")));
    }
    failures
}

#[test]
fn every_named_target_keeps_every_rule() {
    let list = std::env::var(NAMED).unwrap_or_default();
    let failures = failures(&list);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_list_is_separated_by_commas_or_spaces_and_each_url_is_checked() {
    assert_eq!(named(" a:b, c:d  e:f,\n"), ["a:b", "c:d", "e:f"]);
    assert!(named("").is_empty());
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("named.db");
    let list = format!("nothing:there sqlite:{},sim:  sim:?clock=real", file.display());
    let failures = failures(&list);
    assert_eq!(failures.len(), 2, "{}", failures.join("\n"));
    assert!(failures[0].starts_with("URL 1: ") && failures[1].starts_with("URL 3: "));
}
