//! CSV for spreadsheets and data frames: one header, one row per fact, units in column names.
//!
//! Quoted by RFC 4180; lines end in a line feed. Numbers are plain: no separators, a point.
//! `show --format csv` prints [`csv`] (the intervals of a run, or the trials of an experiment) and `show --format telemetry-csv` prints [`telemetry_csv`] (target
//! telemetry); [`results_csv`] is the table of results.

use ::csv::{Writer, WriterBuilder};

use highwater_analysis::telemetry::values_of;
use highwater_model::display::{about, percent, rate};
use highwater_model::group::GroupRecord;
use highwater_model::histogram::LatencySummary;
use highwater_model::numbers::to_f64;
use highwater_model::record::{Question, RecordRef, RunRecord};
use highwater_model::scale::{ScaleEach, ScaleRecord};
use highwater_model::search::{ProbePurpose, SearchAxis, SearchRecord};
use highwater_model::target_telemetry::SeriesKind;
use highwater_model::tune::{TuneFigure, TuneRecord};
use highwater_sizing::growth::report as growth_of;

use crate::answer::short_target;
use crate::judgments::three;
use crate::kinds::growth::price;
use crate::layout::list;
use crate::limit;

/// The rows of the record's question: one per interval of a run, probe of a search, trial of a tuning, run of a group,
/// or size of a growth.
pub fn csv(record: RecordRef<'_>) -> String {
    let run = record.measured_run();
    match record.experiment().map(|of| &of.question) {
        None => intervals(&run),
        Some(Question::Search(search)) => probes(search),
        Some(Question::Tune(tune)) => trials(tune),
        Some(Question::Group(group)) => runs(group),
        Some(Question::Scale(scale)) => growth(run.run, scale),
    }
}

/// One row per second, phase, stream and op, in the order of the record: the fields of an interval in their own order.
///
/// Cells of figures with too few ops are empty.
fn intervals(record: &RunRecord) -> String {
    let head = "second,phase,stream,op,offered,sent,acknowledged,rows_acknowledged,errors,rejected,\
                rows_refused,dropped,p50_ns,p99_ns,max_ns";
    below(head, |table| {
        let mut intervals = record.intervals.iter();
        intervals.try_for_each(|interval| table.serialize(interval))
    })
}

/// One row per phase, stream and op.
///
/// `*_at_least` names the percentiles that are lower bounds, separated by spaces.
pub fn results_csv(record: &RunRecord) -> String {
    const COUNTS: &str = "phase,stream,op,open,offered,sent,acknowledged,dropped,retries,errors,\
        partial,rows_sent,rows_acknowledged,rows_refused,rows_unknown,ops_per_s,rows_per_s,ci95_low,\
        ci95_high,response_bytes,response_rows,backlog";
    let mut head = COUNTS.to_owned();
    for name in ["latency", "service", "session_wait", "client_lag"] {
        for figure in ["p50", "p95", "p99", "p999", "p9999", "max"] {
            head += &format!(",{name}_{figure}_ns");
        }
        head += &format!(",{name}_at_least");
    }
    below(&head, |table| {
        for result in &record.results {
            let ci95 = result.throughput.ci95;
            let mut cells = vec![
                result.phase.clone(),
                result.stream.clone(),
                result.op.clone(),
                result.open.to_string(),
                result.offered.to_string(),
                result.sent.to_string(),
                result.acknowledged.to_string(),
                result.dropped.to_string(),
                result.retries.to_string(),
                result.errors.values().sum::<u64>().to_string(),
                result.partial_ops().to_string(),
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
            table.write_record(&cells)?;
        }
        Ok(())
    })
}

/// One row per probe, in their order. `at` is on the search's axis: units/s, sessions, or the users of an estimate.
fn probes(search: &SearchRecord) -> String {
    let unit = search.unit.name();
    let head = format!(
        "probe,purpose,axis,at,verdict,reasons,{unit}_per_s,p99_ns,p99_at_least,mean_ns,failed_ops,rows_before,\
         bytes_before,started_at,measured_ns,run"
    );
    below(&head, |table| {
        search.probes.iter().try_for_each(|probe| {
            let is_estimate = probe.purpose == ProbePurpose::Estimate;
            let axis = if is_estimate { SearchAxis::Sessions } else { search.axis };
            let reasons = list(probe.reasons.iter().map(|code| code.name()), " ");
            let what = (probe.number, probe.purpose, axis, probe.at, probe.verdict, reasons);
            let p99 = (probe.p99_ns, probe.p99_at_least);
            let figures = (probe.acknowledged_per_s, p99, probe.mean_ns, probe.failed_ops);
            let before = (probe.rows_before, probe.bytes_before);
            table.serialize((
                what,
                figures,
                before,
                &probe.started_at,
                probe.measured_ns,
                &probe.run,
            ))
        })
    })
}

/// One row per trial of a tuning, in their order, with a column per axis.
fn trials(tune: &TuneRecord) -> String {
    let axes = list(tune.axes.iter().map(|axis| axis.name.as_str()), ",");
    let head = format!(
        "trial,purpose,{axes},verdict,reasons,throughput_per_s,{},p99_ns,p99_at_least,client_cpu,started_at,run",
        match tune.by {
            TuneFigure::Throughput => "figure_per_s",
            TuneFigure::ServerCpuPerRow => "server_cpu_s_per_row",
            TuneFigure::DiskBytesPerRow => "disk_bytes_per_row",
        }
    );
    below(&head, |table| {
        tune.trials.iter().try_for_each(|trial| {
            let values = tune.axes.iter().zip(&trial.at).map(|(axis, at)| axis.values.get(*at));
            let values: Vec<Option<&String>> = values.collect();
            let reasons = list(trial.reasons.iter().map(|code| code.name()), " ");
            let showed = trial.showed.as_ref();
            let p99 = (showed.and_then(|of| of.p99_ns), showed.map(|of| of.p99_at_least));
            let figures = (trial.throughput_per_s, trial.figure, p99);
            let client = showed.map(|of| of.client_cpu);
            let what = (trial.number, trial.purpose, values, trial.verdict, reasons);
            table.serialize((what, figures, client, &trial.started_at, &trial.run))
        })
    })
}

/// One row per run of a group, in their order.
fn runs(group: &GroupRecord) -> String {
    let head = "number,variant,round,ended,throughput_per_s,p99_ns,p99_at_least,started_at,run";
    below(head, |table| {
        group.trials.iter().try_for_each(|trial| {
            let variant = group.variants.get(trial.variant).map(|of| &of.name);
            let what = (trial.number, variant, trial.round, trial.ended);
            let p99 = (trial.p99_ns, trial.p99_at_least);
            table.serialize((what, trial.throughput_per_s, p99, &trial.started_at, &trial.run))
        })
    })
}

/// One row per size of a growth that counts, ascending, with the figures as other outputs print them. For a run, its
/// 95% interval is filled in; for a search, the first failed value, and the estimate with its 90% interval. `engine` is
/// the target of the last run; the judgments are those of each size.
fn growth(run: &RunRecord, scale: &ScaleRecord) -> String {
    let unit = scale.unit.name();
    let price_of = scale
        .price_per_node_hour
        .map_or_else(String::new, |_| format!(",price_per_million_{unit}"));
    let head = format!(
        "nodes,{unit}_per_s,ci95_low,ci95_high,first_failed,estimate,estimate_low90,estimate_high90,\
         linear,percent_of_linear,per_node,p99_ms,p99_at_least,predicted,predicted_low90,predicted_high90\
         {price_of},limit,engine,measurement,data_judgment,objective"
    );
    let ends = |ends: Option<[f64; 2]>| [0, 1].map(|at| shown(ends.map(|of| of[at]), rate));
    below(&head, |table| {
        growth_of(scale).sizes.iter().try_for_each(|size| {
            let (figures, predicted) = (&size.trial.figures, size.trial.predicted);
            let (per_s, found) = (figures.per_s, figures.estimate);
            let is_search = scale.each == ScaleEach::Find;
            let mut cells = vec![size.trial.size.nodes.to_string(), number(&rate(per_s))];
            cells.extend(ends(scale.bounds(figures).filter(|_| !is_search)));
            cells.push(shown(figures.failed, rate));
            cells.push(shown(found.map(|of| of.value), rate));
            cells.extend(ends(found.map(|of| [of.low90, of.high90])));
            cells.push(number(&rate(per_s / size.compared.of_linear)));
            cells.push(number(percent(size.compared.of_linear).trim_end_matches('%')));
            cells.push(number(&rate(size.compared.per_node)));
            cells.push(shown(figures.p99_ns.map(|ns| to_f64(ns) / 1e6), rate));
            cells.push(figures.p99_at_least.to_string());
            cells.push(shown(predicted.map(|of| of.expected), about));
            cells.extend(
                predicted
                    .map_or([None; 2], |of| [Some(of.low90), Some(of.high90)])
                    .map(|end| shown(end, about)),
            );
            cells.extend(size.price_per_million.map(price));
            cells.push(figures.limit.as_ref().map_or_else(String::new, limit::short));
            cells.push(short_target(&run.target.version));
            let judged = figures.judgments.as_ref();
            let judged = judged.map(|of| three(of).map(|judgment| judgment.value));
            cells.extend(judged.unwrap_or_default().map(str::to_owned));
            table.write_record(&cells)
        })
    })
}

/// A printed figure as a plain number.
fn number(printed: &str) -> String {
    printed.replace(',', "")
}

fn shown(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or_else(String::new, |value| number(&show(value)))
}

/// One row per sample and series of the target's telemetry; missing values have no row.
///
/// `value` is the recorded value; `drawn` is the level itself, or the count per second.
pub fn telemetry_csv(record: &RunRecord) -> String {
    below("time_ns,source,node,name,unit,kind,value,drawn", |table| {
        let Some(telemetry) = &record.target_telemetry else {
            return Ok(());
        };
        for series in &telemetry.series {
            let kind = match series.kind {
                SeriesKind::Level => "level",
                SeriesKind::Count => "count",
            };
            let drawn = values_of(telemetry, series);
            let values = series.values.iter().zip(drawn);
            for (time, (value, drawn)) in telemetry.times_ns.iter().zip(values) {
                let Some(value) = value else { continue };
                table.write_record([
                    time.to_string().as_str(),
                    &series.source,
                    series.node.as_deref().unwrap_or_default(),
                    &series.name,
                    &series.unit,
                    kind,
                    &value.to_string(),
                    &optional(drawn),
                ])?;
            }
        }
        Ok(())
    })
}

fn summary(summary: &LatencySummary) -> [String; 7] {
    [
        optional(summary.p50),
        optional(summary.p95),
        optional(summary.p99),
        optional(summary.p999),
        optional(summary.p9999),
        optional(summary.max),
        summary.at_least.join(" "),
    ]
}

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The column names, followed by the rows that `rows` writes. Writing to memory fails only if a row has more or fewer
/// cells than there are columns.
fn below(
    head: &str,
    rows: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), ::csv::Error>,
) -> String {
    let mut table = WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    let written = table.write_record(head.split(','));
    let written = written.and_then(|()| rows(&mut table));
    debug_assert!(written.is_ok(), "{written:?}");
    let bytes = table.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;
    use highwater_model::judgment::ReasonCode;
    use highwater_model::search::ProbeVerdict;
    use highwater_model::tune::TrialPurpose;

    #[test]
    fn cells_are_quoted_only_if_necessary() {
        let cells = ["insert", "a,b", "say \"x\"", "two\nlines"];
        assert_eq!(
            below("op", |table| cells.iter().try_for_each(|cell| table.write_record([cell]))),
            "op\ninsert\n\"a,b\"\n\"say \"\"x\"\"\"\n\"two\nlines\"\n"
        );
    }

    #[test]
    fn intervals_are_one_row_each_with_empty_cells_for_absent_figures() {
        insta::assert_snapshot!(csv((&fixture::closed()).into()));
    }

    #[test]
    fn a_search_is_one_row_per_probe_with_its_reasons() {
        let mut search = fixture::search(Vec::new());
        let estimate = fixture::probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Passed);
        let mut failed = fixture::probe(ProbePurpose::Search, 98_300.0, ProbeVerdict::Failed);
        failed.reasons = vec![ReasonCode::ObjectiveLatency, ReasonCode::ObjectiveRejected];
        (failed.p99_ns, failed.p99_at_least) = (Some(12_500_000), true);
        search.probes = vec![estimate, failed];
        insta::assert_snapshot!(probes(&search));
    }

    #[test]
    fn a_tuning_is_one_row_per_trial_with_a_column_per_axis() {
        let mut tune = fixture::tune::tune(&[2, 3]);
        for (at, figure) in [(vec![0, 2], Some(1_500.0)), (vec![1, 0], None)] {
            tune.trials.push(fixture::tune::trial(&tune, at, TrialPurpose::Search, figure));
        }
        insta::assert_snapshot!(trials(&tune));
    }

    #[test]
    fn a_group_is_one_row_per_run_with_its_variant() {
        let grouped = fixture::group::grouped();
        let text = csv((&grouped).into());
        let rows: Vec<usize> = text.lines().map(|row| row.split(',').count()).collect();
        assert!(rows.len() > 2 && rows.iter().all(|cells| *cells == rows[0]), "{text}");
    }

    #[test]
    fn telemetry_is_a_row_for_each_reported_value() {
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
