//! The audit: a large table compared with its load, and a failed bucket among a billion rows.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure};
use highwater_bench::job::{Job, cpu_workload};
use highwater_bench::meters::PeakMemory;
use highwater_driver::clock::RealClock;
use highwater_model::display::rate;
use highwater_model::event::{Event, Part};
use highwater_model::judgment::Data;
use highwater_model::numbers::to_f64;
use highwater_model::plan::PhaseKind;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::planner::PaceInput;
use highwater_runner::request::{Observer, Silent};
use highwater_testing::postgres::{Postgres, SUPERUSER};

const PLAIN_ROWS: &str = include_str!("plain_rows.toml");
/// Rows loaded into PostgreSQL, and into SQLite.
const LOADED: &str = "20000000";
const LOADED_EMBEDDED: &str = "3000000";
/// 96 MiB, and two batches of 1,000 numbers per session.
const MEMORY_MIB: f64 = 97.0;
const SESSIONS: u32 = 64;
/// 10⁹ rows on the simulated clock, about two of them altered.
const SIMULATED: &str = "sim:?nodes=1&cores=64&shards=1&replicas=0&request=100us&row=100ns\
                         &queue=inf&alter=0.000000002";
const LONG_SECONDS: u64 = 1_000;
const ROWS_PER_S: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut figures = narrowing()?;
    figures.extend(sqlite()?);
    figures.extend(postgres()?);
    figures::print(
        &figures,
        "The simulated run: 10⁹ rows of one column, one value in \
         5·10⁸ altered; the audit makes all rows again, adds them up, and narrows the buckets that \
         differ to their rows; its memory is the greatest resident memory of the process during load, \
         audit and narrowing, and its budget 96 MiB + sessions × 2 × batch bytes. SQLite: 3 million \
         `cpu` rows. PostgreSQL: 20 million `cpu` rows loaded by COPY with the workload's two \
         indexes, then audited at the level `sums`; the server keeps its default settings and shares \
         the machine.",
    )
}

/// Records when the audit began.
struct Begin {
    clock: RealClock,
    begin: Cell<Option<Nanos>>,
}

impl Observer for Begin {
    fn event(&self, event: &Event) {
        if matches!(event, Event::Part(Part::Audit { .. })) {
            self.begin.set(Some(self.clock.now()));
        }
    }
}

fn narrowing() -> Result<Vec<Figure>, Box<dyn Error>> {
    let memory = PeakMemory::start();
    let job = Job {
        pace: PaceInput::Open(Rate::per_second(ROWS_PER_S)),
        measure: Nanos::from_secs(LONG_SECONDS),
        ..Job::inserting(PLAIN_ROWS, SIMULATED, SESSIONS)
    };
    let clock = RealClock::start();
    let begin = Cell::new(None);
    let begin = Rc::new(Begin { clock, begin });
    let record = job.run(Rc::<Begin>::clone(&begin))?;
    let began = begin.begin.get().ok_or("there was no audit")?;
    let took = clock.now().saturating_sub(began);
    check(&record, Data::Altered)?;
    let audit = &record.audit;
    if !audit.narrowed || audit.altered == 0 {
        return Err(format!("no row was named: {audit:?}").into());
    }
    let rows = rate(to_f64(audit.found));
    let what = format!("audit of {rows} simulated rows, {} altered ones named", audit.altered);
    let mib = to_f64(memory.finish()) / f64::from(1 << 20);
    Ok(vec![
        Figure::new(what, "s", took.as_secs_f64()).budget(Budget::AtMost(60.0)),
        Figure::new("memory meanwhile, load included", "MiB", mib)
            .budget(Budget::AtMost(MEMORY_MIB)),
    ])
}

/// Seconds of a phase.
fn seconds(record: &RunRecord, kind: PhaseKind) -> f64 {
    let phases = record.phases.iter().filter(|phase| phase.kind == kind);
    Nanos(phases.map(|phase| phase.duration_ns).sum()).as_secs_f64()
}

/// Loads rows of `cpu` and audits them.
fn loaded(url: &str, rows: &str, sessions: u32) -> Result<RunRecord, Box<dyn Error>> {
    let job = Job {
        settings: &[("rows", rows), ("batch", "5000")],
        ..Job::inserting(cpu_workload()?, url, sessions)
    };
    let record = job.run(Rc::new(Silent))?;
    check(&record, Data::Clean)?;
    Ok(record)
}

fn sqlite() -> Result<Vec<Figure>, Box<dyn Error>> {
    let root = tempfile::tempdir()?;
    let url = format!("sqlite:{}", root.path().join("bench.db").display());
    let record = loaded(&url, LOADED_EMBEDDED, 2)?;
    let audit = seconds(&record, PhaseKind::Audit);
    let load = seconds(&record, PhaseKind::Load);
    let rows = to_f64(record.audit.found);
    Ok(vec![
        Figure::new("audit of 3 million rows in SQLite, `sums`", "s", audit)
            .beside("the load", load),
        Figure::new("the same, per row", "ns", audit * 1e9 / rows),
    ])
}

fn postgres() -> Result<Vec<Figure>, Box<dyn Error>> {
    let server = Postgres::start();
    let url = server.url(SUPERUSER, "postgres");
    let record = loaded(&url, LOADED, 2)?;
    let load = seconds(&record, PhaseKind::Load);
    let audit = seconds(&record, PhaseKind::Audit);
    let rows = to_f64(record.audit.found);
    Ok(vec![
        Figure::new("load of 20 million rows into PostgreSQL", "s", load),
        Figure::new("their audit, `sums`", "s", audit)
            .beside("the load", load)
            .budget(Budget::RatioAtMost(1.0)),
        Figure::new("the same, per row", "ns", audit * 1e9 / rows),
    ])
}

fn check(record: &RunRecord, expected: Data) -> Result<(), Box<dyn Error>> {
    let data = &record.judgments.data;
    if data.value == expected { Ok(()) } else { Err(format!("data are {data:?}").into()) }
}
