//! The published figures, as readers see them.

use insta::assert_snapshot;

use super::*;
use crate::figures_text;
use crate::tests::assert_says;
use highwater_sizing::growth::fixture::queried;
use highwater_sizing::plausibility::audit;
use highwater_sizing::series::{PUBLISHED, read};
use highwater_sizing::tables::tables;

fn report(text: &str) -> FiguresReport {
    let set = read(text).unwrap();
    FiguresReport {
        schema: FIGURES_SCHEMA,
        tables: tables(&set, None).unwrap(),
        warnings: audit(&set, None),
        notes: set.notes,
    }
}

fn published(file: &str) -> FiguresReport {
    let known = PUBLISHED.iter().find(|known| known.file == file);
    report(known.unwrap().text)
}

#[test]
fn the_guides_tables() {
    assert_snapshot!(figures_text(&published("benchmarking-guide.csv")));
}

#[test]
fn the_million_rows_table() {
    assert_snapshot!(figures_text(&published("one-million-rows.csv")));
}

/// The cells of each line of the table that begins with a number of nodes; if the table has parts, the cells of those.
fn rows_of(file: &str) -> [String; 2] {
    let text = figures_text(&published(file));
    let (whole, parts) = text.split_once("each part ").unwrap_or((&text, ""));
    [whole, parts].map(cells_of)
}

fn cells_of(text: &str) -> String {
    let lines = text.lines().map(|line| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
    });
    let is_row = |cells: &Vec<&str>| cells.first().is_some_and(|of| of.parse::<u32>().is_ok());
    lines.filter(is_row).map(|cells| cells.join(" | ")).collect::<Vec<_>>().join("\n")
}

/// Nodes, throughput, gain, change, fraction of linear growth, per node, the 0.8 rule, and its error.
#[test]
fn each_articles_growth_has_the_articles_own_numbers() {
    assert_snapshot!(rows_of("one-million-rows.csv")[0], @"
    1 | 293,147 | – | – | 100.0% | 293,147 | – | –
    2 | 493,723 | +200,576 | +68.4% | 84.2% | 246,862 | 527,665 | +6.9%
    3 | 676,781 | +183,058 | +37.1% | 77.0% | 225,594 | 691,212 | +2.1%
    4 | 856,460 | +179,679 | +26.5% | 73.0% | 214,115 | 857,256 | +0.1%
    5 | 1,043,659 | +187,199 | +21.9% | 71.2% | 208,732 | 1,027,752 | -1.5%
    ");
    let [all, each] = rows_of("query-scaling.csv");
    assert_snapshot!(all, @"
    3 | 9.07 | – | – | 100.0% | 3.02 | – | –
    6 | 17.0 | +7.94 | +87.6% | 93.8% | 2.84 | 16.3 | -4.0%
    12 | 29.9 | +12.9 | +75.6% | 82.3% | 2.49 | 30.6 | +2.5%
    24 | 52.0 | +22.2 | +74.2% | 71.7% | 2.17 | 53.8 | +3.3%
    ");
    assert_snapshot!(each, @"
    3 | 3.24 | – | 3.04 | – | 3.18 | –
    6 | 6.14 | +89.6% | 5.69 | +87.0% | 5.91 | +85.8%
    12 | 10.3 | +217.9% | 10.0 | +229.4% | 10.2 | +222.1%
    24 | 18.3 | +463.9% | 17.5 | +476.5% | 17.8 | +458.8%
    ");
    assert_snapshot!(rows_of("big-bite.csv")[0], @"
    14 | 1,600,000 | – | – | 100.0% | 114,286 | – | –
    56 | 4,800,750 | +3,200,750 | +200.0% | 75.0% | 85,728 | 5,440,000 | +13.3%
    ");
}

/// Each query's throughput equals the article's; a growth that measured the same shows the same rows.
#[test]
fn a_growth_shows_the_queries_of_an_article_as_its_file_does() {
    let tables = published("query-scaling.csv").tables;
    let printed =
        tables[0].rows.iter().map(|row| ["q1", "q2", "q3"].map(|query| row.parts[query].per_s));
    let article = [
        [3.2395, 3.0398, 3.1790],
        [6.1410, 5.6857, 5.9053],
        [10.2985, 10.0139, 10.2393],
        [18.2665, 17.5259, 17.7649],
    ];
    assert!(printed.eq(article), "{tables:?}");
    let measured = crate::text(&queried());
    let (_, measured) = measured.split_once("each op ").unwrap();
    let (measured, _) = measured.split_once("\n\n").unwrap();
    let [_, published] = rows_of("query-scaling.csv");
    assert_eq!(cells_of(measured), published);
}

#[test]
fn a_further_replica_is_taken_to_leave_six_tenths() {
    let text = "nodes,replicas,rows_per_s\n1,0,1000\n2,1,1000\n3,1,1500\n";
    let found = tables(&read(text).unwrap(), Some("nodes")).unwrap();
    let rules: Vec<_> =
        found.iter().flat_map(|table| &table.rows).map(|row| row.rule_of_thumb).collect();
    assert_eq!(rules, [None, Some(1_080.0), Some(1_400.0)]);
}

/// The first size of a growth is measured twice: its row is of both, and says so.
#[test]
fn a_value_that_was_measured_twice_shows_the_mean_and_both() {
    let text = "nodes,rows_per_s\n1,45000\n2,80000\n1,42000\n";
    let found = figures_text(&report(text));
    let said = ["nodes   mean rows/s  ", "repeats   lowest to highest", "2    42,000 to 45,000"];
    assert_says(&found, &said);
    let once = figures_text(&report("nodes,rows_per_s\n1,45000\n2,80000\n"));
    assert!(!once.contains("mean") && !once.contains("repeats"), "{once}");
}

#[test]
fn implausible_figures_of_the_query_series() {
    assert_snapshot!(warnings_text(&published("query-scaling.csv").warnings));
}

#[test]
fn no_warnings_are_one_line() {
    assert_snapshot!(
        warnings_text(&[]),
        @"plausible      nothing speaks against these figures"
    );
}

#[test]
fn texts_of_a_file_cannot_steer_the_terminal() {
    let text = "series,nodes,rows_per_s\n\u{1b}[31mred,1,10\n\u{1b}[31mred,2,5\n";
    assert!(!figures_text(&report(text)).contains('\u{1b}'));
}

#[test]
fn json_has_the_content_of_the_text() {
    let json = figures_json(&published("benchmarking-guide.csv"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], FIGURES_SCHEMA);
    assert_eq!(value["tables"][1]["best"]["value"], "12");
    assert_eq!(value["warnings"][0]["rule"], "duplicates_disagree");
}
