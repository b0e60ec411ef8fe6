//! The report of a plan, for people and for programs.

use insta::assert_snapshot;

use super::{around_the_least, decision, size_json, size_schema};
use crate::layout::Row;
use crate::{size_html, size_text};
use highwater_sizing::cluster::fixture;
use highwater_sizing::cluster::{Request, SizePlan, WithOrigin, size};

/// A million rows per second with one tolerated node failure, and every optional fact.
fn plan() -> SizePlan {
    size(&request())
}

fn request() -> Request {
    let mut request =
        fixture::request(vec![fixture::need(1e6, fixture::basis("rows/s", &fixture::INGEST))]);
    request.survive = WithOrigin::given(1, "--tolerate-failures");
    request.replicas = WithOrigin::given(0, "--replicas");
    request.retention_s = Some(WithOrigin::given(90.0 * 86_400.0, "--retention"));
    request.stored_bytes_per_row = Some(WithOrigin::given(100.0, "--bytes-per-row"));
    request.sent_bytes_per_row = Some(WithOrigin::given(700.0, "--sent-bytes-per-row"));
    request.price_per_node_hour = Some(WithOrigin::given(0.8, "--price"));
    request
}

#[test]
fn the_report_of_an_unproven_plan_has_no_interval_and_names_what_to_measure() {
    let request = Request { replicas: WithOrigin::assumed(0, "as measured"), ..request() };
    let text = size_text(&size(&request));
    let (decision, _) = text.split_once("How rows/s grow").unwrap();
    assert_snapshot!(decision);
}

#[test]
fn the_report_of_a_plan() {
    assert_snapshot!(size_text(&plan()));
}

/// The decision maker sees the price and the basis, with everything folded.
#[test]
fn the_page_shows_its_price_and_three_assumptions_with_their_flags_above_the_folds() {
    let mut request = request();
    request.survive = WithOrigin::assumed(0, "by default");
    request.replicas = WithOrigin::assumed(1, "as measured");
    request.needs[0].per_s.value = 5e5;
    let plan = size(&request);
    let page = size_html(&plan, "highwater size 1M");
    let (open, _) = page.split_once("<div class=\"folds\">").unwrap();
    let (_, keys) = open.split_once("<dl class=\"keys\">").unwrap();
    let (keys, assumed) = keys.split_once("</dl>").unwrap();
    let names: Vec<&str> =
        keys.split("<dt>").skip(1).map(|name| name.split('<').next().unwrap()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!(names[1..3], ["headroom", "price"]);

    let flag =
        |text: &str| text.rsplit_once("(--").unwrap().1.split_once(')').unwrap().0.to_owned();
    let shown: Vec<String> = assumed.split("<li>").skip(1).map(flag).collect();
    let most: Vec<String> = plan
        .decision
        .assumptions
        .iter()
        .map(|weight| flag(&decision::weighed(&plan, weight)))
        .collect();
    assert!(most.len() >= 3, "{most:?}");
    assert_eq!(shown, most[..3]);
}

#[test]
fn the_plan_is_restored_from_json_unchanged_and_fits_its_schema() {
    let plan = plan();
    let json = size_json(&plan);
    assert_eq!(serde_json::from_str::<SizePlan>(&json).unwrap(), plan);
    let schema = serde_json::from_str(&size_schema()).unwrap();
    let value = serde_json::from_str(&json).unwrap();
    jsonschema::validate(&schema, &value).unwrap();
}

/// The shown rows of a head and `sizes` sizes, of which size `least` has the lowest regret.
fn shown(sizes: usize, least: usize) -> String {
    let row = |n: usize| {
        let remark = if n == least { "least regret" } else { "" };
        Row::new([n.to_string()]).remark(remark)
    };
    let cells: Vec<String> = around_the_least((0..=sizes).map(row).collect())
        .into_iter()
        .flat_map(|row| row.cells)
        .collect();
    cells.join(" ")
}

#[test]
fn of_many_sizes_the_ends_and_those_around_the_least_regret_are_shown() {
    assert_eq!(shown(8, 5), "0 1 2 3 4 5 6 7 8");
    assert_eq!(shown(30, 12), "0 1 10 11 12 13 14 30");
    assert_eq!(shown(30, 1), "0 1 2 3 30");
    assert_eq!(shown(30, 30), "0 1 28 29 30");
}
