//! Clusters and loads with exactly one limited resource, sampled from a seed.
//!
//! The limit follows from the parameters alone: `sim:` states the rate of its CPUs and disks, and the round trip and
//! the number of sessions determine the rate of the load. All other resources have at least a fifth of their capacity
//! left.

use std::fmt::Write as _;

use highwater_analysis::synthetic::Noise;
use highwater_driver::TargetUrl;
use highwater_driver_sim::{SimParameters, capacity};
use highwater_model::limit::Resource;
use highwater_model::numbers::{ceil_to_u64, round_to_u32, round_to_u64, to_f64};

/// The limited resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitedResource {
    /// Cores, with more than enough sessions.
    Cpu,
    /// Cores, with a rate above their capacity.
    CpuAtARate,
    /// The speed of one node.
    SlowNode,
    /// All shards on few of the nodes.
    FewShards,
    /// The throughput of the disks.
    Disk,
    /// The credit of the disks, which ends during the measurement.
    DiskCredit,
    /// Slots of the queue, at a rate that the cores can handle.
    Pool,
    /// Sessions.
    Sessions,
    /// Sessions, with a rate that they cannot send.
    SessionsAtARate,
    /// Rows per batch, with many sessions.
    Batch,
    /// Nothing: a rate below saturation.
    Nothing,
    /// A lock that all ops need.
    Locks,
    /// The load generator's output rate, with more than enough sessions.
    LoadGenerator,
    /// The same, with a rate that it cannot send.
    LoadGeneratorAtARate,
}

impl LimitedResource {
    /// All variants.
    pub const ALL: &[Self] = &[
        Self::LoadGenerator,
        Self::LoadGeneratorAtARate,
        Self::Cpu,
        Self::CpuAtARate,
        Self::SlowNode,
        Self::FewShards,
        Self::Disk,
        Self::DiskCredit,
        Self::Locks,
        Self::Pool,
        Self::Sessions,
        Self::SessionsAtARate,
        Self::Batch,
        Self::Nothing,
    ];

    /// Whether this resource was named.
    pub fn is(self, named: Option<Resource>) -> bool {
        self.known().0 == named
    }

    /// Its name in the documents.
    pub const fn words(self) -> &'static str {
        self.known().1
    }

    /// The resource, and its name in the documents.
    const fn known(self) -> (Option<Resource>, &'static str) {
        use Resource::{Batch, Cpu, Disk, HotNode, LoadGenerator, Locks, Sessions, WritePool};
        match self {
            Self::LoadGenerator => (Some(LoadGenerator), "load generator, closed load"),
            Self::LoadGeneratorAtARate => (Some(LoadGenerator), "load generator, a rate above it"),
            Self::Cpu => (Some(Cpu), "CPU quota, closed load"),
            Self::CpuAtARate => (Some(Cpu), "CPU quota, a rate above it"),
            Self::SlowNode => (Some(HotNode), "one slow node"),
            Self::FewShards => (Some(HotNode), "shards on some of the nodes only"),
            Self::Disk => (Some(Disk), "disk throughput"),
            Self::DiskCredit => (Some(Disk), "disk credit that ends"),
            Self::Locks => (Some(Locks), "a lock"),
            Self::Pool => (Some(WritePool), "places in the queue"),
            Self::Sessions => (Some(Sessions), "sessions, closed load"),
            Self::SessionsAtARate => (Some(Sessions), "sessions, a rate above them"),
            Self::Batch => (Some(Batch), "rows of a batch"),
            Self::Nothing => (None, "nothing: a rate below saturation"),
        }
    }
}

/// The pace of ops.
#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// As fast as the sessions go.
    Closed,
    /// At random times, at a rate.
    Open { rows_per_s: u64 },
}

/// The definition of a run.
#[derive(Debug, Clone)]
pub struct Case {
    /// The cluster.
    pub target: String,
    pub(super) batch: u64,
    pub(super) sessions: u32,
    pub(super) load: Load,
    pub(super) seed: u64,
}

/// A cluster without its limited resource.
struct Cluster {
    words: String,
    nodes: u32,
    cores: u32,
    /// Copies of each shard.
    copies: u32,
    /// Tasks of a large batch, per node.
    pieces_of_node: f64,
    batch: u64,
}

/// Core time per task, independent of its rows: the default of `sim:`.
const REQUEST_S: f64 = 0.0005;

impl Cluster {
    /// A cluster with a capacity of 100 to 300 ops per second, in large batches, with all of its nodes.
    fn drawn(noise: &mut Noise, limited: LimitedResource) -> Self {
        let is_uneven = matches!(limited, LimitedResource::SlowNode | LimitedResource::FewShards);
        let nodes =
            if is_uneven { one_of(noise, &[3, 4, 6]) } else { one_of(noise, &[1, 2, 3, 5]) };
        let (shards, copies) = if limited == LimitedResource::FewShards {
            (1, 1)
        } else {
            (nodes * one_of(noise, &[1, 2]), one_of(noise, &[1, 2]).min(nodes))
        };
        let cores = one_of(noise, &[2, 4, 8]);
        let batch = one_of(noise, &[300, 500, 1_000]);
        let service = one_of(noise, &["exp", "constant", "lognormal:0.7"]);
        let pieces = f64::from(shards * copies);
        let of_op_s = f64::from(nodes * cores) / between(noise, 100.0, 300.0);
        let row_s = (of_op_s - pieces * REQUEST_S) / f64::from(batch * copies);
        let (replicas, row_ns) = (copies - 1, round_to_u64(row_s * 1e9));
        let small = u64::from(one_of(noise, &[1_u32, 5, 20]));
        Self {
            words: format!(
                "sim:?nodes={nodes}&cores={cores}&shards={shards}&replicas={replicas}&row={row_ns}ns\
                 &service={service}"
            ),
            nodes,
            cores,
            copies,
            pieces_of_node: pieces / f64::from(nodes),
            batch: if limited == LimitedResource::Batch { small } else { u64::from(batch) },
        }
    }

    /// Ops per second of the cluster with these additional options.
    fn capacity(&self) -> f64 {
        let url = TargetUrl::parse(&self.words).expect("the URL of a cluster");
        let parameters = SimParameters::parse(&url.parameters).expect("its parameters");
        capacity(&parameters, self.batch, true)
    }

    /// Enough sessions to keep all cores busy, with work waiting for each.
    fn many_sessions(&self, noise: &mut Noise) -> u32 {
        let least = 6.0 * f64::from(self.cores) / self.pieces_of_node;
        round_to_u32(least.max(16.0) * between(noise, 1.0, 3.0))
    }
}

impl Case {
    /// The case for a seed.
    pub fn new(limited: LimitedResource, seed: u64) -> Self {
        let mut noise = Noise::new(seed ^ ((limited as u64) << 56));
        let mut cluster = Cluster::drawn(&mut noise, limited);
        let mut sessions = cluster.many_sessions(&mut noise);
        let ops_per_s = cluster.capacity();
        let mut load = Load::Closed;
        let rows = to_f64(cluster.batch);
        let at = |part: f64| Load::Open { rows_per_s: ceil_to_u64(part * ops_per_s * rows) };
        let more = match limited {
            LimitedResource::Cpu | LimitedResource::FewShards => "&queue=inf".to_owned(),
            LimitedResource::CpuAtARate => {
                load = at(between(&mut noise, 1.2, 1.6));
                sessions *= 4;
                String::new()
            }
            LimitedResource::SlowNode => {
                let node = cluster.nodes;
                format!("&queue=inf&slow_node={node}:{:.2}", between(&mut noise, 0.25, 0.5))
            }
            LimitedResource::Disk | LimitedResource::DiskCredit => {
                cluster.disk(&mut noise, limited)
            }
            LimitedResource::LoadGenerator | LimitedResource::LoadGeneratorAtARate => {
                let part = between(&mut noise, 0.2, 0.6);
                if limited == LimitedResource::LoadGeneratorAtARate {
                    load = at(1.2 * part);
                    sessions *= 4;
                }
                format!("&queue=inf&client={}", round_to_u64(part * ops_per_s * rows))
            }
            LimitedResource::Locks => {
                let ops_per_s = ops_per_s * between(&mut noise, 0.2, 0.6);
                format!("&queue=inf&lock={}ns", round_to_u64(1e9 / ops_per_s))
            }
            LimitedResource::Pool => {
                load = at(between(&mut noise, 0.6, 0.8));
                sessions *= 8;
                // Slots that one op needs while all cores are idle, plus less than those of a second op.
                let pieces = cluster.pieces_of_node;
                let one = (pieces - f64::from(cluster.cores)).max(0.0);
                let places = one + noise.uniform() * pieces;
                format!("&queue={}", round_to_u64(places.floor()))
            }
            LimitedResource::Sessions
            | LimitedResource::SessionsAtARate
            | LimitedResource::Batch => {
                sessions = if limited == LimitedResource::Batch {
                    let cores = f64::from(cluster.nodes * cluster.cores);
                    round_to_u32(cores * between(&mut noise, 1.0, 2.0))
                } else {
                    one_of(&mut noise, &[1, 2, 4, 8])
                };
                if limited == LimitedResource::SessionsAtARate {
                    load = at(between(&mut noise, 0.6, 0.9));
                }
                // Each session sends an op per round trip; together they use this fraction of the capacity.
                let part = between(&mut noise, 0.1, 0.4);
                let round_trip_us = f64::from(sessions) / (part * ops_per_s) * 1e6;
                format!("&queue=inf&rtt={}us", round_to_u64(round_trip_us))
            }
            LimitedResource::Nothing => {
                load = at(between(&mut noise, 0.3, 0.6));
                sessions *= 4;
                "&queue=inf".to_owned()
            }
        };
        cluster.words += &more;
        Self { target: cluster.words, batch: cluster.batch, sessions, load, seed }
    }
}

impl Cluster {
    /// Disks with a fraction of the cores' capacity, at once or after their credit has ended.
    fn disk(&self, noise: &mut Noise, limited: LimitedResource) -> String {
        let rows_per_s = self.capacity() * to_f64(self.batch);
        // Shards and their copies are evenly distributed.
        let of_node = rows_per_s * f64::from(self.copies) / f64::from(self.nodes);
        let disk = of_node * between(noise, 0.2, 0.6);
        let mut words = format!("&queue=inf&disk={}", round_to_u64(disk));
        if limited == LimitedResource::DiskCredit {
            // Two seconds of warm-up, and a part of the ten measured ones.
            let seconds = 2.0 + between(noise, 0.5, 3.0);
            let burst = (of_node - disk) * seconds;
            write!(words, "&burst={}", round_to_u64(burst))
                .expect("writing to a string cannot fail");
        }
        words
    }
}

fn between(noise: &mut Noise, low: f64, high: f64) -> f64 {
    low * (high / low).powf(noise.uniform())
}

fn one_of<T: Copy>(noise: &mut Noise, choices: &[T]) -> T {
    let position = noise.bits() % u64::try_from(choices.len()).unwrap_or(1);
    choices[usize::try_from(position).unwrap_or(0)]
}
