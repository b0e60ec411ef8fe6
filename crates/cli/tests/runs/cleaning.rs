//! What runs leave on the disk: a clean run removes the database that was made for it, and `clean` the rest.

use std::fs;
use std::path::{Path, PathBuf};

use crate::called::{Called, Place, split};

/// A run of one second on a new embedded database.
const RUN: &str = "run cpu -d 1s --warm-up 0s --set hosts=20 --batch 10 --rate 1k -q";

/// The newest run, and the output of the call that made it. A second is too short to judge the measurement.
fn made(place: &Place, line: &str) -> (PathBuf, Called) {
    let called = place.typed(line);
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    (place.runs().pop().unwrap(), called)
}

fn has_database(run: &Path) -> bool {
    run.join("bench.db").exists()
}

#[test]
fn a_clean_run_removes_the_database_that_was_made_for_it_and_every_result_says_so() {
    let place = Place::new();
    let (run, called) = made(&place, RUN);
    let left = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("bench")).collect();
    assert!(left.is_empty(), "{left:?}");
    let says = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "bench.db (removed after the audit)";
    assert!(says(&called.stdout).contains(sentence), "{called:?}");
    assert!(says(&place.call(&["show"]).stdout).contains(sentence));
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains(sentence));

    let audit = place.call(&["audit"]);
    assert_eq!(audit.code, Some(2), "{audit:?}");
    audit.reports("bench.db does not exist any more");
    audit.reports("unless it has --keep");
    assert!(!has_database(&run), "an audit makes no database");
}

#[test]
fn every_other_database_stays() {
    let place = Place::new();
    let (kept, _) = made(&place, &format!("{RUN} --keep"));
    assert!(has_database(&kept));
    assert!(matches!(place.call(&["audit"]).code, Some(0 | 3)), "it can be audited");
    let (unverified, _) = made(&place, &format!("{RUN} --audit off"));
    assert!(has_database(&unverified), "of a run that is not known to be clean");
    let (loaded, _) = made(&place, "load cpu --set hosts=20 --rows 1k -q");
    assert!(has_database(&loaded), "of a load, for later runs");
    made(&place, &RUN.replace("cpu", "cpu sqlite:own.db"));
    assert!(place.path().join("own.db").exists(), "a file that the user named");
    let (group, _) = made(&place, &format!("{RUN} --repeat 2"));
    let trials: Vec<_> = fs::read_dir(group.join("probes")).unwrap().collect();
    assert_eq!(trials.len(), 2);
    assert!(trials.into_iter().all(|trial| has_database(&trial.unwrap().path())));
}

#[test]
fn clean_lists_all_runs_and_removes_the_embedded_databases_of_clean_ones() {
    let place = Place::new();
    let nothing = place.call(&["clean", "--yes"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "no runs in highwater-runs\n"));
    let (kept, _) = made(&place, &format!("{RUN} --keep"));
    let (unverified, _) = made(&place, &format!("{RUN} --audit off"));
    let (loaded, _) = made(&place, "load cpu --set hosts=20 --rows 1k -q");
    let (group, _) = made(&place, &format!("{RUN} --repeat 2"));
    let mut running = place.start(&split(&RUN.replace("-d 1s", "-d 60s").replace(" -q", "")));
    running.wait_for("  measure  ");
    let databases = || -> Vec<bool> {
        let trials = fs::read_dir(group.join("probes")).unwrap();
        let of_trials = trials.map(|trial| has_database(&trial.unwrap().path()));
        let own = [&kept, &unverified, &loaded].map(|run| has_database(run));
        own.into_iter().chain(of_trials).collect()
    };

    let listed = place.call(&["clean"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let line_of = |run: &Path| {
        let id = format!("{} ", run.file_name().unwrap().display());
        listed.stdout.lines().find(|line| line.starts_with(&id)).unwrap().to_owned()
    };
    for run in [&kept, &group] {
        assert!(line_of(run).contains(" ago, "), "{listed:?}");
        assert!(line_of(run).contains("; would remove its embedded database, "), "{listed:?}");
    }
    for run in [&unverified, &loaded] {
        assert!(!line_of(run).contains("remove"), "{listed:?}");
    }
    assert!(line_of(place.runs().last().unwrap()).ends_with("; in progress"), "{listed:?}");
    assert!(listed.stdout.lines().last().unwrap().starts_with("--yes removes "), "{listed:?}");
    assert_eq!(databases(), [true; 5], "nothing was removed");

    let removed = place.call(&["clean", "--yes"]);
    removed.prints("; removed its embedded database, ");
    assert_eq!(databases(), [false, true, true, false, false]);
    assert!(matches!(place.call(&["show", &kept.display().to_string()]).code, Some(0 | 3)));
    place.call(&["clean"]).prints("nothing to remove\n");
    running.kill();
}

#[test]
fn clean_removes_whole_runs_that_are_older_than_asked() {
    let place = Place::new();
    made(&place, &format!("{RUN} --keep"));
    place.call(&["clean", "--older-than", "1h", "--yes"]).prints("; removed its embedded database");
    assert_eq!(place.runs().len(), 1);
    place.call(&["clean", "--older-than", "1ms"]).prints("; would remove the run, ");
    assert_eq!(place.runs().len(), 1);
    place.call(&["clean", "--older-than", "1ms", "--yes"]).prints("; removed the run, ");
    assert!(place.runs().is_empty());
}
