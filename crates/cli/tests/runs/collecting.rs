//! `--otlp` with a real collector: the pushed values equal those of the record.
//!
//! The collector is Rotel from PyPI, installed for the Python in `HIGHWATER_TEST_PYTHON`, or for `python3`.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use highwater_testing::programs::report_left_out;

use crate::called::Place;

const PYTHON: &str = "HIGHWATER_TEST_PYTHON";
/// Prints the path of the collector's program.
const FIND: &str = "import importlib.util, pathlib; \
    print(pathlib.Path(importlib.util.find_spec('rotel').origin).with_name('rotel-agent'), end='')";
/// Interval and maximum number of checks: until it listens, and until it has logged the values.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: usize = 1_200;

/// A collector that logs the values of all metrics; it is killed on drop.
struct Collector {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Collector {
    /// Absent if it is not installed.
    fn start(directory: &Path) -> Option<Self> {
        let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
        let found = Command::new(python).args(["-c", FIND]).output().ok()?;
        let program = String::from_utf8(found.stdout).ok()?;
        if !found.status.success() || !Path::new(&program).exists() {
            return None;
        }
        // Both are free at the same time, so they differ.
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, other] = free.map(|listener| listener.local_addr().unwrap().port());
        let log = directory.join("collector.log");
        let mut command = Command::new(program);
        command.args(["start", "--exporter", "blackhole"]);
        command.args(["--debug-log", "metrics", "--debug-log-verbosity", "detailed"]);
        command.args(["--otlp-http-endpoint", &format!("127.0.0.1:{port}")]);
        command.args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{other}")]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(File::create(&log).unwrap());
        let process = command.current_dir(directory).spawn().unwrap();
        let collector = Self { process, port, log };
        collector.wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(collector)
    }

    fn wait_until(&self, is_so: impl Fn() -> bool) {
        let became = (0..LOOKS).any(|_| {
            let is_so = is_so();
            if !is_so {
                thread::sleep(LOOK);
            }
            is_so
        });
        assert!(became, "{}", self.written());
    }

    fn written(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The last value of a metric with a single stream, after this word.
    fn last(&self, metric: &str, word: &str) -> Option<u64> {
        let written = self.written();
        let (_, about) = written.rsplit_once(&format!("-> Name: {metric}\n"))?;
        let of_it = about.split("-> Name: ").next()?;
        let mut lines = of_it.lines().map(str::trim);
        let value = lines.find_map(|line| line.strip_prefix(word))?;
        value.trim().parse().ok()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "long: a Python with rotel"]
fn long_a_real_collector_receives_the_figures_of_the_record() {
    let place = Place::new();
    let Some(collector) = Collector::start(place.path()) else {
        let hint = format!("`pip install rotel`, and its Python in {PYTHON}");
        report_left_out("need rotel", &hint);
        return;
    };
    let url = format!("http://127.0.0.1:{}", collector.port);
    // Long enough for two pushes, and the one at the end.
    let line = format!("run cpu sqlite:bench.db --rate 20k -d 12s --otlp {url}");
    let called = place.typed(&line);
    // The verdict on this machine does not matter here.
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    assert!(!called.stderr.contains("--otlp"), "{called:?}");
    let record = place.newest();
    // Including those of the warm-up.
    let ops: u64 = record.results.iter().map(|result| result.acknowledged).sum();
    assert_ne!(ops, 0);
    for (metric, word) in
        [("highwater_ops_acknowledged", "Value:"), ("highwater_latency", "Count:")]
    {
        collector.wait_until(|| collector.last(metric, word) == Some(ops));
    }
    let written = collector.written();
    assert!(written.contains("-> service.name: Str(highwater)"), "{written}");
}
