//! The state of the objectives in the running measured phase, for display: counts per key, as they arrive. Must not
//! judge: `analysis` judges the end of a run from its record.

use std::collections::BTreeMap;

use highwater_model::display::ratio;
use highwater_model::event::ObjectiveSoFar;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{Arrivals, Objective, Plan, Unit};

use super::journaled::{KeyNames, StreamName};
use crate::recorder::{IntervalDelta, WindowDelta};

/// The counts so far.
#[derive(Debug, Default)]
pub(super) struct ObjectiveCounts {
    objectives: Vec<Objective>,
    by_key: BTreeMap<usize, KeyCounts>,
}

/// The counts of a key.
#[derive(Debug, Default)]
struct KeyCounts {
    /// Ended or dropped ops, as latency objectives count them.
    ended: u64,
    /// The number of these above each bound, in ops or rows.
    over: Vec<u64>,
    offered: u64,
    failed: u64,
    rejected: u64,
    acknowledged: u64,
    rows_acknowledged: u64,
}

/// A key of the running phase.
struct Place<'a> {
    stream: &'a StreamName,
    op: &'a str,
    counts: &'a KeyCounts,
    /// Ops of the stream that are due per second, in open load.
    due_per_s: Option<f64>,
}

/// Ops per second that a stream offers in a phase.
fn due_per_s(names: &KeyNames, phase: usize, stream: usize) -> Option<f64> {
    let units_per_s = (*names.offered.get(phase)?.get(stream)?)?;
    Some(units_per_s / to_f64(names.streams[stream].units_per_op.max(1)))
}

impl ObjectiveCounts {
    /// Empty counts for this plan.
    pub(super) fn new(plan: &Plan) -> Self {
        Self { objectives: plan.objectives.clone(), by_key: BTreeMap::new() }
    }

    /// Adds latencies against their bounds.
    pub(super) fn add_windows(&mut self, delta: &WindowDelta) {
        if self.objectives.is_empty() {
            return;
        }
        let counts = self.by_key.entry(delta.key).or_default();
        counts.ended += delta.ended.total();
        let bounds = counts.over.len().max(delta.over.len());
        counts.over.resize(bounds, 0);
        for (sum, over) in counts.over.iter_mut().zip(&delta.over) {
            *sum += over.total();
        }
    }

    /// Adds all other counts.
    pub(super) fn add(&mut self, delta: &IntervalDelta) {
        if self.objectives.is_empty() {
            return;
        }
        let counts = self.by_key.entry(delta.key).or_default();
        counts.offered += delta.offered;
        counts.failed += delta.errors + delta.dropped;
        counts.rejected += delta.rejected;
        counts.acknowledged += delta.acknowledged;
        counts.rows_acknowledged += delta.rows_acknowledged;
    }

    /// The state of each objective in the phase at this position, after this many seconds; absent outside a measured
    /// phase. `cpu_busy` is the busy CPU fraction of the target's busiest node, if known.
    pub(super) fn so_far(
        &self,
        names: &KeyNames,
        phase: usize,
        seconds: f64,
        cpu_busy: Option<f64>,
    ) -> Vec<ObjectiveSoFar> {
        if names.is_measured.get(phase) != Some(&true) {
            return Vec::new();
        }
        let places = self.by_key.iter().filter_map(|(key, counts)| {
            let at = names.split(*key);
            (at.phase == phase).then(|| Place {
                stream: &names.streams[at.stream],
                op: &names.ops[at.op],
                counts,
                due_per_s: due_per_s(names, phase, at.stream),
            })
        });
        let places: Vec<Place<'_>> = places.collect();
        let mut bounds = 0;
        self.objectives
            .iter()
            .map(|objective| {
                let bound = bounds;
                bounds += usize::from(matches!(
                    objective,
                    Objective::Latency { .. } | Objective::RowLatency { .. }
                ));
                stands(objective, bound, names, &places, seconds, cpu_busy)
            })
            .collect()
    }
}

/// The state of an objective; `bound` is its position among the latency objectives.
fn stands(
    objective: &Objective,
    bound: usize,
    names: &KeyNames,
    places: &[Place<'_>],
    seconds: f64,
    cpu_busy: Option<f64>,
) -> ObjectiveSoFar {
    let parts = places.iter();
    match objective {
        Objective::Latency { op, max, .. } => {
            let waiting = waiting(places, seconds - max.as_secs_f64());
            let is_about = |place: &&Place<'_>| {
                let named = op.as_ref();
                named.is_none_or(|op| op == place.op || *op == place.stream.name)
            };
            worst(parts.filter(is_about).map(|place| late(place, bound, 1, &waiting)))
        }
        Objective::RowLatency { max, .. } => {
            let waiting = waiting(places, seconds - max.as_secs_f64());
            let rows = parts.filter(|place| place.stream.unit == Unit::Rows);
            worst(rows.map(|place| late(place, bound, place.stream.units_per_op, &waiting)))
        }
        Objective::Errors { .. } => {
            worst(parts.map(|place| [place.counts.failed, place.counts.offered]))
        }
        Objective::Rejected { .. } => {
            worst(parts.map(|place| [place.counts.rejected, place.counts.offered]))
        }
        Objective::Throughput { .. } => slowest(names, places, seconds),
        Objective::Cpu { .. } => match cpu_busy {
            Some(busy) => ObjectiveSoFar::Cpu { busy },
            None => ObjectiveSoFar::Nothing,
        },
        // Known when the run has ended.
        Objective::Recovery { .. } | Objective::During { .. } | Objective::Lost { .. } => {
            ObjectiveSoFar::Nothing
        }
    }
}

/// Seconds after which the counts of a thread have arrived.
const REPORTING_S: f64 = 1.0;
/// A Poisson count is hardly ever farther from its mean, in standard deviations.
const DEVIATIONS: f64 = 5.0;

/// By stream, the fraction of its ended ops that have not ended, and were due before a time of the phase. In an outage no
/// op ends, so that none would be late.
fn waiting<'a>(places: &[Place<'a>], before_s: f64) -> BTreeMap<&'a str, f64> {
    let mut ended: BTreeMap<&str, (&Place<'_>, u64)> = BTreeMap::new();
    for place in places {
        ended.entry(&place.stream.name).or_insert((place, 0)).1 += place.counts.ended;
    }
    let share = |(name, (place, ended)): (&'a str, (&Place<'_>, u64))| {
        let due = place.due_per_s? * (before_s - REPORTING_S).max(0.0);
        let random = match place.stream.arrivals {
            Arrivals::Constant => 0.0,
            Arrivals::Poisson => DEVIATIONS * due.sqrt(),
        };
        let waiting = due - random - to_f64(ended);
        (waiting > 0.0 && ended > 0).then(|| (name, waiting / to_f64(ended)))
    };
    ended.into_iter().filter_map(share).collect()
}

/// Late ops or rows, and all.
fn late(
    place: &Place<'_>,
    bound: usize,
    units_per_op: u64,
    waiting: &BTreeMap<&str, f64>,
) -> [u64; 2] {
    let units_per_op = units_per_op.max(1);
    let ended = place.counts.ended.saturating_mul(units_per_op);
    let waiting = waiting.get(place.stream.name.as_str()).copied().unwrap_or(0.0);
    let waiting = round_to_u64(waiting * to_f64(ended));
    let late = place.counts.over.get(bound).copied().unwrap_or(0);
    [late + waiting, ended + waiting]
}

/// The largest fraction of misses, with its counts.
fn worst(parts: impl Iterator<Item = [u64; 2]>) -> ObjectiveSoFar {
    let share = |[missed, counted]: &[u64; 2]| ratio(*missed, *counted);
    let counted = parts.filter(|[_, counted]| *counted > 0);
    match counted.max_by(|a, b| share(a).total_cmp(&share(b))) {
        Some([missed, counted]) => ObjectiveSoFar::Part { missed, counted },
        None => ObjectiveSoFar::Nothing,
    }
}

/// The rate of the slowest stream among those with the unit of the plan's first one. A stream without acknowledged work
/// is the slowest, unless all its sessions belong to other shares.
fn slowest(names: &KeyNames, places: &[Place<'_>], seconds: f64) -> ObjectiveSoFar {
    let Some(unit) = names.streams.first().map(|stream| stream.unit) else {
        return ObjectiveSoFar::Nothing;
    };
    let has_sessions = |at: usize| {
        let mut blocks = names.blocks.iter();
        blocks.any(|block| block.stream == at && !block.slots.is_empty())
    };
    let mut by_stream: BTreeMap<&str, u64> = names
        .streams
        .iter()
        .enumerate()
        .filter(|(at, stream)| stream.unit == unit && has_sessions(*at))
        .map(|(_, stream)| (stream.name.as_str(), 0))
        .collect();
    for place in places.iter().filter(|place| place.stream.unit == unit) {
        let units = match unit {
            Unit::Rows => place.counts.rows_acknowledged,
            Unit::Queries | Unit::Transactions => place.counts.acknowledged,
        };
        *by_stream.entry(&place.stream.name).or_default() += units;
    }
    match by_stream.into_values().min() {
        Some(units) if seconds > 0.0 => ObjectiveSoFar::Rate { per_s: to_f64(units) / seconds },
        _ => ObjectiveSoFar::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::SessionBlock;
    use highwater_model::units::{Nanos, Rate};

    /// A warm-up and a measured phase, of one stream with two ops.
    fn names() -> KeyNames {
        KeyNames {
            phases: ["warm-up", "measure"].map(str::to_owned).to_vec(),
            is_measured: vec![false, true],
            streams: vec![StreamName {
                name: "writes".to_owned(),
                unit: Unit::Rows,
                units_per_op: 10,
                is_closed: true,
                arrivals: Arrivals::Constant,
            }],
            offered: Vec::new(),
            ops: ["insert", "upsert"].map(str::to_owned).to_vec(),
            blocks: Vec::new(),
            start: Nanos::ZERO,
        }
    }

    /// Keys of the two ops in each phase.
    const WARM: [usize; 2] = [0, 1];
    const MEASURED: [usize; 2] = [2, 3];

    fn latency(op: Option<&str>) -> Objective {
        Objective::Latency {
            quantile_ppm: 990_000,
            max: Nanos::from_millis(50),
            op: op.map(str::to_owned),
        }
    }

    /// This many ops of a key; `late` has the late ops and their rows.
    fn ended(key: usize, ops: u32, late: [u32; 2]) -> WindowDelta {
        let mut delta = WindowDelta { key, ..WindowDelta::default() };
        delta.ended.add(Nanos::ZERO, ops);
        for n in late {
            let mut over = WindowDelta::default().ended;
            over.add(Nanos::ZERO, n);
            delta.over.push(over);
        }
        delta
    }

    fn counted(key: usize, failed: u64) -> IntervalDelta {
        IntervalDelta {
            offered: 100,
            errors: failed,
            rows_acknowledged: 1_000,
            ..IntervalDelta::new(0, key)
        }
    }

    fn so_far(objectives: &[Objective], phase: usize) -> Vec<ObjectiveSoFar> {
        let mut counts =
            ObjectiveCounts { objectives: objectives.to_vec(), by_key: BTreeMap::new() };
        // All ops miss in the warm-up; then one op of a hundred, two of the other op, and three of its rows.
        for (key, late) in [(WARM[0], [100, 1_000]), (MEASURED[0], [1, 0]), (MEASURED[1], [2, 3])] {
            counts.add_windows(&ended(key, 100, late));
        }
        for (key, failed) in [(WARM[1], 100), (MEASURED[0], 0), (MEASURED[1], 4)] {
            counts.add(&counted(key, failed));
        }
        counts.so_far(&names(), phase, 4.0, Some(0.5))
    }

    #[test]
    fn the_op_that_is_nearest_to_a_miss_counts_and_the_warm_up_does_not() {
        let part = |missed, counted| ObjectiveSoFar::Part { missed, counted };
        let objectives = [
            latency(None),
            Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::SECOND },
            Objective::Errors { max_ppm: 1_000 },
            Objective::Rejected { max_ppm: 0 },
            Objective::Throughput { min: Rate::per_second(1) },
            Objective::Cpu { max_ppm: 800_000 },
        ];
        assert_eq!(
            so_far(&objectives, 1),
            [
                part(2, 100),
                part(3, 1_000),
                part(4, 100),
                part(0, 100),
                // Two ops of 1,000 rows each in four seconds.
                ObjectiveSoFar::Rate { per_s: 500.0 },
                ObjectiveSoFar::Cpu { busy: 0.5 },
            ]
        );
        assert_eq!(so_far(&objectives, 0), [], "a warm-up meets and misses nothing");
    }

    /// Of 295 ops that were due 1.05 s ago, the first 200 have ended.
    #[test]
    fn ops_that_wait_longer_than_the_limit_are_late_before_they_end() {
        let late = |arrivals, offered| {
            let mut names = names();
            names.streams[0].arrivals = arrivals;
            names.offered = vec![vec![None], vec![offered]];
            let mut counts =
                ObjectiveCounts { objectives: vec![latency(None)], ..Default::default() };
            for key in MEASURED {
                counts.add_windows(&ended(key, 100, [0, 0]));
            }
            counts.so_far(&names, 1, 4.0, None)
        };
        let part = |missed, counted| [ObjectiveSoFar::Part { missed, counted }];
        assert_eq!(late(Arrivals::Constant, Some(1_000.0)), part(48, 148));
        assert_eq!(late(Arrivals::Poisson, Some(1_000.0)), part(5, 105));
        assert_eq!(late(Arrivals::Poisson, Some(800.0)), part(0, 100));
        assert_eq!(late(Arrivals::Constant, None), part(0, 100));
    }

    #[test]
    fn a_stream_of_this_share_that_makes_nothing_does_least() {
        let mut names = names();
        names.streams.push(StreamName { name: "idle".to_owned(), ..names.streams[0].clone() });
        let mut counts = ObjectiveCounts {
            objectives: vec![Objective::Throughput { min: Rate::per_second(1) }],
            by_key: BTreeMap::new(),
        };
        // The measured phase's first stream and op.
        counts.add(&counted(4, 0));
        let rate = |per_s| [ObjectiveSoFar::Rate { per_s }];
        assert_eq!(counts.so_far(&names, 1, 4.0, None), rate(250.0));
        names.blocks.push(SessionBlock { stream: 1, slots: 0..1, first_number: 0, begin: None });
        assert_eq!(counts.so_far(&names, 1, 4.0, None), rate(0.0));
    }

    #[test]
    fn an_objective_of_one_op_is_about_that_alone() {
        let of_one = [latency(Some("insert")), latency(Some("another"))];
        assert_eq!(
            so_far(&of_one, 1),
            [ObjectiveSoFar::Part { missed: 1, counted: 100 }, ObjectiveSoFar::Nothing]
        );
    }
}
