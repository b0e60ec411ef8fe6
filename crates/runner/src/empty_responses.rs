//! Adds notes for queries with mostly empty responses: a query that finds no rows is fast, so its figures mean little.
//! The usual cause is a query for the current time on older data. Must not affect a judgment.

use highwater_model::display::{count, percent_of};
use highwater_model::op::OpId;
use highwater_model::plan::PhaseKind;
use highwater_model::record::{RunNote, RunRecord};
use highwater_workload::Workload;

/// With fewer responses, no note is added.
const RESPONSES_MIN: u64 = 10;

/// A note for each query of which at least half of the measured responses were empty. Rows give a lower bound: at least
/// responses minus rows were empty.
pub(crate) fn notes(record: &RunRecord, workload: &Workload) -> Vec<RunNote> {
    if record.target.sink || record.target.simulated {
        return Vec::new();
    }
    let measured = record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let measured: Vec<&str> = measured.map(|phase| phase.name.as_str()).collect();
    let ops = (0..u16::MAX).map(|op| (OpId(op), workload.op_name(OpId(op))));
    let ops = ops.take_while(|(_, name)| !name.is_empty());
    let found = ops.filter_map(|(id, name)| {
        let of_op = |phase: &str, op: &str| op == name && measured.contains(&phase);
        let results = record.results.iter().filter(|r| of_op(&r.phase, &r.op));
        let (responses, rows) = results.fold((0, 0), |(responses, rows), result| {
            (responses + result.acknowledged, rows + result.response_rows)
        });
        let empty = responses.checked_sub(rows);
        let empty = empty.filter(|empty| empty * 2 >= responses)?;
        (responses >= RESPONSES_MIN && workload.only_reads(id)).then(|| RunNote {
            code: "empty_answers".to_owned(),
            message: format!(
                "{name}: at least {} of {} answers had no row; a query about the clock's time finds \
                 none in data of another time",
                percent_of(empty, responses),
                count(responses)
            ),
        })
    });
    found.collect()
}
