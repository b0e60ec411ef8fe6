//! Input prepared by other users: settings in a directory that is not the user's, and irregular files.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::called::{Called, Place, finish, split};
use crate::pages::{expect, fetched, serving, stop};

/// Calls the program, and kills it if it would otherwise wait forever.
fn typed(place: &Place, line: &str) -> Called {
    let own = place.command(&split(line));
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).arg(own.get_program());
    command.args(own.get_args()).current_dir(place.path());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    finish(&mut command)
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn the_working_directorys_file_runs_no_command_and_names_no_target() {
    let place = Place::new();
    for (text, key) in [
        ("[run]\nvariant = ['a=touch obeyed', 'b=true']\n", "variant"),
        ("target = 'sim:'\n", "target"),
        ("[run]\ncluster = 'lab.toml'\n", "cluster"),
        ("otlp = 'http://127.0.0.1:1'\n", "otlp"),
        ("out = '../elsewhere'\n", "out"),
    ] {
        place.file("highwater.toml", text);
        // For every command: settings for another command are visible, too.
        for line in ["run sim: -d 3s --repeat 1", "show"] {
            let called = typed(&place, line);
            assert_eq!(called.code, Some(2), "{text}: {called:?}");
            called.reports(&format!("error: `{key}` "));
            called.reports("--> highwater.toml:");
        }
    }
    assert!(!place.path().join("obeyed").exists());
    assert!(place.runs().is_empty());
}

#[test]
fn a_path_of_the_working_directorys_file_stays_within_it() {
    let (place, elsewhere) = (Place::new(), Place::new());
    symlink(elsewhere.path(), place.path().join("link")).unwrap();
    for out in ["link", "link/runs", "/tmp/runs"] {
        place.file("highwater.toml", &format!("out = '{out}'\n"));
        let called = typed(&place, "run sim: -d 3s -q");
        assert_eq!(called.code, Some(2), "{out}: {called:?}");
        called.reports("outside of this directory");
    }
    place.file("highwater.toml", "out = 'own/runs'\n");
    let called = typed(&place, "run sim: -d 3s -q");
    assert!(place.path().join("own/runs").exists(), "{called:?}");
}

#[test]
fn settings_of_the_directory_are_named_and_those_of_the_user_and_a_named_file_do_more() {
    let place = Place::new();
    place.file("highwater.toml", "batch = 50\n");
    place.own_settings("target = 'sim:?nodes=2'\n");
    let called = typed(&place, "run cpu -d 3s -v");
    called.prints("settings from highwater.toml");
    called.reports("settings from highwater.toml");
    assert_eq!(place.newest().target.urls, ["sim:?nodes=2"]);
    let shown = typed(&place, "show -v");
    shown.prints("settings from highwater.toml");
    let without = typed(&place, "run cpu -d 3s -v --batch 60");
    assert!(!without.stdout.contains("settings from"), "{without:?}");
    place.own_settings("[run]\nvariant = ['a=touch obeyed', 'b=true']\n");
    let refused = typed(&place, "run cpu sim: -d 3s --repeat 1");
    assert_eq!(refused.code, Some(2));
    refused.reports("error: `variant` runs commands");
    place.own_settings("");
    place.file("named.toml", "[run]\nvariant = ['a=touch obeyed', 'b=true']\n");
    typed(&place, "run cpu sim: -d 3s --repeat 1 -q --config named.toml");
    assert!(place.path().join("obeyed").exists());
    let absent = typed(&place, "show --config none.toml");
    assert_eq!(absent.code, Some(2));
    absent.reports("error: cannot read none.toml: No such file");
}

/// A store with a run in which one file is not a regular one.
fn with_odd(name: &str, make: &dyn Fn(&Path)) -> Place {
    let place = Place::new();
    let run = place.path().join("highwater-runs/2026-01-01T00-00-00-odd");
    fs::create_dir_all(&run).unwrap();
    if name != "plan.json" {
        fs::write(run.join("plan.json"), "{}").unwrap();
    }
    make(&run.join(name));
    place
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_a_record_holds_nothing_up() {
    let zero = |path: &Path| symlink("/dev/zero", path).unwrap();
    let odd: [&dyn Fn(&Path); 2] = [&pipe, &zero];
    for make in odd {
        for name in ["record.json", "draft.json", "plan.json"] {
            let place = with_odd(name, make);
            let run = "highwater-runs/2026-01-01T00-00-00-odd";
            for line in [
                "show".to_owned(),
                format!("compare {run} {run}"),
                format!("check {run}"),
                format!("size 1k --from {run}"),
                format!("table {run}"),
                format!("audit {run} sim:"),
                format!("run sim: -q --tuned {run}"),
            ] {
                let called = typed(&place, &line);
                assert!(matches!(called.code, Some(1..=5)), "{name}: {line}: {called:?}");
            }
        }
    }
}

#[test]
fn files_that_a_user_names_are_regular_ones_within_a_bound() {
    let place = Place::new();
    pipe(&place.path().join("pipe"));
    fs::File::create(place.path().join("large.toml")).unwrap().set_len(2 << 20).unwrap();
    for (line, why) in [
        ("size 1k --from /dev/zero", "a device"),
        ("size 1k --from pipe", "a named pipe"),
        ("table /dev/zero --over nodes", "a device"),
        ("run sim: -f pipe", "a named pipe"),
        ("run sim: -f large.toml", "larger than 1 MiB"),
        ("import pipe", "a named pipe"),
        ("import /dev/zero", "a device"),
        ("check pipe", "a named pipe"),
        ("show --config pipe", "a named pipe"),
        ("cluster up pipe", "a named pipe"),
        ("show pipe", "a named pipe"),
        ("run sim: --events pipe", "no process reads this named pipe"),
        ("run postgres://h/x?sslmode=verify-full&sslrootcert=pipe", "a named pipe"),
    ] {
        let called = typed(&place, line);
        assert!(matches!(called.code, Some(2 | 5)), "{line}: {called:?}");
        called.reports(why);
    }
    assert!(place.runs().is_empty(), "nothing began");
}

#[test]
fn events_are_written_to_a_pipe_that_has_a_reader() {
    let place = Place::new();
    let path = place.path().join("pipe");
    pipe(&path);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    // The reader may open the pipe shortly after the program.
    let open = |called: &Called| !called.stderr.contains("no process reads");
    let called = (0..1_000).map(|_| typed(&place, "run sim: -d 3s -q --events pipe"));
    assert!(called.into_iter().any(|called| open(&called)));
    assert!(reader.join().unwrap().contains("\"ended\""));
}

#[test]
fn one_bad_entry_of_a_store_is_one_bad_row_of_its_page() {
    let place = with_odd("record.json", &pipe);
    let other = place.path().join("highwater-runs/2026-01-01T00-00-01-zero");
    fs::create_dir_all(&other).unwrap();
    symlink("/dev/zero", other.join("plan.json")).unwrap();
    symlink("/dev/zero", other.join("reports.jsonl")).unwrap();
    symlink("/dev/zero", other.join("draft.json")).unwrap();
    typed(&place, "run sim: -d 3s -q");
    let (server, page) = serving(&place, "");
    let own = place.runs().pop().unwrap();
    let own = own.file_name().unwrap().to_string_lossy().into_owned();
    let list = fetched(page, "GET /", "");
    expect(&list, 200, &["-odd", "-zero", &own]);
    let odd = fetched(page, "GET /run/2026-01-01T00-00-00-odd", "");
    expect(&odd, 409, &["a named pipe"]);
    let zero = fetched(page, "GET /run/2026-01-01T00-00-01-zero", "");
    expect(&zero, 409, &["a device"]);
    expect(&fetched(page, &format!("GET /run/{own}"), ""), 200, &[]);
    stop(server);
}

#[test]
fn what_is_in_a_runs_directory_is_replaced_and_never_written_through() {
    let place = Place::new();
    typed(&place, "run cpu -d 3s --warm-up 0s --keep -q");
    let run = place.runs().pop().unwrap();
    let mine = place.path().join("mine");
    fs::write(&mine, "kept").unwrap();
    for name in ["latency.hlog", "report.html", "record.json.partial"] {
        drop(fs::remove_file(run.join(name)));
        symlink(&mine, run.join(name)).unwrap();
    }
    typed(&place, "audit");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "kept");
    assert!(fs::metadata(run.join("latency.hlog")).unwrap().len() > 100);
}

#[test]
fn more_sessions_than_a_load_generator_has_room_for_are_an_error() {
    let place = Place::new();
    for line in [
        "run sim: -c 999999999",
        "run sim: --stream insert@999999999c",
        "run sim: -c 999999999 -R 1k",
        "load sim: -c 999999999 --rows 1k",
        "tune sim: --over sessions=1,999999999 --quick",
    ] {
        let called = typed(&place, line);
        assert_eq!(called.code, Some(2), "{line}: {called:?}");
        called.reports("a load generator has 65,536 at most");
    }
    let search = typed(&place, "find sim: --axis sessions --max 999999999 --p99 1s");
    assert_eq!(search.code, Some(2), "{search:?}");
    search.reports("a load generator has 65536 sessions at most");
}

/// Makes a file or a directory writable for other users.
fn open_to_others(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn a_record_writable_by_others_does_not_determine_the_target() {
    let place = Place::new();
    typed(&place, "run sim: -d 3s -q");
    let run = place.runs().pop().unwrap();
    let own = typed(&place, "show");
    own.prints("next:");
    let own = typed(&place, "audit");
    assert!(own.stderr.is_empty() || !own.stderr.contains("by others"), "{own:?}");
    for part in [run.join("record.json"), run.clone(), place.path().join("highwater-runs")] {
        let before = fs::metadata(&part).unwrap().permissions();
        open_to_others(&part);
        let refused = typed(&place, "audit");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        refused.reports("can be written by others");
        refused.reports("name the target on the command line");
        let named = typed(&place, "audit sim:");
        assert!(!named.stderr.contains("by others"), "{named:?}");
        let shown = typed(&place, "show");
        assert!(!shown.stdout.contains("next:"), "{shown:?}");
        fs::set_permissions(&part, before).unwrap();
    }
    // A killed run has only a draft.
    fs::rename(run.join("record.json"), run.join("draft.json")).unwrap();
    open_to_others(&run.join("draft.json"));
    typed(&place, "audit").reports("draft.json can be written by others");
}

#[test]
fn an_experiment_writable_by_others_is_resumed_and_used_on_a_named_target() {
    let place = Place::new();
    for (made, again) in [
        (
            "find cpu sim: --quick --p99 1s --audit count",
            "find cpu --quick --p99 1s --audit count --resume",
        ),
        (
            "tune cpu sim: --quick --over batch=10,20",
            "tune cpu --quick --over batch=10,20 --resume",
        ),
        ("tune cpu sim: --quick --over batch=10,20", "run cpu -d 3s --tuned"),
        ("run cpu sim: -d 3s --repeat 2", "run cpu -d 3s --repeat 3 --resume"),
    ] {
        drop(fs::remove_dir_all(place.path().join("highwater-runs")));
        typed(&place, made);
        let run = place.runs().pop().unwrap();
        open_to_others(&run.join("record.json"));
        let id = run.file_name().unwrap().to_string_lossy().into_owned();
        // A target in the user's settings is not named on the command line.
        place.own_settings("target = 'sim:'\n");
        let refused = typed(&place, &format!("{again} {id}"));
        assert_eq!(refused.code, Some(2), "{again}: {refused:?}");
        refused.reports("can be written by others");
        let named = typed(&place, &format!("{again} {id} sim:"));
        assert!(!named.stderr.contains("by others"), "{again}: {named:?}");
        place.own_settings("");
    }
}
