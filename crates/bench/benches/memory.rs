//! Resident memory: constant over a billion rows, and bounded by the batches in flight.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure};
use highwater_bench::job::{Job, cpu_workload, measured, workload};
use highwater_bench::meters::{PeakMemory, resident_bytes};
use highwater_model::display::rate;
use highwater_model::event::Event;
use highwater_model::numbers::to_f64;
use highwater_model::op::ColumnData;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::planner::PaceInput;
use highwater_runner::request::{Observer, Silent};

const PLAIN_ROWS: &str = include_str!("plain_rows.toml");
/// A simulated cluster that easily handles a million rows per second.
const SIMULATED: &str =
    "sim:?nodes=1&cores=64&shards=1&replicas=0&request=100us&row=100ns&queue=inf";
/// The same in real time, without any work, so that only the client is measured.
const FREE: &str = "sim:?clock=real&nodes=1&cores=inf&shards=1&replicas=0&request=0&row=0\
                    &query=0&service=constant&queue=inf&rtt=1ms";
/// Seconds of the long run, at [`ROWS_PER_S`]: 10⁹ rows.
const LONG_SECONDS: u64 = 1_000;
const ROWS_PER_S: u64 = 1_000_000;
/// Percentages of the long run after which figures are taken.
const LOOKS: [usize; 4] = [1, 10, 50, 100];
const MIB: f64 = 1_048_576.0;
/// The budget without batches, MiB.
const BASE: f64 = 96.0;
const SESSIONS: u32 = 16;
const BATCH: &str = "10000";

/// Records the resident memory after each second of load.
#[derive(Default)]
struct Notes(RefCell<Vec<u64>>);

impl Observer for Notes {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Second(_)) {
            self.0.borrow_mut().push(resident_bytes());
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let idle = mib(resident_bytes());
    let mut figures = vec![batches(idle)?];
    figures.extend(long_run(idle)?);
    figures::print(
        &figures,
        &format!(
            "The long run: {} rows in batches of 1,000 at a million rows a second of simulated \
             time, {LONG_SECONDS} s of it, every batch generated, recorded and entered in the ledger, \
             rows audited at the end. The run with batches: closed, {SESSIONS} sessions, batches of \
             {BATCH} `cpu` rows on the wall's clock, the greatest resident memory seen every 5 ms; \
             its budget is 96 MiB + sessions × 2 × the bytes of a generated batch. The floor is the \
             benchmark itself before it ran anything.",
            rate(to_f64(LONG_SECONDS * ROWS_PER_S))
        ),
    )
}

fn long_run(idle: f64) -> Result<Vec<Figure>, Box<dyn Error>> {
    let notes = Rc::new(Notes::default());
    let job = Job {
        pace: PaceInput::Open(Rate::per_second(ROWS_PER_S)),
        measure: Nanos::from_secs(LONG_SECONDS),
        ..Job::inserting(PLAIN_ROWS, SIMULATED, 64)
    };
    let peak = PeakMemory::start();
    let record = job.run(Rc::<Notes>::clone(&notes))?;
    let peak = mib(peak.finish());
    let rows = check_rows(&record)?;
    let notes = notes.0.borrow();
    let at = |hundredths: usize| {
        let position = (notes.len() * hundredths / 100).saturating_sub(1);
        notes.get(position).copied().map_or(f64::NAN, mib)
    };
    let mut figures: Vec<Figure> = LOOKS
        .into_iter()
        .map(|hundredths| {
            let what = format!("resident after {hundredths}% of {rows} rows");
            let figure = Figure::new(what, "MiB", at(hundredths)).beside("before any run", idle);
            figure.budget(Budget::AtMost(BASE))
        })
        .collect();
    let what = "its greatest, record and audit included";
    figures.push(Figure::new(what, "MiB", peak).budget(Budget::AtMost(BASE)));
    // The first tenth includes one-time allocations.
    let hours = 0.9 * to_f64(LONG_SECONDS) / 3_600.0;
    let growth = (at(100) - at(10)) / hours;
    figures.push(Figure::new("growth after the first tenth, per hour of run", "MiB", growth));
    Ok(figures)
}

fn check_rows(record: &RunRecord) -> Result<String, Box<dyn Error>> {
    let rows = measured(record)?.rows.acknowledged;
    let found = record.audit.found;
    if found != rows {
        return Err(format!("{rows} rows acknowledged, found {found}").into());
    }
    Ok(rate(to_f64(rows)))
}

fn batches(idle: f64) -> Result<Figure, Box<dyn Error>> {
    let settings = [("batch", BATCH)];
    let cpu = workload(cpu_workload()?, &settings)?;
    let batch = cpu.row_batch(0, 0, BATCH.parse()?);
    let bytes: usize = batch.columns.iter().map(column_bytes).sum();
    drop((batch, cpu));
    let job = Job {
        settings: &settings,
        measure: Nanos::from_secs(5),
        ..Job::inserting(cpu_workload()?, FREE, SESSIONS)
    };
    let peak = PeakMemory::start();
    job.run(Rc::new(Silent))?;
    let peak = mib(peak.finish());
    let in_flight = f64::from(SESSIONS) * 2.0 * mib(u64::try_from(bytes)?);
    let what = format!("greatest with {SESSIONS} sessions, batches of {BATCH}");
    let figure = Figure::new(what, "MiB", peak).beside("before any run", idle);
    Ok(figure.budget(Budget::AtMost(BASE + in_flight)))
}

/// Bytes of a generated column; dictionaries are shared by all batches.
fn column_bytes(column: &ColumnData) -> usize {
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => 8 * values.len(),
        ColumnData::Float(values) => 8 * values.len(),
        ColumnData::Boolean(values) => values.len(),
        ColumnData::Text(values) => values.iter().map(|text| 16 + text.len()).sum(),
        ColumnData::TextDictionary(dictionary) | ColumnData::ObjectDictionary(dictionary) => {
            4 * dictionary.codes.len()
        }
        ColumnData::Nullable(values, nulls) => nulls.len() + column_bytes(values),
    }
}

fn mib(bytes: u64) -> f64 {
    to_f64(bytes) / MIB
}
