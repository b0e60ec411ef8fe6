//! Tags that are several times of the same ops. A load generator with a pace logs the time from the intended start
//! (response time), the time from the sending (service time), and the time in between (wait time). They form one op.
//!
//! Must not read histograms.

use std::collections::BTreeMap;

/// The kind of time of a tag's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// From the intended start: the latency.
    Response,
    /// From the sending: the service time.
    Service,
    /// From the intended start to the sending.
    Wait,
}

/// Suffixes of tags for one of several times: those of cql-stress and its relatives, and of NoSQLBench.
const ENDS: [(&str, Measure); 6] = [
    ("rt", Measure::Response),
    ("st", Measure::Service),
    ("wt", Measure::Wait),
    ("responsetime", Measure::Response),
    ("servicetime", Measure::Service),
    ("waittime", Measure::Wait),
];
/// Prefix of YCSB's tags for intended times; the tag of the other time has the same name without it.
const INTENDED: &str = "Intended-";

/// The op of each of these tags, and the kind of its time. A single tag of an op becomes an op with its whole name and
/// no kind of time.
pub(super) fn measures<'t>(
    tags: &(impl Iterator<Item = &'t str> + Clone),
) -> BTreeMap<String, (String, Option<Measure>)> {
    let parts = |tag: &'t str| {
        if let Some(op) = tag.strip_prefix(INTENDED) {
            return Some((op, Measure::Response));
        }
        let is_intended = |other: &str| other.strip_prefix(INTENDED) == Some(tag);
        if tags.clone().any(is_intended) {
            return Some((tag, Measure::Service));
        }
        let (op, end) = tag.rsplit_once(['-', '_', '.'])?;
        let (_, measure) = ENDS.iter().find(|(known, _)| *known == end)?;
        Some((op, *measure))
    };
    let several = |op: &str| {
        let mut measures =
            tags.clone().filter_map(parts).filter(|(of, _)| *of == op).map(|(_, measure)| measure);
        measures.clone().count() > 1 && measures.any(|measure| measure != Measure::Wait)
    };
    let measure = |tag: &'t str| match parts(tag).filter(|(op, _)| several(op)) {
        Some((op, measure)) => (tag.to_owned(), (op.to_owned(), Some(measure))),
        None => (tag.to_owned(), (tag.to_owned(), None)),
    };
    tags.clone().map(measure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tags: &[&str], expected: &[(&str, Option<Measure>)]) {
        let found = measures(&tags.iter().copied());
        let found: Vec<_> = tags.iter().map(|tag| found[*tag].clone()).collect();
        let expected: Vec<_> = expected.iter().map(|(op, of)| ((*op).to_owned(), *of)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn times_of_one_op_are_one_op_in_the_names_of_several_tools() {
        let [response, service, wait] =
            [Measure::Response, Measure::Service, Measure::Wait].map(Some);
        check(
            &["READ-st", "READ-rt", "READ-wt", "WRITE-st", "WRITE-rt"],
            &[
                ("READ", service),
                ("READ", response),
                ("READ", wait),
                ("WRITE", service),
                ("WRITE", response),
            ],
        );
        check(
            &["main.cycles.servicetime", "main.cycles.responsetime"],
            &[("main.cycles", service), ("main.cycles", response)],
        );
        check(&["READ", "Intended-READ"], &[("READ", service), ("READ", response)]);
    }

    #[test]
    fn an_op_that_is_alone_keeps_its_name() {
        check(
            &["", "put", "north-st", "Intended-x", "wt"],
            &[("", None), ("put", None), ("north-st", None), ("Intended-x", None), ("wt", None)],
        );
    }
}
