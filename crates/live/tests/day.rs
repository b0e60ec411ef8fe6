//! A simulated day of the served page: events, telemetry, and the journal of the run on one side, a browser's
//! connection on the other, in one process whose memory is checked.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use highwater_analysis::fixture;
use highwater_live::{Live, LiveSettings, PageSettings};
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{
    Event, ExperimentProgress, LoadBounds, ObjectiveSoFar, SecondProgress, StreamCounts,
    StreamProgress, Trial, WarningKind,
};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Unit;
use highwater_model::record::RunRecord;
use highwater_model::search::{ProbePurpose, ProbeVerdict};
use highwater_model::target_telemetry::{
    SeriesKind, TelemetryPoint, TelemetryValue, names, sources, units,
};
use highwater_model::units::Nanos;
use highwater_report::LiveRights;
use highwater_runner::request::Observer as _;
use highwater_runner::store::{Journal, JournalLine, RunDirectory};

/// Longer than any update takes; a test that waits longer has failed.
const LIMIT: Duration = Duration::from_mins(2);
const QUARTER_S: u64 = 6 * 3_600;
/// Seconds that are reported at once: two events each and a few others, fewer than the queue holds.
const AT_ONCE_S: u64 = 1_350;
/// Seconds between two lines of each kind: lists of the last two hundred are full within the first quarter.
const LINES_EVERY_S: u64 = 60;
/// Maximum growth of the process from its first quarter to its last: 130 bytes for each second between them. A single
/// event of a second has more than a thousand bytes.
const GROWTH_MAX_KIB: u64 = 8 * 1_024;

/// Maximum number of updates that were read and not yet checked.
const UPDATES_WAITING: usize = 16;

/// The latest update that a browser received.
struct Seen {
    second: u64,
    bytes: usize,
    parts: String,
}

/// The run with the files from which the server reads the record so far.
struct Run {
    live: Live,
    journal: Journal,
    /// Latencies of a second, as in the journal.
    latency: String,
    objectives: usize,
}

#[test]
#[ignore = "long: a day of events, a second for each half hour"]
fn long_a_day_of_everything_is_served_from_memory_that_stays_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let mut run = Run::begin(root.path());
    let url = run.live.page_url.clone().unwrap();
    let address: SocketAddr = url.split('/').nth(2).unwrap().parse().unwrap();
    let (sender, receiver) = mpsc::sync_channel(UPDATES_WAITING);
    let browser = thread::spawn(move || watch(address, &sender));
    let (mut resident, mut pages) = (Vec::new(), Vec::new());
    let mut last = 0;
    for quarter in 1..=4 {
        let mut most = 0;
        while last < quarter * QUARTER_S {
            let until = (last + AT_ONCE_S).min(quarter * QUARTER_S);
            for second in last + 1..=until {
                run.second(second);
            }
            run.journal.flush().unwrap();
            last = until;
            // Nothing more is reported before everything was received.
            let seen = wait(&receiver, |seen| seen.second == last);
            assert!(!seen.parts.contains("were not taken in time"), "{last} s");
            most = most.max(seen.bytes);
        }
        resident.push(resident_kib());
        pages.push(most);
    }
    // The record so far has the whole day, too.
    let seen = wait(&receiver, |seen| !seen.parts.contains("the rest is being"));
    assert!(seen.parts.contains("so-far-judged"), "{}", seen.parts);
    drop(run);
    // Clients are notified of the end.
    browser.join().unwrap();
    assert!(resident[3] <= resident[0] + GROWTH_MAX_KIB, "KiB after each quarter: {resident:?}");
    // Points are joined when there are many, so the size of a page goes up and down.
    assert!(pages[3] <= pages[0] + pages[0] / 2, "bytes: {pages:?}");
}

impl Run {
    fn begin(root: &std::path::Path) -> Self {
        let record = fixture::open_steps();
        let plan = &record.plan.definition;
        let directory = RunDirectory::create(root, "day", plan).unwrap();
        let draft = RunRecord {
            phases: Vec::new(),
            results: Vec::new(),
            streams: Vec::new(),
            intervals: Vec::new(),
            ..record.clone()
        };
        directory.write_draft(&draft).unwrap();
        let journal = directory.journal().unwrap();
        let live = Live::start(LiveSettings {
            page: Some(PageSettings {
                address: SocketAddr::from(([127, 0, 0, 1], 0)),
                may_move: false,
                rights: LiveRights::View,
                controller: None,
            }),
            ..LiveSettings::default()
        })
        .unwrap();
        live.event(&Event::Begun {
            directory: directory.path().display().to_string(),
            workload: "cpu".to_owned(),
            urls: vec!["sim:".to_owned()],
            target: "simulated cluster".to_owned(),
            simulated: true,
            phases: plan.phases.clone(),
            objectives: plan.objectives.clone(),
            settings_file: None,
        });
        live.event(&Event::Load(LoadBounds::default()));
        let mut latency = LatencyHistogram::coarse();
        for millis in 1..40 {
            latency.record_n(Nanos::from_millis(millis), 10);
        }
        Self { live, journal, latency: latency.encode(), objectives: plan.objectives.len() }
    }

    /// Reports one second of a run, to the clients and to the journal.
    fn second(&mut self, second: u64) {
        let phase = if second <= 2 * QUARTER_S { "step 1" } else { "step 2" };
        let streams = vec![
            stream("insert", Unit::Rows, 50_000 - second % 100),
            stream("dashboards", Unit::Queries, 40 + second % 20),
        ];
        self.live.event(&Event::Second(SecondProgress {
            second,
            phase: phase.to_owned(),
            errors: 6,
            streams,
            dropped: 1,
            sessions: 64,
            objectives: vec![ObjectiveSoFar::Part { missed: 4, counted: 1_000 }; self.objectives],
            ..SecondProgress::default()
        }));
        self.live.telemetry(&|| telemetry(second));
        for (stream, op) in
            [("insert", "insert"), ("dashboards", "last-point"), ("dashboards", "by-host")]
        {
            // The journal counts seconds from 0.
            let line = line(second - 1, [phase, stream, op], &self.latency);
            self.journal.append(&line).unwrap();
        }
        if second.is_multiple_of(LINES_EVERY_S) {
            self.lines(second, phase);
        }
    }

    /// Occasional lines: a warning, a note, a trial, and a finished one.
    fn lines(&mut self, second: u64, phase: &str) {
        let note = InterventionRecord {
            by: None,
            time_ns: Nanos::from_secs(second).0,
            phase: phase.to_owned(),
            change: Change::Note { text: format!("vacuum {second}") },
        };
        self.journal.append(&note).unwrap();
        self.live.event(&Event::Intervention(note));
        self.live.event(&Event::Warning {
            kind: WarningKind::FileNotWritten,
            message: format!("message {second}"),
        });
        let number = u32::try_from(second / LINES_EVERY_S).unwrap();
        self.live.event(&Event::Trial {
            number,
            trial: Trial::Variant { name: "a".to_owned(), round: 1, times: 2 },
            progress: ExperimentProgress {
                done: number,
                most: 2_000,
                likely: 2_000,
                spent: Nanos::from_secs(second),
                each: Nanos::from_secs(LINES_EVERY_S),
                left: Nanos::ZERO,
                budget: None,
            },
        });
        let at = f64::from(number);
        let probe = fixture::probe(ProbePurpose::Search, at, ProbeVerdict::Passed);
        self.live.event(&Event::Probed(probe));
    }
}

fn stream(name: &str, unit: Unit, per_s: u64) -> StreamProgress {
    let rate = f64::from(u32::try_from(per_s).unwrap());
    StreamProgress {
        stream: name.to_owned(),
        unit,
        offered_per_s: Some(rate),
        units_per_s: rate,
        p50_ns: Some(1_000_000 + 1_000 * per_s),
        p99_ns: Some(2_000_000 + 3_000 * per_s),
        p99_at_least: false,
        max_ns: None,
        recent: None,
        errors: 3,
        rejected: 2,
        counts: StreamCounts {
            offered: per_s,
            sent: per_s,
            dropped: 1,
            acknowledged: per_s,
            rows_acknowledged: per_s,
            latency_up_to: vec![per_s; 19],
            service_up_to: vec![per_s; 19],
            lag_up_to: vec![per_s; 19],
            failed: BTreeMap::from([(ErrorClass::Rejected, 2)]),
            ..StreamCounts::default()
        },
    }
}

fn telemetry(second: u64) -> TelemetryPoint {
    let busy = 0.5 + f64::from(u32::try_from(second % 10).unwrap()) / 100.0;
    let of = |node: u32| TelemetryValue {
        source: sources::TARGET.to_owned(),
        name: names::CPU_BUSY.to_owned(),
        unit: units::SHARE.to_owned(),
        node: Some(format!("n{node}")),
        kind: SeriesKind::Level,
        value: busy,
    };
    TelemetryPoint { time_ns: Nanos::from_secs(second).0, values: (0..4).map(of).collect() }
}

fn line(second: u64, [phase, stream, op]: [&str; 3], latency: &str) -> JournalLine {
    JournalLine {
        second,
        phase: phase.to_owned(),
        stream: stream.to_owned(),
        op: op.to_owned(),
        offered: 400,
        sent: 396,
        rows_sent: 39_600,
        acknowledged: 390,
        partial: 0,
        rows_acknowledged: 39_000,
        rows_refused: 0,
        errors: 3,
        dropped: 1,
        failures: Vec::new(),
        latency: latency.to_owned(),
        max_ns: Nanos::from_millis(39).0,
        beyond: 1,
        waits: None,
    }
}

/// Reads the event stream until it ends.
fn watch(address: SocketAddr, sender: &SyncSender<Seen>) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut request = String::new();
    write!(request, "GET /live HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut parts = String::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(data) = line.strip_prefix("data: ") {
            parts += data;
        } else if line.is_empty() && !parts.is_empty() {
            let seen = Seen {
                second: second_of(&parts),
                bytes: parts.len(),
                parts: std::mem::take(&mut parts),
            };
            // The receiver no longer exists when the day has ended.
            let _ = sender.send(seen);
        }
    }
}

/// The second of a page: `Running: step 1, 60 s`; 0 if it shows none.
fn second_of(parts: &str) -> u64 {
    let status = parts.split_once("Running: ").map(|(_, status)| status);
    let second = status.and_then(|status| status.split(&[',', ' ', '<'][..]).nth(3));
    second.and_then(|second| second.parse().ok()).unwrap_or(0)
}

/// The next update that fulfills the condition.
fn wait(receiver: &Receiver<Seen>, is_such: impl Fn(&Seen) -> bool) -> Seen {
    loop {
        let seen = receiver.recv_timeout(LIMIT).unwrap();
        if is_such(&seen) {
            return seen;
        }
    }
}

/// Resident memory of this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.unwrap().split_whitespace().next().unwrap();
    kib.parse().unwrap()
}
