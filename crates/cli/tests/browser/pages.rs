//! Pages to check, made by the program itself, and axe-core, which checks them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use highwater_testing::npm;
use serde_json::Value;
use tempfile::TempDir;

/// The accessibility checker in the npm registry.
const AXE: &str = "axe-core@4.11.0";

/// A directory that is removed with its content.
pub(crate) struct Pages {
    place: TempDir,
}

impl Pages {
    pub(crate) fn new() -> Self {
        Self { place: TempDir::new().unwrap() }
    }

    /// Output of the program, whatever its exit code.
    pub(crate) fn call(&self, words: &[&str]) -> String {
        self.called(words, "sums")
    }

    /// The same for an experiment. Its audits only count rows: comparing the values of simulated rows takes nine tenths
    /// of its CPU time.
    pub(crate) fn experiment(&self, words: &[&str]) -> String {
        self.called(words, "count")
    }

    fn called(&self, words: &[&str], audit: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(words)
            .current_dir(self.place.path())
            .env_remove("HIGHWATER_TARGET")
            .env("HIGHWATER_AUDIT", audit)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 4), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The running program, and the address that it serves.
    pub(crate) fn watched(&self, words: &[&str]) -> (Child, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_highwater"))
            .args(words)
            .current_dir(self.place.path())
            .env_remove("HIGHWATER_TARGET")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.find_map(|line| Some(line.unwrap().strip_prefix("page: ")?.to_owned()));
        // The program needs a reader for its progress.
        std::thread::spawn(move || lines.for_each(drop));
        (child, url.unwrap())
    }

    /// The page of the newest run.
    pub(crate) fn report(&self) -> PathBuf {
        let runs = self.place.path().join("highwater-runs");
        let runs = std::fs::read_dir(runs).unwrap();
        let mut runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
        runs.sort();
        let page = runs.last().unwrap().join("report.html");
        assert!(page.exists(), "{}", page.display());
        page
    }

    /// The record of the newest run.
    pub(crate) fn record(&self) -> Value {
        let record = self.report().with_file_name("record.json");
        serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap()
    }

    /// A file that the program wrote.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A page with this text.
    pub(crate) fn page(&self, name: &str, text: &str) -> PathBuf {
        let path = self.place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// The text of axe-core; `None` if its tests are skipped.
pub(crate) fn axe() -> Option<String> {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let fetched = npm::fetched(kept, &[AXE])?;
    let script = fetched.join("node_modules/axe-core/axe.min.js");
    Some(std::fs::read_to_string(&script).unwrap())
}
