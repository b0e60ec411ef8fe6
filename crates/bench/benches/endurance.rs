//! Resident memory over hours of simulated time: memory kept per second of a run.
//!
//! The number of rows is small; `memory` measures that. The hours are the first argument: `cargo bench -p
//! highwater-bench --bench endurance -- 4`.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::{Job, measured};
use highwater_bench::meters::{PeakMemory, resident_bytes};
use highwater_model::event::Event;
use highwater_model::numbers::to_f64;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::planner::PaceInput;
use highwater_runner::request::Observer;

const PLAIN_ROWS: &str = include_str!("plain_rows.toml");
const SIMULATED: &str =
    "sim:?nodes=1&cores=64&shards=1&replicas=0&request=100us&row=100ns&queue=inf";
/// Default number of hours.
const HOURS: u64 = 24;
/// 100 ops per second.
const BATCH: &str = "10";
const ROWS_PER_S: u64 = 1_000;
const SESSIONS: u32 = 16;
/// Samples before each measurement, one per simulated second; the figure is their median.
const SAMPLES: usize = 60;
const KIB: f64 = 1_024.0;
/// The budget of all runs, 96 MiB.
const MOST: f64 = 96.0 * 1_024.0;

/// Records the resident memory only in the last seconds of each quarter of the load, because its own samples use
/// memory.
struct Notes {
    quarter_s: usize,
    seconds: Cell<usize>,
    quarters: RefCell<[Vec<f64>; 4]>,
}

impl Notes {
    fn new(seconds: usize) -> Self {
        Self { quarter_s: seconds / 4, seconds: Cell::new(0), quarters: RefCell::default() }
    }

    /// KiB at the end of each quarter.
    fn quarters(&self) -> [f64; 4] {
        self.quarters.borrow().each_ref().map(|notes| median(notes))
    }
}

impl Observer for Notes {
    fn event(&self, event: &Event) {
        if !matches!(event, Event::Second(_)) {
            return;
        }
        let second = self.seconds.replace(self.seconds.get() + 1);
        let quarter = second / self.quarter_s;
        if second % self.quarter_s + SAMPLES >= self.quarter_s
            && let Some(notes) = self.quarters.borrow_mut().get_mut(quarter)
        {
            notes.push(to_f64(resident_bytes()) / KIB);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds `--bench`.
    let hours = std::env::args().find_map(|word| word.parse::<u64>().ok());
    let hours = hours.unwrap_or(HOURS).max(1);
    let seconds = hours * 3_600;
    let notes = Rc::new(Notes::new(usize::try_from(seconds)?));
    let job = Job {
        settings: &[("batch", BATCH)],
        pace: PaceInput::Open(Rate::per_second(ROWS_PER_S)),
        measure: Nanos::from_secs(seconds),
        ..Job::inserting(PLAIN_ROWS, SIMULATED, SESSIONS)
    };
    let peak = PeakMemory::start();
    let record = job.run(Rc::<Notes>::clone(&notes))?;
    let peak = to_f64(peak.finish()) / KIB;
    let rows = measured(&record)?.rows.acknowledged;
    if record.audit.found != rows {
        return Err(format!("{rows} rows acknowledged, found {}", record.audit.found).into());
    }
    let quarters = notes.quarters();
    let mut figures: Vec<Figure> = (1..)
        .zip(quarters)
        .map(|(quarter, resident)| {
            let what = format!("resident after {quarter} of 4 quarters of {hours} h");
            Figure::new(what, "KiB", resident).budget(Budget::AtMost(MOST))
        })
        .collect();
    let growth = (quarters[3] - quarters[0]) / (0.75 * to_f64(seconds));
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
    )
}
