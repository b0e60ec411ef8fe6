//! nodeIngestBench: a sample written after its source, as it is on no registry.

use super::{close, imported, sample, told};
use crate::model::import_record::{ImportedPace, MissingField};
use crate::model::plan::Unit;

#[test]
fn rows_and_speed_are_those_of_its_global_results() {
    let (told, record) = imported(&["nodeingestbench.out"]);
    let result = &record.results[0];
    assert_eq!((told.unit, told.units_per_op), (Unit::Rows, 20_000));
    assert_eq!(result.rows.acknowledged, 6_020_000);
    assert_eq!(result.acknowledged, 301);
    close(result.throughput.rows_per_s, 239_088.13, 1e-9);
    assert_eq!(record.phases[0].duration_ns, 25_179_000_000);
    assert_eq!((told.pace, told.sessions), (ImportedPace::Closed, Some(60)));
    assert_eq!(told.settings["shards"], "12");
    assert_eq!(told.settings["table"], "doc.cpu");
}

#[test]
fn what_it_counts_is_the_most_that_there_can_be_and_latency_is_not_told() {
    let (told, record) = imported(&["nodeingestbench.out"]);
    let origin = record.imported.as_ref().unwrap();
    for what in [
        MissingField::Acknowledged,
        MissingField::Errors,
        MissingField::Latency,
        MissingField::Seconds,
    ] {
        assert!(origin.leaves_out(what), "{what:?}");
    }
    assert!(
        told.notes
            .iter()
            .any(|note| note.contains("failed requests as done"))
    );
    insta::assert_snapshot!(crate::report::text(&record));
    for line in ["  error: {", "Error: connect ECONNREFUSED 127.0.0.1:4200"] {
        let global = format!("{line}\n-------- Global");
        let failed = sample("nodeingestbench.out").replace("-------- Global", &global);
        let told = super::told(&[&failed]).unwrap();
        let said = |note: &String| note.contains("1 lines of its output are errors");
        assert!(told.notes.iter().any(said), "{line}: {:?}", told.notes);
    }
}

#[test]
fn digits_are_grouped_as_the_machine_writes_them() {
    let german = sample("nodeingestbench.out")
        .replace("25.179", "25,179")
        .replace("6,020,000", "6.020.000")
        .replace("239,088.13", "239.088,13");
    let told = told(&[&german]).unwrap();
    assert_eq!(told.ops[0].acknowledged, 301);
    assert_eq!(told.duration.0, 25_179_000_000);
}

#[test]
fn without_results_that_fit_there_is_no_record() {
    let out = sample("nodeingestbench.out");
    let (_, wrong) = told(&[&out.replace("6,020,000", "7,020,000")]).unwrap_err();
    assert!(wrong.message.contains("do not fit each other"));
    let (head, _) = out.split_once("-------- Global").unwrap();
    let (_, wrong) = told(&[head]).unwrap_err();
    assert!(wrong.message.contains("not there"), "{wrong:?}");
    let none = format!("{head}-------- Global Results ---------\nNo rows inserted\n");
    assert_eq!(
        told(&[&none]).unwrap_err().1.message,
        "no rows were inserted"
    );
}
