//! `tune`: arguments in, settings of a tuning out. Errors in axes are tested with the whole program.

use super::*;
use crate::commands::tune::TuneIntent;
use crate::exit::render;

fn tune(words: &str) -> TuneIntent {
    let words = format!("tune|--over|batch=500,1000|{words}");
    let sources = Sources { words: words.trim_end_matches('|'), ..Sources::default() };
    let (command, layers) =
        layers(&sources).unwrap_or_else(|failure| panic!("{}", render(&failure)));
    assert_eq!(command.name, "tune");
    TuneIntent::resolve(&layers).unwrap_or_else(|failure| panic!("{}", render(&failure)))
}

#[test]
fn a_cell_with_rejected_or_failed_ops_does_not_count_unless_they_are_allowed() {
    let objectives = |words: &str| tune(words).run.plan.objectives;
    let at_most = |errors, rejected| {
        [Objective::Errors { max_ppm: errors }, Objective::Rejected { max_ppm: rejected }]
    };
    assert_eq!(objectives(""), at_most(0, 0));
    let given = objectives("--rejected|1%|--errors|2%");
    assert_eq!(given, at_most(20_000, 10_000));
}

#[test]
fn a_cell_equals_its_values_as_flags() {
    let settings = tune("--over|sessions=4,8|--over|with.codec=a,b|--seed|7|--with|refresh=1s");
    let values = [("batch", "1000"), ("sessions", "8"), ("with.codec", "b")];
    let values: BTreeMap<String, String> =
        values.into_iter().map(|(axis, value)| (axis.to_owned(), value.to_owned())).collect();
    let trial = settings.trial(&values).unwrap_or_else(|failure| panic!("{}", render(&failure)));
    assert_eq!(trial.parameters["batch"], "1000");
    assert_eq!(trial.plan.sessions, Some(8));
    let with: Vec<_> = trial.options.tables.settings.iter().collect();
    assert_eq!(format!("{with:?}"), r#"[("codec", "b"), ("refresh", "1s")]"#);
    assert_eq!(trial.seed.0, 7);
}
