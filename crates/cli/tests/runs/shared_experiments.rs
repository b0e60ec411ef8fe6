//! Processes run the shares of a search, a tuning, or a growth, which is one experiment with one result.

use highwater_model::judgment::Data;
use highwater_model::record::Question;
use highwater_model::search::ProbeVerdict;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Called, Place, Running, experiment, split};
use crate::shares::launch_line;

/// All processes of an experiment.
fn launched(place: &Place, line: &str, shares: u32) -> Vec<Running> {
    let line = format!("{line} --share auto -o shared");
    (0..shares).map(|rank| launch_line(place, &line, rank, shares)).collect()
}

fn ended(place: &Place, line: &str, shares: u32) -> Vec<Called> {
    launched(place, line, shares).into_iter().map(Running::end).collect()
}

/// Every share probes at the rates that the first one records, and each probe is the run of all.
#[test]
fn a_search_over_shares_is_one_search_whose_probes_are_the_runs_of_all() {
    if skipped() {
        return;
    }
    let (place, server) = (Place::new(), Postgres::start());
    let url = server.url(SUPERUSER, "postgres");
    let search = format!(
        "find cpu {url} --start 200 --max 400 --tolerance 50% --batch 10 -c 4 --warm-up 0s --probe 2s --confirm 2s \
         --settle 0s --budget 3m"
    );
    let ended = ended(&place, &search, 2);
    assert_eq!((ended[1].code, ended[1].stdout.as_str()), (Some(0), ""), "{ended:?}");
    assert!(matches!(ended[0].code, Some(0 | 3)), "{ended:?}");
    let stored = place.only_run("shared");
    let record = experiment(&place.path().join(&stored));
    let Question::Search(found) = &record.question else {
        panic!("{record:?}");
    };
    assert!(found.outcome.is_some() && found.probes.len() > 1, "{found:?}");
    for probe in &found.probes {
        let of_all = format!("{stored}/{}", probe.run);
        let run = crate::called::record(&place.call(&["show", &of_all, "--format", "json"]));
        assert_eq!(run.clients.len(), 2, "{}", probe.run);
        assert_eq!(run.judgments.data.value, Data::Clean, "{:?}", run.judgments.data);
        assert_eq!(run.streams[0].planned_rate, Some(probe.at), "{}", probe.run);
    }
    let probes = std::fs::read_dir(place.path().join(&stored).join("probes")).unwrap().count();
    assert_eq!(probes, found.probes.len());
}

/// One after the other, each size is loaded by all shares.
#[test]
fn a_growth_over_shares_is_one_growth() {
    let place = Place::new();
    let growth = "scale cpu sqlite:of-{nodes}.db --nodes 1,2 --each run --batch 10 -c 4 -d 1s --warm-up 0s --settle 0s";
    let ended = ended(&place, growth, 2);
    assert_eq!((ended[1].code, ended[1].stdout.as_str()), (Some(0), ""), "{ended:?}");
    let stored = place.only_run("shared");
    let record = experiment(&place.path().join(&stored));
    let Question::Scale(grown) = &record.question else {
        panic!("{record:?}");
    };
    assert!(grown.outcome.is_some(), "{grown:?}");
    let nodes: Vec<u32> = grown.trials.iter().map(|trial| trial.size.nodes).collect();
    assert!(nodes.len() > 1 && nodes[0] == 1 && nodes.contains(&2), "{nodes:?}");
    for trial in &grown.trials {
        let of_all = format!("{stored}/{}", trial.run);
        let run = crate::called::record(&place.call(&["show", &of_all, "--format", "json"]));
        assert_eq!(run.clients.len(), 2, "{}", trial.run);
    }
}

/// Whichever share is killed, the others end with the number of it, and what was measured can be resumed.
#[test]
#[ignore = "a minute of meetings"]
fn long_a_tuning_over_shares_is_one_tuning() {
    let place = Place::new();
    let tuning = "tune cpu null:postgres --over batch=1,1000 -c 4 --probe 1s --warm-up 0s --settle 0s --quick --budget 5m";
    let ended = ended(&place, tuning, 2);
    assert!(matches!(ended[0].code, Some(0 | 3)), "{ended:?}");
    assert_eq!((ended[1].code, ended[1].stdout.as_str()), (Some(0), ""), "{ended:?}");
    let stored = place.only_run("shared");
    let record = experiment(&place.path().join(&stored));
    let Question::Tune(tuned) = &record.question else {
        panic!("{record:?}");
    };
    assert!(tuned.outcome.is_some() && tuned.trials.len() > 1, "{tuned:?}");
    // A batch of a thousand rows carries more of them, whoever sends it.
    let rate = |at| tuned.trials.iter().find(|trial| trial.at == [at]).unwrap().throughput_per_s;
    assert!(rate(1) > 5.0 * rate(0), "{tuned:?}");
    for trial in &tuned.trials {
        let of_all = format!("{stored}/{}", trial.run);
        let run = crate::called::record(&place.call(&["show", &of_all, "--format", "json"]));
        assert_eq!(run.clients.len(), 2, "{}", trial.run);
    }
}

#[test]
fn a_search_of_which_a_share_is_killed_ends_and_can_be_resumed() {
    let place = Place::new();
    let search = "find cpu sqlite:shared.db --start 200 --max 400 --batch 10 -c 4 --warm-up 0s --probe 4s --confirm 4s \
                  --settle 0s --budget 9m --wait-for-shares 5s --events -";
    let mut shares = launched(&place, search, 2);
    shares[1].wait_for_second("measure");
    shares.remove(0).kill();
    let other = shares.remove(0).end();
    assert_eq!(other.code, Some(3), "{other:?}");
    other.reports("share 1 of 2 has ended, which decides what all of them run next");
    other.reports("--resume");

    let mut shares = launched(&place, &format!("{search} --drop"), 2);
    shares[0].wait_for_second("measure");
    shares.remove(1).kill();
    let first = shares.remove(0).end();
    assert!(matches!(first.code, Some(3 | 130)), "{first:?}");
    let stored = place.runs_in("shared");
    let searches: Vec<_> = stored.iter().filter(|run| run.join("record.json").exists()).collect();
    assert_eq!(searches.len(), 1, "{stored:?}");
    let Question::Search(found) = experiment(searches[0]).question else {
        panic!("{searches:?}");
    };
    assert_eq!(found.probes[0].verdict, ProbeVerdict::Interrupted, "{found:?}");

    // As it is proposed, but in a shorter time.
    let shown = place.call(&["show", &searches[0].display().to_string()]);
    let again = shown.proposed().replace("--budget 9m", "--budget 40s");
    let resumed = [0, 1].map(|rank| launch_line(&place, &again, rank, 2)).map(Running::end);
    assert!(matches!(resumed[0].code, Some(0 | 3)), "{resumed:?}");
    assert_eq!(resumed[1].code, Some(0), "{resumed:?}");
    resumed[0].prints("search ");
}

#[test]
fn experiments_over_shares_need_one_target_and_no_action_of_each_share() {
    let place = Place::new();
    let share = "--share 1/2 --probe 1s --budget 30m";
    for (line, said) in [
        (format!("find cpu sim: {share}"), "each process would load a target of its own"),
        (
            "scale cpu --cluster lab.toml --nodes 1,2 --share 1/2".to_owned(),
            "each load generator would start the clusters",
        ),
        (
            format!("tune cpu sqlite: --over batch=1,2 {share}"),
            "each process would load a target of its own",
        ),
    ] {
        let called = place.call(&split(&line));
        assert_eq!(called.code, Some(2), "{line}: {called:?}");
        called.reports(said);
    }
    assert!(place.runs().is_empty());
}
