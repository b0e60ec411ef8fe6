//! Published figures, compiled in: a basis for sizing without measurements.
//!
//! The files in `examples/published`, and a library of many systems; each names its sources. Must not interpret the
//! figures.

use super::{Point, read};

/// A file of published figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Its name in `examples/published`.
    pub file: &'static str,
    /// The file's text, for [`super::read`].
    pub text: &'static str,
}

macro_rules! published {
    ($($file:literal),+ $(,)?) => {
        &[$(Published {
            file: $file,
            text: include_str!(concat!("../../../../examples/published/", $file)),
        }),+]
    };
}

/// The examples.
pub const PUBLISHED: &[Published] = published![
    "one-million-rows.csv",
    "query-scaling.csv",
    "kv-writes.csv",
    "big-bite.csv",
    "benchmarking-guide.csv",
];

/// Series of many systems, each along an axis.
const LIBRARY: &str = include_str!("../../data/library.csv");

/// Series of systems in which every node holds all rows.
const EVERYWHERE: &str = include_str!("../../data/everywhere.csv");

/// Points of systems in which every node holds all rows; the library does not contain them.
pub fn everywhere() -> Vec<Point> {
    points(EVERYWHERE)
}

/// Points of the library: series of many systems, by nodes, shards, sessions or CPUs.
pub fn library() -> Vec<Point> {
    points(LIBRARY)
}

/// All published points, each series once: those of the examples, the rest of the library, and systems in which every
/// node holds all rows.
pub fn published() -> Vec<Point> {
    let mut all: Vec<Point> = PUBLISHED.iter().flat_map(|file| points(file.text)).collect();
    let is_known = |point: &Point| all.iter().any(|known| known.series == point.series);
    let others: Vec<Point> = library().into_iter().filter(|point| !is_known(point)).collect();
    all.extend(others);
    all.extend(everywhere());
    all
}

/// The tests read every file, so none fails here.
fn points(text: &str) -> Vec<Point> {
    read(text).map(|set| set.points).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_the_library_can_be_read_and_names_its_source() {
        let set = read(LIBRARY).unwrap();
        assert_eq!(set.series().len(), 75);
        let others = read(EVERYWHERE).unwrap();
        assert_eq!(others.series().len(), 8);
        assert!(others.points.iter().all(|point| point.word("placement") == Some("everywhere")));
        let set = others.points.iter().chain(&set.points);
        for point in set {
            assert!(!point.source.is_empty(), "{point:?}");
            assert!(point.number("size").is_some() && point.word("axis").is_some());
        }
    }

    #[test]
    fn a_series_of_the_examples_is_not_taken_twice() {
        let all = published();
        let of = |name: &str| all.iter().filter(|point| point.series == name).count();
        assert_eq!((of("cratedb-1m"), of("cratedb-queries")), (5, 4));
        assert_eq!(of("bigtable-scan"), 4);
    }
}
