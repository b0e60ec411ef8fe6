//! A growth: the sizes that the policy of `highwater_analysis::growth` selects, each as a run, or as a nested search or
//! tuning.
//!
//! The policy decides which size is next; `highwater_sizing::growth` predicts its rate.
//!
//! A growth resizes its cluster by the interface here, which returns the URLs of the next size. An implementation may
//! use existing clusters of several sizes, or start one for each size.

use std::collections::BTreeMap;

use highwater_analysis::growth as policy;
use highwater_analysis::growth::{GrowthStep, figures};
use highwater_cluster as cluster;
use highwater_driver::TargetUrl;
use highwater_driver::clock::RealClock;
use highwater_driver::telemetry::LimitedNode;
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::record::{ExperimentRecord, Question, RecordRef, RunRecord};
use highwater_model::scale::{
    ClusterStart, PredictedRate, ScaleEach, ScaleOutcome, ScalePurpose, ScaleRecord, ScaleSize,
    ScaleTrial,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_sizing::growth::predicted;

use crate::trial_loop::{
    BudgetShortfall, Experiment, FinishedTrial, UpcomingTrial, loaded, number, progress, took,
};
use crate::trials::NextTrial;

/// Settings that may depend on the size without changing a table; of `rows`, only the missing ones are loaded.
const LEAVE_TABLES: [&str; 6] = ["batch", "max", "rate", "rows", "sessions", "start"];

/// A trial at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizedTrial {
    /// Why it is measured.
    pub purpose: ScalePurpose,
    /// The size.
    pub size: ScaleSize,
    /// The node that is measured alone; `None` for a size.
    pub node: Option<u32>,
    /// The predicted rate.
    pub predicted: Option<PredictedRate>,
    /// Its rows exist from an earlier trial of this growth, which began with new tables.
    pub remakes_tables: bool,
    /// It continues with the tables of the previous sizes.
    pub keeps_tables: bool,
}

impl SizedTrial {
    /// Name of its directory.
    pub fn name(&self, number: u32) -> String {
        let nodes = self.size.nodes;
        match (self.node, self.purpose) {
            (Some(node), _) => format!("node-{node:02}-alone"),
            (None, ScalePurpose::Again) => format!("{number:02}-nodes-{nodes}-again"),
            (None, _) => format!("{number:02}-nodes-{nodes}"),
        }
    }
}

impl Experiment for ScaleRecord {
    type Trial = SizedTrial;

    fn next(&mut self) -> Option<UpcomingTrial<SizedTrial>> {
        let (size, purpose) = match policy::next(self) {
            GrowthStep::Measure { size, purpose } => (size, purpose),
            GrowthStep::Alone(node) => return Some(alone(self, node)),
            GrowthStep::End(outcome) => {
                self.outcome = Some(outcome);
                return None;
            }
        };
        // A size that was already measured would predict itself too well.
        let predicted = predicted(self, size.nodes).filter(|_| purpose != ScalePurpose::Again);
        let before = self.trials.iter().find(|trial| {
            let same_tables = self.start == ClusterStart::Grow || trial.size == size;
            same_tables && trial.figures.judgments.is_some()
        });
        let keeps_tables = purpose == ScalePurpose::Grow && before.is_some() && keeps_tables(self);
        let made_before = before.is_some_and(|trial| !trial.figures.continued);
        let trial = SizedTrial {
            purpose,
            node: None,
            remakes_tables: made_before && !keeps_tables,
            keeps_tables,
            size,
            predicted,
        };
        Some(planned(self, trial, number(&self.trials)))
    }

    fn keep(&mut self, requested: NextTrial<SizedTrial>, finished: FinishedTrial<'_>) -> Event {
        let nested = finished.nested.map(RecordRef::Experiment);
        let record = nested.or(finished.record.map(RecordRef::Run));
        let (took_ns, loaded_ns) = match (finished.nested, finished.record) {
            (Some(experiment), _) => (took_nested(experiment), experiment.loaded_ns),
            (None, Some(run)) => (took(run), loaded(run)),
            (None, None) => (0, 0),
        };
        let ready = finished.ready;
        let trial = ScaleTrial {
            number: requested.number,
            purpose: requested.trial.purpose,
            node: requested.trial.node,
            size: requested.trial.size,
            predicted: requested.trial.predicted,
            figures: figures(&self.stream, record),
            started_at: finished.started_at,
            took_ns: took_ns.saturating_add(finished.settled.0).saturating_add(ready.took.0),
            ready_ns: ready.took.0.saturating_add(loaded_ns),
            before_quota: ready.before_quota,
            run: finished.run,
        };
        match trial.node {
            Some(_) => self.alone.trials.push(trial.clone()),
            None => self.trials.push(trial.clone()),
        }
        let unit = self.unit;
        let trial = Box::new(trial);
        Event::Sized { trial, unit }
    }

    fn take_over(&mut self, recorded: Question) -> bool {
        let Question::Scale(other) = recorded else {
            return false;
        };
        let trials = |scale: &Self| scale.alone.trials.len() + scale.trials.len();
        let is_same = other.definition_hash == self.definition_hash;
        let accepts = is_same && trials(&other) >= trials(self);
        if accepts {
            (self.alone.trials, self.trials) = (other.alone.trials, other.trials);
        }
        accepts
    }

    fn take_back(&mut self) -> bool {
        self.outcome = None;
        let last = self.trials.pop().or_else(|| self.alone.trials.pop());
        last.is_some()
    }

    fn interrupt(&mut self) {
        self.outcome = Some(ScaleOutcome::Interrupted);
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        policy::conclude(last, self.clone(), id)
    }

    fn budget_shortfall(&self) -> BudgetShortfall {
        BudgetShortfall { probe: Nanos(self.trial_cost_ns), confirmations: 0 }
    }

    /// Each size has a separate cluster, or one that changes between two sizes.
    fn holds_tables(&self) -> bool {
        false
    }
}

/// Whether a larger size continues with the tables of the previous ones, as after an operator adds nodes. Not if the
/// tables of two sizes differ, or if the trials of a tuning create their own.
fn keeps_tables(scale: &ScaleRecord) -> bool {
    let mut of_tables = scale
        .sizes
        .iter()
        .flat_map(|size| size.settings.keys())
        .filter(|name| !LEAVE_TABLES.contains(&name.as_str()));
    scale.start == ClusterStart::Grow && scale.each != ScaleEach::Tune && of_tables.next().is_none()
}

/// A trial of a single node, in a cluster of one.
fn alone(scale: &ScaleRecord, node: u32) -> UpcomingTrial<SizedTrial> {
    let trial = SizedTrial {
        purpose: ScalePurpose::Alone,
        size: ScaleSize { nodes: 1, settings: scale.alone.settings.clone() },
        node: Some(node),
        predicted: None,
        remakes_tables: false,
        keeps_tables: false,
    };
    planned(scale, trial, number(&scale.alone.trials))
}

/// The next trial, with the progress of the growth.
fn planned(scale: &ScaleRecord, trial: SizedTrial, number: u32) -> UpcomingTrial<SizedTrial> {
    let all = scale.alone.trials.iter().chain(&scale.trials);
    let took: Vec<u64> = all.clone().map(ScaleTrial::budgeted_ns).collect();
    let ready = all.map(|trial| trial.ready_ns).fold(0, u64::saturating_add);
    let ready = ready.checked_div(took.len() as u64).unwrap_or(0);
    let sizes = u32::try_from(scale.sizes.len()).unwrap_or(u32::MAX);
    let most = sizes.saturating_add(1).saturating_add(scale.alone.nodes);
    let (cost, budget) = (Nanos(scale.trial_cost_ns), scale.budget_ns.map(Nanos));
    let progress = progress(took.into_iter(), most, cost, budget);
    let to_come = u64::from(progress.most.saturating_sub(progress.done));
    // Making a size ready is not in the budget.
    let left = progress.left.0.saturating_add(ready.saturating_mul(to_come));
    UpcomingTrial {
        number,
        name: trial.name(number),
        about: Trial::Size {
            purpose: trial.purpose,
            nodes: trial.size.nodes,
            variant: scale.variant.as_ref().map(|variant| variant.name.clone()),
            node: trial.node,
            predicted: trial.predicted,
            unit: scale.unit,
        },
        progress: ExperimentProgress { left: Nanos(left), ..progress },
        is_nested: trial.node.is_none() && scale.each != ScaleEach::Run,
        trial,
    }
}

/// The total duration of the trials of a search or a tuning.
fn took_nested(experiment: &ExperimentRecord) -> u64 {
    let all: Vec<u64> = match &experiment.question {
        Question::Search(search) => {
            let took =
                search.probes.iter().map(|probe| probe.took_ns.saturating_add(probe.settled_ns));
            took.collect()
        }
        Question::Tune(tune) => tune.trials.iter().map(|trial| trial.took_ns).collect(),
        Question::Group(_) | Question::Scale(_) => vec![took(&experiment.last_run)],
    };
    all.into_iter().fold(0, u64::saturating_add)
}

/// A cluster at one size.
#[derive(Debug)]
pub struct ResizedCluster {
    /// Its URLs.
    pub urls: Vec<TargetUrl>,
    /// URLs of its nodes' metrics.
    pub metrics: Vec<String>,
    /// How long resizing took; 0 for an existing cluster.
    pub took: Nanos,
}

/// A cluster that can take several sizes, one after the other.
pub trait Cluster {
    /// Resizes the cluster, waits until it is ready for a load with balanced data, and returns its URLs. With
    /// [`ClusterStart::Fresh`] it is a new cluster without anything of earlier ones. With [`ClusterStart::Grow`] it is
    /// the previous one with more nodes, or a new one if there was none or if it was larger. Returns early if the user
    /// stops.
    ///
    /// # Errors
    /// `Unreachable` if it did not become ready: it may be retried.
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<ResizedCluster, UserError>;

    /// Starts this node alone, as a new cluster of one; the next size begins with a new cluster.
    ///
    /// # Errors
    /// Same as [`Cluster::resize`]; an existing cluster has no nodes that could be started.
    fn alone(&mut self, _node: u32) -> Result<ResizedCluster, UserError> {
        Err(UserError::usage("no node can be started alone"))
    }

    /// Whether the CPU quotas of its nodes begin only after the warm-up.
    fn awaits_warm_up(&self) -> bool {
        false
    }

    /// Starts those quotas.
    ///
    /// # Errors
    /// They cannot be set.
    fn begin_quota(&mut self) -> Result<(), UserError> {
        Ok(())
    }

    /// The nodes of this machine that run with a CPU quota, which the machine's own CPU use does not show.
    fn limited_nodes(&self) -> Vec<LimitedNode> {
        Vec::new()
    }

    /// Ends everything that it started; also after a failure.
    ///
    /// # Errors
    /// Something cannot be ended; the rest is still ended.
    fn end(&mut self) -> Result<(), UserError>;
}

/// A cluster that is started for each size, from a cluster file.
pub struct StartedCluster {
    cluster: cluster::Cluster,
    /// The running cluster is a single node that was measured alone.
    is_alone: bool,
}

impl StartedCluster {
    /// From a cluster that is not up yet.
    pub fn new(cluster: cluster::Cluster) -> Self {
        Self { cluster, is_alone: false }
    }

    /// Its current URLs, and how long resizing took.
    fn made(&mut self, clock: &RealClock) -> Result<ResizedCluster, UserError> {
        let urls = self.cluster.urls()?;
        let urls = urls.iter().map(|url| TargetUrl::parse(url));
        let nodes = self.cluster.nodes()?;
        Ok(ResizedCluster {
            urls: urls.collect::<Result<_, _>>()?,
            metrics: nodes.into_iter().flat_map(|node| node.metrics).collect(),
            took: clock.now(),
        })
    }
}

impl Cluster for StartedCluster {
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<ResizedCluster, UserError> {
        let clock = RealClock::start();
        let grows = start == ClusterStart::Grow && !std::mem::take(&mut self.is_alone);
        // A cluster that was shrunk is not equivalent to a new one.
        if grows && (1..=nodes).contains(&self.cluster.size()) {
            self.cluster.resize(nodes)?;
        } else {
            self.cluster.fresh(nodes)?;
            self.cluster.restore()?;
        }
        self.made(&clock)
    }

    fn alone(&mut self, node: u32) -> Result<ResizedCluster, UserError> {
        let clock = RealClock::start();
        self.is_alone = true;
        self.cluster.alone(node)?;
        self.cluster.restore()?;
        self.made(&clock)
    }

    fn awaits_warm_up(&self) -> bool {
        self.cluster.awaits_warm_up()
    }

    fn begin_quota(&mut self) -> Result<(), UserError> {
        self.cluster.begin_quota()
    }

    fn limited_nodes(&self) -> Vec<LimitedNode> {
        self.cluster.limited_nodes()
    }

    fn end(&mut self) -> Result<(), UserError> {
        self.cluster.down()
    }
}

/// Existing or simulated clusters: one for each size.
#[derive(Debug, Clone)]
pub struct ReadyClusters {
    /// Their URLs, by number of nodes.
    pub by_nodes: BTreeMap<u32, Vec<TargetUrl>>,
}

impl Cluster for ReadyClusters {
    fn resize(&mut self, nodes: u32, _: ClusterStart) -> Result<ResizedCluster, UserError> {
        let urls = self
            .by_nodes
            .get(&nodes)
            .cloned()
            .ok_or_else(|| UserError::usage(format!("there is no cluster of {nodes} nodes")))?;
        Ok(ResizedCluster { urls, metrics: Vec::new(), took: Nanos::ZERO })
    }

    fn end(&mut self) -> Result<(), UserError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_kept_if_nodes_are_added_and_no_size_needs_different_ones() {
        let of = |start, each, names: &[&str]| {
            let settings = names.iter().map(|name| ((*name).to_owned(), "8".to_owned()));
            keeps_tables(&ScaleRecord {
                start,
                each,
                sizes: vec![ScaleSize { nodes: 1, settings: settings.collect() }],
                ..ScaleRecord::default()
            })
        };
        let (grow, fresh) = (ClusterStart::Grow, ClusterStart::Fresh);
        assert!(of(grow, ScaleEach::Run, &["sessions", "rows"]));
        assert!(of(grow, ScaleEach::Find, &["max"]));
        assert!(!of(grow, ScaleEach::Run, &["sessions", "shards"]));
        assert!(!of(grow, ScaleEach::Run, &["hosts"]));
        assert!(!of(grow, ScaleEach::Tune, &[]));
        assert!(!of(fresh, ScaleEach::Run, &[]));
    }
}
