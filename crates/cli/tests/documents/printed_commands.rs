//! The commands in README and documents work as described: each fence of commands has a tag (`xtask::fences`), and is
//! run, or parsed, or run if its requirements are installed.
//!
//! The fences of a document share a directory, as for a user who runs them in order. `$URL` and similar variables are a
//! simulated cluster, except in fences that need a server.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use highwater_testing::mariadb::MariaDb;
use highwater_testing::postgres::{self, Postgres, Setup};
use highwater_testing::programs;
use tempfile::TempDir;
use xtask::fences::{Fence, Kept, fences};
use xtask::process;
use xtask::tidy::Tree;

/// Number of documents that run in parallel, if each has its own targets.
const DOCUMENTS_AT_ONCE: usize = 3;
/// Prevents starting a program while another one is written: the new process would hold the file open, so that it could
/// not be executed.
static STARTING: Mutex<()> = Mutex::new(());
/// Timeout of a fence, in the daily test and at its printed length; daily runs take seconds.
const LONGEST_S: u32 = 300;
const LONGEST_AS_PRINTED_S: u32 = 1_200;

/// Printed commands take 20 s. Here they take only as long as a judgment needs, and audits count rows: comparing the
/// values of forty million simulated rows is more than half of the time of a search.
const SHORT_RUNS: [(&str, &str); 3] =
    [("HIGHWATER_DURATION", "3s"), ("HIGHWATER_WARM_UP", "500ms"), ("HIGHWATER_AUDIT", "count")];

/// The documents' variables for the reader's targets.
const TARGETS: [&str; 4] = ["URL", "URLS", "OLD", "NEW"];

/// A document, and its fences with commands or their files.
struct Document {
    path: String,
    fences: Vec<Fence>,
}

fn documents() -> Vec<Document> {
    let tree = Tree::read(&process::root()).unwrap();
    let of_users = |path: &str| path == "README.md" || path.starts_with("docs/");
    let all = tree
        .with_extension("md")
        .filter(|(path, _)| of_users(path))
        .map(|(path, text)| Document { path: path.to_owned(), fences: fences(text) });
    all.filter(|document| document.fences.iter().any(Fence::is_commands)).collect()
}

/// How to call the commands of a fence.
struct Called<'a> {
    /// Replacement of `highwater`.
    highwater: &'a str,
    /// Accepted exit codes of the last command.
    codes: &'a [i32],
    /// The reader's target.
    target: &'a str,
    /// Whether runs take only as long as a judgment needs.
    is_short: bool,
    longest_s: u32,
}

/// Working directory of a document's commands.
struct Place {
    directory: TempDir,
    /// `highwater` and `cargo` for the commands.
    programs: TempDir,
}

impl Place {
    fn new(document: &Document) -> Self {
        let place = Self { directory: TempDir::new().unwrap(), programs: TempDir::new().unwrap() };
        symlink(process::root().join("examples"), place.directory.path().join("examples")).unwrap();
        for fence in &document.fences {
            if let Some(name) = fence.file() {
                fs::write(place.directory.path().join(name), &fence.text).unwrap();
            }
        }
        place
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.programs.path().join(name);
        let _alone = STARTING.lock().unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The failure of a fence; absent if it ends as documented.
    fn failure(&self, fence: &Fence, called: &Called<'_>) -> Option<String> {
        let Called { codes, target, .. } = *called;
        self.program("highwater", called.highwater);
        // `cargo run --release -- run` as printed in the README.
        self.program(
            "cargo",
            "while [ \"$1\" != -- ]; do shift; done; shift; exec highwater \"$@\"",
        );
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.programs.path().display());
        let mut command = Command::new("timeout");
        command
            .args([
                &called.longest_s.to_string(),
                "bash",
                "-e",
                "-o",
                "pipefail",
                "-c",
                &fence.text,
            ])
            .current_dir(self.directory.path())
            .env("PATH", path)
            .env("NO_COLOR", "1");
        if called.is_short {
            command.envs(SHORT_RUNS);
        }
        for name in TARGETS {
            command.env(name, target);
        }
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let alone = STARTING.lock().unwrap();
        let running = command.spawn().unwrap();
        drop(alone);
        let output = running.wait_with_output().unwrap();
        let code = output.status.code();
        let as_stated = code.is_some_and(|code| codes.contains(&code));
        (!as_stated).then(|| {
            format!(
                "exit code {code:?}, not one of {codes:?}\n{}\n{}{}",
                fence.text,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }
}

/// The program under test.
fn as_printed() -> String {
    format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_highwater"))
}

/// Parses all words and sends nothing: plans and previews if a command has them, otherwise only its flags. A search
/// still inspects its target: the host of an example is replaced by a simulated one, and that of a tuning over shards,
/// which those have in their URL, by a sink.
fn without_a_target() -> String {
    format!(
        "words=$#; command=$1\n\
         while [ $words -gt 0 ]; do\n\
         case \"$command $1\" in *' …') ;; find\\ postgres*://*|find\\ crate*://*) set -- \"$@\" sim: ;; tune\\ crate*://*) set -- \"$@\" null:crate ;; *) set -- \"$@\" \"$1\" ;; esac\n\
         shift; words=$((words-1))\n\
         done\n\
         case \"$1 $* \" in \n\
         run*' --cluster '*|load*' --cluster '*|find*' --cluster '*|tune*' --cluster '*) set -- \"$@\" --help ;;\n\
         'run '*|'load '*) case \" $* \" in *' --plan '*|*' --dry-run '*) ;; *) set -- \"$@\" --plan ;; esac ;;\n\
         'find '*|'tune '*|'scale '*) case \" $* \" in *' --dry-run '*) ;; *) set -- \"$@\" --dry-run ;; esac ;;\n\
         *) set -- \"$@\" --help ;;\n\
         esac\n\
         exec '{}' \"$@\" > /dev/null",
        env!("CARGO_BIN_EXE_highwater")
    )
}

/// Checks the fences of all documents, several documents in parallel; `check` returns the failure of a fence.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "how long each fence took is printed where the test fails"
)]
fn check_all(at_once: usize, check: impl Fn(&Place, &Fence, &Kept) -> Option<String> + Sync) {
    let waiting = Mutex::new(documents());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                loop {
                    let Some(document) = waiting.lock().unwrap().pop() else {
                        break;
                    };
                    let place = Place::new(&document);
                    for fence in document.fences.iter().filter(|fence| fence.is_commands()) {
                        let started = Instant::now();
                        let failure = match fence.kept() {
                            Ok(kept) => check(&place, fence, &kept),
                            Err(wrong) => Some(wrong),
                        };
                        let at = format!("{}:{}", document.path, fence.line);
                        println!("{:5.1} s  {at}", started.elapsed().as_secs_f64());
                        let failure = failure.map(|what| format!("{at}: {what}"));
                        wrong.lock().unwrap().extend(failure);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn every_day<'a>(highwater: &'a str, codes: &'a [i32], target: &'a str) -> Called<'a> {
    Called { highwater, codes, target, is_short: true, longest_s: LONGEST_S }
}

#[test]
fn printed_commands_run_with_the_documented_exit_code() {
    check_all(DOCUMENTS_AT_ONCE, |place, fence, kept| match kept {
        Kept::Run(codes) => {
            let highwater = as_printed();
            place.failure(fence, &every_day(&highwater, codes, "sim:"))
        }
        Kept::DryRun(target) => {
            let highwater = without_a_target();
            place.failure(fence, &every_day(&highwater, &[0], target))
        }
        Kept::Needs(_) => None,
    });
}

/// Documents with the commands for the load of a published article.
const RECIPES: &str = "docs/guide/recipe-";

/// Runs the printed commands with few rows and sessions, for seconds, on one file, which has no shards. Verdicts of
/// such runs differ from the text, and must not end the shell.
fn in_small() -> String {
    format!(
        "words=$#; named=\n\
         while [ $words -gt 0 ]; do\n\
         word=$1; shift; words=$((words-1))\n\
         case $word in\n\
         -d|--step|-c|--rows|--shards) shift; words=$((words-1)) ;;\n\
         esac\n\
         case $word in\n\
         -d|--step) set -- \"$@\" $word 2s ;;\n\
         -c) set -- \"$@\" -c 4 ;;\n\
         --rows) set -- \"$@\" --rows 20k ;;\n\
         --shards|…) ;;\n\
         postgres*://*) [ \"$named\" ] || set -- \"$@\" sqlite:recipe.db; named=1 ;;\n\
         *) set -- \"$@\" \"$word\" ;;\n\
         esac\n\
         done\n\
         '{}' \"$@\" || {{ code=$?; [ $code = 3 ] || exit $code; }}",
        env!("CARGO_BIN_EXE_highwater")
    )
}

#[test]
fn the_steps_of_a_recipe_work_one_after_the_other() {
    let recipes = documents().into_iter().filter(|document| document.path.starts_with(RECIPES));
    let mut steps = 0;
    for recipe in recipes {
        let place = Place::new(&recipe);
        for fence in recipe.fences.iter().filter(|fence| fence.is_commands()) {
            steps += fence.text.matches("highwater ").count();
            let highwater = in_small();
            let called = every_day(&highwater, &[0], "sqlite:recipe.db");
            assert_eq!(place.failure(fence, &called), None, "{}", recipe.path);
        }
    }
    assert!(steps >= 8, "{steps}");
}

/// Servers for fences.
struct Servers {
    postgres: Postgres,
    mariadb: MariaDb,
}

impl Servers {
    /// The URL of a fence's target; absent if a requirement is missing.
    fn target(&self, needs: &[String]) -> Option<String> {
        let mut target = "sim:".to_owned();
        for need in needs {
            match need.as_str() {
                "postgres" => target = self.postgres.url("postgres", "postgres"),
                "mariadb" => target = self.mariadb.url("root"),
                // A test must not run commands that change the machine or the repository.
                "debian" | "docker" | "cargo" => return None,
                program => drop(programs::in_path(program)?),
            }
        }
        Some(target)
    }
}

/// The guide from a machine without a database to a mark.
const GUIDE: &str = "docs/guide/postgresql.md";
/// Address in the guide of a server installed by Debian.
const DEBIAN_PORT: &str = ":5432/";

/// The guide's commands for Debian and those after them, in one shell, as its reader would type them. The server
/// belongs to this test, with the same access rules as Debian's: `apt-get` has nothing to install, and
/// `sudo -u postgres` is a superuser of that server.
#[test]
#[ignore = "long: a search at its printed length, against a real server"]
fn long_the_guide_leads_from_zero_to_a_mark_on_debian() {
    if programs::POSTGRESQL.is_left_out() {
        return;
    }
    let server = Postgres::start_with(&Setup {
        access: vec!["host all all 127.0.0.1/32 scram-sha-256".to_owned()],
        ..Setup::default()
    });
    let mut all = documents().into_iter();
    let guide = all.find(|document| document.path == GUIDE).unwrap();
    let is_step = |fence: &&Fence| match fence.kept() {
        Ok(Kept::Needs(needs)) => needs == ["debian"] || needs == ["postgres"],
        _ => false,
    };
    let steps: Vec<&Fence> = guide.fences.iter().filter(is_step).collect();
    let own_port = format!(":{}/", server.port());
    let text: String = steps.iter().map(|fence| fence.text.as_str()).collect();
    assert_eq!(text.matches(DEBIAN_PORT).count(), 1, "{text}");
    let place = Place::new(&guide);
    place.program("apt-get", "exit 0");
    place.program(
        "sudo",
        &format!(
            "[ \"$1\" = -u ] && shift 2\nPGHOST='{}' PGPORT={} PGUSER={} exec \"$@\"",
            server.socket_directory().display(),
            server.port(),
            postgres::SUPERUSER
        ),
    );
    let whole = Fence { text: text.replace(DEBIAN_PORT, &own_port), ..steps[0].clone() };
    let called = Called {
        // A verdict on this machine may differ from the text, and must not end the shell.
        highwater: &format!(
            "'{}' \"$@\" || {{ code=$?; [ $code = 3 ] || exit $code; }}",
            env!("CARGO_BIN_EXE_highwater")
        ),
        codes: &[0],
        target: "",
        is_short: false,
        longest_s: LONGEST_AS_PRINTED_S,
    };
    assert_eq!(place.failure(&whole, &called), None);
    let runs = fs::read_dir(place.directory.path().join("highwater-runs")).unwrap();
    let records =
        runs.filter_map(|run| fs::read_to_string(run.unwrap().path().join("record.json")).ok());
    let marks = records.filter(|record| record.contains("\"confirmed\":"));
    assert_eq!(marks.count(), 1, "the search ends with a mark");
}

#[test]
#[ignore = "long: commands at their printed lengths, against real servers"]
fn long_printed_commands_run_if_their_requirements_are_installed() {
    if [&programs::POSTGRESQL, &programs::MARIADB].iter().any(|program| program.is_left_out()) {
        return;
    }
    let servers = Servers { postgres: Postgres::start(), mariadb: MariaDb::start() };
    // In sequence, because they use the same tables of the same servers.
    check_all(1, |place, fence, kept| {
        let Kept::Needs(needs) = kept else {
            return None;
        };
        let Some(target) = servers.target(needs) else {
            programs::report_left_out(&needs.join(","), "commands of the documents need it");
            return None;
        };
        // A verdict on this machine may differ from the text.
        let called = Called {
            highwater: &as_printed(),
            codes: &[0, 3],
            target: &target,
            is_short: false,
            longest_s: LONGEST_AS_PRINTED_S,
        };
        place.failure(fence, &called)
    });
}
