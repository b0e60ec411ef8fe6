//! What the load generator's own delays add to percentiles: of each op the latency is known with
//! its delay and without it.

use highwater_model::display::{duration, percent};
use highwater_model::numbers::to_f64;
use highwater_model::plan::Objective;
use highwater_model::record::{ResultRecord, RunRecord, SchedulingClass};

use super::measured::MeasuredStream;
use super::shares::{PERCENTILES, latency_objectives};

/// A delay that no latency worth reporting notices, nanoseconds.
pub const FLOOR_NS: u64 = 1_000_000;
/// A percentile may be overstated by this share of itself.
pub const OVERSTATED_LIMIT: f64 = 0.05;

/// Where only the delays are known, they may be this part of the median latency: what they add is lost
/// in its spread.
const LAG_PART: u64 = 10;

/// The rarest percentile that a measurement stands for, millionths. Rarer ones hang on single ops.
const RAREST: u32 = 990_000;

/// A percentile with our delays and without them, nanoseconds.
#[derive(Clone, Copy)]
struct Overstated {
    name: &'static str,
    quantile_ppm: u32,
    shown: u64,
    undelayed: u64,
}

impl Overstated {
    fn by(self) -> u64 {
        self.shown.saturating_sub(self.undelayed)
    }

    fn share(self) -> f64 {
        to_f64(self.by()) / to_f64(self.shown.max(1))
    }
}

/// The percentiles whose value is known with and without the delays.
fn percentiles(result: &ResultRecord) -> impl Iterator<Item = Overstated> + '_ {
    let undelayed = result.undelayed_ns.as_ref();
    let known = |name: &str| !result.latency_ns.at_least.iter().any(|bound| bound == name);
    PERCENTILES.into_iter().filter(|(_, quantile_ppm, _)| *quantile_ppm <= RAREST).filter_map(
        move |(name, quantile_ppm, of)| {
            let (shown, undelayed) = (of(&result.latency_ns)?, of(undelayed?)?);
            known(name).then_some(Overstated { name, quantile_ppm, shown, undelayed })
        },
    )
}

/// By how much the reported percentiles are overstated at most, nanoseconds; absent where that was
/// not measured.
pub fn overstated_by(result: &ResultRecord) -> Option<u64> {
    percentiles(result).map(Overstated::by).max()
}

/// The results that are spoiled, each with its figures.
pub(super) fn places(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let objectives = &record.plan.definition.objectives;
    let mut places = Vec::new();
    for stream in measured {
        for result in stream.results.iter().filter(|result| result.open) {
            let why = match result.undelayed_ns {
                Some(_) => spoiled(result, objectives),
                None => late(result),
            };
            let place = stream.place_of(result);
            places.extend(why.map(|why| format!("{place}: {why}")));
        }
    }
    places
}

/// What helps.
pub(super) fn hint(record: &RunRecord) -> &'static str {
    let mut clients = record.clients.iter();
    if clients.any(|client| client.scheduling == SchedulingClass::NotPermitted) {
        "permit the real-time class (`ulimit -r 1`, or the capability CAP_SYS_NICE), or run the load \
         generator on a host of its own"
    } else {
        "give the load generator more idle CPU, or split the load with --share"
    }
}

/// Of a record that was made before latencies without the delay were kept.
fn late(result: &ResultRecord) -> Option<String> {
    let tenth = result.latency_ns.p50.unwrap_or(0) / LAG_PART;
    let limit = tenth.max(FLOOR_NS);
    let lag = result.client_lag_ns.p99.filter(|lag| *lag > limit)?;
    let (lag, limit) = (duration(lag), duration(limit));
    Some(format!(
        "the load generator sent ops late: client lag p99 was {lag}; the limit is {limit}"
    ))
}

/// Why a result is spoiled: a percentile is overstated by more than a share of itself that matters,
/// or a bound is missed that would be met.
fn spoiled(result: &ResultRecord, objectives: &[Objective]) -> Option<String> {
    let worst = percentiles(result)
        .filter(|of| of.share() > OVERSTATED_LIMIT)
        .filter(|of| of.by() >= FLOOR_NS);
    if let Some(of) = worst.max_by(|a, b| a.share().total_cmp(&b.share())) {
        let [share, limit] = [of.share(), OVERSTATED_LIMIT].map(percent);
        return Some(format!(
            "the load generator sent ops late, which overstates {} by {} ({share}); the limit is {limit}",
            of.name,
            duration(of.by()),
        ));
    }
    percentiles(result)
        .find(|of| decides(*of, result, objectives))
        .map(|of| {
            format!(
                "the load generator sent ops late: {} was {}, and without that {}, which is within its limit",
                of.name,
                duration(of.shown),
                duration(of.undelayed)
            )
        })
}

/// Whether a bound of this percentile of this op is missed with the delays and met without them.
fn decides(of: Overstated, result: &ResultRecord, objectives: &[Objective]) -> bool {
    let mut of_percentile = latency_objectives(objectives)
        .filter(|bound| !bound.of_rows)
        .filter(|bound| bound.ppm == of.quantile_ppm);
    of_percentile.any(|bound| {
        let is_about = bound.is_about(&result.stream, &result.op);
        is_about && of.undelayed <= bound.max.0 && bound.max.0 < of.shown
    })
}
