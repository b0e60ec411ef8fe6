//! `scale --variant`: growths of two versions side by side.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_model::quantity::parse_instant;
use highwater_model::scale::{ScaleOutcome, ScalePurpose, ScaleRecord};
use highwater_runner::record;

use crate::called::Place;
use crate::scaling::{RUN, TARGET, order, scale_of};

/// The stored growth of this variant, and its directory.
#[track_caller]
fn of_variant(place: &Place, name: &str) -> (PathBuf, ScaleRecord) {
    let mut found = place.runs().into_iter().rev().map(|run| (run.clone(), scale_of(&run)));
    let of_name = |scale: &ScaleRecord| scale.variant.as_ref().is_some_and(|of| of.name == name);
    found.find(|(_, scale)| of_name(scale)).unwrap()
}

/// Two versions of one database: a row of the second one takes 10 ms instead of 7.
#[test]
fn variants_grow_side_by_side_and_are_compared() {
    let place = Place::new().verbose();
    let target = TARGET.replace("row=7ms", "row={variant}ms");
    let command = "10=touch configured-{variant}";
    let variants = ["--variant", "7", "--variant", command];
    let words = [&["scale", "cpu", &target][..], &variants, RUN, &["-c", "16n"]].concat();
    let sizes = ["--nodes", "1..4", "--until", "250"];
    let dry = place.call(&[&words[..], &sizes, &["--dry-run"]].concat());
    let said = "the same of each of 2 variants, every size in random order: 7, 10; ";
    assert!(dry.stdout.contains(said), "{dry:?}");
    let called = place.call(&[&words[..], &sizes].concat());
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    assert!(place.path().join("configured-10").exists());
    let [(fast_in, fast), (slow_in, slow)] = ["7", "10"].map(|name| of_variant(&place, name));
    // A node handles 143 or 100 rows per second: 250 require two or three nodes.
    assert_eq!((order(&fast), order(&slow)), (vec![1, 2, 1], vec![1, 2, 3, 1]));
    for scale in [&fast, &slow] {
        assert_eq!(scale.outcome, Some(ScaleOutcome::Reached));
        let again = &scale.trials[scale.trials.len() - 1];
        assert!(again.purpose == ScalePurpose::Again, "{again:?}");
        assert!(scale.trials[1].predicted.is_some(), "its own sizes predict it");
    }
    // Both measure a size before either measures a larger one, and both repeat their first size at the end.
    let begun =
        |scale: &ScaleRecord, at: usize| parse_instant(&scale.trials[at].started_at).unwrap();
    for [earlier, later] in [[&fast, &slow], [&slow, &fast]] {
        assert!(begun(earlier, 0) <= begun(later, 1));
    }
    assert!(begun(&slow, 2) <= begun(&fast, 2), "the larger size, then those again");
    for (directory, scale) in [(&fast_in, &fast), (&slow_in, &slow)] {
        let variant = scale.variant.as_ref().unwrap();
        let ids = variant.all.values().map(|id| directory.parent().unwrap().join(id));
        assert!(ids.clone().all(|path| path.exists()) && ids.count() == 2);
        for trial in &scale.trials {
            let own = record::read(&directory.join(&trial.run)).unwrap();
            assert_eq!(own.header().labels["variant"], variant.name);
        }
        assert!(directory.join("report.html").exists());
    }
    for said in ["variant 7, in turns with 1 more", "B makes ", " less than A at "] {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
    assert!(fast_in.join("variants.html").exists());

    // Each of the records names both.
    let more = ["--nodes", "1..4", "--until", "1M", "--resume"];
    let resumed = [&words[..], &more, &[slow_in.to_str().unwrap()]].concat();
    let called = place.call(&resumed);
    assert_eq!(called.code, Some(1), "{}{}", called.stdout, called.stderr);
    let both = ["7", "10"].map(|name| order(&of_variant(&place, name).1));
    assert_eq!(both, [vec![1, 2, 1, 3, 4, 1], vec![1, 2, 3, 1, 4, 1]]);
}

/// Compares the growth of the mark or the rate; a tuning would find the best configuration of each size separately.
#[test]
fn each_configuration_of_the_axes_grows_beside_the_others() {
    let place = Place::new();
    let target = TARGET.replace("row=7ms&", "");
    let axes = "--over sim.row=7ms,10ms --over sessions=16,32 --nodes 1,2";
    let axes: Vec<&str> = axes.split(' ').collect();
    let words = [&["scale", "cpu", &target][..], &axes, RUN].concat();
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    for (row, one) in [("7ms", 143.0), ("10ms", 100.0)] {
        for sessions in [16, 32] {
            let name = format!("sim.row-{row}_sessions-{sessions}");
            let (directory, scale) = of_variant(&place, &name);
            assert_eq!(order(&scale), [1, 2, 1], "{name}");
            assert!(scale.over.is_empty(), "no tuning: {:?}", scale.over);
            for trial in &scale.trials {
                let expected = one * f64::from(trial.size.nodes);
                let part = trial.figures.per_s / expected;
                assert!((0.95..=1.05).contains(&part), "{name}: {trial:?}");
                let run = record::read(&directory.join(&trial.run)).unwrap();
                assert_eq!(run.run().unwrap().plan.definition.streams[0].sessions, sessions);
            }
        }
    }
    assert_eq!(place.runs().len(), 4);
}

/// The axis was declared, so two batch sizes are the same question; without the declaration they are not, and the
/// flag is named.
#[test]
fn an_axis_of_the_workload_is_compared_and_by_hand_it_is_named() {
    let place = Place::new();
    let load = "--each run --over batch=6,12 --nodes 1,2 -c 16n -d 20s --warm-up 2s -q --settle 1s";
    let words: Vec<&str> = ["scale", "cpu", TARGET].into_iter().chain(load.split(' ')).collect();
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    assert!(called.stdout.contains("\nB makes "), "{}", called.stdout);
    assert!(!called.stdout.contains("no verdict"), "{}", called.stdout);
    let both = ["batch-6", "batch-12"].map(|name| of_variant(&place, name).0);
    let [a, b] = both.each_ref().map(|directory| directory.to_str().unwrap());
    let by_hand = place.call(&["compare", a, b]);
    let said = "no verdict: A and B answer different questions: batch 6 against 12";
    assert!(by_hand.stdout.starts_with(said), "{}", by_hand.stdout);
    assert!(!by_hand.stdout.contains("fingerprint"), "{}", by_hand.stdout);
}

/// The second variant's record of the resumed call is not written yet, as after a kill, or missing, as after Ctrl-C
/// before its next size.
#[test]
fn a_variant_without_its_next_size_continues_from_earlier_ones() {
    let place = Place::new();
    let target = TARGET.replace("row=7ms", "row={variant}ms");
    let variants = ["--variant", "7", "--variant", "10"];
    let words = [&["scale", "cpu", &target][..], &variants, RUN, &["-c", "16n"]].concat();
    let grow = |sizes: &str, from: Option<&Path>| {
        let before = place.runs();
        let mut more = vec!["--nodes", sizes];
        let from = from.map(|from| ["--resume", from.to_str().unwrap()]);
        more.extend(from.into_iter().flatten());
        let called = place.call(&[&words[..], &more].concat());
        assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
        let mut new = place.runs();
        new.retain(|run| !before.contains(run));
        ["7", "10"].map(|name| {
            let is_of = |run: &&PathBuf| scale_of(run).variant.unwrap().name == name;
            new.iter().find(is_of).unwrap().clone()
        })
    };
    let [first, slow] = grow("1,2", None);
    let [further, lost] = grow("1..3", Some(&first));
    let before = scale_of(&further).variant.unwrap().before;
    let id = slow.file_name().unwrap();
    assert_eq!(Some(before["10"].as_str()), id.to_str());
    let ways: [&dyn Fn() -> std::io::Result<()>; 2] =
        [&|| fs::remove_file(lost.join("record.json")), &|| fs::remove_dir_all(&lost)];
    for lose in ways {
        lose().unwrap();
        let both = grow("1..3", Some(&further));
        let both = both.map(|run| order(&scale_of(&run)));
        assert_eq!(both, [[1, 2, 1, 3, 1]; 2]);
    }
}

/// On a real clock: two runs of a second for each of two variants, and two idle seconds before each run except the
/// first.
#[test]
#[ignore = "long: a minute, on the real clock"]
fn long_the_target_is_left_idle_before_the_first_run_of_the_second_variant() {
    let place = Place::new();
    let target = format!("{TARGET}&clock=real");
    let variants = ["--variant", "a", "--variant", "b"];
    let words = [
        "--nodes",
        "1,2",
        "--until",
        "1",
        "--each",
        "run",
        "-d",
        "1s",
        "--warm-up",
        "0s",
        "--settle",
        "2s",
        "-q",
    ];
    let called = place.call(&[&["scale", "cpu", &target][..], &variants, &words].concat());
    let took =
        ["a", "b"].map(|name| of_variant(&place, name).1).map(|scale| scale.trials[0].took_ns);
    assert!(took.iter().any(|took| *took > 2_500_000_000), "{took:?} {called:?}");
}

#[test]
fn ctrl_c_while_a_variant_is_configured_stops_the_growth() {
    let place = Place::new();
    // As when the terminal signals all processes, and the shell fails.
    let command = "test ! -e {variant} && touch {variant} || { kill -INT $PPID; exit 1; }";
    let [a, b] = ["a", "b"].map(|name| format!("{name}={command}"));
    let variants = ["--variant", &a, "--variant", &b, "--nodes", "1..3"];
    let words = [&["scale", "cpu", TARGET][..], &variants, RUN].concat();
    let called = place.call(&words);
    assert_eq!(called.code, Some(130), "{called:?}");
    for name in ["a", "b"] {
        let (_, scale) = of_variant(&place, name);
        assert_eq!(scale.outcome, Some(ScaleOutcome::Interrupted));
        assert_eq!(order(&scale), [1]);
    }
    // Before the first measurement, nothing is stored.
    let kept = place.runs();
    let called = place.call(&words);
    assert_eq!(called.code, Some(130), "{called:?}");
    let said = "interrupted while the command of a variant ran";
    assert!(called.stderr.contains(said), "{called:?}");
    assert_eq!(place.runs(), kept);
}

/// Whatever else their URLs contain, tables in one place would hold the rows of both.
#[test]
fn variants_that_write_to_the_same_tables_are_rejected_unless_they_recreate_them() {
    let place = Place::new();
    let shared = "sqlite:{nodes}.db?synchronous={variant}";
    for (target, more, code) in
        [(shared, &["--drop"][..], 0), (shared, &[], 2), ("sqlite:{variant}-{nodes}.db", &[], 0)]
    {
        let words = [
            "scale",
            "cpu",
            target,
            "--nodes",
            "1,2",
            "--each",
            "run",
            "--dry-run",
            "--variant",
            "off",
            "--variant",
            "normal",
        ];
        let called = place.call(&[&words[..], more].concat());
        assert_eq!(called.code, Some(code), "{target} {more:?} {called:?}");
        let is_refused = called.stderr.contains("`off` and `normal` have one target");
        assert_eq!(is_refused, code == 2, "{called:?}");
    }
}

#[test]
fn variants_that_cannot_be_compared_are_refused() {
    let place = Place::new();
    for (more, said) in [
        (&["--variant", "a"][..], "one variant has nothing beside it"),
        (
            &["--variant", "a", "--variant", "b", "--grow"],
            "--variant cannot be combined with --grow",
        ),
        (&["--variant", "a", "--variant", "a"], "variant `a` is given twice"),
        (
            &["--variant", "a", "--variant", "b", "-o", "{variant}"],
            "variants are stored beside each other",
        ),
        (
            &["--variant", "a", "--variant", "b", "--over", "batch=1,2"],
            "--variant and --over exclude each other",
        ),
        (&["--over", "batch=1,2", "--grow"], "--over cannot be combined with --grow"),
        (&["--over", "with.codec=a/b,a:b"], "two configurations would have one name"),
        (
            &["--over", "batch=1..16", "--over", "sessions=1..8"],
            "--over: 20 configurations, 16 at most",
        ),
    ] {
        let words = ["scale", "cpu", TARGET, "--nodes", "1,2"];
        let called = place.call(&[&words[..], more].concat());
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(called.stderr.contains(said), "{said}: {called:?}");
    }
}
