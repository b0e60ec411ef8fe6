//! `sim:`, a queueing model of a sharded, replicated cluster whose capacity is known.
//!
//! It demonstrates everything above a driver without a database, and tests it against a known truth; with a simulated
//! clock, a ten-minute run takes a moment. `docs/reference/sim.md` describes the model.
//!
//! Must not read a clock (only the run's timeline). A response must depend only on the seed, the ops, and their arrival
//! times.

mod actions;
mod admin;
mod cluster;
mod node;
mod outages;
mod parameters;
mod session;
mod slowdown;
mod store;
mod text;
mod values;

#[cfg(test)]
mod tests;

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use highwater_model::op::{BoundOpKind, BoundWorkload, PlaceholderStyle};
use highwater_model::plan::AuditLevel;
use highwater_model::units::{Nanos, Seed};

pub use self::cluster::PlantedFaults;
pub use self::parameters::{
    Rebuild, ServiceDistribution, SimClock, SimParameters, Stall, Warm, capacity,
};
pub use self::text::PARAMETERS;

use self::actions::SimActions;
use self::admin::{SimAdmin, SimReader};
use self::cluster::Cluster;
use self::session::{ClusterView, INSERT_MODE, SimSession, alive, lock, no_table};
use highwater_driver::contract::{
    Admin, Capabilities, ClusterActions, Connect, Driver, Response, Session, Target, TargetOptions,
    Timeline,
};
use highwater_driver::target_url::TargetUrl;
use highwater_driver::telemetry::TelemetryReader;
use highwater_model::user_error::{RefusedStatement, UserError};

/// The driver for `sim:` URLs.
#[derive(Debug, Clone, Copy)]
pub struct SimDriver;

impl Driver for SimDriver {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["sim"]
    }

    fn summary(&self) -> &'static str {
        "a simulated cluster of known capacity: sim:?nodes=3&cores=4&shards=6&replicas=1"
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let [url] = urls else {
            return Err(UserError::usage(
                "target `sim:` is given more than once; it is one cluster",
            )
            .with_hint("give it once, with more `nodes`"));
        };
        match options.insert.as_deref() {
            Some(mode) if mode != INSERT_MODE => {
                return Err(UserError::usage(format!(
                    "target `{url}`: it has no insert mode `{mode}`"
                ))
                .with_hint(format!("give `--insert {INSERT_MODE}`, or leave it out")));
            }
            _ => {}
        }
        Ok(Arc::new(SimTarget::open(url, options.seed)?))
    }
}

/// A simulated cluster, shared by all its sessions.
#[derive(Debug)]
pub struct SimTarget {
    parameters: Arc<SimParameters>,
    url: String,
    cluster: Arc<Mutex<Cluster>>,
    changed: Arc<Notify>,
}

impl SimTarget {
    /// The cluster described by a URL, idle and empty; all its random numbers derive from `seed`. Fails with a usage
    /// error about the URL.
    pub fn open(url: &TargetUrl, seed: Seed) -> Result<Self, UserError> {
        if url.user.is_some() || !url.hosts.is_empty() || !url.path.is_empty() {
            return Err(UserError::usage(format!(
                "target `{url}`: the simulated cluster has no host, user or path"
            ))
            .with_hint("write `sim:` or `sim:?nodes=3&cores=4`"));
        }
        let parameters = Arc::new(SimParameters::parse(&url.parameters)?);
        let cluster = Cluster::new(Arc::clone(&parameters), seed);
        let cluster = Arc::new(Mutex::new(cluster));
        Ok(Self { parameters, url: url.to_string(), cluster, changed: Arc::default() })
    }

    /// Its parameters.
    pub fn parameters(&self) -> &SimParameters {
        &self.parameters
    }

    /// The planted faults so far, which an audit should find.
    pub fn planted(&self) -> PlantedFaults {
        lock(&self.cluster).planted()
    }
}

impl Target for SimTarget {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            embedded: true,
            simulated: true,
            simulated_clock: self.parameters.clock == SimClock::Simulated,
            // Rows are counted by index and regenerated; SQL cannot read them.
            stores_values: false,
            reads_values: false,
            unique_keys: true,
            auditable: AuditLevel::Full,
            // Its responses take no time of the run.
            audit_ns_per_row: 0,
            default_sessions: 16,
            insert_modes: &[INSERT_MODE],
        }
    }

    fn placeholders(&self) -> PlaceholderStyle {
        PlaceholderStyle::Dollar
    }

    fn urls(&self) -> Vec<String> {
        vec![self.url.clone()]
    }

    fn connect(&self, connect: Connect) -> Response<'_, Box<dyn Session>> {
        Box::pin(async move {
            // Connecting takes a round trip. Without one, a refusal still takes time, so that a retry loop ends on a
            // simulated clock.
            let now = connect.timeline.now();
            let answered = now.saturating_add(self.parameters.rtt.max(Nanos::from_micros(1)));
            connect.timeline.sleep_until(answered).await;
            drop(alive(&self.cluster, connect.timeline.now())?);
            let tables = self.prepare(&connect.workload)?;
            let session: Box<dyn Session> = Box::new(SimSession::new(
                Arc::clone(&self.cluster),
                Arc::clone(&self.changed),
                tables,
                connect.workload,
                connect.timeline,
            ));
            Ok(session)
        })
    }

    fn administer(&self, timeline: Rc<dyn Timeline>) -> Response<'_, Box<dyn Admin>> {
        Box::pin(async move {
            let view = self.view(timeline);
            drop(view.alive()?);
            Ok(Box::new(SimAdmin(view)) as Box<dyn Admin>)
        })
    }

    fn actions(&self) -> Option<Arc<dyn ClusterActions>> {
        // From now on it remembers what is in flight.
        lock(&self.cluster).outages.get_or_insert_default();
        Some(Arc::new(SimActions {
            parameters: Arc::clone(&self.parameters),
            cluster: Arc::clone(&self.cluster),
            changed: Arc::clone(&self.changed),
        }))
    }

    fn telemetry(
        &self,
        timeline: Rc<dyn Timeline>,
    ) -> Response<'_, Option<Box<dyn TelemetryReader>>> {
        let reader: Box<dyn TelemetryReader> = Box::new(SimReader(self.view(timeline)));
        Box::pin(std::future::ready(Ok(Some(reader))))
    }
}

impl SimTarget {
    fn view(&self, timeline: Rc<dyn Timeline>) -> ClusterView {
        ClusterView {
            parameters: Arc::clone(&self.parameters),
            cluster: Arc::clone(&self.cluster),
            timeline,
        }
    }

    /// Per op, the number of the table that it fills, or `None` if it is not an insert.
    fn prepare(&self, workload: &BoundWorkload) -> Result<Vec<Option<usize>>, UserError> {
        let cluster = lock(&self.cluster);
        workload
            .ops
            .iter()
            .enumerate()
            .map(|(number, op)| match &op.kind {
                BoundOpKind::Transaction(transaction)
                    if transaction.steps.iter().any(|step| step.answer.is_some()) =>
                {
                    let name = &op.name;
                    let message = format!("op `{name}` uses the answers to its statements");
                    let hint = "a simulated database has no answers: use a real one";
                    let place = RefusedStatement { op: number, statement: 0, position: None };
                    Err(UserError::statement(message).with_hint(hint).about(place))
                }
                // A transaction is served as one query.
                BoundOpKind::Query { .. }
                | BoundOpKind::Literal(_)
                | BoundOpKind::Transaction(_) => Ok(None),
                BoundOpKind::Insert { table, .. } => {
                    let name = workload.tables.get(*table).map_or("", |table| &table.name);
                    match cluster.table_number(name) {
                        Some(number) => Ok(Some(number)),
                        None => Err(no_table(name)),
                    }
                }
            })
            .collect()
    }
}
