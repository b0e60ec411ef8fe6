//! What the record of a measured configuration says to a tuning.

use std::collections::BTreeMap;

use crate::judge::{Ended, MeasuredStream, measured_streams};
use crate::telemetry::{self, busy_cpus, disk_bytes_per_row, mean, named};
use highwater_model::judgment::{Judgments, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::{names, sources};
use highwater_model::tune::{Showed, TrialVerdict, TuneFigure};

/// Reasons for an invalid measurement that are the load generator's doing.
const OUR_OWN: [ReasonCode; 3] =
    [ReasonCode::ClientSaturated, ReasonCode::ClientLag, ReasonCode::RateNotOffered];

/// What a tuning takes from a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// What it is good for.
    pub verdict: TrialVerdict,
    /// Codes of the reasons where it does not count.
    pub reasons: Vec<ReasonCode>,
    /// Units of the first stream acknowledged per second.
    pub throughput_per_s: f64,
    /// What configurations are compared by.
    pub figure: Option<f64>,
    /// What its run showed besides; absent where there was none.
    pub showed: Option<Showed>,
}

/// Reads the record of a configuration.
pub fn measured(by: TuneFigure, record: &RunRecord) -> Measured {
    let streams = measured_streams(record);
    let throughput_per_s = streams.first().map_or(0.0, MeasuredStream::units_per_s);
    let figure = match by {
        TuneFigure::Throughput => Some(throughput_per_s).filter(|reached| *reached > 0.0),
        TuneFigure::ServerCpuPerRow => server_cpu_per_row(record),
        TuneFigure::DiskBytesPerRow => disk_bytes_per_row(record),
    };
    let (verdict, reasons) = verdict(record, figure.is_some());
    Measured {
        verdict,
        reasons,
        throughput_per_s,
        figure,
        showed: Some(showed(record, streams.first())),
    }
}

/// What a run shows of a stream, its target and its load generator besides the throughput.
pub fn showed(record: &RunRecord, stream: Option<&MeasuredStream<'_>>) -> Showed {
    let clients = record.clients.iter().map(|client| client.cpu_fraction);
    let cpus = busy_cpus(record).into_iter().map(|(_, busy)| busy);
    Showed {
        per_s_by_op: stream.map_or_else(BTreeMap::new, MeasuredStream::per_s_by_op),
        p99_ns: stream.and_then(|stream| stream.greatest(|result| result.latency_ns.p99)),
        target_cpu: cpus.reduce(f64::max),
        client_cpu: clients.fold(0.0, f64::max),
        limit: record.limit.clone(),
    }
}

/// Whether the measurement is invalid by the load generator's doing.
pub(crate) fn is_client_limited(judged: &Judgments) -> bool {
    let codes = judged.measurement.codes();
    judged.measurement.value == Measurement::Invalid
        && OUR_OWN.iter().any(|code| codes.contains(code))
}

fn verdict(record: &RunRecord, has_figure: bool) -> (TrialVerdict, Vec<ReasonCode>) {
    let judged = &record.judgments;
    let of_measurement = judged.measurement.codes();
    match Ended::of(&record.incidents) {
        Ended::Interrupted => return (TrialVerdict::Interrupted, Vec::new()),
        Ended::TargetLost => return (TrialVerdict::TargetLost, Vec::new()),
        Ended::Complete => {}
    }
    if judged.data.value.is_wrong() {
        (TrialVerdict::WrongData, judged.data.codes())
    } else if is_client_limited(judged) {
        (TrialVerdict::Invalid, of_measurement)
    } else if judged.objective.value == ObjectiveValue::Missed {
        (TrialVerdict::Missed, judged.objective.codes())
    } else if judged.objective.value == ObjectiveValue::NotDecided {
        (TrialVerdict::NotMeasured, judged.objective.codes())
    } else if has_figure {
        (TrialVerdict::Counts, Vec::new())
    } else {
        (TrialVerdict::NotMeasured, Vec::new())
    }
}

/// CPU seconds of the target per row written: of an embedded database its own threads, else the busy
/// share of its CPUs over the measured time, where it tells that and how many cores its nodes have.
pub fn server_cpu_per_row(record: &RunRecord) -> Option<f64> {
    let rows: u64 = record.results.iter().map(|r| r.rows.acknowledged).sum();
    let rows = highwater_model::display::ratio(rows, 1);
    let embedded: f64 = record.clients.iter().map(|c| c.embedded_cpu_seconds).sum();
    if record.target.embedded && embedded > 0.0 && rows > 0.0 {
        return Some(embedded / rows);
    }
    let cores: f64 = record.target.settings.get("cores")?.parse().ok()?;
    let telemetry = record.target_telemetry.as_ref()?;
    let range = telemetry::measured(record)?;
    let busy: f64 = named(telemetry, names::CPU_BUSY)
        .filter(|series| series.source == sources::TARGET)
        .filter_map(|series| mean(telemetry, series, range))
        .sum();
    let streams = measured_streams(record);
    let rows_per_s: f64 = streams.iter().map(|s| s.stream.throughput.rows_per_s).sum();
    (busy > 0.0 && rows_per_s > 0.0).then(|| busy * cores / rows_per_s)
}
