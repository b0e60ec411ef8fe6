//! The objectives of a run while it goes on: in how many seconds each was missed. Whether they are met is judged at
//! the end, over all of it.

use highwater_model::display::{count, percent_asked, quantile, span};
use highwater_model::event::{SecondProgress, StreamProgress};
use highwater_model::plan::Objective;

/// Quantiles that a second shows.
const MEDIAN_PPM: u32 = 500_000;
const P99_PPM: u32 = 990_000;
/// Objectives on a line.
const SHOWN: usize = 3;

/// Objectives and what the seconds so far show of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Thresholds {
    seconds: u64,
    /// By objective: seconds that missed it, or ops that count against it.
    missed: Vec<u64>,
    /// By objective: whether a second shows what it is about. An op that is one of several in its stream is judged at
    /// the end only.
    is_seen: Vec<bool>,
}

impl Thresholds {
    pub(super) fn second(&mut self, objectives: &[Objective], line: &SecondProgress) {
        self.seconds += 1;
        self.missed.resize(objectives.len(), 0);
        self.is_seen.resize(objectives.len(), false);
        let so_far = self.missed.iter_mut().zip(&mut self.is_seen);
        for ((missed, is_seen), objective) in so_far.zip(objectives) {
            let streams = line.streams.iter();
            *is_seen |= match objective {
                Objective::Latency { op: Some(op), .. } => {
                    streams.clone().any(|stream| stream.stream == *op)
                }
                _ => true,
            };
            *missed += match objective {
                Objective::Latency {
                    quantile_ppm,
                    max,
                    op,
                } => {
                    let is_about = |stream: &&StreamProgress| {
                        op.as_ref().is_none_or(|op| *op == stream.stream)
                    };
                    let mut streams = streams.filter(is_about);
                    let is_above = streams
                        .any(|stream| shown(stream, *quantile_ppm).is_some_and(|ns| ns > max.0));
                    u64::from(is_above)
                }
                Objective::Errors { .. } => line.errors + line.dropped,
                Objective::Rejected { .. } => streams.map(|stream| stream.rejected).sum(),
                Objective::RowLatency { .. }
                | Objective::Throughput { .. }
                | Objective::Cpu { .. } => 0,
            };
        }
    }

    /// `p99 ≤ 50 ms: above in 3 of 12 s · errors ≤ 0.1 %: 36 so far`; nothing without objectives that seconds
    /// show.
    pub(super) fn words(&self, objectives: &[Objective]) -> Option<String> {
        let all = objectives.iter().zip(&self.missed).zip(&self.is_seen);
        let all = all.filter_map(|(all, is_seen)| is_seen.then_some(all));
        let words = all.filter_map(|(objective, missed)| match objective {
            Objective::Latency {
                quantile_ppm: ppm @ (MEDIAN_PPM | P99_PPM),
                max,
                op,
            } => {
                let op = op.as_ref().map(|op| format!("{op} ")).unwrap_or_default();
                let (name, bound) = (quantile(*ppm), span(max.0));
                Some(format!(
                    "{op}{name} ≤ {bound}: above in {} of {} s",
                    count(*missed),
                    count(self.seconds)
                ))
            }
            Objective::Errors { max_ppm } => Some(format!(
                "errors ≤ {}: {} so far",
                percent_asked(*max_ppm),
                count(*missed)
            )),
            Objective::Rejected { max_ppm } => Some(format!(
                "rejected ≤ {}: {} so far",
                percent_asked(*max_ppm),
                count(*missed)
            )),
            _ => None,
        });
        let words: Vec<String> = words.take(SHOWN).collect();
        (!words.is_empty()).then(|| words.join(" · "))
    }
}

/// A quantile of a stream's second, or of the seconds before where it has few ops.
fn shown(stream: &StreamProgress, ppm: u32) -> Option<u64> {
    let recent = stream.recent;
    match ppm {
        MEDIAN_PPM => stream.p50_ns.or_else(|| recent?.p50_ns),
        P99_PPM => stream.p99_ns.or_else(|| recent?.p99_ns),
        _ => None,
    }
}
