//! The objectives during a run: the distance of each to a miss, over the measured phase so far.
//!
//! Must not judge: objectives are judged at the end, over the whole phase, and with their confidence.

use highwater_model::display::{count, percent, percent_asked, percent_whole, rate, ratio};
use highwater_model::event::{ObjectiveSoFar, SecondProgress};
use highwater_model::plan::Objective;

use crate::judgments::objective_bound;

/// An objective and its current state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectiveProgress<'a> {
    objective: &'a Objective,
    so_far: ObjectiveSoFar,
}

/// An objective in figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveFigures {
    /// The objective in words.
    pub objective: String,
    /// Its kind, named as in plans.
    pub kind: &'static str,
    /// The limit: a maximum fraction of ops, rows, or CPU, or a minimum throughput in units per second.
    pub allowed: f64,
    /// The measured value in the phase so far; absent if nothing was measured.
    pub measured: Option<f64>,
    /// Fraction of the limit that is used up; above 1 the objective is missed so far.
    pub used: Option<f64>,
}

/// All objectives, as of the last second.
pub fn objective_figures(
    objectives: &[Objective],
    last: Option<&SecondProgress>,
) -> Vec<ObjectiveFigures> {
    let known = last.map_or(&[][..], |last| last.objectives.as_slice());
    let so_far = known.iter().copied().chain(std::iter::repeat(ObjectiveSoFar::Nothing));
    objectives
        .iter()
        .zip(so_far)
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far }.figures())
        .collect()
}

/// Each objective as of a second; none outside a measured phase.
pub(crate) fn standings<'a>(
    objectives: &'a [Objective],
    line: &'a SecondProgress,
) -> impl Iterator<Item = ObjectiveProgress<'a>> {
    objectives
        .iter()
        .zip(&line.objectives)
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far: *so_far })
}

/// The objective that is nearest to a miss, or the farthest beyond its limit, in words.
pub(crate) fn nearest(objectives: &[Objective], line: &SecondProgress) -> Option<String> {
    let standings = standings(objectives, line);
    let nearest = standings
        .filter_map(|standing| Some((standing.used()?, standing)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, standing)| standing.words())
}

impl ObjectiveProgress<'_> {
    /// Fraction of the limit that is used up; above 1 the objective is missed so far.
    fn used(self) -> Option<f64> {
        match self.so_far {
            ObjectiveSoFar::Part { missed: 0, .. } => Some(0.0),
            ObjectiveSoFar::Part { missed, counted } => {
                Some(ratio(missed, counted) / (f64::from(self.allowed_ppm()) / 1e6))
            }
            ObjectiveSoFar::Rate { per_s } => match *self.objective {
                Objective::Throughput { min } => Some(min.as_f64() / per_s),
                _ => None,
            },
            ObjectiveSoFar::Cpu { busy } => Some(busy / (f64::from(self.allowed_ppm()) / 1e6)),
            ObjectiveSoFar::Nothing => None,
        }
    }

    fn figures(self) -> ObjectiveFigures {
        let (kind, allowed) = match *self.objective {
            Objective::Latency { .. } => ("latency", None),
            Objective::RowLatency { .. } => ("row_latency", None),
            Objective::Errors { .. } => ("errors", None),
            Objective::Rejected { .. } => ("rejected", None),
            Objective::Throughput { min } => ("throughput", Some(min.as_f64())),
            Objective::Cpu { .. } => ("cpu", None),
        };
        let measured = match self.so_far {
            ObjectiveSoFar::Part { missed, counted } => Some(ratio(missed, counted)),
            ObjectiveSoFar::Rate { per_s } => Some(per_s),
            ObjectiveSoFar::Cpu { busy } => Some(busy),
            ObjectiveSoFar::Nothing => None,
        };
        ObjectiveFigures {
            objective: objective_bound(self.objective),
            kind,
            allowed: allowed.unwrap_or_else(|| f64::from(self.allowed_ppm()) / 1e6),
            measured,
            used: self.used(),
        }
    }

    /// Millionths that may exceed the limit, or be busy.
    const fn allowed_ppm(self) -> u32 {
        match *self.objective {
            Objective::Latency { quantile_ppm, .. }
            | Objective::RowLatency { quantile_ppm, .. } => {
                1_000_000_u32.saturating_sub(quantile_ppm)
            }
            Objective::Errors { max_ppm }
            | Objective::Rejected { max_ppm }
            | Objective::Cpu { max_ppm } => max_ppm,
            Objective::Throughput { .. } => 0,
        }
    }

    /// Whether it is missed so far.
    pub(crate) fn is_missed(self) -> bool {
        self.used().is_some_and(|used| used > 1.0)
    }

    /// `p99 ≤ 50 ms: 0.42% took longer (1% allowed)`; a current miss comes first.
    pub(crate) fn words(self) -> String {
        let bound = objective_bound(self.objective);
        let (lead, so_far) = if self.is_missed() { ("failing, ", "") } else { ("", " so far") };
        let is_latency =
            matches!(self.objective, Objective::Latency { .. } | Objective::RowLatency { .. });
        let stands = match self.so_far {
            ObjectiveSoFar::Part { missed, counted } if is_latency => {
                let part = match missed {
                    0 => "none".to_owned(),
                    _ => percent(ratio(missed, counted)),
                };
                let allowed = percent_asked(self.allowed_ppm());
                format!("{part} took longer ({allowed} allowed)")
            }
            ObjectiveSoFar::Part { missed: 0, .. } => "none so far".to_owned(),
            ObjectiveSoFar::Part { missed, counted } => {
                let part = percent(ratio(missed, counted));
                format!("{part}{so_far} ({} of {})", count(missed), count(counted))
            }
            ObjectiveSoFar::Rate { per_s } => format!("{}/s{so_far}", rate(per_s)),
            ObjectiveSoFar::Cpu { busy } => format!("{} now", percent_whole(busy)),
            ObjectiveSoFar::Nothing => "nothing measured yet".to_owned(),
        };
        format!("{bound}: {lead}{stands}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{p99, second};
    use highwater_model::units::{Nanos, Rate};

    fn part(missed: u64, counted: u64) -> ObjectiveSoFar {
        ObjectiveSoFar::Part { missed, counted }
    }

    #[test]
    fn every_kind_of_objective_says_how_far_it_is_from_a_miss() {
        let p99 = p99(50);
        let of_insert = |quantile_ppm| Objective::Latency {
            quantile_ppm,
            max: Nanos::from_millis(50),
            op: Some("insert".to_owned()),
        };
        let errors = Objective::Errors { max_ppm: 1_000 };
        let rejected = Objective::Rejected { max_ppm: 0 };
        let min = Rate::per_second(50_000);
        let throughput = Objective::Throughput { min };
        let rate = |per_s| ObjectiveSoFar::Rate { per_s };
        let cpu = Objective::Cpu { max_ppm: 800_000 };
        let lines = [
            (&p99, ObjectiveSoFar::Nothing),
            (&p99, part(0, 900)),
            (&p99, part(4, 1_000)),
            (&p99, part(20, 1_000)),
            (&of_insert(900_000), part(20, 1_000)),
            (&of_insert(950_000), part(20, 1_000)),
            (&of_insert(999_000), part(20, 1_000)),
            (&errors, part(0, 10)),
            (&errors, part(1, 10_000)),
            (&rejected, part(1, 100)),
            (&throughput, rate(57_000.0)),
            (&throughput, rate(40_000.0)),
            (&cpu, ObjectiveSoFar::Cpu { busy: 0.71 }),
        ]
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far }.words());
        insta::assert_snapshot!(lines.join("\n"), @"
        p99 ≤ 50 ms: nothing measured yet
        p99 ≤ 50 ms: none took longer (1% allowed)
        p99 ≤ 50 ms: 0.400% took longer (1% allowed)
        p99 ≤ 50 ms: failing, 2.00% took longer (1% allowed)
        insert p90 ≤ 50 ms: 2.00% took longer (10% allowed)
        insert p95 ≤ 50 ms: 2.00% took longer (5% allowed)
        insert p99.9 ≤ 50 ms: failing, 2.00% took longer (0.1% allowed)
        errors ≤ 0.1%: none so far
        errors ≤ 0.1%: 0.0100% so far (1 of 10,000)
        rejected ≤ 0%: failing, 1.00% (1 of 100)
        throughput ≥ 50,000/s: 57,000/s so far
        throughput ≥ 50,000/s: failing, 40,000/s
        CPU ≤ 80%: 71% now
        ");
    }

    #[test]
    fn every_kind_of_objective_has_what_is_allowed_and_what_is_measured_in_figures() {
        let objectives = [
            p99(50),
            Objective::RowLatency { quantile_ppm: 900_000, max: Nanos::from_millis(50) },
            Objective::Errors { max_ppm: 1_000 },
            Objective::Rejected { max_ppm: 0 },
            Objective::Throughput { min: Rate::per_second(50_000) },
            Objective::Cpu { max_ppm: 800_000 },
        ];
        let last = SecondProgress {
            objectives: vec![
                part(4, 1_000),
                ObjectiveSoFar::Nothing,
                part(0, 10),
                part(1, 100),
                ObjectiveSoFar::Rate { per_s: 40_000.0 },
                ObjectiveSoFar::Cpu { busy: 0.4 },
            ],
            ..second(1, "measure", Vec::new())
        };
        let lines = |last| {
            let figures = objective_figures(&objectives, last);
            let lines = figures.into_iter().map(|of| {
                let figure = |value: Option<f64>| value.map_or("-".to_owned(), |v| v.to_string());
                let (measured, used) = (figure(of.measured), figure(of.used));
                format!("{} {} {measured} {used}", of.kind, of.allowed)
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(Some(&last)), @"
        latency 0.01 0.004 0.4
        row_latency 0.1 - -
        errors 0.001 0 0
        rejected 0 0.01 inf
        throughput 50000 40000 1.25
        cpu 0.8 0.4 0.5
        ");
        let before = lines(None);
        assert!(before.lines().all(|line| line.ends_with(" - -")), "{before}");
        assert_eq!(before.lines().count(), objectives.len());
    }

    #[test]
    fn one_line_shows_the_objective_that_is_nearest_to_a_miss() {
        let objectives =
            [p99(50), Objective::Errors { max_ppm: 1_000 }, Objective::Cpu { max_ppm: 800_000 }];
        let line = |so_far: &[ObjectiveSoFar]| SecondProgress {
            objectives: so_far.to_vec(),
            ..second(1, "measure", Vec::new())
        };
        let cpu = ObjectiveSoFar::Cpu { busy: 0.4 };
        let nearest = |so_far: &[ObjectiveSoFar]| nearest(&objectives, &line(so_far));
        let shown = nearest(&[part(4, 1_000), part(0, 1_000), cpu]);
        assert_eq!(shown.as_deref(), Some("CPU ≤ 80%: 40% now"));
        let shown = nearest(&[part(4, 1_000), part(9, 10_000), cpu]).unwrap();
        assert_eq!(shown, "errors ≤ 0.1%: 0.0900% so far (9 of 10,000)");
        let nothing = ObjectiveSoFar::Nothing;
        assert_eq!(nearest(&[nothing, nothing, nothing]), None);
        assert_eq!(nearest(&[]), None, "a warm-up shows none");
    }
}
