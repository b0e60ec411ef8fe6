//! A synthetic growth, predicted step by step, for tests.

use highwater_analysis::fixture;
use highwater_analysis::fixture::growth::{add, growth, of_verdict};
use highwater_analysis::growth::conclude;
use highwater_model::judgment::ReasonCode;
use highwater_model::plan::Unit;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ScaleEach, ScaleOutcome, ScalePurpose, SizeVerdict};
use highwater_model::search::Estimate;

use super::predicted;

/// Four sizes with published rates, each predicted from the ones before, and the first size again.
pub fn grown() -> ExperimentRecord {
    let sizes = [(1, 293_147.0), (2, 493_723.0), (3, 676_781.0), (4, 856_460.0)];
    let mut scale = growth(&[1, 2, 3, 4]);
    scale.until_per_s = Some(8e5);
    scale.price_per_node_hour = Some(0.8);
    for (position, (nodes, per_s)) in sizes.into_iter().enumerate() {
        let before = predicted(&scale, nodes);
        let purpose = match position {
            0 => ScalePurpose::First,
            _ => ScalePurpose::Grow,
        };
        let mut figures = of_verdict(SizeVerdict::Counts, per_s, None);
        // An estimate need not lie around the confirmed rate, which is a floor.
        let ends = [0.004, 0.008, 0.017].map(|part| per_s * (1.0 + part));
        figures.estimate = Some(Estimate { low90: ends[0], value: ends[1], high90: ends[2] });
        figures.failed = Some(per_s * 1.02);
        figures.failed_by = vec![ReasonCode::ObjectiveLatency];
        figures.shards = Some(8 + 8 * u64::from(nodes));
        figures.target_cpu = Some(0.95);
        figures.p99_ns = Some(96_000_000);
        add(&mut scale, nodes, purpose, figures);
        if let Some(trial) = scale.trials.last_mut() {
            trial.predicted = before;
            let shards = (8 + 8 * nodes).to_string();
            trial.size.settings.insert("shards".to_owned(), shards);
        }
    }
    scale.sizes = scale.trials.iter().map(|trial| trial.size.clone()).collect();
    let again = of_verdict(SizeVerdict::Counts, 290_100.0, None);
    add(&mut scale, 1, ScalePurpose::Again, again);
    if let (Some(first), Some(last)) = (scale.sizes.first().cloned(), scale.trials.last_mut()) {
        last.size = first;
    }
    scale.outcome = Some(ScaleOutcome::Reached);
    let mut last = fixture::open_gate();
    let flags = "nodes 1,2,3,4|p99 10ms|price 0.8|shards 8+8n|target sim:?nodes={nodes}|until 800k";
    last.header.command = fixture::typed("scale", flags);
    conclude(last, scale, "growth".to_owned())
}

/// Published rates of three queries with 3, 6, 12, and 24 nodes, and the first size again.
pub fn queried() -> ExperimentRecord {
    let published = [
        (3, [3.2395, 3.0398, 3.1790]),
        (6, [6.1410, 5.6857, 5.9053]),
        (12, [10.2985, 10.0139, 10.2393]),
        (24, [18.2665, 17.5259, 17.7649]),
        (3, [3.2395, 3.0398, 3.1790]),
    ];
    let mut scale = growth(&[3, 6, 12, 24]);
    scale.each = ScaleEach::Run;
    "queries".clone_into(&mut scale.stream);
    scale.unit = Unit::Queries;
    for (position, (nodes, per_s)) in published.into_iter().enumerate() {
        let purpose = match position {
            0 => ScalePurpose::First,
            4 => ScalePurpose::Again,
            _ => ScalePurpose::Grow,
        };
        let mut figures = of_verdict(SizeVerdict::Counts, per_s.iter().sum(), None);
        let names = ["q1", "q2", "q3"].map(str::to_owned);
        figures.per_s_by_op = names.into_iter().zip(per_s).collect();
        add(&mut scale, nodes, purpose, figures);
    }
    scale.outcome = Some(ScaleOutcome::Complete);
    conclude(fixture::open_gate(), scale, "growth".to_owned())
}
