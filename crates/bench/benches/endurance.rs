//! Resident memory over hours of simulated time: what a run keeps of each of its seconds.
//!
//! The number of rows is the business of `memory`; here it is small, and the run is long. The hours
//! are the first argument: `cargo bench -p highwater-bench --bench endurance -- 4`.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::{Job, measured};
use highwater_bench::meters::{PeakMemory, resident_bytes};
use highwater_model::event::Event;
use highwater_model::numbers::to_f64;
use highwater_model::plan::AuditLevel;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::observer::Observer;
use highwater_runner::planner::PaceInput;

const PLAIN_ROWS: &str = include_str!("plain_rows.toml");
const SIMULATED: &str =
    "sim:?nodes=1&cores=64&shards=1&replicas=0&request=100us&row=100ns&queue=inf";
/// Hours where no argument says otherwise.
const HOURS: u64 = 24;
/// A hundred ops a second.
const BATCH: &str = "10";
const ROWS_PER_S: u64 = 1_000;
const SESSIONS: u32 = 16;
/// Samples before each look, one a simulated second; the figure is their median.
const SAMPLES: usize = 60;
const KIB: f64 = 1_024.0;
/// The budget of all runs, 96 MiB.
const MOST: f64 = 96.0 * 1_024.0;

/// Notes the resident memory after each second of load.
#[derive(Default)]
struct Notes(RefCell<Vec<f64>>);

impl Observer for Notes {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Second(_)) {
            self.0.borrow_mut().push(to_f64(resident_bytes()) / KIB);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` itself adds `--bench`.
    let hours = std::env::args().find_map(|word| word.parse::<u64>().ok());
    let hours = hours.unwrap_or(HOURS).max(1);
    let notes = Rc::new(Notes::default());
    let job = Job {
        workload: PLAIN_ROWS,
        settings: &[("batch", BATCH)],
        target: SIMULATED,
        insert: None,
        stream: "insert",
        pace: PaceInput::Open(Rate::per_second(ROWS_PER_S)),
        sessions: SESSIONS,
        warm_up: Nanos::ZERO,
        measure: Nanos::from_secs(hours * 3_600),
        audit: AuditLevel::Sums,
    };
    let peak = PeakMemory::start();
    let record = job.run(Rc::<Notes>::clone(&notes))?;
    let peak = to_f64(peak.finish()) / KIB;
    let rows = measured(&record)?.rows.acknowledged;
    if record.audit.found != rows {
        return Err(format!("{rows} rows acknowledged, found {}", record.audit.found).into());
    }
    let notes = notes.0.borrow();
    let at = |quarter: usize| {
        let end = (notes.len() * quarter / 4).max(1);
        median(&notes[end.saturating_sub(SAMPLES)..end])
    };
    let mut figures: Vec<Figure> = (1..=4)
        .map(|quarter| {
            let what = format!("resident after {quarter} of 4 quarters of {hours} h");
            Figure::new(what, "KiB", at(quarter)).budget(Budget::AtMost(MOST))
        })
        .collect();
    let seconds = to_f64(hours * 3_600);
    let growth = (at(4) - at(1)) / (0.75 * seconds);
    let what = "growth over the last three quarters, per second of run";
    figures.push(Figure::new(what, "KiB", growth));
    let what = "its greatest, record and audit included";
    figures.push(Figure::new(what, "KiB", peak).budget(Budget::AtMost(MOST)));
    figures::print(
        &figures,
        &format!(
            "{hours} h of simulated time, {ROWS_PER_S} rows a second in batches of {BATCH}, one \
             stream of one op, audited at the end. The resident memory is the median of {SAMPLES} \
             samples, one a simulated second."
        ),
    )?;
    Ok(())
}
