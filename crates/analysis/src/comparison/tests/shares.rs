//! Fractions of failed ops and of seconds without responses: most of them are 0, so ratios are useless.

use super::*;
use highwater_model::record::{ImportRecord, ImportedPace, LatencyBegin, MissingField};
use highwater_model::record::{ImportedRecord, Record};

/// A run in which `failed` of the fixture's ops failed.
fn failing(failed: u64) -> RunRecord {
    let mut record = run(1.0, 1.0);
    let errors = &mut record.results[0].errors;
    errors.insert("rejected".to_owned(), failed);
    record
}

/// A run of `of` seconds, some of them slow, some of these without any response.
fn seconds(of: usize, slow: u64, silent: u64) -> RunRecord {
    let mut record = run(1.0, 1.0);
    record.availability.acknowledged_per_s = vec![100; of];
    record.availability.seconds_below_half = slow;
    record.availability.dips = silent;
    record
}

fn figure<'a>(comparison: &'a Comparison, name: &str) -> Option<&'a FigureComparison> {
    let mut figures = comparison.figures.iter();
    figures.find(|compared| compared.figure.name == name)
}

fn verdict_on(name: &str, a: &[RunRecord], b: &[RunRecord]) -> Verdict {
    figure(&verdict_of(a, b), name).unwrap().verdict
}

#[test]
fn ops_that_fail_are_worse_and_fewer_of_them_better() {
    let well = [failing(0), failing(0), failing(0)];
    // Of 4,212 ops: 1%.
    let badly = [failing(42), failing(40), failing(43)];
    assert_eq!(verdict_on("failed", &well, &badly), Verdict::Worse);
    assert_eq!(verdict_on("failed", &badly, &well), Verdict::Better);
    let compared = verdict_of(&well, &badly);
    let failed = figure(&compared, "failed").unwrap();
    assert_eq!(failed.a, [0.0; 3]);
    let difference = failed.effect.unwrap().difference;
    assert!((difference - 125.0 / 3.0 / 4_212.0).abs() < 1e-12);
    assert_eq!(compared.verdict(), Verdict::Worse, "and so is B altogether");
}

#[test]
fn ops_that_were_never_sent_have_failed_too() {
    let dropping = |dropped| {
        let mut record = run(1.0, 1.0);
        record.results[0].dropped = dropped;
        record
    };
    let (well, badly) = ([0, 0, 0].map(dropping), [42, 40, 43].map(dropping));
    assert_eq!(verdict_on("failed", &well, &badly), Verdict::Worse);
}

/// One op in a thousand is the threshold; less is equal, however certain it is.
#[test]
fn failures_that_do_not_matter_are_equal_and_few_ops_show_nothing() {
    let many = |failed: u64| {
        let mut record = failing(failed);
        record.results[0].offered = 1_000_000;
        record
    };
    let well = [many(0), many(0), many(0)];
    let hardly = [many(500), many(505), many(495)];
    assert_eq!(verdict_on("failed", &well, &hardly), Verdict::Equal);
    let more = [many(1_500), many(1_505), many(1_495)];
    assert_eq!(verdict_on("failed", &well, &more), Verdict::Worse);

    let few = |offered: u64| {
        let mut record = failing(0);
        record.results[0].offered = offered;
        record.results[0].sent = offered;
        record
    };
    // None of 300 failed: a rate of one in a thousand is not excluded.
    let none = [few(100), few(100), few(100)];
    assert_eq!(verdict_on("failed", &none, &none), Verdict::Inconclusive);
    let none = [few(10_000), few(10_000), few(10_000)];
    assert_eq!(verdict_on("failed", &none, &none), Verdict::Equal);
}

#[test]
fn seconds_without_an_answer_and_slow_ones_are_figures_of_their_own() {
    let names = ["seconds without a response", "slow seconds"];
    // Throughput does not differ, so the other figures share 0.5%: with seven of them the first
    // takes a p of 0.07%. With 18 of 60 slow seconds it is 0.17%, with 30 it is 0.045%.
    let well = [seconds(60, 1, 0), seconds(60, 0, 0), seconds(60, 1, 0)];
    let slow = [seconds(60, 30, 0), seconds(60, 32, 0), seconds(60, 28, 0)];
    let verdicts = |a: &[RunRecord], b: &[RunRecord]| names.map(|name| verdict_on(name, a, b));
    let found = verdicts(&well, &slow);
    assert_eq!(found, [Verdict::Inconclusive, Verdict::Worse]);
    let silent = [seconds(60, 30, 30), seconds(60, 32, 32), seconds(60, 28, 28)];
    assert_eq!(verdicts(&well, &silent), [Verdict::Worse; 2]);
    assert_eq!(verdicts(&silent, &well), [Verdict::Better; 2]);
}

/// No second was slow in either group. A few seconds show little; many show that less than one in a hundred is slow.
#[test]
fn enough_seconds_without_any_slow_one_are_equal() {
    for (length, expected) in [(20, Verdict::Inconclusive), (200, Verdict::Equal)] {
        let well = [0, 1, 2].map(|_| seconds(length, 0, 0));
        let compared = verdict_of(&well, &well);
        let slow = figure(&compared, "slow seconds").unwrap();
        assert_eq!(slow.verdict, expected, "{length}");
        assert!(slow.effect.unwrap().difference.abs() < 1e-12);
        // The stated number of runs is enough.
        let needed = usize::try_from(slow.repeats).unwrap();
        let repeated = vec![seconds(length, 0, 0); needed];
        let found = verdict_on("slow seconds", &repeated, &repeated);
        assert_eq!(found, Verdict::Equal);
    }
}

/// The part of the false-alarm risk that the primary figure leaves is divided among the others; a fraction that is 0
/// everywhere cannot raise a false alarm. The part of the primary figure does not depend on the others, so another
/// figure shows it.
#[test]
fn shares_that_are_0_everywhere_make_no_other_figure_harder_to_show() {
    let a = group(5, 1.0, &Draws::new(Seed(3), &[]), 0);
    let without = |runs: &[RunRecord]| -> Vec<RunRecord> {
        let mut runs = runs.to_vec();
        for record in &mut runs {
            record.availability.acknowledged_per_s.clear();
        }
        runs
    };
    let [with, without] = [a.clone(), without(&a)].map(|a| verdict_of(&a, &a));
    assert_eq!(with.figures.len(), without.figures.len() + 2);
    let p95 = |comparison| figure(comparison, "p95").unwrap();
    assert_eq!(p95(&with).repeats, p95(&without).repeats);
    assert_eq!(p95(&with).detectable, p95(&without).detectable);
    // One slow second could be taken for a difference.
    let mut slow = a;
    slow[0].availability.seconds_below_half = 1;
    let slow = verdict_of(&slow, &slow);
    assert!(p95(&slow).detectable > p95(&with).detectable);
    assert_eq!(throughput(&slow).detectable, throughput(&with).detectable);
}

/// Like [`equal_groups_are_seldom_called_different`], but some runs have an outage, and others have single failures.
#[test]
fn equal_groups_with_failures_and_outages_are_seldom_called_different() {
    const PAIRS: u64 = 200;
    const MOST: usize = 10;
    let random = Draws::new(Seed(11), &["outages"]);
    for (outages, single, runs) in [(0.0, 0.5, 3), (0.3, 0.02, 3), (0.3, 0.5, 5), (0.9, 0.1, 5)] {
        let one = |at: u64| {
            let draw = |figure: u64| random.unit(1_000 * at + figure);
            let mut slow = (0..60).filter(|s| draw(100 + s) < single / 60.0).count();
            if draw(0) < outages {
                slow += 1 + usize::from(draw(1) < 0.5) * 4 + usize::from(draw(2) < 0.2) * 20;
            }
            let slow = u64::try_from(slow).unwrap();
            let mut record = seconds(60, slow, slow / 2);
            let errors = &mut record.results[0].errors;
            errors.insert("rejected".to_owned(), slow * 20);
            let noise = (SPREAD * random.normal(1_000 * at + 9)).exp();
            record.streams[0].throughput.rows_per_s *= noise;
            record
        };
        let different = (0..PAIRS)
            .filter(|pair| {
                let group = |side: u64| -> Vec<RunRecord> {
                    (0..runs).map(|n| one(100 * pair + 50 * side + n)).collect()
                };
                let verdict = verdict_of(&group(0), &group(1)).verdict();
                matches!(verdict, Verdict::Better | Verdict::Worse)
            })
            .count();
        let case = format!("{outages}, {single}, {runs} runs: {different}");
        assert!(different <= MOST, "{case}");
    }
}

#[test]
fn one_run_each_shows_no_fraction_and_states_the_number_needed() {
    let compared = verdict_of(&[failing(0)], &[failing(400)]);
    let failed = figure(&compared, "failed").unwrap();
    assert_eq!(failed.verdict, Verdict::Inconclusive);
    assert_eq!(failed.effect, None);
    assert_eq!(failed.detectable, None);
    // 401 of 8,426 with one more of each, a difference of 0.1 points, a level of 0.5% for seven figures: from the
    // noncentral distribution.
    assert_eq!(failed.repeats, 388);
    assert_eq!(compared.verdict(), Verdict::Inconclusive);
}

/// Output of pgbench in closed load.
fn of_pgbench() -> ImportRecord {
    ImportRecord {
        tool: "pgbench".to_owned(),
        version: Some("15.18".to_owned()),
        files: Vec::new(),
        begin: LatencyBegin::Sent,
        pace: ImportedPace::Closed,
        missing_fields: std::collections::BTreeSet::new(),
        caveats: Vec::new(),
    }
}

fn imported(origin: ImportRecord) -> Record {
    let run = run(1.0, 1.0);
    Record::Imported(Box::new(ImportedRecord { origin, run }))
}

/// Figures of two tools, of two definitions of latency, and of open and closed load answer different questions; those
/// of two versions of a tool do not.
#[test]
fn runs_that_were_measured_in_other_ways_are_guarded_against() {
    let compared_with = |b: Record| {
        let a = imported(of_pgbench());
        let compared = verdict_of(&[a.clone(), a], &[b.clone(), b]);
        let found: Vec<String> = compared
            .differences
            .iter()
            .filter(|d| d.kind != Kind::Trust)
            .map(|d| format!("{}: {} against {}", d.name, d.a, d.b))
            .collect();
        (compared.is_guarded(), found.join("; "))
    };
    for (origin, said) in [
        (ImportRecord { tool: "sysbench".to_owned(), ..of_pgbench() }, "sysbench"),
        (ImportRecord { begin: LatencyBegin::Intended, ..of_pgbench() }, "from the intended start"),
        (ImportRecord { pace: ImportedPace::Open, ..of_pgbench() }, "closed against open"),
    ] {
        let (guarded, text) = compared_with(imported(origin));
        assert!(guarded && text.contains(said), "{said}: {text}");
    }
    let (guarded, text) = compared_with(Record::Run(Box::new(run(1.0, 1.0))));
    assert!(guarded && text.contains("Highwater"), "{text}");
    let other = ImportRecord { version: Some("16.1".to_owned()), ..of_pgbench() };
    let (guarded, text) = compared_with(imported(other));
    assert!(!guarded && text.contains("15.18 against 16.1"), "{text}");
}

#[test]
fn figures_that_another_tool_does_not_report_are_not_compared() {
    let imported = |missing: &[MissingField]| {
        imported(ImportRecord { missing_fields: missing.iter().copied().collect(), ..of_pgbench() })
    };
    let shares = |missing: &[MissingField]| -> Vec<String> {
        let runs = [imported(missing), imported(missing)];
        let figures = verdict_of(&runs, &runs).figures;
        figures
            .iter()
            .filter(|c| c.figure.scale.is_share())
            .map(|compared| compared.figure.name.clone())
            .collect()
    };
    let seconds = ["seconds without a response", "slow seconds"];
    assert_eq!(shares(&[]), ["failed", seconds[0], seconds[1]]);
    assert_eq!(shares(&[MissingField::Availability]), ["failed"]);
    for what in [MissingField::Offered, MissingField::Acknowledged, MissingField::Errors] {
        assert_eq!(shares(&[what]), seconds, "{what:?}");
    }
}

/// A failed op never ended, so it ranks above every latency.
#[test]
fn a_percentile_that_only_one_group_has_is_worse_in_the_other() {
    let endless = |names: &[&str]| {
        let mut record = run(1.0, 1.0);
        let bounds = names.iter().map(|name| (*name).to_owned());
        record.results[0].latency_ns.at_least = bounds.collect();
        record
    };
    let well = [endless(&[]), endless(&[]), endless(&[])];
    let badly = [endless(&[]), endless(&["p99", "p999"]), endless(&[])];
    for name in ["p99", "p99.9"] {
        assert_eq!(verdict_on(name, &well, &badly), Verdict::Worse, "{name}");
        assert_eq!(verdict_on(name, &badly, &well), Verdict::Better, "{name}");
        assert_eq!(figure(&verdict_of(&badly, &badly), name), None, "{name}");
    }
    let compared = verdict_of(&well, &badly);
    assert_eq!(compared.verdict(), Verdict::Worse);
    let p99 = figure(&compared, "p99").unwrap();
    assert!(p99.effect.is_none() && p99.b[1].is_infinite() && p99.a[1].is_finite());
    assert_eq!(verdict_on("p50", &well, &badly), Verdict::Equal);
    // This needs no second run: it does not vary.
    assert_eq!(verdict_on("p99", &well[..1], &badly[1..2]), Verdict::Worse);
    // Too few ops for a percentile are not failures.
    let mut short = endless(&[]);
    short.results[0].latency_ns.p999 = None;
    assert_eq!(figure(&verdict_of(&well, &[short]), "p99.9"), None);
}
