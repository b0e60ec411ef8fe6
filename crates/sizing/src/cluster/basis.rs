//! The basis of a plan: measured points of one series, prepared, and how they grow.
//!
//! The points come from a reader of files and records. They are filtered (nodes, copies, latency), weighted, and, if
//! they are too few, given the growth of published clusters. Must not plan.

use std::collections::BTreeSet;

use super::plan::{Origin, WithOrigin};
use crate::plausibility::{self, ModelRequest};
use crate::scaling::{
    Average, Copies, Forecast, Growth, Placement, Point as Size, PooledGrowth, ReplicaCost,
    ScalingModel, Sweep, SweepError, assumed_replica_cost, known, measured_replica_cost,
    replicas_leave,
};
use crate::series::{Point, SeriesSet, names};
use highwater_model::display;
use highwater_model::numbers::round_to_u32;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a size counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeAxis {
    /// Nodes of a cluster.
    Nodes,
    /// Virtual CPUs of each node, with a fixed number of nodes.
    Vcpus,
}

impl SizeAxis {
    /// `nodes` or `vCPUs`.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Vcpus => "vCPUs",
        }
    }

    /// `1 node`, `5 nodes`, `16 vCPUs`.
    pub fn counted(self, count: u32) -> String {
        format!("{} {}", display::count(count.into()), self.noun_of(count))
    }

    /// `node` for one, `nodes` for several.
    pub fn noun_of(self, count: u32) -> &'static str {
        let noun = self.noun();
        if count == 1 { &noun[..noun.len() - 1] } else { noun }
    }
}

/// The measured capacity of clusters for one kind of work.
#[derive(Debug, Clone)]
pub struct Basis {
    /// `rows/s` or `queries/s`.
    pub unit: String,
    /// What the sizes count.
    pub axis: SizeAxis,
    /// Nodes of each measured size where sizes count vCPUs; 1 if not stated.
    pub machines: u32,
    /// The measured sizes.
    pub sweep: Sweep,
    /// How throughput grows.
    pub growth: Growth,
    /// The single model that growth is taken to follow; absent if all models are averaged.
    pub model: Option<ScalingModel>,
    /// Origin of the points.
    pub origin: Origin,
    /// Origin of the growth.
    pub growth_origin: Origin,
    /// The nodes that hold a row, if the points state it.
    pub placement: Option<Placement>,
    /// Replicas during the measurement.
    pub replicas: WithOrigin<f64>,
    /// Cost of a replica.
    pub replica_cost: WithOrigin<ReplicaCost>,
    /// Virtual CPUs of each measured node; absent if not stated.
    pub vcpus_per_node: Option<f64>,
    /// Primary shards of the table, the same at every size; absent if they differ or are not stated.
    pub primary_shards: Option<f64>,
    /// Whether a target was simulated: a model, not a database.
    pub simulated: bool,
    /// The database; absent if not stated.
    pub engine: Option<String>,
    /// Bytes of a row on disk, per copy; absent if not measured.
    pub stored_bytes_per_row: Option<f64>,
    /// Bytes of a row as sent; absent if not stated.
    pub sent_bytes_per_row: Option<f64>,
    /// Sentences about excluded points and missing data.
    pub notes: Vec<String>,
}

/// Options for reading points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Number of nodes for points that do not state it.
    pub nodes: Option<f64>,
    /// Relative standard deviation of one measurement, if given.
    pub error: Option<f64>,
    /// Maximum 99th percentile of latency, seconds.
    pub p99_s: Option<f64>,
    /// Cost of a replica, if given.
    pub replica_cost: Option<f64>,
    /// The single model for predictions, instead of the average of all.
    pub model: Option<ScalingModel>,
    /// Whether the points are published by others, and thus an assumption.
    pub published: bool,
}

/// The reason why points are not a basis.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BasisError {
    /// No point states its size.
    #[error("no point states how many nodes or vCPUs were measured")]
    NoNodes,
    /// All points are of runs that show no capacity.
    #[error("every figure is of a run that was stopped, or whose measurement is invalid")]
    Invalid,
    /// No point meets the latency objective.
    #[error("no measured point keeps the latency objective")]
    TooSlow,
    /// The points do not form a sweep.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl Basis {
    /// The basis from at least one point of one series.
    pub fn new(points: &[&Point], reading: &Reading) -> Result<Self, BasisError> {
        let mut notes = doubts(points, reading.model);
        let valid = of_valid_runs(points, &mut notes)?;
        let kept = in_time(&valid, reading.p99_s, &mut notes)?;
        let axis = axis(&kept, reading.nodes);
        let sized: Vec<SizedPoint<'_>> =
            kept.iter().filter_map(|point| SizedPoint::new(point, reading.nodes, axis)).collect();
        if sized.len() < kept.len() {
            let (left, noun) = (kept.len() - sized.len(), axis.noun());
            notes.push(format!("{left} of the points do not state their number of {noun}."));
        }
        let first = sized.first().ok_or(BasisError::NoNodes)?;
        let base = common_replicas(&sized);
        let sizes: Vec<Size> = sized
            .iter()
            .filter(|point| point.replicas().total_cmp(&base).is_eq())
            .map(|point| Size { size: point.size, per_s: point.point.throughput })
            .collect();
        if sizes.len() < sized.len() {
            let (left, base) = (sized.len() - sizes.len(), display::plain(base));
            notes.push(format!(
                "{left} of the points have another number of replicas than {base}: they tell what a replica costs, and \
                 nothing of the growth."
            ));
        }
        let missed = sized.iter().filter(|sized| sized.point.missed).count();
        if missed > 0 {
            let all = sized.len();
            notes.insert(0, format!(
                "WARNING: {missed} of {all} points are of runs that missed their objective: that much was reached, but not \
                 as requested."
            ));
        }
        let sweep = Sweep::new(&sizes, reading.error)?;
        let origin = origin(first.point, reading.published);
        let stated = |name: &str| sized.iter().find_map(|sized| sized.point.number(name));
        let placement = match axis {
            SizeAxis::Nodes => placement(&sized, &mut notes),
            SizeAxis::Vcpus => Some(Placement::OneMachine),
        };
        let machines = first.point.nodes().or(reading.nodes).unwrap_or(1.0);
        Ok(Self {
            unit: first.point.unit.clone(),
            axis,
            machines: round_to_u32(machines),
            growth: Growth::measured(match reading.model {
                Some(model) => Average::by(model, &sweep),
                None => Average::new(&sweep),
            }),
            model: reading.model,
            growth_origin: origin.clone(),
            placement,
            replicas: replicas(&sized, base, &origin),
            replica_cost: replica_cost(&sized, &sweep, reading.replica_cost, &origin),
            vcpus_per_node: stated(names::VCPUS_PER_NODE).filter(|_| axis == SizeAxis::Nodes),
            primary_shards: first.point.number(names::PRIMARY_SHARDS).filter(|shards| {
                let mut others = sized.iter();
                others.all(|other| other.point.number(names::PRIMARY_SHARDS) == Some(*shards))
            }),
            simulated: sized.iter().any(|sized| sized.point.simulated),
            engine: first.point.word(names::ENGINE).map(str::to_owned),
            stored_bytes_per_row: stated(names::STORED_BYTES_PER_ROW),
            sent_bytes_per_row: stated(names::BYTES_PER_ROW),
            sweep,
            origin,
            notes,
        })
    }

    /// The same points with the growth of published clusters instead of their own; if the points do not state the
    /// placement of rows, that of clusters with the placement `alike`.
    pub fn assuming(mut self, alike: Option<Placement>) -> Self {
        let placement = self.placement.or(alike).unwrap_or_default();
        self.placement = Some(placement);
        self.growth = Growth::assumed(PooledGrowth::new(&self.sweep, placement).cautious());
        let of_which = match placement {
            Placement::Divided => "clusters",
            Placement::Everywhere => "clusters in which every node holds all rows",
            Placement::OneMachine => "machines with more CPUs",
        };
        self.growth_origin = Origin::Published(format!(
            "the median of published {of_which}, {}^{:.2}, with their spread",
            self.axis.noun(),
            placement.exponent()
        ));
        if matches!(self.origin, Origin::Published(_)) {
            self.notes.push(format!(
                "The {} are those of other machines, version and data: the interval is one \
                 for clusters like theirs. Measure one size of your own.",
                self.unit
            ));
        }
        if self.model.take().is_some() {
            let unit = &self.unit;
            self.notes.push(format!("--model is not used for {unit}, whose growth is assumed."));
        }
        self
    }

    /// The forecast for `nodes` nodes with `replicas` replicas and `vcpus` virtual CPUs each (in proportion to the
    /// measured ones).
    pub fn forecast(&self, nodes: f64, replicas: f64, vcpus: Option<f64>) -> Forecast {
        let factor = replicas_leave(self.replica_cost.value, self.replicas.value, replicas);
        let power = match (vcpus, self.vcpus_per_node) {
            (Some(planned), Some(measured)) => planned / measured,
            _ => 1.0,
        };
        self.growth.forecast(nodes).scaled(factor).scaled(known(power))
    }

    /// Whether it counts rows.
    pub fn counts_rows(&self) -> bool {
        self.unit.starts_with("rows/")
    }
}

/// Whether sizes count nodes, or vCPUs if these vary and nodes do not, or if only these are stated.
fn axis(points: &[&Point], otherwise: Option<f64>) -> SizeAxis {
    let sizes = |axis| {
        let sizes = points.iter().filter_map(|point| size_of(point, otherwise, axis));
        sizes.map(f64::to_bits).collect::<BTreeSet<u64>>().len()
    };
    let (nodes, vcpus) = (sizes(SizeAxis::Nodes), sizes(SizeAxis::Vcpus));
    if nodes < 2 && vcpus > nodes { SizeAxis::Vcpus } else { SizeAxis::Nodes }
}

fn size_of(point: &Point, otherwise: Option<f64>, axis: SizeAxis) -> Option<f64> {
    match axis {
        SizeAxis::Nodes => point.nodes().or(otherwise),
        SizeAxis::Vcpus => point.number(names::VCPUS_PER_NODE),
    }
}

/// A point of a known size.
struct SizedPoint<'a> {
    point: &'a Point,
    size: f64,
}

impl<'a> SizedPoint<'a> {
    fn new(point: &'a Point, otherwise: Option<f64>, axis: SizeAxis) -> Option<Self> {
        Some(Self { point, size: size_of(point, otherwise, axis)? })
    }

    fn replicas(&self) -> f64 {
        self.point.number(names::REPLICAS).unwrap_or(0.0)
    }
}

/// The nodes that hold a row, as stated by the points.
fn placement(sized: &[SizedPoint<'_>], notes: &mut Vec<String>) -> Option<Placement> {
    let mut points = sized.iter();
    let word = points.find_map(|sized| sized.point.word(names::PLACEMENT))?;
    let placement = Placement::named(word);
    match placement {
        None => notes.push(format!(
            "Column placement: `{word}` is neither `divided` nor `everywhere`, and is not used."
        )),
        Some(Placement::Everywhere) => notes.push(
            "Every node holds all rows: how far predictions hold was shown on systems that divide their rows."
                .to_owned(),
        ),
        Some(Placement::Divided | Placement::OneMachine) => {}
    }
    placement
}

/// Points that meet the latency objective; those without a latency are kept, and named.
fn in_time<'a>(
    points: &[&'a Point],
    p99_s: Option<f64>,
    notes: &mut Vec<String>,
) -> Result<Vec<&'a Point>, BasisError> {
    let Some(limit) = p99_s else {
        return Ok(points.to_vec());
    };
    let latency = |point: &Point| point.number(names::P99_LATENCY);
    let kept: Vec<&Point> = points
        .iter()
        .filter(|point| latency(point).is_none_or(|latency| latency <= limit))
        .copied()
        .collect();
    let left_out = points.len() - kept.len();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} of {} points missed the latency objective and are left out.",
            points.len()
        ));
    }
    let silent = kept.iter().filter(|point| latency(point).is_none()).count();
    if silent > 0 {
        notes.push(format!(
            "{silent} of {} points state no 99th percentile; that they keep the latency \
             objective is assumed.",
            kept.len()
        ));
    }
    if kept.is_empty() && !points.is_empty() {
        return Err(BasisError::TooSlow);
    }
    Ok(kept)
}

/// Without the points of runs that show no capacity.
fn of_valid_runs<'a>(
    points: &[&'a Point],
    notes: &mut Vec<String>,
) -> Result<Vec<&'a Point>, BasisError> {
    let valid: Vec<&Point> = points.iter().filter(|point| !point.invalid).copied().collect();
    let left_out = points.len() - valid.len();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} of {} points are of runs that were stopped, or whose measurement is invalid, and are left out.",
            points.len()
        ));
    }
    if valid.is_empty() && !points.is_empty() {
        return Err(BasisError::Invalid);
    }
    Ok(valid)
}

/// The number of replicas of most points; the lowest one of several.
fn common_replicas(sized: &[SizedPoint<'_>]) -> f64 {
    let times = |replicas: f64| {
        sized.iter().filter(|point| point.replicas().total_cmp(&replicas).is_eq()).count()
    };
    let mut all: Vec<f64> = sized.iter().map(SizedPoint::replicas).collect();
    all.sort_by(f64::total_cmp);
    all.into_iter().rev().max_by_key(|replicas| times(*replicas)).unwrap_or(0.0)
}

/// Reasons to doubt the figures themselves.
fn doubts(points: &[&Point], requested: Option<ScalingModel>) -> Vec<String> {
    let set = SeriesSet {
        points: points.iter().map(|point| (*point).clone()).collect(),
        ..SeriesSet::default()
    };
    let warnings = plausibility::audit(&set, requested.map(ModelRequest::new).as_ref());
    let note = |warning: &plausibility::PlausibilityWarning| {
        let (message, check) = (sentence(&warning.message), sentence(&warning.check));
        format!("Is it plausible? {message} {check}")
    };
    warnings.iter().map(note).collect()
}

/// The text with a capital letter, and with a full stop unless it ends in one.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with(['.', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

fn origin(point: &Point, published: bool) -> Origin {
    let source = if point.source.is_empty() {
        point.series.clone()
    } else {
        format!("{}: {}", point.series, point.source)
    };
    if published { Origin::Published(source) } else { Origin::Measured(source) }
}

fn replicas(sized: &[SizedPoint<'_>], base: f64, origin: &Origin) -> WithOrigin<f64> {
    let stated = sized.iter().any(|sized| sized.point.number(names::REPLICAS).is_some());
    if stated {
        WithOrigin { value: base, origin: origin.clone() }
    } else {
        WithOrigin::assumed(
            base,
            "the figures do not say how many there were: a column `replicas` or `--label replicas=N` does",
        )
    }
}

fn replica_cost(
    sized: &[SizedPoint<'_>],
    sweep: &Sweep,
    given: Option<f64>,
    origin: &Origin,
) -> WithOrigin<ReplicaCost> {
    if let Some(cost) = given {
        return WithOrigin::given(known(cost), "--replica-cost");
    }
    let copies: Vec<Copies> = sized
        .iter()
        .map(|sized| Copies {
            size: sized.size,
            replicas: sized.replicas(),
            per_s: sized.point.throughput,
        })
        .collect();
    if let Some(measured) = measured_replica_cost(&copies, sweep.error()) {
        return WithOrigin { value: measured, origin: origin.clone() };
    }
    let first = sized.first().map(|sized| sized.point);
    let (rows, unknown) =
        (first.is_some_and(Point::counts_rows), first.is_some_and(Point::lacks_unit));
    let because = match (rows, unknown) {
        (true, _) => "the first replica leaves 0.6 of the throughput, 0.45 to 0.95",
        (_, true) => {
            "as of rows, because the figures do not say what they count: 0.6, 0.45 to 0.95 is left"
        }
        _ => "a query reads one copy, whichever",
    };
    WithOrigin::assumed(assumed_replica_cost(rows || unknown), because)
}

/// `5 sizes, 1 to 5 nodes, 293,147 to 1,043,659 rows/s`.
pub(super) fn measured_sizes(basis: &Basis) -> String {
    let (sizes, unit) = (basis.sweep.sizes(), &basis.unit);
    let rates = sizes.iter().map(|size| size.per_s);
    let least = rates.clone().fold(f64::INFINITY, f64::min);
    let greatest = rates.fold(0.0, f64::max);
    let noun = basis.axis.noun();
    if sizes.len() == 1 {
        let size = display::plain(basis.sweep.largest());
        let least = display::rate(least);
        let noun = basis.axis.noun_of(round_to_u32(basis.sweep.largest()));
        return format!("1 size, {size} {noun}, {least} {unit}");
    }
    let [few, many] = [basis.sweep.smallest(), basis.sweep.largest()].map(display::plain);
    let ([least, greatest], sizes) = ([least, greatest].map(display::rate), sizes.len());
    format!("{sizes} sizes, {few} to {many} {noun}, {least} to {greatest} {unit}")
}
