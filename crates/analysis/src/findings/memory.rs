//! Rules about data and the memory that holds them.

use highwater_model::display::bytes;
use highwater_model::plan::Unit;

use super::rule::{RuleFinding, RuleInput};
use crate::memory::data_in_memory;

/// Data that fit in memory at first no longer do: the figures mix both.
pub(super) fn outgrew_memory(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let data = data_in_memory(read.record)?;
    let cache = data.outgrew()?;
    let [before, after, most] = [data.before, data.after, cache.bytes].map(bytes);
    Some(RuleFinding {
        code: "outgrew_memory",
        sentence: format!("the data outgrew {} during the run", cache.name),
        evidence: format!("{before} before, {after} at the end; it holds {most}"),
        hint: "its figures are of both: preload more rows (--set rows=…) to measure what does not fit, or write fewer",
    })
}

/// Reads come from memory, as they would not with more data.
pub(super) fn fits_in_memory(read: &RuleInput<'_>) -> Option<RuleFinding> {
    let reads = |unit: Unit, answered: u64| unit != Unit::Rows && answered > 0;
    let mut streams = read.measured.iter();
    let is_read = streams.any(|of| reads(of.stream.unit, of.answered()));
    let data = data_in_memory(read.record).filter(|_| is_read)?;
    let cache = data.held_by()?;
    let [all, most] = [data.before.max(data.after), cache.bytes].map(bytes);
    Some(RuleFinding {
        code: "fits_in_memory",
        sentence: "all data fit in memory, so reads need no disk".to_owned(),
        evidence: format!("{all} of data; {} holds {most}", cache.name),
        hint: "where production has more data than memory, load as much as it has for its memory (--set rows=…); \
               else state the size of the data with the result",
    })
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use crate::fixture;
    use highwater_model::record::RunRecord;

    const MEMORY: [&str; 2] = ["outgrew_memory", "fits_in_memory"];

    /// The codes of these rules for a size of the data in megabytes before and after, and a cache of 128 MB.
    fn codes(mut record: RunRecord, before: u64, after: u64) -> Vec<&'static str> {
        let target = &mut record.target;
        target.bytes_before = Some(before * 1_000_000);
        target.bytes_after = Some(after * 1_000_000);
        let cache = ("shared_buffers".to_owned(), 128_000_000);
        target.memory.caches.extend([cache]);
        findings(&record)
            .into_iter()
            .map(|of| of.code)
            .filter(|code| MEMORY.contains(code))
            .collect()
    }

    #[test]
    fn data_that_outgrew_a_cache_are_reported_and_those_that_were_larger_before_are_not() {
        let of = |before, after| codes(fixture::closed(), before, after);
        assert_eq!(of(100, 300), ["outgrew_memory"]);
        assert_eq!(of(0, 129), ["outgrew_memory"], "new tables, too");
        assert!(of(100, 128).is_empty());
        assert!(of(129, 300).is_empty());
    }

    #[test]
    fn data_that_fit_are_reported_where_they_are_read() {
        assert!(codes(fixture::closed(), 50, 100).is_empty(), "only written");
        let reads = || fixture::open_steps();
        assert_eq!(codes(reads(), 100, 100), ["fits_in_memory"]);
        assert_eq!(codes(reads(), 100, 128), ["fits_in_memory"]);
        assert!(codes(reads(), 200, 200).is_empty(), "more than memory");
        let mut model = reads();
        model.target.simulated = true;
        assert!(codes(model, 100, 100).is_empty(), "no database");
    }

    #[test]
    fn a_target_that_reports_no_cache_has_no_such_finding() {
        let mut record = fixture::open_steps();
        record.target.bytes_before = Some(1_000_000);
        record.target.bytes_after = Some(1_000_000_000);
        let found = findings(&record);
        assert!(found.iter().all(|of| !MEMORY.contains(&of.code)), "{found:?}");
    }
}
