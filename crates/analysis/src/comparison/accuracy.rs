//! How often a comparison is wrong, and how often it finds a planted difference, with simulated groups of runs. For
//! tests and the table in `docs/concepts/accuracy.md`; not part of the program.
#![expect(clippy::expect_used, reason = "a case that cannot be set up must fail")]

use std::sync::LazyLock;

use highwater_model::numbers::{to_f64, truncate_to_u64};
use highwater_model::record::{RecordRef, RunRecord};
use highwater_model::units::Seed;
use highwater_workload::random::Draws;

use super::{Comparison, Criteria, Verdict, compare};
use crate::fixture;

/// A closed run with the throughput and latencies of the fixture times these factors.
pub fn run(faster: f64, slower: f64) -> RunRecord {
    static FIXTURE: LazyLock<RunRecord> = LazyLock::new(fixture::closed);
    let mut record = FIXTURE.clone();
    record.streams[0].throughput.rows_per_s *= faster;
    let scaled = |ns: Option<u64>| ns.map(|ns| scale(ns, slower));
    let latency = &mut record.results[0].latency_ns;
    latency.p50 = scaled(latency.p50);
    latency.p95 = scaled(latency.p95);
    latency.p99 = scaled(latency.p99);
    latency.p999 = scaled(latency.p999);
    record.availability.longest_gap_ns = scale(record.availability.longest_gap_ns, slower);
    record
}

fn scale(ns: u64, by: f64) -> u64 {
    truncate_to_u64(to_f64(ns) * by)
}

/// Compares two groups like the program does.
pub fn verdict_of<'a, A, B>(a: &'a [A], b: &'a [B]) -> Comparison
where
    RecordRef<'a>: From<&'a A> + From<&'a B>,
{
    let a: Vec<RecordRef<'_>> = a.iter().map(Into::into).collect();
    let b: Vec<RecordRef<'_>> = b.iter().map(Into::into).collect();
    compare(&a, &b, Criteria::default())
}

/// Simulated comparisons, seeded by the version, so that nothing can be tuned to them.
pub fn draws(what: &str) -> Draws {
    Draws::new(Seed(1), &[env!("CARGO_PKG_VERSION"), what])
}

/// How often a case had each result, percent.
pub struct Rates {
    /// Throughput alone, by Welch's test at 5%.
    pub welch: f64,
    /// Throughput better, in the program's comparison.
    pub better: f64,
    /// Any figure better or worse.
    pub different: f64,
}

/// Two groups of runs with this spread, the second faster by a factor.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Runs per group.
    pub runs: u64,
    /// Relative standard deviation between runs.
    pub spread: f64,
    /// 1 if both are equal.
    pub faster: f64,
}

impl Case {
    /// Runs with independent noise, throughput changed by a factor.
    pub fn group(self, faster: f64, random: &Draws, first: u64) -> Vec<RunRecord> {
        (0..self.runs)
            .map(|n| {
                let noise = |figure| (self.spread * random.normal(first + 10 * n + figure)).exp();
                run(faster * noise(0), noise(1))
            })
            .collect()
    }

    /// Compares `pairs` pairs of such groups.
    pub fn rates(self, pairs: u64, random: &Draws) -> Rates {
        let (mut welch, mut better, mut different) = (0, 0, 0);
        for pair in 0..pairs {
            let a = self.group(1.0, random, pair * 1_000);
            let b = self.group(self.faster, random, pair * 1_000 + 500);
            let compared = verdict_of(&a, &b);
            let of_primary = compared.primary().expect("closed load has a throughput");
            welch += u64::from(of_primary.effect.expect("of several runs").p_value <= 0.05);
            better += u64::from(of_primary.verdict == Verdict::Better);
            let mut figures = compared.figures.iter();
            different +=
                u64::from(figures.any(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse)));
        }
        let percent = |times: u64| 100.0 * to_f64(times) / to_f64(pairs);
        Rates { welch: percent(welch), better: percent(better), different: percent(different) }
    }
}
