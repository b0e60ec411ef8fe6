//! `tune`: words in, settings of a tuning out. Mistakes in axes are tests of the whole program.

use super::*;

fn tune(words: &str) -> TuneSettings {
    let words = format!("tune|--over|batch=500,1000|{words}");
    let sources = Sources {
        words: words.trim_end_matches('|'),
        ..Sources::default()
    };
    let (command, layers) =
        layers(&sources).unwrap_or_else(|failure| panic!("{}", failure.render()));
    assert_eq!(command, Command::Tune);
    TuneSettings::resolve(&layers, &supported())
        .unwrap_or_else(|failure| panic!("{}", failure.render()))
}

#[test]
fn a_cell_where_something_is_rejected_or_fails_does_not_count_unless_that_is_allowed() {
    let objectives = |words: &str| {
        let objectives = tune(words).run.objectives;
        (objectives.rejected, objectives.errors)
    };
    assert_eq!(objectives(""), (Some(Ppm(0)), Some(Ppm(0))));
    let given = objectives("--rejected|1%|--errors|2%");
    assert_eq!(given, (Some(Ppm(10_000)), Some(Ppm(20_000))));
}

#[test]
fn a_cell_is_what_its_values_would_be_as_flags() {
    let settings = tune("--over|sessions=4,8|--over|with.codec=a,b|--seed|7|--with|refresh=1s");
    let values = [("batch", "1000"), ("sessions", "8"), ("with.codec", "b")];
    let values: BTreeMap<String, String> = values
        .into_iter()
        .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
        .collect();
    let trial = settings
        .trial(&values)
        .unwrap_or_else(|failure| panic!("{}", failure.render()));
    assert_eq!(trial.parameters["batch"], "1000");
    assert_eq!(trial.load.sessions, Some(8));
    let with: Vec<_> = trial.table_settings.iter().collect();
    assert_eq!(
        format!("{with:?}"),
        r#"[("codec", "b"), ("refresh", "1s")]"#
    );
    assert_eq!(trial.seed.0, 7);
}
