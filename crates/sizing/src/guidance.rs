//! Database vendors' guidance on shards and disks, read from files that name their source.
//!
//! A database is identified by the first word of its version; its guidance is data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sizing rules of a database's vendor, or general ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    /// First word of the database's name in lower case; empty for general rules.
    pub engine: String,
    /// Source of the rules.
    pub source: String,
    /// Number of primary shards written to at the same time, per virtual CPU of the cluster.
    pub shards_per_vcpu: f64,
    /// Whether the user gave that number: then it is planned even if all sizes were measured with other shards.
    #[serde(skip)]
    pub are_shards_given: bool,
    /// Minimum recommended size of a shard in bytes.
    pub least_shard_bytes: f64,
    /// Maximum recommended size of a shard in bytes.
    pub greatest_shard_bytes: f64,
    /// Maximum number of shards on a node, including replicas.
    pub most_shards_per_node: f64,
    /// Maximum used fraction of a disk.
    pub greatest_disk_fill: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    guidance: Vec<Guidance>,
}

const FILE: &str = include_str!("../data/guidance.toml");

impl Guidance {
    /// The guidance for a database by its version, such as `Name 5.4.0`; absent if none is known.
    pub fn for_engine(engine: Option<&str>) -> Option<Self> {
        let name = engine?.split_whitespace().next()?.to_lowercase();
        let mut known = Self::all().into_iter();
        known.find(|guidance| guidance.engine == name)
    }

    /// The defaults without guidance: a shard per CPU keeps all CPUs busy; the size limits are those at which moving or
    /// restoring one shard takes minutes.
    pub fn general() -> Self {
        Self {
            engine: String::new(),
            source: "no advice of the database's makers is known".to_owned(),
            shards_per_vcpu: 1.0,
            are_shards_given: false,
            least_shard_bytes: 1e9,
            greatest_shard_bytes: 50e9,
            most_shards_per_node: 1_000.0,
            greatest_disk_fill: 0.85,
        }
    }

    fn all() -> Vec<Self> {
        toml::from_str::<File>(FILE).map_or_else(|_| Vec::new(), |file| file.guidance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_found_by_the_first_word_of_a_version() {
        let own = Guidance::for_engine(Some("CrateDB 5.4.0")).unwrap();
        assert!(own.source.contains("sharding"));
        assert_eq!(Guidance::for_engine(Some("Other 1.0")), None);
        assert_eq!(Guidance::for_engine(None), None);
    }
}
