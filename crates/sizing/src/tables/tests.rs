//! Tables of the published series, against the conclusions of their authors and of the field study.

use super::*;
use crate::series::{PUBLISHED, read};
use highwater_analysis::synthetic::Noise;

fn published(file: &str) -> SeriesSet {
    let file = PUBLISHED.iter().find(|known| known.file == file).unwrap();
    read(file.text).unwrap()
}

fn guide(series: &str) -> Table {
    let tables = tables(&published("benchmarking-guide.csv"), None).unwrap();
    let mut tables = tables.into_iter().filter(|table| table.series == series);
    let table = tables.next().unwrap();
    assert!(tables.next().is_none(), "{series} is one table");
    table
}

fn only(text: &str) -> Table {
    let mut tables = tables(&read(text).unwrap(), None).unwrap();
    assert_eq!(tables.len(), 1, "{tables:?}");
    tables.remove(0)
}

/// Whether two numbers differ by at most a fraction of the second.
fn within(share: f64, found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

#[test]
fn the_guides_batches_cost_85_ms_and_17_us_per_row() {
    let table = guide("guide-batch");
    assert_eq!(table.axis.name, "batch_rows");
    let cost_model = table.cost_model.unwrap();
    assert!(cost_model.changes.is_empty(), "{cost_model:?}");
    let line = cost_model.line.unwrap();
    assert!(within(0.01, line.fixed_s.value, 84.7e-3), "{line:?}");
    assert!(within(0.01, line.per_row_s.value, 17.17e-6), "{line:?}");
    assert!(within(0.01, line.asymptote.unwrap(), 58_250.0), "{line:?}");
    assert!(within(0.01, line.half_size.unwrap(), 4_932.0), "{line:?}");
    assert!(line.worst < 0.02, "{line:?}");
    for estimate in [line.fixed_s, line.per_row_s] {
        assert!(estimate.low < estimate.value && estimate.value < estimate.high);
        assert!(estimate.low > 0.0, "{estimate:?}");
    }
}

#[test]
fn the_guides_best_values_and_where_its_curves_flatten() {
    let best = |series: &str| guide(series).best.unwrap();
    let shards = best("guide-shards");
    assert_eq!(shards.value, "12");
    assert_eq!(shards.not_distinguished, ["18"]);
    assert_eq!(shards.flattens, Flattening::At("9".to_owned()));
    let processes = best("guide-processes");
    assert_eq!(processes.value, "6");
    assert_eq!(processes.not_distinguished, [""; 0]);
    let batch = best("guide-batch");
    assert_eq!(batch.value, "32,000");
    assert_eq!(batch.flattens, Flattening::NotReached);
}

#[test]
fn the_guides_drop_at_32_million_rows_is_a_change_of_regime() {
    let table = guide("guide-rows");
    let cost_model = table.cost_model.unwrap();
    assert_eq!(cost_model.changes.len(), 1, "{cost_model:?}");
    let change = &cost_model.changes[0];
    assert_eq!(change.value, "32,000,000");
    assert!(change.throughput < 0.85 * change.expected, "{change:?}");
    assert_eq!(cost_model.fitted, 5);
}

#[test]
fn the_million_rows_table_has_its_efficiency_and_lists_other_changes() {
    let tables = tables(&published("one-million-rows.csv"), None).unwrap();
    let [table] = &tables[..] else {
        panic!("{tables:?}");
    };
    assert_eq!(table.axis.name, "nodes");
    let efficiency: Vec<String> =
        table.rows.iter().map(|row| format!("{:.1}", row.efficiency.unwrap() * 100.0)).collect();
    assert_eq!(efficiency, ["100.0", "84.2", "77.0", "73.0", "71.2"]);
    assert!(within(1e-9, table.rows[4].per_piece.unwrap(), 208_731.8));
    assert_eq!(table.rows[0].change, None);
    assert!(within(1e-3, table.rows[1].change.unwrap(), 0.6842));
    let varied: Vec<&str> = table.also_varied.iter().map(|v| v.header.as_str()).collect();
    let (processes, sessions) = ("client_processes", "concurrency_per_process");
    assert_eq!(varied, [processes, sessions, "primary_shards"]);
}

#[test]
fn a_grid_is_one_table_for_each_of_its_other_settings() {
    let set = read("nodes,replicas,rows_per_s\n1,0,10\n2,0,19\n2,1,11\n4,1,21\n1,1,6\n").unwrap();
    let tables = tables(&set, None).unwrap();
    let parts: Vec<_> = tables.iter().map(|t| (t.part.clone(), t.rows.len())).collect();
    let replicas = |value: &str| vec![("replicas".to_owned(), value.to_owned())];
    assert_eq!(parts, [(replicas("0"), 2), (replicas("1"), 3)]);
    let values: Vec<&str> = tables[1].rows.iter().map(|row| row.value.as_str()).collect();
    // Ascending, whatever the file's order.
    assert_eq!(values, ["1", "2", "4"]);
}

#[test]
fn repeats_are_one_row_with_their_mean() {
    let table = only("nodes,rows_per_s\n1,100\n1,110\n2,200\n");
    assert_eq!(table.rows[0].repeats, 2);
    assert!(within(1e-12, table.rows[0].throughput, 105.0));
    assert_eq!(table.rows[0].places, ["line 2", "line 3"]);
}

#[test]
fn the_axis_is_the_nodes_else_what_varies_most_else_what_is_named() {
    let axis = |text: &str, over| {
        let tables = tables(&read(text).unwrap(), over);
        tables.map(|tables| tables[0].axis.name.clone())
    };
    let grown = "shards,nodes,rows_per_s\n12,1,10\n24,2,20\n36,2,21\n";
    assert_eq!(axis(grown, None).unwrap(), "nodes");
    assert_eq!(axis(grown, Some("shards")).unwrap(), "primary_shards");
    let same = "nodes,batch,rows_per_s\n3,1000,10\n3,2000,20\n";
    assert_eq!(axis(same, None).unwrap(), "batch_rows");
    let words = "disk,rows_per_s\nnvme,10\nhdd,2\n";
    assert!(axis(words, None).unwrap_err().hint.unwrap().contains("--over"));
    assert_eq!(axis(words, Some("disk")).unwrap(), "disk");
    let wrong = axis(same, Some("ndoes")).unwrap_err();
    assert_eq!(wrong.message, "no series has the setting `ndoes`");
    assert_eq!(wrong.hint.as_deref(), Some("did you mean `nodes`?"));
}

#[test]
fn words_stay_in_the_order_of_the_file_and_have_no_efficiency() {
    let set = read("disk,nodes,rows_per_s\nnvme,1,10\nhdd,1,2\n").unwrap();
    let table = &tables(&set, Some("disk")).unwrap()[0];
    let values: Vec<&str> = table.rows.iter().map(|row| row.value.as_str()).collect();
    assert_eq!(values, ["nvme", "hdd"]);
    assert!(table.rows.iter().all(|row| row.efficiency.is_none()));
}

#[test]
fn the_time_of_a_batch_counts_all_sessions_and_needs_the_same_number_of_them() {
    let table = only("sessions,batch,rows_per_s\n4,100,4000\n4,200,6000\n4,400,8000\n");
    assert!(within(1e-12, table.rows[0].amount_s.unwrap(), 0.1));
    let line = table.cost_model.unwrap().line.unwrap();
    assert!(line.sessions_stated);
    let text = "sessions,batch,rows_per_s\n1,100,4000\n2,200,6000\n4,400,8000\n8,800,9000\n";
    let set = read(text).unwrap();
    assert_eq!(tables(&set, Some("batch")).unwrap()[0].cost_model, None);
}

#[test]
fn two_values_have_no_law_and_one_value_has_no_best() {
    assert_eq!(only("batch,rows_per_s\n100,10\n200,15\n").cost_model, None);
    assert_eq!(only("nodes,rows_per_s\n3,10\n").best, None);
}

#[test]
fn more_tables_than_the_bound_are_an_error_that_names_it() {
    let of_series = |number: usize| {
        let rows: String = (0..number).map(|n| format!("s{n},1,10\ns{n},2,19\n")).collect();
        read(&format!("series,nodes,rows_per_s\n{rows}")).unwrap()
    };
    assert_eq!(tables(&of_series(MOST_TABLES), None).unwrap().len(), MOST_TABLES);
    let error = tables(&of_series(MOST_TABLES + 1), None).unwrap_err();
    assert_eq!(error.to_string(), "101 tables; at most 100 are made");
}

/// 3% of normal noise on a true model: the 95% intervals contain a and b in 93 to 97% of 2,000 cases (a binomial
/// proportion of 0.95 has a standard deviation of 0.5%), and fewer than 1% of the cases show a change of regime (four
/// tests at one in two thousand are 0.2%).
#[test]
fn intervals_hold_the_truth_and_noise_is_no_change_of_regime() {
    const CASES: u32 = 2_000;
    let (a, b) = (0.05, 20e-6);
    let mut noise = Noise::new(7);
    let (mut held_a, mut held_b, mut changes) = (0_u32, 0_u32, 0_u32);
    for _ in 0..CASES {
        let mut text = "batch,rows_per_s\n".to_owned();
        for rows in [500.0, 1e3, 2e3, 4e3, 8e3, 16e3, 32e3] {
            let seconds = (a + b * rows) * (1.0 + 0.03 * noise.normal());
            text += &format!("{rows},{}\n", rows / seconds);
        }
        let cost_model = only(&text).cost_model.unwrap();
        changes += u32::from(!cost_model.changes.is_empty());
        let Some(line) = cost_model.line else {
            continue;
        };
        held_a += u32::from(line.fixed_s.low <= a && a <= line.fixed_s.high);
        held_b += u32::from(line.per_row_s.low <= b && b <= line.per_row_s.high);
    }
    for held in [held_a, held_b] {
        assert!((1_860..=1_940).contains(&held), "{held} of {CASES}");
    }
    assert!(changes < 20, "{changes} of {CASES}");
}

proptest::proptest! {
    #[test]
    fn a_law_without_noise_is_found(a in 0.001_f64..1.0, b in 1e-7_f64..1e-3, sessions in 1_u32..64) {
        let mut text = "sessions,batch,rows_per_s\n".to_owned();
        for rows in [100.0, 300.0, 1_000.0, 5_000.0, 20_000.0] {
            text += &format!("{sessions},{rows},{}\n", f64::from(sessions) * rows / (a + b * rows));
        }
        let line = only(&text).cost_model.unwrap().line.unwrap();
        proptest::prop_assert!(within(1e-6, line.fixed_s.value, a), "{:?}", line);
        proptest::prop_assert!(within(1e-6, line.per_row_s.value, b), "{:?}", line);
        proptest::prop_assert!(within(1e-6, line.asymptote.unwrap(), f64::from(sessions) / b));
        proptest::prop_assert!(within(1e-6, line.half_size.unwrap(), a / b));
    }
}
