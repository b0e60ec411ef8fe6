//! Growing clusters: their capacity at each size, and how their sizes are measured.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use highwater_driver::TargetUrl;
use highwater_driver_sim::{SimParameters, capacity};
use highwater_experiment::trials::{NextTrial, PreparedTrial, TrialMaker, TrialPlace};
use highwater_experiment::{ExperimentRun, SizedTrial, run};
use highwater_model::limit::Resource;
use highwater_model::plan::{AuditLevel, Unit};
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ClusterStart, NodesAlone, ScaleEach, ScaleRecord, ScaleSize};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::store::RunDirectory;

use crate::hunting::{Hunt, nanos, whole};
use crate::making::Watched;
use crate::marks::Dice;
use crate::support::{Job, closed};

/// Rows of a batch: divisible by each number of nodes here.
const BATCH: u32 = 24;
/// Seeds cycle through this many kinds of growth.
pub(super) const KINDS: u64 = 9;

/// Capacity by number of nodes, as a multiple of one node's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Linear,
    /// Each additional node adds 0.8 of the previous one's capacity.
    Rule,
    /// Amdahl's law with this contention.
    Contention(f64),
    /// The universal scalability law with this contention and this peak.
    Crosstalk {
        contention: f64,
        peak: f64,
    },
    /// Linear up to this many nodes, then constant.
    Limit(f64),
    /// Linear, but with two or more nodes each shard has a replica, which costs this many times as much as the shard.
    Replica(f64),
    /// Linear, but this fraction of all rows belongs to one shard.
    HotShard(f64),
    /// Linear, but the load generator sends at most this many times one node's capacity.
    Client(f64),
}

impl Shape {
    /// The name of the kind.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Rule => "0.8 rule",
            Self::Contention(_) => "contention",
            Self::Crosstalk { .. } => "crosstalk with a peak",
            Self::Limit(_) => "linear up to a limit",
            Self::Replica(_) => "a replica from two nodes on",
            Self::HotShard(_) => "a hot shard",
            Self::Client(_) => "a load generator that gives out",
        }
    }

    /// Capacity for the work of rows; the other kinds' effects are in the parameters of the cluster.
    fn at(self, nodes: u32) -> f64 {
        let n = f64::from(nodes);
        match self {
            Self::Linear | Self::Replica(_) | Self::HotShard(_) | Self::Client(_) => n,
            Self::Rule => (1..nodes).map(|before| 1.0 + 0.8 / f64::from(before)).product(),
            Self::Contention(contention) => n / (1.0 + contention * (n - 1.0)),
            Self::Crosstalk { contention, peak } => {
                let crosstalk = (1.0 - contention) / (peak * peak);
                n / (1.0 + contention * (n - 1.0) + crosstalk * n * (n - 1.0))
            }
            Self::Limit(most) => n.min(most),
        }
    }

    /// Replicas of each shard.
    fn replicas(self, nodes: u32) -> u32 {
        u32::from(matches!(self, Self::Replica(_)) && nodes > 1)
    }

    /// The limit of a cluster of this size.
    pub(super) fn limit(self, nodes: u32) -> Resource {
        match self {
            Self::HotShard(_) if nodes > 1 => Resource::HotNode,
            Self::Client(most) if f64::from(nodes) > most => Resource::LoadGenerator,
            _ => Resource::Cpu,
        }
    }
}

/// A growing cluster.
pub(super) struct Growing {
    pub(super) shape: Shape,
    /// Rows per second of one node.
    pub(super) one: f64,
    pub(super) nodes: Vec<u32>,
    pub(super) each: ScaleEach,
    /// The variation of service times, which determines how many ops a probe needs.
    pub(super) service: (&'static str, f64),
    pub(super) seed: u64,
    /// How much slower the machine is at the end than at the beginning.
    pub(super) drift: f64,
    /// Number of sizes started so far.
    pub(super) made: Cell<u32>,
    /// Each node's capacity alone, relative to its nominal one; empty: no node is measured alone.
    pub(super) of_nodes: Vec<f64>,
    /// With this many nodes, nothing responds.
    pub(super) gone: Option<u32>,
}

impl Growing {
    pub(super) fn new(shape: Shape, nodes: &[u32]) -> Self {
        Self {
            shape,
            one: 1_000.0,
            nodes: nodes.to_vec(),
            each: ScaleEach::Find,
            service: ("constant", 1_500.0),
            seed: 1,
            drift: 0.0,
            made: Cell::new(0),
            of_nodes: Vec::new(),
            gone: None,
        }
    }

    /// The cluster of a seed. How often predictions hold depends on the distribution of clusters, so contention and
    /// peaks have the ranges of `predictions_of_next_sizes_hold_on_clusters_of_known_growth`.
    pub(super) fn seeded(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_add(11 << 32));
        let (contention, peak) = (dice.between(0.02, 0.3), dice.between(2.0, 12.0));
        let shape = match seed % KINDS {
            0 => Shape::Linear,
            1 => Shape::Rule,
            2 | 3 => Shape::Contention(contention),
            4 => Shape::Crosstalk { contention, peak },
            5 => Shape::Limit(peak),
            6 => Shape::Replica(dice.between(0.5, 1.0)),
            7 => Shape::HotShard(dice.between(0.25, 0.5)),
            // Below two thirds of its ceiling, a load generator is not considered a limit.
            _ => Shape::Client(dice.between(3.1, 3.8)),
        };
        let nodes: [&[u32]; 5] =
            [&[1, 2, 3, 4], &[1, 2, 4, 8], &[3, 6, 12], &[2, 3, 4, 6], &[1, 2, 3, 4, 6]];
        let nodes = match shape {
            Shape::Replica(_) | Shape::HotShard(_) => dice.one_of(&nodes[..2]),
            Shape::Client(_) => nodes[1],
            _ => dice.one_of(&nodes),
        };
        Self { one: dice.between(500.0, 2_000.0), seed: 1_000 * seed, ..Self::new(shape, nodes) }
    }

    fn target(&self, nodes: u32, slower: f64) -> String {
        let row_ns = whole(slower * f64::from(nodes) / (self.one * self.shape.at(nodes)) * 1e9);
        let die = if self.gone == Some(nodes) { "&die=0s" } else { "" };
        let service = self.service.0;
        let replicas = self.shape.replicas(nodes);
        let special = match self.shape {
            Shape::Replica(cost) => format!("&replica_cost={cost}"),
            Shape::HotShard(part) => format!("&hot_shard={part}"),
            Shape::Client(most) => format!("&client={}", whole(most * self.one)),
            _ => String::new(),
        };
        format!(
            "sim:?nodes={nodes}&cores=1&shards={nodes}&replicas={replicas}&request=0&row={row_ns}ns\
             &queue=inf&service={service}{special}{die}"
        )
    }

    /// Capacity of this many nodes in rows per second, on a machine that did not drift.
    pub(super) fn truth(&self, nodes: u32) -> f64 {
        let url = TargetUrl::parse(&self.target(nodes, 1.0)).unwrap();
        let parameters = SimParameters::parse(&url.parameters).unwrap();
        capacity(&parameters, BATCH.into(), true) * f64::from(BATCH)
    }

    /// The target of the next trial, with the drift so far.
    fn next_target(&self, nodes: u32) -> String {
        let made = self.made.replace(self.made.get() + 1);
        let all = f64::from(u32::try_from(self.nodes.len()).unwrap());
        self.target(nodes, 1.0 + self.drift * f64::from(made) / all)
    }

    /// The settings that depend on the size, as on the command line.
    fn settings(&self, nodes: u32) -> BTreeMap<String, String> {
        let is_given = matches!(self.shape, Shape::Replica(_));
        let replicas = self.shape.replicas(nodes).to_string();
        let replicas = is_given.then(|| ("replicas".to_owned(), replicas));
        replicas.into_iter().collect()
    }

    pub(super) fn scale(&self) -> ScaleRecord {
        let sizes = self
            .nodes
            .iter()
            .map(|nodes| ScaleSize { nodes: *nodes, settings: self.settings(*nodes) });
        ScaleRecord {
            each: self.each,
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            targets: vec!["sim:?nodes={nodes}".to_owned()],
            cluster_file: None,
            without_quotas: false,
            rows_everywhere: false,
            sizes: sizes.collect(),
            start: ClusterStart::Fresh,
            until_per_s: None,
            over: Vec::new(),
            price_per_node_hour: None,
            budget_ns: None,
            trial_cost_ns: 1,
            definition_hash: String::new(),
            variant: None,
            alone: NodesAlone {
                nodes: u32::try_from(self.of_nodes.len()).unwrap(),
                trial_cost_ns: u64::from(!self.of_nodes.is_empty()),
                ..NodesAlone::default()
            },
            trials: Vec::new(),
            outcome: None,
        }
    }

    pub(super) fn grow(
        &self,
        root: &Path,
        scale: ScaleRecord,
    ) -> Result<ExperimentRecord, UserError> {
        self.grow_watched(root, scale, &Watched::silent())
    }

    /// A growth that alternates with others.
    pub(super) fn side(&self, root: &Path) -> ExperimentRun<'_, ScaleRecord, Self> {
        let first = self.job(self.nodes[0], &self.target(self.nodes[0], 1.0));
        let first = first.plan(&first.workload(), 16);
        ExperimentRun {
            experiment: self.scale(),
            directory: RunDirectory::create(root, "growth", &first)
                .unwrap()
                .with_page(|record| highwater_report::html(record)),
            maker: self,
            pauses: Vec::new(),
            share: None,
        }
    }

    pub(super) fn grow_watched(
        &self,
        root: &Path,
        scale: ScaleRecord,
        watched: &Watched,
    ) -> Result<ExperimentRecord, UserError> {
        let side = ExperimentRun { experiment: scale, ..self.side(root) };
        run(side, Nanos::ZERO, &watched.observer, &watched.interrupts)
    }

    pub(super) fn whole(&self) -> ExperimentRecord {
        let root = tempfile::tempdir().unwrap();
        self.grow(root.path(), self.scale()).unwrap()
    }

    fn job(&self, nodes: u32, target: &str) -> Job {
        let mut job = Job::new(target, &[("insert", closed(4 * nodes))]);
        job.settings = vec![("batch", BATCH.to_string())];
        job.sessions = 4 * nodes;
        job.warm_up = Nanos::from_secs(3);
        // Only rates are compared: summing values would be more than half of the work.
        job.audit = AuditLevel::Count;
        job.step = self.length(nodes, 2.0);
        job.seed = self.seed;
        job
    }

    /// This many times the duration of the ops that a probe needs.
    fn length(&self, nodes: u32, times: f64) -> Nanos {
        let ops_per_s = self.truth(nodes) / f64::from(BATCH);
        nanos((times * self.service.1 / ops_per_s).clamp(10.0, 900.0))
    }
}

impl TrialMaker<SizedTrial> for Growing {
    fn prepare<'a>(
        &'a self,
        requested: &'a NextTrial<SizedTrial>,
        _: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let nodes = requested.trial.size.nodes;
        let target = match requested.trial.node {
            Some(node) => {
                self.target(nodes, 1.0 / self.of_nodes[usize::try_from(node).unwrap() - 1])
            }
            None => self.next_target(nodes),
        };
        let mut job = self.job(nodes, &target);
        job.seed += u64::from(requested.number);
        let plan = job.plan(&job.workload(), 16);
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            let target = job.open_target(directory.path());
            Ok(job.request_in(target, plan, directory))
        }))
    }

    fn nested(
        &self,
        requested: &NextTrial<SizedTrial>,
        place: &TrialPlace,
    ) -> Result<ExperimentRecord, UserError> {
        let nodes = requested.trial.size.nodes;
        let mut hunt = Hunt::new(&self.next_target(nodes), "insert");
        hunt.job.settings = vec![("batch", BATCH.to_string())];
        hunt.job.seed = self.seed + 100 * u64::from(requested.number);
        hunt.probe = self.length(nodes, 1.0);
        hunt.confirm = self.length(nodes, 2.0);
        hunt.nested(place)
    }
}
