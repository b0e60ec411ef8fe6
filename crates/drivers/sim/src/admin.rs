//! Operations on a simulated cluster before and after the load, and the telemetry of the model: cores, queues, and
//! disks of its nodes, and rejected ops. Must not cost simulated time, except for waiting until the work in progress is
//! done.

use highwater_driver::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber, TableFeatures,
    TableReader, TargetFacts,
};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_driver::telemetry::{MetricSample, TelemetryReader, names, units};
use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::node::stall_at;
use super::parameters::{SimParameters, capacity};
use super::session::{ClusterView, INSERT_MODE, no_table};

/// Batch sizes whose capacity the facts list; the workload's batch size is not known here.
const BATCHES: [u32; 4] = [1, 100, 1_000, 10_000];

/// Dialects that it claims to understand. Statements are never read, so any dialect works: with these names, a workload
/// binds even if it has SQL for only one database. Its own name comes first, for workloads with special SQL for
/// simulation. The names are in a separate file because they are data, and no code may depend on one.
const DIALECTS: &str = include_str!("dialects.txt");

/// The connection before and after the load.
pub(super) struct SimAdmin(pub(super) ClusterView);

impl SimAdmin {
    fn create(
        &self,
        workload: &BoundWorkload,
        policy: &TablePolicy<'_>,
    ) -> Result<Vec<RegistryEntry>, UserError> {
        let mut cluster = self.0.alive()?;
        // All or nothing: no table is emptied if another one is in the way.
        for table in &workload.tables {
            if !policy.drop && cluster.table(&table.name).is_some() {
                return Err(UserError::new(
                    UserErrorKind::ForeignTable,
                    format!("target `sim:`: table `{}` exists", table.name),
                )
                .with_hint("add --drop to recreate it"));
            }
        }
        for position in 0..workload.tables.len() {
            cluster.create_table(workload, position);
        }
        let names = workload.tables.iter().map(|table| table.name.as_str());
        Ok(names.map(|name| policy.new_entry(name)).collect())
    }

    fn stored(&self, workload: &BoundWorkload) -> Result<u64, UserError> {
        let cluster = self.0.alive()?;
        workload
            .tables
            .iter()
            .map(|table| match cluster.table(&table.name) {
                Some(found) => Ok(found.stored),
                None => Err(no_table(&table.name)),
            })
            .sum()
    }

    async fn settle(&self, deadline: Nanos) -> Result<bool, UserError> {
        loop {
            let busy_until = self.0.alive()?.busy_until();
            let now = self.0.timeline.now();
            if busy_until <= now {
                return Ok(true);
            }
            if now >= deadline {
                return Ok(false);
            }
            self.0.timeline.sleep_until(busy_until.min(deadline)).await;
        }
    }
}

impl ServerAdmin for SimAdmin {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(async move {
            drop(self.0.alive()?);
            Ok(facts_of(&self.0.parameters))
        })
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(self.settle(deadline))
    }
}

impl TableAdmin for SimAdmin {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        // This process created every table here in this run: none is foreign, and no later run can continue it.
        Box::pin(async move { self.create(workload, policy) })
    }

    fn rows_inserted<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(async move { self.stored(workload).map(Some) })
    }
}

impl TableReader for SimAdmin {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        Box::pin(async move {
            let cluster = self.0.alive()?;
            match cluster.table(&table.name) {
                None => Err(no_table(&table.name)),
                Some(found) => Ok(found.count_by_key(width.max(1))),
            }
        })
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        Box::pin(async move {
            let cluster = self.0.alive()?;
            let found = cluster.table(&table.name);
            let found = found.ok_or_else(|| no_table(&table.name))?;
            found.sums_by_key(width.max(1)).ok_or_else(no_values)
        })
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            let cluster = self.0.alive()?;
            let found = cluster.table(&table.name);
            let found = found.ok_or_else(|| no_table(&table.name))?;
            if found.read_rows(ranges, take) { Ok(()) } else { Err(no_values()) }
        })
    }
}

impl TableDescriber for SimAdmin {}

fn no_values() -> UserError {
    UserError::new(
        UserErrorKind::Statement,
        "target `sim:`: the workload does not say how its rows are made".to_owned(),
    )
}

fn facts_of(parameters: &SimParameters) -> TargetFacts {
    let mut settings = parameters.settings();
    settings.insert("insert".to_owned(), INSERT_MODE.to_owned());
    settings
        .insert("capacity.queries_per_s".to_owned(), per_second(capacity(parameters, 0, false)));
    for batch in BATCHES {
        let rows = capacity(parameters, batch.into(), true) * f64::from(batch);
        settings.insert(format!("capacity.rows_per_s.batch_{batch}"), per_second(rows));
    }
    TargetFacts {
        version: "simulated cluster, model 1".to_owned(),
        dialects: DIALECTS.lines().map(str::to_owned).collect(),
        traits: traits_of(parameters),
        settings,
        // The URL sets its shards.
        tables: TableFeatures::default(),
        transactions: true,
        atomic_batches: true,
        generator_ceiling: parameters.client,
        ..TargetFacts::default()
    }
}

fn traits_of(parameters: &SimParameters) -> Vec<String> {
    let cores = match parameters.cores {
        Some(cores) => count_of(cores, "core"),
        None => "infinitely many cores".to_owned(),
    };
    vec![
        format!("{} × {cores}", count_of(parameters.nodes, "node")),
        count_of(parameters.shards, "shard"),
        count_of(parameters.replicas, "replica"),
    ]
}

fn count_of(count: u32, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn per_second(rate: f64) -> String {
    if rate.is_finite() { format!("{rate:.1}") } else { "inf".to_owned() }
}

/// Maximum nodes with their own samples; the others are similar.
const NODES_LISTED: usize = 16;

/// Reads a cluster.
pub(super) struct SimReader(pub(super) ClusterView);

impl SimReader {
    fn samples(&self) -> Result<Vec<MetricSample>, UserError> {
        let ClusterView { parameters, timeline, .. } = &self.0;
        let now = timeline.now();
        let mut cluster = self.0.alive()?;
        let rejected = cluster.planted().rejected_ops;
        let mut samples = vec![MetricSample::count(names::REJECTED, "1", to_f64(rejected))];
        if !parameters.stall.is_empty() {
            let stalled = stall_at(&parameters.stall, now).is_some();
            samples.push(MetricSample::level(
                "stalled",
                units::SHARE,
                f64::from(u8::from(stalled)),
            ));
        }
        if let Some(outages) = &cluster.outages {
            let up = f64::from(parameters.nodes) - len_to_f64(outages.nodes_down());
            samples.push(MetricSample::level(names::CLUSTER_SIZE, "1", up));
        }
        // Like servers with locks, which report no pool queue.
        let waiting_for_lock = cluster.waiting_for_lock(now);
        if let Some(waiting) = waiting_for_lock {
            let waiting = len_to_f64(waiting);
            for name in [names::LOCK_WAITS, names::LOCK_WAITS_TABLE] {
                samples.push(MetricSample::level(name, "1", waiting));
            }
        }
        let cores = parameters.cores.map(f64::from);
        let nodes = cluster.nodes().iter_mut().enumerate();
        for (number, node) in nodes.take(NODES_LISTED) {
            let snapshot = node.snapshot(now);
            let of = |sample: MetricSample| sample.on_node((number + 1).to_string());
            if let Some((occupied, cores)) = snapshot.occupied.zip(cores) {
                let busy = occupied.as_secs_f64() / cores;
                samples.push(of(MetricSample::seconds(names::CPU_BUSY, busy)));
            }
            samples.push(of(MetricSample::level(names::ACTIVE, "1", len_to_f64(snapshot.active))));
            if waiting_for_lock.is_none() {
                let waiting = len_to_f64(snapshot.waiting);
                samples.push(of(MetricSample::level(names::QUEUE, "1", waiting)));
            }
            // Without a limit, it never delays anything.
            let held = node.disk().is_some_and(|disk| disk.holds_back(now));
            let held = f64::from(u8::from(held));
            let busy = MetricSample::level(names::DISK_BUSY, units::SHARE, held);
            samples.push(of(busy));
            if let Some(disk) = node.disk() {
                let left = disk.credit_left(now);
                let left = MetricSample::level(names::DISK_CREDIT, units::SHARE, left);
                samples.push(of(left));
                let rows = to_f64(disk.rows());
                samples.push(of(MetricSample::count("disk_rows", "rows", rows)));
            }
        }
        Ok(samples)
    }
}

impl TelemetryReader for SimReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(std::future::ready(self.samples()))
    }
}
