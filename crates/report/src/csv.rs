//! CSV for spreadsheets and data frames: one header, one row per fact, units in column names.
//!
//! Quoted by RFC 4180; lines end in a line feed. Numbers are plain: no separators, a point.
//! `show --format csv` prints [`csv`], the intervals; [`results_csv`] is the table of results,
//! [`telemetry_csv`] what the target said of itself (`show --format telemetry-csv`).

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_analysis::telemetry::values_of;
use highwater_model::histogram::LatencySummary;
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::SeriesKind;

/// One row per second, phase, stream and op, in the order of the record.
///
/// Empty cells are figures that too few ops could carry.
pub fn csv(record: &RunRecord) -> String {
    let mut text = "second,phase,stream,op,offered,sent,acknowledged,rows_acknowledged,errors,\
                    rejected,rows_refused,dropped,p50_ns,p99_ns,max_ns\n"
        .to_owned();
    for interval in &record.intervals {
        text += &line(&[
            interval.second.to_string(),
            quoted(&interval.phase),
            quoted(&interval.stream),
            quoted(&interval.op),
            interval.offered.to_string(),
            interval.sent.to_string(),
            interval.acknowledged.to_string(),
            interval.rows_acknowledged.to_string(),
            interval.errors.to_string(),
            interval.rejected.to_string(),
            interval.rows_refused.to_string(),
            interval.dropped.to_string(),
            optional(interval.p50_ns),
            optional(interval.p99_ns),
            optional(interval.max_ns),
        ]);
    }
    text
}

/// One row per phase, stream and op.
///
/// `*_at_least` names the percentiles that are lower bounds, separated by spaces.
pub fn results_csv(record: &RunRecord) -> String {
    const COUNTS: &str = "phase,stream,op,open,offered,sent,acknowledged,dropped,retries,errors,\
        rows_sent,rows_acknowledged,rows_refused,rows_unknown,ops_per_s,rows_per_s,ci95_low,\
        ci95_high,response_bytes,response_rows,backlog";
    let mut text = COUNTS.to_owned();
    for name in ["latency", "service", "session_wait", "client_lag"] {
        for figure in ["p50", "p95", "p99", "p999", "p9999", "max"] {
            let _ = write!(text, ",{name}_{figure}_ns");
        }
        let _ = write!(text, ",{name}_at_least");
    }
    text.push('\n');
    for result in &record.results {
        let ci95 = result.throughput.ci95;
        let mut cells = vec![
            quoted(&result.phase),
            quoted(&result.stream),
            quoted(&result.op),
            result.open.to_string(),
            result.offered.to_string(),
            result.sent.to_string(),
            result.acknowledged.to_string(),
            result.dropped.to_string(),
            result.retries.to_string(),
            result.errors.values().sum::<u64>().to_string(),
            result.rows.sent.to_string(),
            result.rows.acknowledged.to_string(),
            result.rows.refused.to_string(),
            result.rows.unknown.to_string(),
            result.throughput.ops_per_s.to_string(),
            result.throughput.rows_per_s.to_string(),
            optional(ci95.map(|interval| interval[0])),
            optional(ci95.map(|interval| interval[1])),
            result.response_bytes.to_string(),
            result.response_rows.to_string(),
            result.backlog.to_string(),
        ];
        cells.extend(summary(&result.latency_ns));
        cells.extend(summary(&result.service_ns));
        cells.extend(summary(&result.session_wait_ns));
        cells.extend(summary(&result.client_lag_ns));
        text += &line(&cells);
    }
    text
}

/// One row per sample and series of the target's telemetry; what was not said has no row.
///
/// `value` is that of the record; `drawn` is the level itself, or the count per second.
pub fn telemetry_csv(record: &RunRecord) -> String {
    let mut text = "time_ns,source,node,name,unit,kind,value,drawn\n".to_owned();
    if let Some(telemetry) = &record.target_telemetry {
        for series in &telemetry.series {
            let drawn = values_of(telemetry, series);
            let values = series.values.iter().zip(drawn);
            for (time, (value, drawn)) in telemetry.times_ns.iter().zip(values) {
                let Some(value) = value else { continue };
                text += &line(&[
                    time.to_string(),
                    quoted(&series.source),
                    quoted(series.node.as_deref().unwrap_or_default()),
                    quoted(&series.name),
                    quoted(&series.unit),
                    match series.kind {
                        SeriesKind::Level => "level".to_owned(),
                        SeriesKind::Count => "count".to_owned(),
                    },
                    value.to_string(),
                    optional(drawn),
                ]);
            }
        }
    }
    text
}

fn summary(summary: &LatencySummary) -> [String; 7] {
    [
        optional(summary.p50),
        optional(summary.p95),
        optional(summary.p99),
        optional(summary.p999),
        optional(summary.p9999),
        optional(summary.max),
        quoted(&summary.at_least.join(" ")),
    ]
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(cells: &[String]) -> String {
    let mut line = cells.join(",");
    line.push('\n');
    line
}

/// In double quotes where RFC 4180 asks for them.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn cells_are_quoted_only_where_they_must_be() {
        let cells = ["insert", "a,b", "say \"x\"", "two\nlines"].map(quoted);
        assert_eq!(
            cells,
            ["insert", "\"a,b\"", "\"say \"\"x\"\"\"", "\"two\nlines\""]
        );
    }

    #[test]
    fn intervals_are_one_row_each_with_empty_cells_for_absent_figures() {
        insta::assert_snapshot!(csv(&fixture::closed()));
    }

    #[test]
    fn telemetry_is_a_row_for_each_value_that_was_said() {
        let mut record = fixture::closed();
        assert_eq!(telemetry_csv(&record).lines().count(), 1);
        fixture::add_telemetry(&mut record);
        insta::assert_snapshot!(telemetry_csv(&record));
    }

    #[test]
    fn every_row_of_the_results_has_a_cell_per_column() {
        let text = results_csv(&fixture::open_steps());
        let columns: Vec<usize> = text.lines().map(|row| row.split(',').count()).collect();
        assert!(columns.len() > 2);
        assert!(columns.iter().all(|n| *n == columns[0]), "{columns:?}");
    }
}
