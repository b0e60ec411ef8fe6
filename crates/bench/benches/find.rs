//! `highwater find --quick` on PostgreSQL with five seeds, each compared with the throughput of closed load just before
//! and just after it, with the same sessions and batches: is the mark near the server's capacity?
//!
//! The server's log waits before each flush and batches are small, so that the limit is the log, and not this machine's
//! CPU, which the server shares with the load, or other users of its disk.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::measured;
use highwater_model::record::Record;
use highwater_model::search::SearchOutcome;
use highwater_runner::record;
use highwater_testing::postgres::{Postgres, SUPERUSER, Setup};

const SEEDS: u32 = 5;
/// Rows per batch.
const ROWS: f64 = 10.0;
/// Commits are durable, and each flush of the log first waits 2 ms, even with few sessions.
const SETTINGS: [&str; 3] = ["fsync = on", "commit_delay = 2000", "commit_siblings = 0"];
/// Options common to a search and closed load.
const LOAD: &[&str] = &["--batch", "10", "-c", "4", "--warm-up", "3s", "--drop"];
const CLOSED: &[&str] = &["-d", "20s", "--audit", "count"];
/// Maximum distance of the mark from closed load's throughput, as a fraction of that.
const NEAR: f64 = 0.25;

/// Results of one seed.
struct Round {
    /// Rows per second, mean of before and after.
    closed: f64,
    /// Rows per second; absent without a confirmed mark.
    mark: Option<f64>,
    probes: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
        settings: SETTINGS.map(str::to_owned).to_vec(),
        ..Setup::default()
    });
    let url = format!("{}?sslmode=disable", server.url(SUPERUSER, "postgres"));
    let rounds: Vec<Round> =
        (1..=SEEDS).map(|seed| round(&url, &seed.to_string())).collect::<Result<_, _>>()?;
    let remark = format!(
        "Batches of 10 `cpu` rows, 4 sessions, durable commits; the log waits 2 ms before each flush \
         (`commit_delay`), so that it is the limit. Closed load: the mean of 20 s before and 20 s after \
         the search. Near: within {:.0}% of it.",
        NEAR * 100.0
    );
    figures::print(&figures_of(&rounds), &remark)
}

fn round(url: &str, seed: &str) -> Result<Round, Box<dyn Error>> {
    let before = closed(url, seed)?;
    let found = called("find", url, &["--quick", "--seed", seed])?;
    let after = closed(url, seed)?;
    let found = found.into_experiment().ok_or("a search left a run")?;
    let search = found.search().ok_or("a search left a tuning")?;
    Ok(Round {
        closed: f64::midpoint(before, after),
        mark: match &search.outcome {
            Some(SearchOutcome::Mark(mark)) => Some(mark.confirmed),
            Some(SearchOutcome::NoMark(_)) | None => None,
        },
        probes: search.probes.len(),
    })
}

/// Rows per second in closed load.
fn closed(url: &str, seed: &str) -> Result<f64, Box<dyn Error>> {
    let record = called("run", url, &[CLOSED, &["--seed", seed]].concat())?;
    let run = record.into_run().ok_or("a run left an experiment")?;
    Ok(measured(&run)?.throughput.ops_per_s * ROWS)
}

/// The record that a command of the program stores.
fn called(command: &str, url: &str, more: &[&str]) -> Result<Record, Box<dyn Error>> {
    let root = tempfile::tempdir()?;
    let said = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--package", "highwater", "--"])
        .args([command, "cpu", url, "--quiet", "-o"])
        .arg(root.path())
        .args(LOAD)
        .args(more)
        .output()?;
    let directory = only(root.path())?.ok_or_else(|| {
        let why = String::from_utf8_lossy(&said.stderr).into_owned();
        format!("highwater {command} left no record: {why}")
    })?;
    Ok(record::read(&directory)?)
}

fn only(root: &Path) -> Result<Option<std::path::PathBuf>, Box<dyn Error>> {
    let mut entries = fs::read_dir(root)?;
    Ok(entries.next().transpose()?.map(|entry| entry.path()))
}

fn figures_of(rounds: &[Round]) -> Vec<Figure> {
    let is_near =
        |round: &&Round| round.mark.is_some_and(|mark| (mark / round.closed - 1.0).abs() <= NEAR);
    let mut figures: Vec<Figure> = (1..)
        .zip(rounds)
        .map(|(seed, round): (u32, &Round)| {
            let what = format!("confirmed mark of seed {seed}, {} probes", round.probes);
            Figure::new(what, "rows/s", round.mark.unwrap_or(f64::NAN))
                .beside("closed load", round.closed)
        })
        .collect();
    let probes: Vec<f64> = rounds.iter().map(|round| whole(round.probes)).collect();
    figures.push(Figure::new("probes, median", "probes", median(&probes)));
    let near = whole(rounds.iter().filter(is_near).count());
    figures.push(
        Figure::new("confirmed and near closed load", "seeds", near).budget(Budget::AtLeast(4.0)),
    );
    figures
}

fn whole(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::NAN, f64::from)
}
