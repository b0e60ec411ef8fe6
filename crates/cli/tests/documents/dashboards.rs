//! Prometheus accepts the exported metrics, and every query of every dashboard returns data: dashboards of runs with a
//! real run that is scraped; dashboards of databases with recordings of real exporters (`fixtures/exporters`) or,
//! without one, with series named as in the exporter's documentation. Each file has the types that Grafana publishes.
//! All files named in the compose file exist; no test starts it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use highwater_testing::npm;
use highwater_testing::programs::PROMETHEUS;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Grafana's types, in the version that `compose.yaml` starts, and the compiler that checks them.
const GRAFANA: &str = "11.5.0";
const TYPESCRIPT: &str = "typescript@5.7.3";
const KINDS: &str = include_str!("../fixtures/grafana/kinds.ts");
const CRATEDB: &str = include_str!("../fixtures/exporters/crate_jmx_exporter.txt");
const NODE: &str = include_str!("../fixtures/exporters/node_exporter.txt");
const POSTGRESQL: &str = include_str!("../fixtures/exporters/postgres_exporter.txt");

/// A dashboard as Grafana reads it.
struct Dashboard {
    /// The name of its file without the ending, which is its identity in Grafana.
    name: String,
    json: Value,
}

impl Dashboard {
    /// All of them, by name.
    fn all() -> Vec<Self> {
        let folder = grafana().join("dashboards");
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty());
        paths
            .iter()
            .map(|path| Self {
                name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
                json: serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap(),
            })
            .collect()
    }

    fn named(name: &str) -> Self {
        Self::all().into_iter().find(|one| one.name == name).unwrap()
    }

    fn panels(&self) -> &[Value] {
        self.json["panels"].as_array().unwrap()
    }

    /// The user's choices from queries, by name.
    fn choices(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.json["templating"]["list"].as_array().unwrap();
        variables.iter().filter(|variable| variable["type"] == "query").map(|variable| {
            (variable["name"].as_str().unwrap(), variable["query"]["query"].as_str().unwrap())
        })
    }

    /// Every query, with placeholders for all values of each choice, and for the width of a rate.
    fn queries(&self) -> Vec<String> {
        let targets = self.panels().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
        targets.map(|target| self.with_all(target["expr"].as_str().unwrap())).collect()
    }

    fn with_all(&self, query: &str) -> String {
        let query = query.replace("$__rate_interval", "1m");
        self.choices().fold(query, |query, (name, _)| query.replace(&format!("${name}"), ".*"))
    }

    /// Series on which its queries are evaluated in addition to the recorded ones, in the notation of `promtool`: name
    /// with labels, and its values.
    fn samples(&self) -> Vec<(String, String)> {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/exporters/{}.samples.txt", self.name));
        let text = fs::read_to_string(samples).unwrap_or_default();
        let pairs = text.lines().map(|line| line.rsplit_once(' ').unwrap());
        pairs.map(|(series, values)| (series.to_owned(), values.to_owned())).collect()
    }
}

fn grafana() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../grafana")
}

/// The directory of Prometheus' programs; `None` if they are not installed and these tests are left out.
fn programs() -> Option<PathBuf> {
    if PROMETHEUS.is_left_out() {
        return None;
    }
    PROMETHEUS.path()
}

/// Killed at the end of the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A run that continues until its test ends, and the address of its metrics.
fn run(place: &Path) -> (Ended, String) {
    let words = ["run", "-R", "2k", "-d", "10m", "--warm-up", "1s"];
    exposing(place, &[&words[..], &["--p99", "10s"]].concat())
}

/// A command that continues until its test ends, and the address of its metrics.
fn exposing(place: &Path, words: &[&str]) -> (Ended, String) {
    let mut running = highwater(place, words)
        .args(["--metrics-listen", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let url = lines.find_map(|line| Some(line.unwrap().strip_prefix("metrics: ")?.to_owned()));
    // The program needs a reader for its progress.
    std::thread::spawn(move || lines.for_each(drop));
    let address = url.unwrap().split('/').nth(2).unwrap().to_owned();
    (Ended(running), address)
}

fn highwater(place: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.args(words).current_dir(place).env_remove("HIGHWATER_TARGET").stdout(Stdio::null());
    command
}

/// The body of the response; empty if nothing listens yet.
fn get(address: &str, path: &str) -> String {
    let mut response = Vec::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.read_to_end(&mut response);
    }
    let response = String::from_utf8_lossy(&response);
    response.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned())
}

fn escaped(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_run_that_is_scraped_gives_data_to_every_query_of_its_dashboard() {
    let Some(programs) = programs() else { return };
    let place = TempDir::new().unwrap();
    let (_run, metrics) = run(place.path());
    let config = json!({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "highwater", "static_configs": [{"targets": [metrics]}]}],
    });
    let file = place.path().join("prometheus.yml");
    fs::write(&file, config.to_string()).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Command::new(programs.join("prometheus"))
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", place.path().join("data").display()))
        .arg(format!("--web.listen-address={free}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Ended(server);
    let at = free.to_string();
    for query in Dashboard::named("highwater-run").queries() {
        let path = format!("/api/v1/query?query={}", escaped(&query));
        loop {
            assert!(server.0.try_wait().unwrap().is_none(), "Prometheus ended");
            let answer: Value = serde_json::from_str(&get(&at, &path)).unwrap_or_default();
            assert_ne!(answer["status"], "error", "{query}: {answer}");
            let found = answer["data"]["result"].as_array();
            if found.is_some_and(|found| !found.is_empty()) {
                break;
            }
        }
    }
    let up = get(&at, &format!("/api/v1/query?query={}", escaped("max_over_time(up[10m])")));
    assert!(up.contains(r#","1"]"#), "scraped without an error: {up}");
    let exposed = get(&metrics, "/metrics");
    checked(&programs, &exposed);
}

#[test]
fn a_store_exposes_every_metric_of_its_dashboard() {
    let Some(programs) = programs() else { return };
    let place = TempDir::new().unwrap();
    let of_run = ["run", "sim:", "-d", "60s", "--p99", "10s", "-q"];
    assert!(highwater(place.path(), &of_run).status().unwrap().success());
    let (_serve, metrics) = exposing(place.path(), &["serve", "--listen", "0"]);
    let exposed = get(&metrics, "/metrics");
    checked(&programs, &exposed);
    let samples = Dashboard::named("highwater-history").samples();
    let stored = samples.iter().filter_map(|(series, _)| series.split_once('{'));
    let stored: Vec<&str> =
        stored.map(|(name, _)| name).filter(|name| name.starts_with("highwater_stored")).collect();
    assert!(!stored.is_empty());
    for name in stored {
        assert!(exposed.contains(&format!("\n{name}{{")), "{name}: {exposed}");
    }
}

/// Complaints of Prometheus' own checker about names, help, and types; expected to be empty.
fn checked(programs: &Path, exposed: &str) {
    let mut checker = Command::new(programs.join("promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let older = older(exposed);
    checker.stdin.take().unwrap().write_all(older.as_bytes()).unwrap();
    let output = checker.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{older}");
}

/// Converts to the older text format of the checker, in which help and types have the full names of samples.
fn older(exposed: &str) -> String {
    let suffix = |name: &str| {
        let is = |kind: &str| exposed.contains(&format!("# TYPE {name} {kind}\n"));
        if is("counter") {
            "_total"
        } else if is("info") {
            "_info"
        } else {
            ""
        }
    };
    let line = |line: &str| {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(kind @ ("HELP" | "TYPE")), Some(name), Some(rest)) => {
                let rest = if rest == "info" { "gauge" } else { rest };
                format!("# {kind} {name}{} {rest}\n", suffix(name))
            }
            _ => format!("{line}\n"),
        }
    };
    exposed.lines().map(line).collect()
}

/// Recordings of the real exporters that a dashboard reads.
fn recordings(dashboard: &str) -> &'static [&'static str] {
    match dashboard {
        "cratedb-kubernetes" => &[CRATEDB],
        "cratedb-machines" => &[CRATEDB, NODE],
        "postgresql" => &[POSTGRESQL],
        _ => &[],
    }
}

/// The labels that Prometheus adds when it scrapes for this dashboard.
fn labels_of_target(dashboard: &str) -> &'static str {
    match dashboard {
        // As with its operator on Kubernetes.
        "cratedb-kubernetes" => r#"instance="a",job="recorded",namespace="n",pod="crate-0""#,
        _ => r#"instance="a",job="recorded""#,
    }
}

/// A recording as scraped by Prometheus: with the labels of a target, in the notation of `promtool`, and with values
/// that grow by one per scrape.
fn scraped(recording: &'static str, target: &str) -> impl Iterator<Item = Value> {
    recording.lines().filter(|line| !line.starts_with('#')).map(move |line| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        json!({
            "series": format!("{name}{{{target},{labels}"),
            "values": format!("{value}+1x10"),
        })
    })
}

/// Checks that each choice has values: a series with the label whose values are listed.
fn choices(dashboard: &Dashboard) -> Vec<Value> {
    let expected = |query: &str| {
        let query = dashboard.with_all(query);
        let listed = query.strip_prefix("label_values(").unwrap();
        let (series, label) = listed.strip_suffix(')').unwrap().rsplit_once(", ").unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap();
        let is_there = format!(r#"{label}!="""#);
        let all: Vec<&str> =
            [labels, &is_there].into_iter().filter(|matcher| !matcher.is_empty()).collect();
        has_data(&format!("count(count by ({label}) ({name}{{{}}}))", all.join(",")))
    };
    dashboard.choices().map(|(_, query)| expected(query)).collect()
}

/// A check by `promtool` that a query returns a figure above 0.
fn has_data(count: &str) -> Value {
    json!({
        "expr": format!("{count} > bool 0"), "eval_time": "2m",
        "exp_samples": [{"labels": "{}", "value": 1}],
    })
}

#[test]
fn every_query_of_every_dashboard_gives_data_over_its_samples() {
    let Some(programs) = programs() else { return };
    let place = TempDir::new().unwrap();
    for dashboard in &Dashboard::all() {
        let samples = dashboard.samples();
        let documented =
            samples.iter().map(|(series, values)| json!({"series": series, "values": values}));
        let target = labels_of_target(&dashboard.name);
        let recorded =
            recordings(&dashboard.name).iter().flat_map(|recording| scraped(recording, target));
        let series: Vec<Value> = documented.chain(recorded).collect();
        // A value that is not a number counts as no data, and is not at least 0.
        let queries = dashboard.queries();
        assert!(queries.len() >= dashboard.panels().len(), "{}", dashboard.name);
        let mut expected: Vec<Value> =
            queries.iter().map(|query| has_data(&format!("count(({query}) >= 0)"))).collect();
        expected.extend(choices(dashboard));
        let test = json!({
            "rule_files": [],
            "evaluation_interval": "15s",
            "tests": [{"interval": "15s", "input_series": series, "promql_expr_test": expected}],
        });
        let file = place.path().join(format!("{}.yml", dashboard.name));
        fs::write(&file, test.to_string()).unwrap();
        let output = Command::new(programs.join("promtool"))
            .args(["test", "rules"])
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {said}", dashboard.name);
    }
}

#[test]
fn rates_are_of_counters_of_real_exporters() {
    for (dashboard, recording) in [("cratedb-machines", NODE), ("postgresql", POSTGRESQL)] {
        for query in Dashboard::named(dashboard).queries() {
            let names =
                query.split("rate(").skip(1).map(|rest| rest.split(['{', '[']).next().unwrap());
            // CrateDB's exporter declares everything as a gauge, including counters.
            for name in names.filter(|name| !name.starts_with("crate_")) {
                let kind = format!("# TYPE {name} counter\n");
                assert!(recording.contains(&kind), "{name} of {dashboard}");
            }
        }
    }
}

#[test]
fn dashboards_have_the_fields_that_grafana_requires() {
    for dashboard in &Dashboard::all() {
        assert_eq!(dashboard.json["uid"], dashboard.name, "each has its own identity");
        let panels = dashboard.panels();
        for (place, panel) in panels.iter().enumerate() {
            let at = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            assert!(at("x") + at("w") <= 24, "{panel}");
            let overlap = panels[..place].iter().find(|other| {
                let of = |side: &str| other["gridPos"][side].as_u64().unwrap();
                at("x") < of("x") + of("w")
                    && of("x") < at("x") + at("w")
                    && at("y") < of("y") + of("h")
                    && of("y") < at("y") + at("h")
            });
            assert_eq!(overlap, None, "panels of {} overlap", dashboard.name);
        }
    }
}

/// The rest of each line that begins with `start`.
fn behind<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.trim().strip_prefix(start))
}

#[test]
fn files_named_in_the_compose_file_exist() {
    /// For this one, the README has the download address.
    const DOWNLOADED: &str = "exporter";
    let grafana = grafana();
    let read = |name: &str| fs::read_to_string(grafana.join(name)).unwrap();
    let compose = read("compose.yaml");
    let mounts: Vec<(&str, &str)> =
        behind(&compose, "- ./").filter_map(|mount| mount.split_once(':')).collect();
    assert!(mounts.len() >= 4, "{mounts:?}");
    for (from, _) in mounts.iter().filter(|(from, _)| *from != DOWNLOADED) {
        assert!(grafana.join(from).exists(), "{from}");
    }
    let built: Vec<&str> = behind(&compose, "dockerfile: ").collect();
    assert_eq!(built, ["grafana/Dockerfile"]);
    assert!(grafana.join("../grafana/Dockerfile").exists());
    let provisioned = read("provisioning/dashboards/highwater.yaml");
    let directory = behind(&provisioned, "path: ").next().unwrap();
    let mount = format!("{directory}:ro");
    assert!(mounts.contains(&("dashboards", &mount)), "{mounts:?}");
    // A host is a service, or the machine that runs the containers.
    let is_known = |url: &str| {
        let host = url.split(':').next().unwrap();
        let service = format!("\n  {host}:");
        compose.contains(&service) || compose.contains(&format!("\"{host}:host-gateway\""))
    };
    let config = read("prometheus.yml");
    let targets: Vec<&str> = behind(&config, "- targets: ")
        .flat_map(|list| list.split('"').skip(1).step_by(2))
        .collect();
    assert!(targets.len() >= 5, "{targets:?}");
    let datasource = read("provisioning/datasources/prometheus.yaml");
    let queried = behind(&datasource, "url: http://");
    for url in targets.iter().copied().chain(queried) {
        assert!(is_known(url), "{url}");
    }
}

/// TypeScript's errors about these dashboards, each as a constant of the type that Grafana reads.
fn complaints(fetched: &Path, dashboards: &[(String, String)]) -> String {
    // Below the packages, where the compiler looks for them.
    let place = TempDir::new_in(fetched).unwrap();
    fs::write(place.path().join("kinds.ts"), KINDS).unwrap();
    let files = dashboards.iter().map(|(name, text)| {
        let import = "import type { Dashboard } from './kinds';";
        let constant = format!("{import}\nexport const made: Dashboard = {text}");
        let file = format!("{name}.ts");
        fs::write(place.path().join(&file), constant).unwrap();
        file
    });
    let files: Vec<String> = files.collect();
    let config = json!({
        "compilerOptions": {
            "noEmit": true, "strict": true, "skipLibCheck": true, "types": [], "target": "es2022",
            "module": "esnext", "moduleResolution": "bundler",
        },
        "files": files,
    });
    fs::write(place.path().join("tsconfig.json"), config.to_string()).unwrap();
    let output = Command::new("node")
        .arg(fetched.join("node_modules/typescript/bin/tsc"))
        .args(["--pretty", "false", "-p"])
        .arg(place.path())
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{output:?}");
    said
}

#[test]
fn dashboards_are_of_the_types_that_grafana_publishes() {
    let compose = include_str!("../../../../grafana/compose.yaml");
    assert!(compose.contains(&format!("image: grafana/grafana:{GRAFANA}\n")));
    let types = format!("@grafana/schema@{GRAFANA}");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(fetched) = npm::fetched(kept, &[types.as_str(), TYPESCRIPT]) else {
        return;
    };
    let text = |one: Dashboard| (one.name, serde_json::to_string_pretty(&one.json).unwrap());
    let all: Vec<_> = Dashboard::all().into_iter().map(text).collect();
    let said = complaints(&fetched, &all);
    assert!(said.is_empty(), "{said}");
    // Properties unknown to Grafana are detected at any depth.
    let (_, right) = text(Dashboard::named("highwater-run"));
    let wrong = [
        (r#""uid""#, r#""identity""#),
        (r#""legendFormat""#, r#""legend""#),
        (r#""sort": "desc""#, r#""sort": "down""#),
        (r#""type": "stat""#, r#""type": "figure""#),
        (r#""refresh": 2"#, r#""refresh": "often""#),
        (r#""h": 8"#, r#""height": 8"#),
    ];
    let wrong: Vec<_> = (0..)
        .zip(wrong)
        .map(|(number, (is, becomes))| (format!("wrong{number}"), right.replace(is, becomes)))
        .collect();
    let said = complaints(&fetched, &wrong);
    for (name, _) in wrong {
        assert!(said.contains(&format!("{name}.ts(")), "{name}: {said}");
    }
}
