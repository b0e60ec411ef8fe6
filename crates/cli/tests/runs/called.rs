//! Calls the program in a separate directory, to its end or in the background.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

use highwater_model::judgment::ReasonCode;
use highwater_model::record::{ExperimentRecord, Record, ResultRecord, RunRecord};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Called {
    /// Absent after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Called {
    /// Fails if this text is not on standard output.
    #[track_caller]
    pub(crate) fn prints(&self, said: &str) {
        assert!(self.stdout.contains(said), "no `{said}`: {self:?}");
    }

    /// Fails if this text is not on standard error.
    #[track_caller]
    pub(crate) fn reports(&self, said: &str) {
        assert!(self.stderr.contains(said), "no `{said}`: {self:?}");
    }

    /// The command that the summary proposes, without the program's name.
    #[track_caller]
    pub(crate) fn proposed(&self) -> &str {
        let mut lines = self.stdout.lines();
        let next = lines.find_map(|line| line.strip_prefix("next:"));
        let command = next.and_then(|next| next.trim_start().strip_prefix("highwater "));
        command.unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Pauses, because polling without a pause takes CPU time from the process that it waits for.
pub(crate) fn before_the_next_look() {
    std::thread::sleep(Duration::from_millis(10));
}

/// The words of a command line without quotes.
pub(crate) fn split(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Whether the target is simulated: comparing the values of its rows takes nine tenths of a search's CPU time, and half
/// of a run's.
fn is_simulated(words: &[&str]) -> bool {
    words.iter().any(|word| word.starts_with("sim:"))
}

/// A working directory without settings.
pub(crate) struct Place {
    directory: TempDir,
    /// Whether audits of simulated targets compare the values of rows; otherwise they only count rows. Findings of
    /// audits are tested on databases.
    compares_values: bool,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap(), compares_values: false }
    }

    /// The same, with the program's default audits on simulated targets, too.
    pub(crate) fn comparing_values(self) -> Self {
        Self { compares_values: true, ..self }
    }

    /// The same, with all details in summaries.
    pub(crate) fn verbose(self) -> Self {
        self.own_settings("verbose = true\n");
        self
    }

    /// A directory with a database `own.db`, whose table `book` has a thousand rows.
    pub(crate) fn with_books() -> Self {
        let place = Self::new();
        place.database(
            "own.db",
            "CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT); \
             INSERT INTO book WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
             SELECT i, 'title ' || i FROM n",
        );
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes the user's own settings.
    pub(crate) fn own_settings(&self, text: &str) {
        fs::create_dir_all(self.path().join("config/highwater")).unwrap();
        self.file("config/highwater/config.toml", text);
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Creates a database with these statements.
    pub(crate) fn database(&self, name: &str, statements: &str) {
        let connection = rusqlite::Connection::open(self.path().join(name)).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    /// The only value of the result, as text.
    pub(crate) fn query(&self, name: &str, sql: &str) -> String {
        let connection = rusqlite::Connection::open(self.path().join(name)).unwrap();
        let sql = format!("SELECT CAST(({sql}) AS TEXT)");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    /// The program in this directory, without Highwater's environment variables.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.prepared(Command::new(env!("CARGO_BIN_EXE_highwater")), words)
    }

    /// A shell that replaces itself by the program after these commands.
    pub(crate) fn after(&self, commands: &str, words: &[&str]) -> Called {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{commands}; exec \"$@\""), "sh"]);
        shell.arg(env!("CARGO_BIN_EXE_highwater"));
        finish(&mut self.prepared(shell, words))
    }

    /// Pastes the arguments after the program's name into a shell.
    pub(crate) fn shell(&self, words: &str) -> Called {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec \"$0\" {words}")]);
        let mut shell = self.prepared(shell, &[env!("CARGO_BIN_EXE_highwater")]);
        self.audit(&mut shell, &split(&words.replace('\'', " ")));
        finish(&mut shell)
    }

    /// The command in this directory, without Highwater's environment variables.
    pub(crate) fn prepared(&self, mut command: Command, words: &[&str]) -> Command {
        let names = std::env::vars_os().map(|(name, _)| name);
        let ours = |name: &std::ffi::OsString| {
            let name = name.to_string_lossy();
            name.starts_with("HIGHWATER_") || name.starts_with("PG") || name == "NO_COLOR"
        };
        for name in names.filter(ours) {
            command.env_remove(name);
        }
        self.audit(&mut command, words);
        command.args(words).current_dir(self.path());
        // Ceilings and settings of the user who runs the tests must have no effect.
        command.env("XDG_STATE_HOME", self.path().join("state"));
        command.env("XDG_CONFIG_HOME", self.path().join("config"));
        command.stdin(Stdio::null());
        command
    }

    /// Lets a run on a simulated cluster count rows only, unless values are to be compared.
    fn audit(&self, command: &mut Command, words: &[&str]) {
        if is_simulated(words) && !self.compares_values {
            command.env("HIGHWATER_AUDIT", "count");
        }
    }

    /// Calls the program and waits for its end.
    pub(crate) fn call(&self, words: &[&str]) -> Called {
        finish(&mut self.command(words))
    }

    /// The same with the words of a line without quotes.
    pub(crate) fn typed(&self, line: &str) -> Called {
        self.call(&split(line))
    }

    /// Starts the program in the background.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        self.start_knowing(words, &[])
    }

    /// The same with these variables in its environment.
    pub(crate) fn start_knowing(&self, words: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        Self::begin(command)
    }

    /// Starts a prepared command in the background.
    pub(crate) fn begin(mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        Running {
            stdout: BufReader::new(process.stdout.take().unwrap()),
            stderr: BufReader::new(process.stderr.take().unwrap()),
            process,
        }
    }

    /// The record of the newest run, however it ended.
    #[track_caller]
    pub(crate) fn newest(&self) -> RunRecord {
        record(&self.typed("show --format json"))
    }

    /// The directory of the only run in a store.
    pub(crate) fn only_run(&self, store: &str) -> String {
        let runs = self.runs_in(store);
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].display().to_string()
    }

    /// Directories of the runs in the default store, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        self.runs_in("highwater-runs")
    }

    /// Those in another one.
    pub(crate) fn runs_in(&self, store: &str) -> Vec<PathBuf> {
        let store = fs::read_dir(self.path().join(store));
        let mut runs: Vec<PathBuf> =
            store.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }
}

/// The record printed by a call with `--json`.
#[track_caller]
pub(crate) fn record(called: &Called) -> RunRecord {
    let record = highwater_model::json::parse(&called.stdout).ok();
    let run = record.and_then(Record::into_run);
    run.unwrap_or_else(|| panic!("{called:?}"))
}

/// The result of the measured phase, which has one op.
pub(crate) fn measured(record: &RunRecord) -> &ResultRecord {
    let mut results = record.results.iter();
    results.find(|of| of.phase == "measure").unwrap()
}

/// Number of acknowledged ops with this name in the measured phase.
pub(crate) fn acknowledged(record: &RunRecord, op: &str) -> u64 {
    let of = record.results.iter().filter(|of| of.op == op && of.phase == "measure");
    of.map(|of| of.acknowledged).sum()
}

/// The experiment that is stored in `directory`.
pub(crate) fn experiment(directory: &Path) -> ExperimentRecord {
    let record = highwater_runner::record::read(directory).unwrap();
    record.into_experiment().unwrap()
}

/// Runs take only seconds, and a busy machine may be unsteady or stall the load generator; no other reason may be
/// recorded against the measurement.
pub(crate) fn expect_undisturbed(record: &RunRecord) {
    let measurement = &record.judgments.measurement;
    let by_machine = |code| {
        matches!(
            code,
            ReasonCode::NotSteady
                | ReasonCode::BacklogGrew
                | ReasonCode::SteadinessNotShown
                | ReasonCode::TooShort
                | ReasonCode::ClientStalled
                | ReasonCode::SharedHost
        )
    };
    let mut reasons = measurement.reasons.iter();
    assert!(reasons.all(|reason| by_machine(reason.code)), "{measurement:?}");
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Called {
    let output = command.output().unwrap();
    Called {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A running call.
pub(crate) struct Running {
    process: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Waits for a line of progress that contains this, and returns it; panics if there is none.
    pub(crate) fn wait_for(&mut self, what: &str) -> String {
        let mut all = String::new();
        loop {
            let before = all.len();
            assert!(self.stderr.read_line(&mut all).unwrap() > 0, "{all}");
            if all[before..].contains(what) {
                return all[before..].trim_end().to_owned();
            }
        }
    }

    /// Waits for a second of a load in this phase, which `--events -` reports; panics if there is none.
    pub(crate) fn wait_for_second(&mut self, phase: &str) {
        let phase = format!(r#""phase":"{phase}""#);
        let mut line = String::new();
        while !(line.contains(r#""event":"second""#) && line.contains(&phase)) {
            line.clear();
            if self.stdout.read_line(&mut line).unwrap() == 0 {
                let mut all = String::new();
                self.stderr.read_to_string(&mut all).unwrap();
                panic!("no second of {phase}: {all}");
            }
        }
    }

    /// Sends a signal and waits until the process has handled it, so that the next one of its kind is not merged with
    /// it.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.process.id();
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let bit = 1_u64 << (signal.as_raw() - 1);
        let pending = || {
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let masks = status.lines().filter_map(|line| {
                let (name, mask) = line.split_once(':')?;
                let counts = name == "SigPnd" || name == "ShdPnd";
                counts.then(|| u64::from_str_radix(mask.trim(), 16).unwrap())
            });
            masks.fold(0, |all, mask| all | mask) & bit != 0
        };
        while pending() {
            crate::called::before_the_next_look();
        }
    }

    /// The view of other users of the machine on the process.
    pub(crate) fn seen_from_outside(&self) -> String {
        let read = |name: &str| fs::read(format!("/proc/{}/{name}", self.process.id())).unwrap();
        let bytes = [read("cmdline"), read("environ")].concat();
        String::from_utf8_lossy(&bytes).replace('\0', "\n")
    }

    /// Kills it, as the kernel does when memory runs out.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for its end; earlier output on stderr has been read.
    pub(crate) fn end(mut self) -> Called {
        let mut stderr = String::new();
        let mut reader = self.stderr;
        let on_stderr = std::thread::spawn(move || {
            reader.read_to_string(&mut stderr).unwrap();
            stderr
        });
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        Called {
            code: self.process.wait().unwrap().code(),
            stdout,
            stderr: on_stderr.join().unwrap(),
        }
    }
}
