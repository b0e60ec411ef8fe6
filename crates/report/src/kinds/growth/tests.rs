//! Tests of a growth's text summary and Markdown.

use highwater_analysis::fixture;
use highwater_analysis::fixture::growth::of_verdict;
use highwater_analysis::growth::conclude;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::Pace;
use highwater_model::record::{ExperimentRecord, Question};
use highwater_model::scale::{
    GrowthVariant, LeftOut, ScaleEach, ScaleOutcome, ScaleRecord, SizeVerdict, WarmUpRun,
};
use highwater_model::units::Rate;
use highwater_sizing::growth::fixture::{grown, queried};

use crate::tests::assert_says;
use crate::{markdown, text};

fn scale_of(record: &mut ExperimentRecord) -> &mut ScaleRecord {
    let Question::Scale(scale) = &mut record.question else {
        panic!("it is a growth");
    };
    scale
}

#[test]
fn a_growth_shows_its_sizes_predictions_and_the_next_size() {
    insta::assert_snapshot!(text(&grown()));
}

/// 8 copies on 3 nodes: one node holds 3 of them, and the others wait for it.
#[test]
fn sizes_whose_shards_do_not_divide_evenly_are_named() {
    let mut uneven = grown();
    for trial in &mut scale_of(&mut uneven).trials {
        (trial.figures.shards, trial.figures.replicas) = (Some(4), Some(1));
    }
    let loss = "UNEVEN: 8 copies on 3 nodes: 3 on the busiest, so about 89% of linear\n";
    assert!(text(&uneven).contains(loss), "{}", text(&uneven));
    assert!(!text(&grown()).contains("UNEVEN"));
}

#[test]
fn a_growth_with_drift_is_marked_and_names_the_command_that_repeats_it() {
    let mut drifted = grown();
    let scale = scale_of(&mut drifted);
    scale.trials[4].figures.per_s = 250_000.0;
    let scale = scale.clone();
    let drifted = conclude(*drifted.last_run, scale, "growth".to_owned());
    insta::assert_snapshot!(text(&drifted));
}

#[test]
fn a_stopped_growth_names_the_command_that_continues_it() {
    let mut stopped = grown();
    let scale = scale_of(&mut stopped);
    scale.trials.truncate(3);
    scale.trials[2].figures = of_verdict(SizeVerdict::Interrupted, 0.0, None);
    scale.outcome = Some(ScaleOutcome::Interrupted);
    let scale = scale.clone();
    let stopped = conclude(*stopped.last_run, scale, "growth".to_owned());
    insta::assert_snapshot!(text(&stopped));
    // A bold figure is quoted, and so its doubts are in bold, too.
    let markdown = markdown(&stopped, "growth");
    assert!(markdown.starts_with("**MEASUREMENT INCONCLUSIVE, "), "{markdown}");
}

#[test]
fn a_pipeline_shows_how_a_target_grows() {
    insta::assert_snapshot!(markdown(&grown(), "highwater-runs/growth"));
}

/// Markdown begins with what is pasted under an article: the answer and a table, which CSV has as well.
#[test]
fn the_table_of_an_article_has_intervals_linear_growth_predictions_and_limits() {
    let mut grown = grown();
    let scale = scale_of(&mut grown);
    scale.trials[1].figures.limit = Some(highwater_analysis::fixture::cpu_limit());
    scale.trials[1].figures.p99_at_least = true;
    let markdown = markdown(&grown, "highwater-runs/growth");
    let begin: Vec<&str> = markdown.split("\n\n").take(2).collect();
    insta::assert_snapshot!(begin.join("\n\n"));
    insta::assert_snapshot!(crate::csv((&grown).into()));
}

/// Nothing in the table of sizes is as long as a limit in full; that of the growth has bounds and a price, too.
#[test]
fn the_tables_of_a_growth_fit_120_columns() {
    let mut grown = grown();
    for trial in &mut scale_of(&mut grown).trials {
        trial.figures.limit = Some(highwater_analysis::fixture::cpu_limit());
    }
    let text = text(&grown);
    for begin in ["size  ", "  nodes    rows/s       gain "] {
        let begin = text.lines().position(|line| line.starts_with(begin)).expect(&text);
        let table = text.lines().skip(begin).take_while(|line| !line.is_empty());
        for line in table {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}

/// A row for each size, as in the published article; a single op is not listed, because it equals the total.
#[test]
fn a_growth_of_several_ops_shows_each_of_them() {
    let queried = queried();
    let text = text(&queried);
    let mut blocks = text.split("\n\n");
    let block = blocks.find(|block| block.starts_with("each op "));
    insta::assert_snapshot!(block.unwrap(), @"
    each op        queries/s, and the gain over the first row
      nodes        q1   q1 gain        q2   q2 gain        q3   q3 gain
          3      3.24         –      3.04         –      3.18         –
          6      6.14    +89.6%      5.69    +87.0%      5.91    +85.8%
         12      10.3   +217.9%      10.0   +229.4%      10.2   +222.1%
         24      18.3   +463.9%      17.5   +476.5%      17.8   +458.8%
    ");
    let markdown = markdown(&queried, "highwater-runs/growth");
    let said = ["each op: queries/s, and the gain over the first row", "| 24 | 18.3 | "];
    assert_says(&markdown, &said);
    let page = crate::html(&queried);
    assert_says(&page, &["<dt>each op</dt>", "data-label=\"q2 gain\">+476.5%</td>"]);
    let of_one = grown();
    assert!(!crate::text(&of_one).contains("each op"));
    assert!(!crate::html(&of_one).contains("Each op"));
}

/// A growth measured without quotas, because of missing permissions, is repeated without them.
#[test]
fn a_growth_without_quotas_is_measured_again_without_them() {
    let mut drifted = grown();
    drifted.header.command = fixture::typed("scale", "cluster lab.toml|nodes 1..4");
    let mut without = drifted.clone();
    let again = |record: &ExperimentRecord| highwater_next::again(record.into());
    assert!(!again(&drifted).contains("--no-quota"));
    scale_of(&mut without).without_quotas = true;
    assert_eq!(again(&without), "highwater scale cpu --cluster lab.toml --nodes 1..4 --no-quota");
}

/// The question contains the nodes that are measured alone, and the configuration of a variant.
#[test]
fn a_growth_of_a_variant_is_repeated_alone_by_its_command() {
    let mut grown = grown();
    let flags =
        "cluster lab.toml|no-measure-nodes|nodes 1..4|variant old=./use old|variant new=./use new";
    grown.header.command = fixture::typed("scale", flags);
    let scale = scale_of(&mut grown);
    scale.cluster_file = Some("lab.toml".to_owned());
    scale.alone.left_out = Some(LeftOut::Declined);
    scale.variant = Some(GrowthVariant {
        name: "old".to_owned(),
        command: Some("./use old".to_owned()),
        all: [("old", "a"), ("new", "b")].map(|both| (both.0.to_owned(), both.1.to_owned())).into(),
        before: [].into(),
    });
    let again = highwater_next::again((&grown).into());
    let expected =
        "(./use old) && highwater scale cpu --cluster lab.toml --no-measure-nodes --nodes 1..4";
    assert_eq!(again, expected);
    let text = text(&grown);
    let said =
        ["variant old, in turns with 1 more", "nodes alone    not measured: --no-measure-nodes"];
    assert_says(&text, &said);
}

/// The summary names a warm-up before quotas, and a warm-up that did not become steady.
#[test]
fn a_growth_reports_the_preparation_of_its_sizes() {
    let mut grown = grown();
    let scale = scale_of(&mut grown);
    scale.budget_ns = Some(600_000_000_000);
    let trial = &mut scale.trials[1];
    trial.took_ns = 90_000_000_000;
    trial.ready_ns = 60_000_000_000;
    trial.figures.not_warm = true;
    trial.before_quota = Some(WarmUpRun {
        took_ns: 24_350_000_000,
        steady: Some(true),
        run: "probes/02-nodes-2-warm-up".to_owned(),
    });
    let text = text(&grown);
    let said = [
        "60.0 s of 90.0 s went into starting clusters and filling tables, not counted in the budget",
        "24.4 s of warm-up before quotas",
        "NOT WARM",
    ];
    assert_says(&text, &said);
}

/// A size that takes all that is offered may take more.
#[test]
fn a_growth_at_a_fixed_rate_is_a_lower_bound() {
    let answer = |offered: f64| {
        let mut record = grown();
        scale_of(&mut record).each = ScaleEach::Run;
        let largest =
            scale_of(&mut record).trials.iter().map(|of| of.figures.per_s).fold(0.0, f64::max);
        let stream = scale_of(&mut record).stream.clone();
        let streams = &mut record.last_run.plan.definition.streams;
        let searched = streams.iter_mut().find(|of| of.name == stream).unwrap();
        let micro_per_s = round_to_u64(largest * offered * 1e6);
        searched.paces = vec![Pace::Open { rate: Rate { micro_per_s } }];
        crate::text(&record)
    };
    let says = "the offered rate, not the maximum";
    assert!(answer(1.0).contains(says) && answer(1.0).contains("at least"), "{}", answer(1.0));
    assert!(!answer(1.2).contains(says), "it took less than was offered: that is the maximum");
}
