//! Determines the cluster that a URL's hosts form, from each server's list of clusters. Must not do I/O.

use std::collections::BTreeMap;

use highwater_driver::sql_query::Texts;
use highwater_model::user_error::UserError;

/// The `--with` setting that names a cluster.
pub(super) const CLUSTER: &str = "cluster";
/// Query for a server's known clusters: each replica, and whether it is this server.
pub(super) const PLACES: &str =
    "SELECT cluster, shard_num, replica_num, is_local FROM system.clusters";
/// Maximum clusters named in a message.
const NAMED_MAX: usize = 10;

/// A server's view of one cluster.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClusterView {
    /// Number of servers.
    places: usize,
    /// The server's own shards.
    own: Vec<String>,
}

/// The clusters that consist of exactly these hosts, each as one shard; `answers` are the responses to [`PLACES`], one
/// per host. An error if there is none.
pub(super) fn covering(answers: &[Texts]) -> Result<Vec<String>, UserError> {
    let known: Vec<BTreeMap<String, ClusterView>> = answers.iter().map(read).collect();
    let Some(first) = known.first() else {
        return Ok(Vec::new());
    };
    let covers = |name: &&String| is_covered(name, &known);
    let found: Vec<String> = first.keys().filter(covers).cloned().collect();
    if found.is_empty() {
        return Err(none_covers(&known, first));
    }
    Ok(found)
}

/// The cluster for new tables: the named one, or the only one.
pub(super) fn choose(covering: &[String], named: Option<&str>) -> Result<String, UserError> {
    let names = covering.join(", ");
    match (named, covering) {
        (Some(named), _) if covering.iter().any(|known| known == named) => Ok(named.to_owned()),
        (Some(named), _) => Err(UserError::usage(format!(
            "`--with {CLUSTER}={named}`: that is no cluster whose shards are the hosts of the URL"
        ))
        .with_hint(format!("they are the shards of: {names}"))),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(UserError::usage(format!(
            "the hosts of the URL are the shards of several clusters: {names}"
        ))
        .with_hint(format!("choose one: `--with {CLUSTER}=NAME`"))),
    }
}

fn read(rows: &Texts) -> BTreeMap<String, ClusterView> {
    let mut known: BTreeMap<String, ClusterView> = BTreeMap::new();
    for row in rows {
        let [Some(cluster), Some(shard), Some(_), is_local] = row.as_slice() else {
            continue;
        };
        let known = known.entry(cluster.clone()).or_default();
        known.places += 1;
        if is_local.as_deref() == Some("1") {
            known.own.push(shard.clone());
        }
    }
    known
}

fn is_covered(name: &str, hosts: &[BTreeMap<String, ClusterView>]) -> bool {
    let mut shards = Vec::with_capacity(hosts.len());
    for host in hosts {
        let Some(known) = host.get(name) else {
            return false;
        };
        let [shard] = known.own.as_slice() else {
            return false;
        };
        let has_replicas = known.places != hosts.len();
        if has_replicas || shards.contains(&shard) {
            return false;
        }
        shards.push(shard);
    }
    true
}

fn none_covers(
    hosts: &[BTreeMap<String, ClusterView>],
    first: &BTreeMap<String, ClusterView>,
) -> UserError {
    let described = first.iter().take(NAMED_MAX).map(|(name, known)| {
        let own = hosts.iter().filter(|host| {
            let known = host.get(name);
            known.is_some_and(|known| !known.own.is_empty())
        });
        let (own, all) = (own.count(), known.places);
        format!("{name} ({own} of its {all} servers)")
    });
    let described: Vec<String> = described.collect();
    let described = if described.is_empty() {
        "the first host knows no cluster".to_owned()
    } else {
        format!("they are of: {}", described.join(", "))
    };
    match hosts {
        [_] => UserError::usage(format!(
            "the host of the URL is no cluster of its own, without replicas; {described}"
        ))
        .with_hint("name all servers of a cluster in the URL, or use another --insert"),
        _ => UserError::usage(format!(
            "the {} hosts of the URL are not the shards of one cluster, each of them one without replicas; \
             {described}",
            hosts.len()
        ))
        .with_hint(
            "name all servers of a cluster in `remote_servers`, or one server for tables that it alone has",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of host `own` about clusters with these shards, given by host numbers.
    fn answer(clusters: &[(&str, &[u32])], own: usize) -> Texts {
        clusters
            .iter()
            .flat_map(|(name, shards)| {
                shards.iter().enumerate().map(move |(host, shard)| {
                    let is_local = u8::from(host == own).to_string();
                    let row = [(*name).to_owned(), shard.to_string(), "1".to_owned(), is_local];
                    row.map(Some).to_vec()
                })
            })
            .collect()
    }

    fn found(clusters: &[(&str, &[u32])], hosts: &[usize]) -> Result<Vec<String>, UserError> {
        let answers: Vec<Texts> = hosts.iter().map(|host| answer(clusters, *host)).collect();
        covering(&answers)
    }

    #[test]
    fn a_cluster_is_that_whose_shards_are_just_the_hosts_in_whatever_order() {
        let clusters: [(&str, &[u32]); 3] =
            [("three", &[1, 2, 3]), ("two", &[1, 2]), ("again", &[3, 1, 2])];
        assert_eq!(found(&clusters, &[2, 0, 1]).unwrap(), ["again", "three"]);
        assert_eq!(found(&clusters, &[1, 0]).unwrap(), ["two"]);
        // One is missing, or listed twice.
        for hosts in [&[0, 2][..], &[0, 0, 1], &[0, 0]] {
            let error = found(&clusters, hosts).unwrap_err();
            assert!(error.message.contains("three ("), "{error}");
            assert!(error.hint.is_some());
        }
        // Two replicas of a shard contain the same rows.
        assert!(found(&[("one", &[1, 1])], &[0, 1]).is_err());
        assert!(found(&[], &[0, 1]).unwrap_err().message.contains("no cluster"));
    }

    #[test]
    fn of_several_clusters_one_is_named() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(choose(&names, Some("b")).unwrap(), "b");
        assert_eq!(choose(&names[..1], None).unwrap(), "a");
        for (named, says) in [(None, "several clusters: a, b"), (Some("c"), "cluster=c")] {
            let error = choose(&names, named).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.is_some());
        }
    }
}
