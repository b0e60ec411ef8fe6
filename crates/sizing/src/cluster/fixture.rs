//! Points and requests of the tests.

use crate::Guidance;
use crate::cluster::{Basis, Need, Reading, Request, WithOrigin};
use crate::scaling::Weighting;
use crate::series::{Origin as Place, Point, Setting, names};

/// Nodes and rows/s of the 1M-rows article.
pub const INGEST: [(f64, f64); 5] =
    [(1.0, 293_147.0), (2.0, 493_723.0), (3.0, 676_781.0), (4.0, 856_460.0), (5.0, 1_043_659.0)];
/// Nodes and queries/s of the query-scaling article.
pub const QUERIES: [(f64, f64); 4] =
    [(3.0, 9.0698), (6.0, 17.0139), (12.0, 29.8725), (24.0, 52.0404)];

/// A point with settings.
pub fn point(unit: &str, per_s: f64, settings: &[(&str, f64)]) -> Point {
    let settings = settings.iter();
    Point {
        origin: Place::Line(2),
        series: "example".to_owned(),
        source: "an article".to_owned(),
        throughput: per_s,
        unit: unit.to_owned(),
        settings: settings
            .map(|(name, number)| ((*name).to_owned(), Setting::Number(*number)))
            .collect(),
        ..Point::default()
    }
}

/// Points of clusters of some sizes, nodes of 16 vCPUs, no replicas.
pub fn points(unit: &str, pairs: &[(f64, f64)]) -> Vec<Point> {
    let one = |&(nodes, per_s): &(f64, f64)| {
        let settings =
            [(names::NODES, nodes), (names::VCPUS_PER_NODE, 16.0), (names::REPLICAS, 0.0)];
        point(unit, per_s, &settings)
    };
    pairs.iter().map(one).collect()
}

/// The basis of a need, from pairs of nodes and rates.
pub fn basis(unit: &str, pairs: &[(f64, f64)]) -> Basis {
    let points = points(unit, pairs);
    let points: Vec<&Point> = points.iter().collect();
    Basis::new(&points, &Reading::default()).unwrap()
}

/// A need of this rate.
pub fn need(per_s: f64, basis: Basis) -> Need {
    Need { per_s: WithOrigin::given(per_s, "RATE"), at_least_per_s: None, basis }
}

/// A request with only its needs.
pub fn request(needs: Vec<Need>) -> Request {
    Request {
        needs,
        probability: WithOrigin::assumed(0.95, "default"),
        spare: WithOrigin::assumed(0.0, "default"),
        growth_per_month: WithOrigin::assumed(0.0, "default"),
        months: WithOrigin::assumed(12, "default"),
        survive: WithOrigin::assumed(0, "default"),
        replicas: WithOrigin::assumed(0, "as measured"),
        vcpus_per_node: None,
        retention_s: None,
        stored_bytes_per_row: None,
        sent_bytes_per_row: None,
        bytes_per_answer: None,
        price_per_node_hour: None,
        guidance: WithOrigin::assumed(Guidance::general(), "no database is named"),
        squares: Weighting::Relative,
    }
}
