//! Compares the data of a run with the target's memory that can hold them. Pure. Must not hold a rule.

use highwater_model::display::bytes;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::record::RunRecord;
use highwater_model::target_telemetry::{names, sources};

use crate::telemetry::{mean, measured, named};

/// The fraction of a machine's memory that may become page cache, if only the size of the machine is known.
const PART_OF_MACHINE: f64 = 0.5;

/// Memory that can hold data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The setting that sets its size, or `the page cache`.
    pub name: String,
    /// Its capacity in bytes.
    pub bytes: u64,
}

/// The size of the workload's tables, and the memory that can hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataInMemory {
    /// Bytes before the first measured phase.
    pub before: u64,
    /// Bytes at the end.
    pub after: u64,
    /// Smallest first; empty if none is known.
    pub caches: Vec<Cache>,
}

/// Absent if the target does not report the size of its tables, or keeps none.
pub fn data_in_memory(record: &RunRecord) -> Option<DataInMemory> {
    let target = &record.target;
    if target.simulated || target.sink {
        return None;
    }
    let after = target.bytes_after.or(target.bytes_before)?;
    let before = target.bytes_before.unwrap_or(after);
    let own = target.memory.caches.iter().map(|(name, bytes)| (name.clone(), *bytes));
    let page_cache = target.memory.page_cache.or_else(|| of_this_machine(record));
    let page_cache = page_cache.map(|bytes| ("the page cache".to_owned(), bytes));
    let mut caches: Vec<Cache> = own
        .chain(page_cache)
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| Cache { name, bytes })
        .collect();
    caches.sort_by_key(|cache| cache.bytes);
    (before.max(after) > 0).then_some(DataInMemory { before, after, caches })
}

/// The possible size of this machine's page cache, if the target runs on it: the memory that programs left free during
/// the measurement.
fn of_this_machine(record: &RunRecord) -> Option<u64> {
    let telemetry = record.target_telemetry.as_ref()?;
    let mut polled = telemetry.sources.iter();
    polled.find(|source| source.name == sources::HOST)?;
    let total: u64 = record.header.environment.get("memory_bytes")?.parse().ok()?;
    let mut used = named(telemetry, names::MEMORY_USED);
    let used = used.find(|series| series.source == sources::HOST);
    let range = measured(record);
    let used = used.zip(range).and_then(|(series, range)| mean(telemetry, series, range));
    let part = used.map_or(PART_OF_MACHINE, |used| 1.0 - used);
    Some(round_to_u64(to_f64(total) * part))
}

impl DataInMemory {
    /// The smallest memory that holds all data, if any does.
    pub fn held_by(&self) -> Option<&Cache> {
        let mut caches = self.caches.iter();
        caches.find(|cache| self.before.max(self.after) <= cache.bytes)
    }

    /// The largest memory that held all data before, and not at the end.
    pub fn outgrew(&self) -> Option<&Cache> {
        let mut caches = self.caches.iter().rev();
        caches.find(|cache| self.before <= cache.bytes && cache.bytes < self.after)
    }

    /// `2.1 GB of data, all in memory (shared_buffers 4.2 GB)`; `2.1 GB of data, more than the page cache (1.0 GB)`.
    pub fn words(&self) -> String {
        let data = if self.before < self.after && self.outgrew().is_some() {
            format!("{} of data, {} before", bytes(self.after), bytes(self.before))
        } else {
            format!("{} of data", bytes(self.before.max(self.after)))
        };
        let of = |cache: &Cache| format!("({} {})", cache.name, bytes(cache.bytes));
        match (self.held_by(), self.caches.last()) {
            (Some(cache), _) => format!("{data}, all in memory {}", of(cache)),
            (None, Some(largest)) => format!("{data}, more than memory holds {}", of(largest)),
            (None, None) => data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn words(before: u64, after: u64, caches: &[(&str, u64)], page_cache: Option<u64>) -> String {
        let mut record = fixture::closed();
        let target = &mut record.target;
        (target.bytes_before, target.bytes_after) = (Some(before), Some(after));
        let caches = caches.iter();
        target.memory.caches = caches.map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        target.memory.page_cache = page_cache;
        data_in_memory(&record).map_or_else(String::new, |data| data.words())
    }

    #[test]
    fn data_are_in_the_smallest_cache_that_is_large_enough() {
        let buffers: &[(&str, u64)] = &[("shared_buffers", 4_200_000_000)];
        let of = |after, page_cache| words(after, after, buffers, page_cache);
        let all = "2.1 GB of data, all in memory (shared_buffers 4.2 GB)";
        assert_eq!(of(2_100_000_000, Some(16_000_000_000)), all);
        let in_pages = "5.0 GB of data, all in memory (the page cache 16.0 GB)";
        assert_eq!(of(5_000_000_000, Some(16_000_000_000)), in_pages);
        let more = "20.0 GB of data, more than memory holds (the page cache 16.0 GB)";
        assert_eq!(of(20_000_000_000, Some(16_000_000_000)), more);
        assert_eq!(words(5_000, 5_000, &[], None), "5.0 kB of data");
        assert_eq!(words(0, 0, buffers, None), "", "there are none");
    }

    #[test]
    fn outgrown_memory_is_stated_with_both_sizes() {
        let pool: &[(&str, u64)] = &[("innodb_buffer_pool_size", 128_000_000)];
        let grown = "300 MB of data, 100 MB before, more than memory holds (innodb_buffer_pool_size 128 MB)";
        assert_eq!(words(100_000_000, 300_000_000, pool, None), grown);
        let stayed = "300 MB of data, more than memory holds (innodb_buffer_pool_size 128 MB)";
        assert_eq!(words(200_000_000, 300_000_000, pool, None), stayed);
    }

    #[test]
    fn the_page_cache_is_the_memory_unused_by_programs() {
        let mut record = fixture::closed();
        record.target.bytes_before = Some(1_000);
        let memory = ("memory_bytes".to_owned(), "8000000000".to_owned());
        record.header.environment.extend([memory]);
        fixture::add_telemetry(&mut record);
        let caches = |record: &RunRecord| data_in_memory(record).map(|data| data.caches);
        let telemetry = record.target_telemetry.as_mut().expect("its telemetry");
        telemetry.sources.retain(|source| source.name != sources::HOST);
        assert_eq!(caches(&record), Some(vec![]), "the target is elsewhere");
        let telemetry = record.target_telemetry.as_mut().expect("its telemetry");
        telemetry.series.retain(|series| series.name != names::MEMORY_USED);
        let mut host = telemetry.sources[0].clone();
        host.name = sources::HOST.to_owned();
        telemetry.sources.push(host);
        let page_cache = Cache { name: "the page cache".to_owned(), bytes: 4_000_000_000 };
        assert_eq!(caches(&record), Some(vec![page_cache]));
    }
}
