//! The rules of the conformance suite that a target breaks.

use std::rc::Rc;

use crate::conformance::{SqlWords, Subject, broken_among};
use highwater_driver::Driver;

use crate::support;

/// Each broken rule as text; `cut` closes the connections of all sessions on the target's side.
pub fn broken(
    driver: &'static dyn Driver,
    url: &str,
    sql: SqlWords,
    cut: Option<Rc<dyn Fn()>>,
) -> Vec<String> {
    among(driver, url, sql, cut, |_| true)
}

/// The broken rules among these names.
pub fn among(
    driver: &'static dyn Driver,
    url: &str,
    sql: SqlWords,
    cut: Option<Rc<dyn Fn()>>,
    is_among: impl Fn(&str) -> bool,
) -> Vec<String> {
    let subject = Subject {
        driver,
        urls: vec![url.to_owned()],
        options: support::options(),
        timeline: support::WallTimeline::start(),
        sql,
        cut,
    };
    let broken = support::block_on(broken_among(&subject, is_among)).expect("a target");
    broken.iter().map(ToString::to_string).collect()
}
