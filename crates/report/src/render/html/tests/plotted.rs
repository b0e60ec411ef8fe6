//! The plotted data of each chart against its record.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{grown, html, made, size_plan};
use crate::chart::{Chart, Point, Series, Shape, SpanKind};
use crate::plots;
use highwater_analysis::fixture;
use highwater_analysis::fixture::growth::of_verdict;
use highwater_model::limit::Resource;
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};
use highwater_model::record::{ExperimentRecord, MeasuredRun, Question, RunRecord};
use highwater_model::scale::{ScaleRecord, SizeVerdict};
use highwater_model::search::{Estimate, NoMark, NoMarkReason, SearchOutcome};
use highwater_model::target_telemetry::{SeriesKind, names};
use highwater_model::tune::TuneFigure;

/// Whole numbers, and three digits of fractions.
fn figure(y: f64) -> String {
    if y.abs() < 10.0 { ((y * 1e3).round() / 1e3).to_string() } else { format!("{y:.0}") }
}

/// All charts of the page of a record.
fn charts(record: &RunRecord) -> Vec<Chart> {
    let record = &MeasuredRun::from(record);
    [
        plots::over_time(record),
        plots::distributions(record),
        plots::machine(record),
        plots::target(record),
    ]
    .concat()
}

/// The plotted values, a line for each series: `name part shape: x→y …`.
fn plotted(charts: &[Chart]) -> String {
    let mut text = String::new();
    for chart in charts {
        let (x, y) = (&chart.x, &chart.y);
        let _ = writeln!(
            text,
            "{}: {:?} {:.1}..{:.1} against {:?} {:?} {:.1}..{:.1}",
            chart.id, x.quantity, x.from, x.to, y.quantity, y.scale, y.from, y.to
        );
        for label in &x.labels {
            let _ = writeln!(text, "  at {:.1} {}", label.at, label.name);
        }
        for span in &chart.spans {
            let (kind, name, from, to) = (span.kind, &span.name, span.from, span.to);
            let _ = writeln!(text, "  {kind:?} {name} {from}..{to}");
        }
        for level in &chart.levels {
            let _ = writeln!(text, "  level {} {}", level.name, level.at);
        }
        for series in &chart.series {
            let off = if series.on { "" } else { " (off)" };
            let points: Vec<String> = series.points.iter().map(point).collect();
            let (name, part, points) = (&series.name, series.part, points.join(" "));
            let shape = format!("{:?}", series.shape).to_lowercase();
            let _ = writeln!(text, "  {name} {part} {shape}{off}: {points}");
        }
    }
    text
}

fn point(point: &Point) -> String {
    let y = point.y.map_or_else(|| "–".to_owned(), figure);
    match point.low {
        Some(low) => format!("{:.2}→{low:.0}…{y}", point.x),
        None => format!("{:.2}→{y}", point.x),
    }
}

#[test]
fn a_closed_run() {
    insta::assert_snapshot!(plotted(&charts(&fixture::closed())));
}

#[test]
fn an_open_run_in_steps() {
    insta::assert_snapshot!(plotted(&charts(&fixture::open_steps())));
}

#[test]
fn what_the_target_said_of_itself() {
    let mut record = fixture::closed();
    fixture::add_telemetry(&mut record);
    insta::assert_snapshot!(plotted(&plots::target(&record)));
}

/// A series that is busy in the warm-up alone: its mean is that of the measured phases, as the limit's and the summary's.
#[test]
fn a_charts_mean_is_that_of_the_sentences_beside_it() {
    let mut record = fixture::closed();
    let figure = (names::DISK_BUSY, Some("sda"), SeriesKind::Level);
    fixture::add_series(&mut record, figure, |second| if second <= 2 { 1.0 } else { 0.4 });
    let charts = plots::target(&record);
    let disk = charts.iter().find(|chart| chart.title.ends_with("Disk busy")).unwrap();
    let mean = disk.series[0].mean.unwrap();
    assert!((mean - 0.4).abs() < 1e-9, "{mean}");
    let page = crate::html(&record);
    assert!(page.contains("mean <b>0.4</b> · max <b>1</b>"));
}

/// Phases are shaded and gaps are marked at their times, behind the lines.
#[test]
fn phases_are_shaded_and_times_without_an_answer_are_marked_behind_the_lines() {
    let mut record = fixture::open_steps();
    record.availability.gaps = vec![[14_000_000_000, 3_000_000_000], [4_000_000_000, 2_000_000]];
    let charts = plots::over_time(&(&record).into());
    let kinds = |kind| {
        charts[0]
            .spans
            .iter()
            .filter(|span| span.kind == kind)
            .map(|span| [span.from, span.to])
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(SpanKind::LeftOut), [[0.0, 2.0]]);
    assert_eq!(kinds(SpanKind::Measured), [[2.0, 12.0], [12.0, 22.0]]);
    assert_eq!(kinds(SpanKind::Gap), [[14.0, 17.0]]);
    let about = "The red bar is a time without any response.";
    assert!(charts[0].about.ends_with(about));
    let page = crate::html(&record);
    let drawn = page.split("id=\"throughput-rows\"").nth(1).unwrap();
    let drawn = drawn.split("class=\"inner\"").nth(1).unwrap();
    let place = |class: &str| drawn.find(&format!("class=\"{class}")).expect(class);
    // In tenths of a pixel, for 22 seconds.
    let wide = drawn.split("width=\"").nth(1).unwrap();
    let wide: f64 = wide.split('"').next().unwrap().parse().unwrap();
    let gap = drawn.split("class=\"span gap\" ").nth(1).unwrap();
    let figure = |name: &str| -> f64 {
        let value = gap.split(&format!("{name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse().unwrap()
    };
    let seconds = wide * 10.0 / 22.0;
    let off = [figure("x") / seconds - 14.0, figure(" width") / seconds - 3.0];
    assert!(off.iter().all(|off| off.abs() * seconds <= 1.0), "{off:?}");
    let spans = ["left-out", "measured", "measured odd", "gap"];
    let last = spans.map(|span| place(&format!("span {span}"))).into_iter();
    assert!(last.max() < Some(place("line c0")));
}

/// The offered rate is not throughput.
#[test]
fn acknowledged_and_offered_are_distinguished() {
    let sums = |record: &RunRecord| {
        let charts = plots::over_time(&record.into());
        ["offered", "acknowledged"].map(|part| {
            let drawn = series(&charts, "throughput-rows", part);
            let points = drawn.iter().flat_map(|series| &series.points);
            round_to_u64(points.filter_map(|point| point.y).sum())
        })
    };
    let mut record = fixture::open_steps();
    let [offered, acknowledged] = sums(&record);
    let mut inserts = record.intervals.iter_mut().filter(|i| i.op == "insert");
    inserts.next().unwrap().offered += 10;
    let rows = 10 * record.plan.definition.streams[0].units_per_op;
    assert_eq!(sums(&record), [offered + rows, acknowledged]);
}

/// Rejections that the load generator received, and the target's own count, each second.
#[test]
fn rejections() {
    let mut record = fixture::open_steps();
    fixture::add_telemetry(&mut record);
    let mut seconds = record.intervals.iter_mut().filter(|i| i.op == "insert");
    let (first, second) = (seconds.next().unwrap(), seconds.next().unwrap());
    (first.errors, first.rejected, first.rows_refused) = (7, 5, 7_000);
    (second.errors, second.dropped) = (2, 30);
    let is_wanted = |chart: &Chart| -> bool {
        let (id, ours) = (chart.id.as_str(), ["failures", "rows-refused"]);
        ours.contains(&id) || id.starts_with("target-rejected")
    };
    let mut charts = plots::over_time(&(&record).into());
    charts.retain(is_wanted);
    insta::assert_snapshot!(plotted(&charts));
    let without = plots::over_time(&(&fixture::open_steps()).into());
    assert!(!without.iter().any(is_wanted));
}

fn overlaid<const N: usize>(groups: [(&str, Vec<&RunRecord>); N]) -> Vec<Chart> {
    plots::overlay(&groups.map(|(name, runs)| plots::Overlaid { name: name.to_owned(), runs }))
}

#[test]
fn lines_end_with_the_longest_one_in_any_order() {
    let (long, rows_only) = (fixture::open_steps(), fixture::closed());
    let ends = [vec![&long], vec![&rows_only], vec![&long, &rows_only]];
    let ends = ends.map(|runs| overlaid([("all", runs)])[0].x.to);
    assert!(ends[1] < ends[0] && ends[2].to_bits() == ends[0].to_bits(), "{ends:?}");
}

/// Each run of two groups, from its own start: a line in its group's color with the values of its record, rows and
/// queries separately, and of the latencies of a second the largest p99.
#[test]
fn courses_of_groups_are_laid_over_each_other() {
    let long = fixture::open_steps();
    let mut slow = fixture::open_steps();
    for interval in &mut slow.intervals {
        interval.acknowledged /= 2;
        interval.rows_acknowledged /= 2;
    }
    slow.intervals.retain(|i| i.second == 2);
    // A second without a p99 shows its maximum latency.
    for interval in &mut slow.intervals {
        interval.p99_ns = interval.p99_ns.filter(|_| interval.op != "insert");
    }
    let rows_only = fixture::closed();
    let charts = overlaid([("main", vec![&long, &rows_only]), ("change", vec![&slow])]);
    // One record has two seconds, the other has one; the remaining seconds had no response.
    let drawn: Vec<String> = plotted(&charts)
        .lines()
        .map(|line| {
            let known =
                line.split(' ').filter(|part| !part.ends_with("→0") && !part.ends_with("→–"));
            known.collect::<Vec<_>>().join(" ")
        })
        .collect();
    insta::assert_snapshot!(drawn.join("\n"), @"
    overlaid-rows: Time 0.0..22.0 against Rate Linear 0.0..500000.0
      main  line: 2.50→100000 3.50→100000
      main  line: 2.50→421000 3.50→421000
      change  line: 2.50→50000
    overlaid-queries: Time 0.0..22.0 against Rate Linear 0.0..200.0
      main  line: 2.50→146 3.50→146
      change  line: 2.50→71
    overlaid-latency: Time 0.0..22.0 against Latency Linear 0.0..15000000.0
      main  line: 2.50→9000000 3.50→9000000
      main  line: 2.50→9000000 3.50→9000000
      change  line: 2.50→12000000
    ");
    let colors = |chart: &Chart| chart.series.iter().map(|of| of.color).collect();
    let colors: Vec<Vec<usize>> = charts.iter().map(colors).collect();
    assert_eq!(colors, [vec![0, 0, 1], vec![0, 1], vec![0, 0, 1]]);

    let of_many = overlaid([("many", vec![&rows_only; 20])]);
    let lines: Vec<usize> = of_many.iter().map(|chart| chart.series.len()).collect();
    assert_eq!(lines, [12, 12], "more lines are no picture");

    let mut without = fixture::closed();
    without.intervals.clear();
    let nothing = overlaid([("imported", vec![&without])]);
    assert!(nothing.is_empty(), "a record without seconds has no course");
}

fn of_search(record: &ExperimentRecord) -> Vec<Chart> {
    plots::search(&record.last_run, record.search().unwrap())
}

#[test]
fn a_search() {
    insta::assert_snapshot!(plotted(&of_search(&made::searched())));
}

/// A first guess far from the mark does not squeeze the others: it is noted, and stays in the table.
#[test]
fn a_search_whose_first_guess_was_far_off() {
    let mut record = made::searched();
    let Question::Search(search) = &mut record.question else { unreachable!() };
    search.probes[1].at = 64_000.0;
    let charts = plots::search(&record.last_run, search);
    for chart in &charts {
        let is_near = chart.x.to < 1_200.0 && chart.x.from > 900.0;
        let is_said = chart.about.ends_with("so not drawn: 64,000.");
        assert!(is_near && is_said, "{chart:?}");
        assert!(chart.series.iter().all(|series| series.name != "failed"));
    }
    // If most of them are far from the mark, all are drawn.
    for probe in &mut search.probes[2..] {
        probe.at *= 100.0;
    }
    let charts = plots::search(&record.last_run, search);
    assert!(charts.iter().all(|chart| chart.x.to > 64_000.0));
}

/// Only an estimate is shaded, with a mark or without, and only what is shaded is explained.
#[test]
fn the_estimate_of_a_search_without_a_mark_is_shaded() {
    let mut record = made::searched();
    let Question::Search(search) = &mut record.question else { unreachable!() };
    let mut shaded = |estimate: Option<Estimate>| {
        search.outcome = Some(SearchOutcome::NoMark(NoMark {
            why: NoMarkReason::BudgetSpent,
            highest_met: None,
            estimate,
            lowest_failed: None,
            limited_by: Vec::new(),
        }));
        let charts = plots::search(&record.last_run, search);
        let says = charts.iter().any(|chart| chart.about.contains("shaded"));
        (charts[0].spans.first().map(|span| (span.from, span.to)), says)
    };
    assert_eq!(shaded(None), (None, false));
    let found = Estimate { value: 1_000.0, low90: 900.0, high90: 1_100.0 };
    assert_eq!(shaded(Some(found)), (Some((900.0, 1_100.0)), true));
}

#[test]
fn a_tuning() {
    let charts: Vec<Chart> =
        plots::tune(&made::tuned()).into_iter().map(|(_, chart)| chart).collect();
    insta::assert_snapshot!(plotted(&charts));
}

/// A configuration that is not confirmed is not called best, and one without a measurement is not drawn.
#[test]
fn a_tuning_that_did_not_end() {
    let mut tune = made::tuned_in_part();
    let charts = plots::tune(&tune);
    assert_eq!(charts.len(), 2);
    for (_, chart) in charts {
        assert_eq!(chart.spans[0].name, "best so far");
        assert!(chart.series.iter().all(|s| s.name != "confirming round"));
    }
    tune.trials.truncate(1);
    assert_eq!(plots::tune(&tune), []);
    tune.outcome = None;
    assert_eq!(plots::tune(&tune), []);
}

/// Figures per row are drawn in their own unit.
#[test]
fn a_tuning_by_cpu_or_disk() {
    for (by, per_unit) in [(TuneFigure::ServerCpuPerRow, 1e9), (TuneFigure::DiskBytesPerRow, 1.0)] {
        let mut tune = made::tuned();
        tune.by = by;
        let (_, chart) = plots::tune(&tune).swap_remove(0);
        let mut series = chart.series.iter();
        let mean = series.find(|s| s.name == "mean" && s.shape == Shape::Line);
        assert_eq!(mean.unwrap().points[0].y, Some(61_000.0 * per_unit));
    }
}

#[test]
fn a_size_plan() {
    insta::assert_snapshot!(plotted(&plots::growth(&size_plan())));
}

fn series<'a>(charts: &'a [Chart], id: &str, part: &str) -> Vec<&'a Series> {
    let chart = charts.iter().find(|chart| chart.id == id).expect(id);
    chart.series.iter().filter(|s| s.part == part).collect()
}

#[test]
fn thinning_loses_no_row_no_silence_and_no_peak() {
    let record = made::hour();
    let charts = charts(&record);
    let [rate] = series(&charts, "throughput-rows", "acknowledged")[..] else {
        panic!("one stream")
    };
    assert_eq!(rate.points.len(), 600);
    let plotted: f64 = rate.points.iter().filter_map(|p| p.y).sum::<f64>() * 6.0;
    let counted: u64 = record.intervals.iter().map(|i| i.rows_acknowledged).sum();
    assert!((plotted / to_f64(counted) - 1.0).abs() < 1e-9);
    let [seconds] = series(&charts, "throughput-rows", "seconds")[..] else { panic!("one band") };
    let silent: Vec<f64> = seconds
        .points
        .iter()
        .filter(|p| p.low == Some(0.0))
        .map(|p| p.x - to_f64(made::SILENT))
        .collect();
    assert!(silent.len() == 1 && silent[0].abs() <= 3.0, "{silent:?}");
    let latency = charts.iter().find(|chart| chart.id == "latency").unwrap();
    let series = latency.series.iter();
    let p99: Vec<&Series> = series.filter(|of| of.name.ends_with("p99")).collect();
    assert_eq!(p99.len(), 10);
    for series in p99 {
        let greatest = series.points.iter().filter_map(|p| p.y).fold(0.0, f64::max);
        assert!((greatest - to_f64(made::SLOW.1)).abs() < 1.0);
    }
}

#[test]
fn every_percentile_of_the_curve_is_that_of_the_record() {
    let record = made::hour();
    let charts = charts(&record);
    let chart = charts.iter().find(|chart| chart.id == "percentiles");
    for (series, result) in chart.unwrap().series.iter().zip(&record.results) {
        for (tail, expected) in [
            (std::f64::consts::LOG10_2, result.latency_ns.p50),
            (2.0, result.latency_ns.p99),
            (3.0, result.latency_ns.p999),
        ] {
            let expected = to_f64(expected.unwrap());
            // The op with this rank, or the next one that is drawn: points are 0.015 nines apart.
            let next = series.points.iter().find(|p| p.x >= tail - 1e-9).unwrap();
            let off = next.y.unwrap() / expected - 1.0;
            assert!(off.abs() < 0.02, "{tail}: {off} of {expected}");
        }
    }
}

#[test]
fn a_growth_is_plotted_with_earlier_predictions_and_every_size_is_one_click_away() {
    let record = grown();
    let scale = record.scale().unwrap();
    let of_growth = highwater_sizing::growth::report(scale);
    let [total, per_node] = &plots::scale(scale, &of_growth)[..] else {
        panic!("two charts");
    };
    let points = |chart: &Chart, name: &str| -> String {
        let series = chart.series.iter().find(|series| series.name == name);
        let points = series
            .expect(name)
            .points
            .iter()
            .map(|point| format!("{}:{:.0}", point.x, point.y.unwrap()));
        points.collect::<Vec<_>>().join(" ")
    };
    let measured = "1:293147 2:493723 3:676781 4:856460";
    assert_eq!(points(total, "measured"), measured);
    // The first size has no prediction.
    let predicted = points(total, "predicted before");
    assert_eq!(predicted, "2:510399 3:648166 4:834854");
    assert_eq!(points(total, "measured again"), "1:290100");
    assert_eq!(points(total, "linear"), "1:293147 4:1172588");
    assert_eq!(format!("{:.0}", total.levels[0].at), "800000");
    let each = points(per_node, "measured");
    assert_eq!(each, "1:293147 2:246862 3:225594 4:214115");
    let page = html(&record);
    for trial in &scale.trials {
        assert!(page.contains(&format!("href=\"{}/report.html\"", trial.run)));
    }
}

/// Each size's limit is below its place on the axis, in its color, with its evidence in the text for screen readers.
#[test]
fn the_limit_of_each_size_is_below_its_position() {
    let mut record = grown();
    let Question::Scale(scale) = &mut record.question else {
        panic!("a growth");
    };
    assert_eq!(strip_of(scale), []);
    let of = |resource| {
        let mut limit = fixture::cpu_limit();
        limit.by.as_mut().unwrap().resource = resource;
        Some(limit)
    };
    let mut not_identified = fixture::cpu_limit();
    not_identified.by = None;
    scale.trials[0].figures.limit = of(Resource::Cpu);
    scale.trials[1].figures.limit = of(Resource::Locks);
    scale.trials[2].figures.limit = Some(not_identified);
    scale.trials[3].figures.limit = of(Resource::Sessions);
    // A size with a saturated load generator does not count, but shows why.
    let mut given_out = scale.trials[3].clone();
    given_out.size.nodes = 5;
    given_out.figures = of_verdict(SizeVerdict::ClientCeiling, 0.0, None);
    scale.trials.insert(4, given_out);
    let expected = [
        (1.0, "CPU of node 2", 1),
        (2.0, "locks", 3),
        (3.0, "not identified", 7),
        (4.0, "too few sessions", 4),
        (5.0, "load generator", 4),
    ];
    let expected = expected.map(|(at, name, color)| (at, name.to_owned(), color));
    assert_eq!(strip_of(scale), expected);

    let page = html(&record);
    let chart = page.split("id=\"scale\"").nth(1).unwrap();
    let said = "Limited by: 1 node: CPU of node 2, 97% (next: disk of node 1, 71%); 2 nodes: locks";
    assert_eq!(chart.matches(said).count(), 2, "once for each width: {chart}");
    for (name, width) in [("wide", 1120.0), ("narrow", 358.0)] {
        let begin = format!("<svg class=\"{name}\"");
        let drawing = chart.split(&begin).nth(1).unwrap();
        expect_below(drawing, width, &expected);
    }
}

/// Each cell of a drawing's strip is below its place, and its text overlaps no other.
fn expect_below(drawing: &str, width: f64, expected: &[(f64, String, usize)]) {
    let drawn = drawing.split("<g class=\"strip\">").nth(1).unwrap();
    let drawn = drawn.split("</svg>").next().unwrap();
    let cells: Vec<&str> = drawn.split("<rect ").skip(1).collect();
    assert_eq!(cells.len(), expected.len(), "{drawn}");
    let [left, plot] = ["data-left", "data-width"].map(|name| attribute(drawing, name));
    let (mut ends, mut middle_before) = (BTreeMap::new(), 0.0);
    for (cell, (at, name, _)) in cells.iter().zip(expected) {
        let middle = attribute(cell, "x") + attribute(cell, "width") / 2.0;
        let place = left + at / 5.5 * plot;
        assert!((middle - place).abs() < 0.1, "{name} at {middle}, not {place}");
        assert!(cell.contains(&format!(">{name}</text>")), "{cell}");
        // The text overlaps no other on its line, and lies inside.
        let words = cell.split("<text ").nth(1).unwrap();
        let (x, line) = (attribute(words, "x"), attribute(words, "y"));
        let half = 3.3 * len_to_f64(name.len());
        let free = ends.insert(line.to_bits(), x + half).unwrap_or(0.0);
        assert!(free < x - half && x + half <= width, "{name}: {drawn}");
        assert!(middle > middle_before, "{drawn}");
        middle_before = middle;
    }
    let height = drawing.split("viewBox=\"0 0 ").nth(1).unwrap();
    let height: f64 = height.split([' ', '"']).nth(1).unwrap().parse().unwrap();
    let lowest = ends.keys().copied().map(f64::from_bits).fold(0.0, f64::max);
    assert!(lowest < height, "{lowest} of {height}");
}

/// Positions, texts, and colors of the strip of a growth.
fn strip_of(scale: &ScaleRecord) -> Vec<(f64, String, usize)> {
    let of_growth = highwater_sizing::growth::report(scale);
    let charts = plots::scale(scale, &of_growth);
    charts[0].strip.cells.iter().map(|cell| (cell.at, cell.name.clone(), cell.color)).collect()
}

/// The first attribute with this name, a number.
fn attribute(markup: &str, name: &str) -> f64 {
    let markup = format!(" {markup}");
    let value = markup.split(&format!(" {name}=\"")).nth(1).expect(name);
    value.split('"').next().unwrap().parse().unwrap()
}

/// Nothing is due in a closed load.
#[test]
fn the_begin_of_a_latency_is_that_of_the_load() {
    let about = |record: &RunRecord| {
        let charts = charts(record);
        let latency = charts.iter().find(|chart| chart.id == "latency");
        latency.unwrap().about.clone()
    };
    let closed = "From the time at which its session was free to send an op.";
    assert!(about(&fixture::closed()).starts_with(closed), "{}", about(&fixture::closed()));
    let open = "From the time at which an op was due";
    assert!(about(&fixture::open_gate()).starts_with(open), "{}", about(&fixture::open_gate()));
}
