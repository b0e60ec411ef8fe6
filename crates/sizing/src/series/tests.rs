//! Files of figures: what is accepted, errors with their positions, and records as points.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use super::*;
use highwater_analysis::fixture;
use highwater_model::record::Question;

fn point(set: &SeriesSet) -> &Point {
    set.points.first().unwrap()
}

/// Whether both numbers are equal except for rounding.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

/// Errors as `line:column cause | hint`.
fn errors(text: &str) -> String {
    let errors = read(text).expect_err("the file is wrong");
    let shown = errors.iter().map(|error| {
        let hint = error.hint.as_deref().unwrap_or("no hint");
        let (line, column) = error.position();
        format!("{line}:{column} {error} | {hint}")
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn two_columns_are_enough() {
    for text in [
        "nodes,rows_per_s\n1,1000\n2,1900\n",
        "\u{feff}Nodes;Rows/s\r\n1;1000\r\n2;1900\r\n",
        "# a remark\n\nn\trows per sec\n1\t1k\n2\t1.9k\n",
        "nodes,rows_per_s\n1,\"1,000\"\n2,1_900 rows/s\n",
    ] {
        let set = read(text).unwrap();
        let read: Vec<_> = set.points.iter().map(|p| (p.nodes(), p.throughput)).collect();
        assert_eq!(read, [(Some(1.0), 1_000.0), (Some(2.0), 1_900.0)], "{text}");
        assert_eq!(point(&set).unit, "rows/s", "{text}");
        assert_eq!(set.series(), ["series"]);
        assert_eq!(set.notes, [""; 0]);
    }
}

#[test]
fn unknown_names_are_settings_and_the_second_of_two_is_the_throughput() {
    let set = read("load,X\n1,64.9\n18,995.9\n").unwrap();
    assert_eq!(point(&set).settings["load"], Setting::Number(1.0));
    assert!(same(point(&set).throughput, 64.9));
    let note = "`X`, the second of two columns, is the throughput";
    assert_eq!(set.notes, [note]);

    let set = read("ndoes,disk_kind,rows_per_s\n3,nvme,1000\n").unwrap();
    assert_eq!(point(&set).word("disk_kind"), Some("nvme"));
    let note = "`ndoes` is taken as a setting of its own: did you mean `nodes`?";
    assert_eq!(set.notes, [note]);
}

#[test]
fn an_empty_cell_is_not_stated() {
    let set = read("nodes,replicas,rows_per_s\n3,,1000\n,–,2000\n").unwrap();
    assert_eq!(point(&set).number(names::REPLICAS), None);
    assert_eq!(set.points[1].nodes(), None);
}

#[test]
fn units_stand_in_the_name_or_in_the_cell() {
    let check = |header: &str, cell: &str, name: &str, expected: f64| {
        let set = read(&format!("nodes,rows_per_s,{header}\n1,1000,{cell}\n")).unwrap();
        let read = point(&set).number(name).unwrap();
        let off = (read / expected - 1.0).abs();
        assert!(off < 1e-12, "{header}={cell}: {read}");
    };
    let ten_gib = 10.0 * 1_073_741_824.0;
    check("network", "10 GiB/s", names::NETWORK, ten_gib);
    check("network", "10 Gbit/s", names::NETWORK, 1.25e9);
    check("network", "10 Gbps", names::NETWORK, 1.25e9);
    check("network_gbit_per_s", "10", names::NETWORK, 1.25e9);
    check("Network MiB/s", "400", names::NETWORK, 400.0 * 1_048_576.0);
    check("nic", "25Gbit/s", names::NETWORK_LIMIT, 3.125e9);
    check("mean latency (ms)", "84.7", names::MEAN_LATENCY, 0.0847);
    check("mean_latency_ms", "0.5 s", names::MEAN_LATENCY, 0.5);
    check("p99_us", "250", names::P99_LATENCY, 0.000_25);
    check("batch_size_mb", "2.5", names::BATCH_BYTES, 2.5e6);
    check("batch_bytes", "2.5 MB", names::BATCH_BYTES, 2.5e6);
    check("bytes_per_row", "512", names::BYTES_PER_ROW, 512.0);
    check("duration_min", "5", names::DURATION, 300.0);
    check("users", "120", names::SESSIONS, 120.0);
    check("batch", "15k", names::BATCH_ROWS, 15_000.0);
    check("cpu", "65 %", names::CPU_PERCENT, 65.0);
}

#[test]
fn one_of_several_rates_is_the_total_and_the_others_are_parts_or_separate_rates() {
    let set = read("users,Total q/s,Q1,Q2,Q3\n30,9.0698,3.2395,3.0398,3.1790\n").unwrap();
    assert_eq!(point(&set).unit, "queries/s");
    assert!(same(point(&set).throughput, 9.0698));
    assert!(same(point(&set).parts.values().sum(), 9.4583));

    let set = read("nodes,rows_per_s,metrics_per_s\n1,1000,10000\n").unwrap();
    assert!(point(&set).parts.is_empty());
    assert_eq!(point(&set).number("metrics_per_s"), Some(10_000.0));

    let set = read("nodes,throughput,north_per_s,south_per_s\n1,30,10,20\n").unwrap();
    assert_eq!(point(&set).parts.len(), 2);

    // Neither is marked as the total.
    let set = read("nodes,sharded_rows_per_s,unsharded_rows_per_s\n5,30000,20000\n").unwrap();
    assert!(same(point(&set).throughput, 30_000.0));
    assert!(point(&set).parts.is_empty());
}

#[test]
fn a_column_of_words_is_a_setting_whatever_its_name() {
    let set = read("nodes,disk,rows_per_s,remark\n3,nvme,10,grows linearly\n3,,5,\n").unwrap();
    assert_eq!(point(&set).word("disk"), Some("nvme"));
    assert_eq!(point(&set).claim, "grows linearly");
    assert!(read("nodes,disk,rows_per_s\n3,nvme,10\n3,200,5\n").is_err());
}

#[test]
fn an_interval_may_be_stated() {
    let set = read("nodes,rows_per_s,low,high\n1,1000,980,1020\n2,1900,,\n").unwrap();
    assert_eq!(point(&set).interval, Some([980.0, 1_020.0]));
    assert_eq!(set.points[1].interval, None);
}

#[test]
fn sessions_and_ops_follow_from_their_parts() {
    let set =
        read("nodes,processes,in_flight,batch,rows_per_s\n4,4,10,15000,856460\n1,,16,,293147\n")
            .unwrap();
    assert_eq!(point(&set).sessions(), Some(40.0));
    assert!((point(&set).ops_per_s().unwrap() - 57.097).abs() < 1e-3);
    assert_eq!(set.points[1].sessions(), Some(16.0));
    assert_eq!(set.points[1].ops_per_s(), None);
}

#[test]
fn every_mistake_has_its_place_its_cause_and_a_hint() {
    assert_snapshot!(errors(
        "# remark\n\nnodes,rows_per_s,note\n1,1000,\"a, b\"\n\ntwo,2000,\n3,,\n4,-5,\n5,many,x,y\n0,7,\n"
    ));
    assert_snapshot!(errors("nodes,network,rows_per_s\n1,10,1000\n1,10 Gbit,1000\n"));
    assert_snapshot!(errors(""));
    assert_snapshot!(errors("nodes,rows_per_s\n"));
    assert_snapshot!(errors("1,2\n3,4\n"));
    assert_snapshot!(errors("nodes,replicas,troughput\n1,0,5\n"));
    assert_snapshot!(errors("users,sessions,rows_per_s\n1,2,3\n"));
}

#[test]
fn a_great_many_mistakes_are_cut_off_at_twenty() {
    let text = "nodes,rows_per_s\n".to_owned() + &"x,y\n".repeat(50);
    assert_eq!(read(&text).unwrap_err().len(), 20);
}

#[test]
fn lines_are_counted_through_comments_blanks_and_quotes() {
    let text = "# one\nnodes,note,rows_per_s\n# three\n\n1,\"a\nb\",10\n# seven\n2,,20\n";
    let lines: Vec<Origin> = read(text).unwrap().points.into_iter().map(|p| p.origin).collect();
    assert_eq!(lines, [Origin::Line(5), Origin::Line(8)]);
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn shards_and_replicas_are_those_of_the_target_and_not_of_the_workload() {
    let check = |target: &[(&str, &str)], given: &[&str], expected: [Option<f64>; 3]| {
        let mut record = fixture::closed();
        record.target.embedded = false;
        record.target.settings = texts(target);
        record.workload.parameters =
            texts(&[("hosts", "4000"), ("shards", "4"), ("replicas", "0")]);
        record.header.command = fixture::typed("run", &given.join("|"));
        let point = &of_record(&record)[0];
        let found = [names::NODES, names::PRIMARY_SHARDS, names::REPLICAS];
        assert_eq!(found.map(|name| point.number(name)), expected, "{target:?} {given:?}");
    };
    // The hosts that rows describe are not nodes.
    check(&[], &[], [None, None, None]);
    check(
        &[("nodes", "3"), ("shards", "12"), ("replicas", "1")],
        &[],
        [Some(3.0), Some(12.0), Some(1.0)],
    );
    // A target with shards that does not list them has those that the workload made its tables with.
    check(&[("nodes", "3")], &[], [Some(3.0), Some(4.0), Some(0.0)]);
    check(&[], &["shards"], [None, Some(4.0), None]);
}

#[test]
fn sizes_of_a_growth_have_their_own_shards_and_replicas() {
    let growth = crate::growth::fixture::queried();
    let Question::Scale(scale) = &growth.question else { unreachable!() };
    let mut growth = growth.clone();
    let mut scale = scale.clone();
    "insert".clone_into(&mut scale.stream);
    for (trial, shards) in scale.trials.iter_mut().zip([6, 12, 24, 48, 6]) {
        trial.figures.shards = Some(shards);
        trial.figures.replicas = Some(u64::from(shards != 6));
    }
    growth.question = Question::Scale(scale);
    let points = of_record(&growth);
    let of = |name: &str| points.iter().map(|point| point.number(name)).collect::<Vec<_>>();
    assert_eq!(of(names::PRIMARY_SHARDS), [6.0, 12.0, 24.0, 48.0, 6.0].map(Some));
    assert_eq!(of(names::REPLICAS), [0.0, 1.0, 1.0, 1.0, 0.0].map(Some));
}

#[test]
fn a_record_is_a_point_for_each_stream_and_phase() {
    let mut record = fixture::closed();
    record.header.labels.insert("nodes".to_owned(), "3".to_owned());
    record.header.labels.insert("disk".to_owned(), "nvme".to_owned());
    let points = of_record(&record);
    assert_eq!(points.len(), 1);
    let point = &points[0];
    // A label overrides one embedded node.
    assert_eq!(point.nodes(), Some(3.0));
    assert_eq!(point.unit, "rows/s");
    assert!(same(point.throughput, record.streams[0].throughput.rows_per_s));
    assert_eq!(point.interval, Some([418_900.0, 423_600.0]));
    assert_eq!(point.sessions(), Some(4.0));
    assert_eq!(point.number(names::BATCH_ROWS), Some(1_000.0));
    assert_eq!(point.origin, Origin::Run(record.header.id.clone()));

    let steps = of_record(&fixture::open_steps());
    let places: Vec<String> = steps.iter().map(|p| p.origin.to_string()).collect();
    assert_eq!(steps.len(), 4);
    assert!(places[0].ends_with("step 1 insert"), "{places:?}");
    // Open load has no number of busy sessions.
    assert_eq!(steps[0].sessions(), None);
}

proptest::proptest! {
    #[test]
    fn written_series_are_read_back(rows in proptest::collection::vec((1_u32..1_000, 1_u32..2_000_000_000), 1..40)) {
        let mut text = "series,nodes,rows_per_s\n".to_owned();
        for (nodes, rate) in &rows {
            text += &format!("\"a, b\",{nodes},{rate}\n");
        }
        let set = read(&text).unwrap();
        let found: Vec<_> = set.points.iter().map(|p| (p.nodes().unwrap(), p.throughput)).collect();
        let expected: Vec<_> = rows.iter().map(|(n, x)| (f64::from(*n), f64::from(*x))).collect();
        proptest::prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}|[a-z,;\"\n#0-9. ]{0,200}") {
        let _ = read(&text);
    }
}

#[test]
fn every_published_file_is_read_without_a_note_and_names_its_source() {
    let mut series = Vec::new();
    for file in PUBLISHED {
        let set = read(file.text).unwrap();
        assert_eq!(set.notes, [""; 0], "{}", file.file);
        for point in &set.points {
            assert!(!point.source.is_empty(), "{} {}", file.file, point.origin);
            assert!(point.nodes().is_some(), "{} {}", file.file, point.origin);
        }
        series.extend(set.series().into_iter().map(str::to_owned));
    }
    let mut distinct = series.clone();
    distinct.sort();
    distinct.dedup();
    // A series has one file.
    assert_eq!(distinct.len(), series.len(), "{series:?}");
}

/// Where a comma is the decimal point, spreadsheets separate columns by semicolons.
#[test]
fn points_that_may_separate_thousands_are_asked_about() {
    let of = |last: &str| format!("nodes;rows_per_s\n1;21.000\n2;{last}\n");
    let hint = "columns are separated by semicolons here, so the point may separate thousands: write numbers without \
                it, such as 21000 or 21";
    assert_eq!(errors(&of("40000")), format!("2:3 `21.000` is 21,000 or 21 | {hint}"));
    let of_several = "nodes;rows_per_s\n1;1.234.567\n";
    let what = "`1.234.567` has points where 1,234,567 is meant";
    assert_eq!(errors(of_several), format!("2:3 {what} | {hint}"));
    let figures = |text: &str| {
        let points = read(text).unwrap().points;
        points.iter().map(|point| point.throughput).collect::<Vec<_>>()
    };
    assert_eq!(figures(&of("40.5")), [21.0, 40.5], "another number of decimals decides");
    assert_eq!(figures(&of("40000").replace(';', ",")), [21.0, 40_000.0]);
}

#[test]
fn a_rate_per_minute_is_to_be_divided_not_renamed() {
    let errors = read("nodes,rows_per_min\n1,6000\n").unwrap_err();
    for header in ["rows_per_minute", "rpm"] {
        let errors = read(&format!("nodes,{header}\n1,6000\n")).unwrap_err();
        assert!(errors[0].hint.as_ref().unwrap().contains("by 60"), "{header}: {errors:?}");
    }
    let hint = "divide `rows_per_min` by 60, and name the column `rows_per_s`";
    assert_eq!(errors[0].hint.as_deref(), Some(hint));
}
