//! Merges load generators, their reports on the target, and notes.

use std::collections::BTreeMap;

use highwater_model::record::{InterventionRecord, RunRecord, TargetRecord, TelemetrySample};

/// URLs, hosts, and settings of all shares; sizes from the first and the last state.
pub(super) fn target(shares: &[&RunRecord]) -> TargetRecord {
    let mut merged = shares[0].target.clone();
    for share in &shares[1..] {
        let other = &share.target;
        for url in &other.urls {
            if !merged.urls.contains(url) {
                merged.urls.push(url.clone());
            }
        }
        for host in &other.hosts {
            let mut hosts = merged.hosts.iter_mut();
            match hosts.find(|merged_one| merged_one.url == host.url) {
                None => merged.hosts.push(host.clone()),
                Some(merged_one) => {
                    merged_one.sessions += host.sessions;
                    merged_one.acknowledged += host.acknowledged;
                    merged_one.failed += host.failed;
                }
            }
        }
        merged.settings.extend(other.settings.clone());
        let before = [merged.bytes_before, other.bytes_before];
        merged.bytes_before = before.into_iter().flatten().min();
        merged.bytes_after = merged.bytes_after.max(other.bytes_after);
    }
    merged
}

/// All load generators together, second by second: sum of cores and memory, and the busiest machine.
pub(super) fn telemetry(shares: &[&RunRecord]) -> Vec<TelemetrySample> {
    if let [only] = shares {
        return only.telemetry.clone();
    }
    let mut merged: BTreeMap<u64, TelemetrySample> = BTreeMap::new();
    for sample in shares.iter().flat_map(|share| &share.telemetry) {
        let second = sample.time_ns.saturating_add(500_000_000) / 1_000_000_000;
        merged.entry(second).and_modify(|sum| add(sum, sample)).or_insert_with(|| sample.clone());
    }
    merged.into_values().collect()
}

fn add(sum: &mut TelemetrySample, sample: &TelemetrySample) {
    sum.time_ns = sum.time_ns.max(sample.time_ns);
    sum.client_cores += sample.client_cores;
    sum.embedded_cores += sample.embedded_cores;
    sum.machine_cpu_fraction = greater(sum.machine_cpu_fraction, sample.machine_cpu_fraction);
    sum.steal_fraction = greater(sum.steal_fraction, sample.steal_fraction);
    sum.rss_bytes += sample.rss_bytes;
}

fn greater(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    [ours, theirs].into_iter().flatten().reduce(f64::max)
}

/// Pace changes once, at the time of the first share, and the notes of all shares.
pub(super) fn interventions(shares: &[&RunRecord]) -> Vec<InterventionRecord> {
    let of_first = shares[0].interventions.iter();
    let others = shares[1..].iter().flat_map(|share| &share.interventions);
    of_first.chain(others.filter(|done| !done.begins_phase())).cloned().collect()
}

/// Every note or incident once; it names its share unless all shares have it.
pub(super) fn named<T: Clone + PartialEq>(
    shares: &[&RunRecord],
    of: impl Fn(&RunRecord) -> &Vec<T>,
    message: impl Fn(&mut T) -> &mut String,
) -> Vec<T> {
    let mut merged: Vec<T> = Vec::new();
    for share in shares {
        for one in of(share) {
            let mut one = one.clone();
            if !shares.iter().all(|other| of(other).contains(&one)) {
                let place = &share.plan.definition.share;
                let message = message(&mut one);
                *message = format!("share {}/{}: {message}", place.index, place.of);
            }
            if !merged.contains(&one) {
                merged.push(one);
            }
        }
    }
    merged
}

/// Joins differing values in the order of the shares.
pub(super) fn joined<'a>(
    maps: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, value) in maps.flatten() {
        let merged_one = values.entry(name.clone()).or_default();
        if !merged_one.contains(&value.as_str()) {
            merged_one.push(value);
        }
    }
    values.into_iter().map(|(name, values)| (name, values.join(" | "))).collect()
}
