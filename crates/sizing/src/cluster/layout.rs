//! Shards, disk, and network of a cluster with a known number of nodes, by stated rules.
//!
//! Arithmetic over traced inputs; a result with missing inputs is left out, never invented.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use highwater_model::display::plain;
use highwater_model::numbers::round_to_u32;

use super::basis::SizeAxis;
use super::plan::{Request, WithOrigin};

/// Candidate partition lengths in days, longest first.
const PARTITION_DAYS: [f64; 6] = [365.0, 91.0, 30.0, 7.0, 1.0, 1.0 / 24.0];
/// At most this many times the shards that keep all vCPUs busy are written at once. In the benchmarking guide's table,
/// 3 times as many reduce throughput by 3%, and 4.5 times as many by 12%.
const MOST_TIMES: f64 = 3.0;
const DAY_S: f64 = 86_400.0;

/// The shards of the table that is written to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shards {
    /// Primary shards of the table, or of each partition.
    pub primaries: u32,
    /// Length of a partition in days; absent for a table without partitions, and without a retention time.
    pub partition_days: Option<f64>,
    /// Number of partitions kept.
    pub partitions: u32,
    /// Size of a primary shard in bytes when its partition is full; absent if the bytes per row are unknown.
    pub bytes: Option<f64>,
    /// Number of shards on each node, including replicas.
    pub per_node: f64,
    /// The rules in order of application, with the result of each.
    pub rules: Vec<String>,
}

/// Disk use at the end of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Size of all rows kept, in bytes, for one copy.
    pub data_bytes: f64,
    /// Size of all copies, in bytes.
    pub stored_bytes: f64,
    /// Disk space required per node, in bytes, including free space, while the nodes that may be lost are down.
    pub per_node_bytes: f64,
    /// Bytes added per day, for one copy.
    pub per_day_bytes: f64,
}

/// Network traffic at the end of the plan, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// From clients to the cluster.
    pub in_bytes_per_s: f64,
    /// From the cluster to clients.
    pub out_bytes_per_s: f64,
    /// Between nodes: rows that arrive at a node without their shard, and replication.
    pub between_bytes_per_s: f64,
    /// Through each node's network interface, both directions added.
    pub per_node_bytes_per_s: f64,
}

impl Request {
    /// Rows per second at the end of the plan; 0 for queries only.
    pub fn rows_per_s(&self) -> f64 {
        self.per_s(true)
    }

    /// Queries per second at the end of the plan; 0 for rows only.
    pub fn queries_per_s(&self) -> f64 {
        self.per_s(false)
    }

    fn per_s(&self, rows: bool) -> f64 {
        self.needs
            .iter()
            .filter(|need| need.basis.counts_rows() == rows)
            .map(|need| need.per_s.value)
            .sum::<f64>()
            * self.growth()
    }

    /// Data at the end of the plan; absent without retention or bytes per row.
    pub fn disk(&self, nodes: u32, replicas: u32) -> Option<Disk> {
        let bytes = self.stored_bytes_per_row.as_ref()?.value;
        let retention_s = self.retention_s.as_ref()?.value;
        let rows_per_s = self.rows_per_s();
        let data_bytes = rows_per_s * bytes * retention_s;
        let stored_bytes = data_bytes * f64::from(1 + replicas);
        let left = f64::from(nodes.saturating_sub(self.survive.value).max(1));
        (rows_per_s > 0.0 && self.axis() == SizeAxis::Nodes).then(|| Disk {
            data_bytes,
            stored_bytes,
            per_node_bytes: stored_bytes / left / self.guidance.value.greatest_disk_fill,
            per_day_bytes: rows_per_s * bytes * DAY_S,
        })
    }

    /// Traffic at the end of the plan; absent if the bytes of a row or a response are unknown.
    pub fn network(&self, nodes: u32, replicas: u32) -> Option<Network> {
        let bytes = |rate: f64, each: Option<f64>| {
            if rate > 0.0 { Some(rate * each?) } else { Some(0.0) }
        };
        let value = |input: &Option<WithOrigin<f64>>| input.as_ref().map(|input| input.value);
        let incoming = bytes(self.rows_per_s(), value(&self.sent_bytes_per_row))?;
        let outgoing = bytes(self.queries_per_s(), value(&self.bytes_per_answer))?;
        if self.axis() != SizeAxis::Nodes {
            return None;
        }
        let nodes = f64::from(nodes);
        // A row arrives at any node; its shard is on one of them, its copies on others.
        let elsewhere = (nodes - 1.0) / nodes;
        let between = incoming * (elsewhere + f64::from(replicas)) + outgoing * elsewhere;
        Some(Network {
            in_bytes_per_s: incoming,
            out_bytes_per_s: outgoing,
            between_bytes_per_s: between,
            // Traffic between nodes leaves one node and enters another.
            per_node_bytes_per_s: (incoming + outgoing + 2.0 * between) / nodes,
        })
    }

    /// Virtual CPUs of a planned node: as requested, or else as measured.
    pub fn planned_vcpus(&self) -> Option<WithOrigin<f64>> {
        let measured = self.needs.iter().find_map(|need| {
            Some(WithOrigin {
                value: need.basis.vcpus_per_node?,
                origin: need.basis.origin.clone(),
            })
        });
        self.vcpus_per_node.clone().or(measured)
    }

    /// Shards; absent for queries only, and if virtual CPUs are unknown.
    pub fn shards(&self, nodes: u32, replicas: u32) -> Option<Shards> {
        let vcpus = self.planned_vcpus()?.value;
        if self.rows_per_s() <= 0.0 {
            return None;
        }
        let rules = &self.guidance.value;
        let size = f64::from(nodes);
        let even = |shards: f64| (shards / size).ceil().max(1.0) * size;
        // The capacity is that of these shards; of others it is not known.
        let measured = self.needs.iter().find(|need| need.basis.counts_rows());
        let measured = measured.and_then(|need| need.basis.primary_shards);
        let measured = measured.filter(|_| !rules.are_shards_given);
        let by_vcpus = || size * vcpus * rules.shards_per_vcpu;
        let primaries = even(measured.unwrap_or_else(by_vcpus));
        let [each, vcpus] = [rules.shards_per_vcpu, vcpus].map(plain);
        let mut notes = vec![match measured.map(plain) {
            Some(all) => {
                format!("all sizes were measured with {all}; evenly on {nodes} nodes: {primaries}")
            }
            None => {
                format!("{each} for each of {vcpus} vCPUs on each of {nodes} nodes: {primaries}")
            }
        }];
        let split = self.split(primaries, &mut notes);
        let per_node = split.primaries * split.partitions * f64::from(1 + replicas) / size;
        let most = rules.most_shards_per_node;
        let [most, each] = [most, per_node.ceil()].map(plain);
        notes.push(format!("at most {most} on a node, copies included: {each}"));
        Some(Shards {
            primaries: round_to_u32(split.primaries),
            partition_days: split.days,
            partitions: round_to_u32(split.partitions),
            bytes: split.bytes,
            per_node,
            rules: notes,
        })
    }

    /// The partitioning with the fewest total shards of acceptable size; with more primaries than the vCPUs need,
    /// within limits, if that allows longer partitions.
    fn split(&self, primaries: f64, notes: &mut Vec<String>) -> Split {
        let rules = &self.guidance.value;
        let whole_table = Split { primaries, days: None, partitions: 1.0, bytes: None };
        let (Some(bytes), Some(retention)) = (&self.stored_bytes_per_row, &self.retention_s) else {
            return whole_table;
        };
        let per_day = self.rows_per_s() * bytes.value * DAY_S;
        let kept_days = retention.value / DAY_S;
        let shard_bytes = |days: f64| per_day * days / primaries;
        let least = plain(rules.least_shard_bytes / 1e9);
        let greatest = plain(rules.greatest_shard_bytes / 1e9);
        let range = format!("shards of {least} to {greatest} GB");
        if shard_bytes(kept_days) <= rules.greatest_shard_bytes {
            notes.push(format!("{range}: no partitions are needed"));
            return Split { bytes: Some(shard_bytes(kept_days)), ..whole_table };
        }
        let times = |days: f64| (shard_bytes(days) / rules.greatest_shard_bytes).ceil().max(1.0);
        let partitions = |days: f64| (kept_days / days).ceil() + 1.0;
        let shards = |days: &f64| times(*days) * partitions(*days);
        let shortest = PARTITION_DAYS[PARTITION_DAYS.len() - 1];
        let days = PARTITION_DAYS
            .into_iter()
            .filter(|days| *days < kept_days && times(*days) <= MOST_TIMES)
            .min_by(|a, b| shards(a).total_cmp(&shards(b)))
            .unwrap_or(shortest);
        let times = times(days);
        notes.push(format!("{range}: a partition for each {}", length(days)));
        Split {
            primaries: primaries * times,
            days: Some(days),
            // One more is being filled while the oldest still has rows to keep.
            partitions: partitions(days),
            bytes: Some(shard_bytes(days) / times),
        }
    }
}

struct Split {
    primaries: f64,
    days: Option<f64>,
    partitions: f64,
    bytes: Option<f64>,
}

/// `day`, `7 days`, `hour`.
pub fn length(days: f64) -> String {
    if days < 1.0 {
        return "hour".to_owned();
    }
    if days < 2.0 {
        return "day".to_owned();
    }
    format!("{} days", plain(days))
}

/// Copies of shards on the busiest of so many nodes, and the part of linear growth that the others leave, if the busiest
/// limits the cluster: with 8 copies on 3 nodes 3, and 89%. Absent if they divide evenly, to within 5%.
pub fn uneven(copies: f64, nodes: u32) -> Option<(f64, f64)> {
    let mean = copies / f64::from(nodes);
    let most = mean.ceil();
    (most > 1.05 * mean).then(|| (most, mean / most))
}
