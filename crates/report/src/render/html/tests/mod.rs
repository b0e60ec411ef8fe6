//! The page of a record: the plotted values, escaping, and equal bytes for equal records.

pub(super) mod made;
mod plotted;

use highwater_analysis::fixture;
use highwater_analysis::fixture::group::grouped;
use highwater_model::judgment::ReasonCode;
use highwater_model::record::{SettingOrigin, SettingRecord};
use highwater_sizing::cluster::{SizePlan, WithOrigin, fixture as sizing, size};
use highwater_sizing::growth::fixture::grown;

use super::*;
use crate::size_html;
use crate::tests::assert_says;

/// Maximum bytes of a page.
const PAGE_MAX: usize = 2_000_000;

fn size_plan() -> SizePlan {
    let basis = sizing::basis("rows/s", &sizing::INGEST);
    let mut request = sizing::request(vec![sizing::need(1e6, basis)]);
    request.survive = WithOrigin::given(1, "--tolerate-failures");
    request.replicas = WithOrigin::given(0, "--replicas");
    size(&request)
}

#[test]
fn a_page_opens_offline_and_equal_records_give_equal_bytes() {
    let runs = [fixture::closed(), fixture::open_steps(), fixture::open_gate()];
    let experiments = [made::searched(), made::of_tuning(made::tuned()), grouped(), grown()];
    let mut pages: Vec<String> = Vec::new();
    let records = runs.iter().map(RecordRef::from);
    for record in records.chain(experiments.iter().map(Into::into)) {
        let page = html(record);
        assert_eq!(page, html(record));
        pages.push(page);
    }
    let plan = size_plan();
    pages.push(size_html(&plan, "highwater size 1M"));
    assert_eq!(pages.last(), Some(&size_html(&plan.clone(), "highwater size 1M")));
    for page in pages {
        // Addresses that a browser would load without a click.
        for elsewhere in ["src=", "url(", "@import", "<link", "<img", "<iframe", "fetch("] {
            assert!(!page.contains(elsewhere), "{elsewhere}");
        }
    }
}

/// Question, answer, limit, judgments, one chart, key figures; everything else is folded behind a heading and a line
/// that summarizes it.
#[test]
fn the_answer_comes_first_and_everything_else_is_folded() {
    let page = html(&made::searched());
    let (first, folds) = page.split_once("<div class=\"folds\">").unwrap();
    let order =
        r#"<h1>, id="answer", class="interval", class="judgments", class="hero", class="keys""#;
    let order = order.split(", ");
    let places: Vec<usize> = order.map(|of| first.find(of).expect(of)).collect();
    assert!(places.is_sorted(), "{places:?}");
    let order = "Probes, Judgments, Rows and audit, Latency, Over time, Machines, Findings, Response sizes, \
                 Environment and plan, Cite and repeat";
    let summary = |title: &str| format!("<summary><h2>{title}</h2><p>");
    let places = order.split(", ").map(|title| folds.find(&summary(title)).expect(title));
    let places: Vec<usize> = places.collect();
    assert!(places.is_sorted(), "{places:?}");
    let unwanted = ["<h2>Probes</h2><p></p>", "<details open", "\" open"];
    assert!(!unwanted.iter().any(|unwanted| page.contains(unwanted)));
    // Parts about one of several runs name that run.
    assert!(folds.contains("<h2>Latency</h2><p>last of "), "{folds}");
}

/// Text that a hostile server could send in any response.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";

#[test]
fn text_from_a_server_is_escaped_everywhere() {
    let mut op = fixture::gate_op();
    op.errors = vec![("rejected", 3)];
    let mut record = fixture::judged(fixture::open_gate_of(&op));
    let hostile = || HOSTILE.to_owned();
    record.target.version = hostile();
    record.target.traits = vec![hostile()];
    record.target.urls = vec![hostile()];
    record.target.settings.insert(hostile(), hostile());
    record.header.environment.insert(hostile(), hostile());
    record.header.labels.insert(hostile(), hostile());
    record.workload.parameters.insert(hostile(), hostile());
    record.audit.error = Some(hostile());
    record.audit.copies_differ = vec![hostile()];
    fixture::note(&mut record, "note", HOSTILE);
    for result in &mut record.results {
        result.op = hostile();
        let examples = &mut result.error_examples;
        examples.insert("rejected".to_owned(), hostile());
    }
    for interval in &mut record.intervals {
        interval.op = hostile();
    }
    let page = html(&record);
    let plain = html(&fixture::open_gate());
    assert!(page.matches("alert(1)").count() >= 10);
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    // One closing tag for each chart and one for the script, as without the hostile text.
    let ends = |page: &str| page.matches("</script").count();
    assert_eq!(ends(&page), page.matches("class=\"data\"").count() + 1);
    assert_eq!(ends(&plain), plain.matches("class=\"data\"").count() + 1);
}

#[test]
fn the_limit_is_at_the_top_of_the_page() {
    let mut record = fixture::closed();
    assert!(!html(&record).contains("class=\"limit"));
    record.limit = Some(fixture::cpu_limit());
    let said = "<p class=\"limit reached\">Limited by <b>CPU of node 2, 97%</b> \
                <span>(next: disk of node 1, 71%)</span></p>";
    let page = html(&record);
    let (head, _) = page.split_once("class=\"folds\"").unwrap();
    assert!(head.contains(said), "{head}");
}

/// What was typed is in the command; what holds again without it stands beside it.
#[test]
fn the_page_repeats_what_was_typed_and_names_what_was_set_elsewhere() {
    let mut record = fixture::closed();
    assert!(!html(&record).contains("Set outside of the command line"));
    for (name, value, origin) in [
        ("audit", "count", SettingOrigin::Environment),
        ("seed", "7", SettingOrigin::File),
        ("timeout", "30s", SettingOrigin::Default),
    ] {
        let setting = SettingRecord { value: Some(value.to_owned()), origin };
        record.header.command.settings.insert(name.to_owned(), vec![setting]);
    }
    let elsewhere = "Set outside of the command line: audit count (environment), seed 7 (file).";
    assert_says(&html(&record), &[elsewhere, "<code>highwater run cpu sqlite: -d 10s</code>"]);
}

/// The verdict of the confirming round in words, a chart and a table for each axis, and every configuration.
#[test]
fn the_page_of_a_tuning_names_the_best_configuration_and_shows_every_axis() {
    let page = html(&made::of_tuning(made::tuned()));
    let said = [
        "Which batch and with.codec give the most rows/s on ",
        "<span class=\"whole\">batch 4000</span>, <span class=\"whole\">with.codec best</span>",
        "<b>ahead of batch 32000, with.codec best by +1.2% to +7.1% with 95% confidence</b>",
        "batch 4000, with.codec best with 302,000\u{a0}rows/s",
        "batch 32000, with.codec best with 290,000\u{a0}rows/s",
        "; each measured 2 times more",
        "Throughput along batch, rows per second",
        "Throughput along with.codec, rows per second",
        "Other settings as in the best configuration: with.codec best.",
        "Over with.codec · batch 4000",
        "Throughput over batch",
        "7 of 9 configurations",
        "missed its objective · rejected",
        ">303,000\u{a0}rows/s</td>",
        ">does not count</td>",
        "highwater tune cpu sqlite: --over batch=500,4000,32000 --over with.codec=default,best,none<",
        " --tuned ",
    ];
    assert_says(&page, &said);
    let charts = page.matches("<figure class=\"chart\" id=\"axis-");
    assert_eq!(charts.count(), 2);
    let page = html(&made::of_tuning(made::tuned_in_part()));
    assert_says(&page, &["you stopped the tuning", "not confirmed"]);
    assert_says(&page, &["class=\"answer long weak\"", " --resume "]);
    assert!(!page.contains("<p class=\"sentence\">"), "nothing to quote");
}

/// The values of a logarithmic axis are its ticks.
#[test]
fn a_logarithmic_axis_is_labeled_with_the_values_that_were_measured() {
    let page = html(&made::of_tuning(made::tuned()));
    let chart = page.split("id=\"axis-0\"").nth(1).unwrap();
    let ticks = chart.split("class=\"x-ticks\">").nth(1).unwrap();
    let ticks = ticks.split("</g>").next().unwrap();
    let texts =
        ticks.split("text-anchor=\"middle\">").skip(1).map(|text| text.split('<').next().unwrap());
    assert!(texts.eq(["500", "4,000", "32,000"]), "{ticks}");
}

#[test]
fn reasons_are_reported_with_their_evidence_and_advice() {
    let mut record = fixture::closed();
    fixture::lose_rows(&mut record, 100);
    let page = html(&fixture::judged(record));
    assert!(page.contains("<li class=\"bad\">"));
    assert!(page.contains(ReasonCode::RowsLost.name()));
    assert!(page.contains("What is wrong"));
    // Lost rows are the answer; the rate must not be quoted.
    let lost = "<span class=\"whole\">100</span></span> <span class=\"unit\">rows lost";
    assert_says(&page, &[lost]);
    assert_says(&page, &["class=\"answer weak\"", "ot to be quoted"]);
}

#[test]
fn an_hour_of_ten_ops_is_a_page_of_two_megabytes_at_most() {
    let page = html(&made::hour());
    // Fewer bytes would mean that nothing is drawn.
    assert!((100_001..=PAGE_MAX).contains(&page.len()), "{}", page.len());
}

#[test]
fn a_record_without_anything_measured_is_a_page_all_the_same() {
    let mut record = fixture::closed();
    record.results.clear();
    record.streams.clear();
    record.intervals.clear();
    record.phases.clear();
    record.clients.clear();
    let page = html(&fixture::judged(record));
    assert!(page.contains("class=\"judgments\"") && !page.contains("<figure"));
}
