//! Cost of the live page for a load: CPU and client lag with one and with ten clients of its event stream, compared
//! with the same load without a page.
//!
//! The clients are threads of this process that read the stream; their CPU is counted separately. The page shows ten
//! minutes, its maximum; in one variant it also follows the run's files, for judgments and limit while they form.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::{Job, cpu_workload, measured};
use highwater_bench::meters::{named_threads_cpu, process_cpu, thread_cpu};
use highwater_live::{Live, LiveSettings, PageSettings};
use highwater_model::event::{Event, SecondProgress, StreamCounts, StreamProgress};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{AuditLevel, Unit};
use highwater_model::units::{Nanos, Rate};
use highwater_report::LiveRights;
use highwater_runner::planner::PaceInput;
use highwater_runner::request::{Observer, Silent};

/// A cluster that takes no time, a fifth of a millisecond away.
const TARGET: &str = "sim:?clock=real&nodes=1&cores=inf&shards=1&replicas=0&request=0&row=0\
                      &query=0&service=constant&queue=inf&rtt=200us";
const SESSIONS: u32 = 64;
const OPS_PER_S: u64 = 20_000;
/// The name of the page's thread.
const PAGE_THREAD: &str = "live";
const ROUNDS: usize = 5;
const WARM_UP: Nanos = Nanos::SECOND;
const LENGTH: Nanos = Nanos::from_secs(5);
/// Seconds shown on the page before the load begins.
const EARLIER_S: u64 = 590;

/// A run with or without a page.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    /// Clients of the event stream; none without a page.
    clients: usize,
    /// Whether the page knows the run's directory, and reads the record so far from its files.
    follows: bool,
}

/// The second one without a page shows the random variation.
const VARIANTS: [Variant; 5] = [
    Variant::new("without a page", 0),
    Variant::new("without a page, again", 0),
    Variant::new("one client", 1),
    Variant::new("ten clients", 10),
    Variant { follows: true, ..Variant::new("one client, and the record so far", 1) },
];

impl Variant {
    const fn new(name: &'static str, clients: usize) -> Self {
        Self { name, clients, follows: false }
    }
}

/// One run.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Cores of this process minus its clients, over the load.
    cores: f64,
    /// Cores of the page's own thread.
    page: f64,
    /// p50 and p99 in microseconds.
    lag: [f64; 2],
    /// Bytes read by all clients.
    bytes: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let mut costs = [Cost::default(); VARIANTS.len()];
        // Each variant is first once, so that order favors none.
        for place in 0..VARIANTS.len() {
            let which = (round + place) % VARIANTS.len();
            costs[which] = cost(VARIANTS[which])?;
        }
        rounds.push(costs);
    }
    let remark = format!(
        "Medians of {ROUNDS} rounds in which all {} take turns: {OPS_PER_S} queries of `cpu` a second, open load, \
         {SESSIONS} sessions, {} s after {} s of warm-up, on `{TARGET}`. A client reads the page's event stream from \
         before the load to its end; the page shows {EARLIER_S} seconds besides, and where that is said reads the \
         record so far every few seconds. The page has one thread. CPU of the process is that of all threads, the \
         page's included, less that of the clients' threads; differences are those of one round.",
        VARIANTS.len(),
        LENGTH.0 / Nanos::SECOND.0,
        WARM_UP.0 / Nanos::SECOND.0,
    );
    figures::print(&figures_of(&rounds), &remark)
}

fn figures_of(rounds: &[[Cost; VARIANTS.len()]]) -> Vec<Figure> {
    let middle = |of: &dyn Fn(&[Cost; VARIANTS.len()]) -> f64| {
        median(&rounds.iter().map(of).collect::<Vec<f64>>())
    };
    let mut figures = Vec::new();
    for (which, Variant { name, clients, .. }) in VARIANTS.into_iter().enumerate().skip(2) {
        let page = middle(&|round| 100.0 * round[which].page);
        let figure = Figure::new(format!("CPU of the page: {name}"), "% of a core", page);
        figures.push(match clients {
            1 => figure.budget(Budget::AtMost(1.0)),
            _ => figure,
        });
    }
    for (which, Variant { name, .. }) in VARIANTS.into_iter().enumerate().skip(1) {
        let more = middle(&|round| 100.0 * (round[which].cores - round[0].cores));
        let what = format!("CPU more than without a page: {name}");
        figures.push(Figure::new(what, "% of a core", more));
    }
    for (which, Variant { name, clients, .. }) in VARIANTS.into_iter().enumerate().skip(1) {
        let cores = Figure::new(
            format!("CPU of the process: {name}"),
            "cores",
            middle(&|round| round[which].cores),
        );
        let cores = cores.beside(VARIANTS[0].name, middle(&|round| round[0].cores));
        figures.push(match clients {
            10 => cores.budget(Budget::RatioAtMost(1.1)),
            _ => cores,
        });
        for (i, percentile) in ["p50", "p99"].into_iter().enumerate() {
            let what = format!("client lag, {percentile}: {name}");
            let lag = Figure::new(what, "µs", middle(&|round| round[which].lag[i]));
            let lag = lag.beside(VARIANTS[0].name, middle(&|round| round[0].lag[i]));
            figures.push(match clients {
                10 => lag.budget(Budget::RatioAtMost(1.2)),
                _ => lag,
            });
        }
    }
    let kib = middle(&|round| round[2].bytes / 1024.0);
    figures.push(Figure::new("read by one client", "KiB", kib));
    figures
}

fn cost(variant: Variant) -> Result<Cost, Box<dyn Error>> {
    let clients = variant.clients;
    let before = process_cpu();
    let mut threads: Vec<JoinHandle<Reading>> = Vec::new();
    let of_page = Arc::<AtomicU64>::default();
    let observer: Rc<dyn Observer> = if clients == 0 {
        Rc::new(Silent)
    } else {
        let page = Page::open(variant.follows, Arc::clone(&of_page))?;
        let address = page.address;
        threads.extend((0..clients).map(|_| thread::spawn(move || read(address))));
        Rc::new(page)
    };
    let job = Job {
        stream: "latest-metrics",
        pace: PaceInput::Open(Rate::per_second(OPS_PER_S)),
        warm_up: WARM_UP,
        measure: LENGTH,
        audit: AuditLevel::Off,
        ..Job::inserting(cpu_workload()?, TARGET, SESSIONS)
    };
    // The page ends with the last observer, and its clients end with it.
    let record = job.run(observer)?;
    let mut cost = Cost::default();
    let mut of_clients = Duration::ZERO;
    for thread in threads {
        let reading = thread.join().map_err(|_| "a client panicked")?;
        of_clients += reading.cpu;
        cost.bytes += to_f64(reading.bytes);
        if reading.bytes == 0 {
            return Err("a client read nothing".into());
        }
    }
    let spent = process_cpu().saturating_sub(before + of_clients);
    let length_s = to_f64(WARM_UP.0 + LENGTH.0) / 1e9;
    cost.cores = spent.as_secs_f64() / length_s;
    cost.page = to_f64(of_page.load(Ordering::Relaxed)) / 1e9 / length_s;
    let lag = &measured(&record)?.client_lag_ns;
    cost.lag = [lag.p50, lag.p99].map(|ns| ns.map_or(f64::NAN, |ns| to_f64(ns) / 1e3));
    Ok(cost)
}

/// Data read by a client.
struct Reading {
    cpu: Duration,
    bytes: u64,
}

/// Reads the event stream of a page until it ends.
fn read(address: SocketAddr) -> Reading {
    let mut bytes = 0;
    if let Ok(mut stream) = TcpStream::connect(address) {
        let request = format!("GET /live HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut piece = vec![0; 64 * 1024];
        if stream.write_all(request.as_bytes()).is_ok() {
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                bytes += count as u64;
            }
        }
    }
    Reading { cpu: thread_cpu(), bytes }
}

/// A page that shows ten minutes, and continues with a run's events.
struct Page {
    live: Live,
    follows: bool,
    address: SocketAddr,
    /// CPU time of its thread when it was opened.
    before: Duration,
    /// Nanoseconds of CPU that it used since then, set when it ends.
    spent: Arc<AtomicU64>,
}

impl Drop for Page {
    fn drop(&mut self) {
        let spent = named_threads_cpu(PAGE_THREAD).saturating_sub(self.before);
        let ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        self.spent.store(ns, Ordering::Relaxed);
    }
}

impl Page {
    fn open(follows: bool, spent: Arc<AtomicU64>) -> Result<Self, Box<dyn Error>> {
        let page = PageSettings {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            may_move: false,
            rights: LiveRights::View,
            controller: None,
        };
        let settings = LiveSettings { page: Some(page), ..LiveSettings::default() };
        let live = Live::start(settings).map_err(|failed| failed.error)?;
        let url = live.page_url.clone().unwrap_or_default();
        let authority = url.split('/').nth(2).unwrap_or_default();
        let address = authority.parse()?;
        Ok(Self { live, follows, address, before: named_threads_cpu(PAGE_THREAD), spent })
    }
}

impl Observer for Page {
    fn event(&self, event: &Event) {
        // From this event a page learns where the files are.
        if self.follows || !matches!(event, Event::Begun { .. }) {
            self.live.event(event);
        }
        // The start of a load clears the page.
        if matches!(event, Event::Load(_)) {
            for second in 1..=EARLIER_S {
                self.live.event(&Event::Second(earlier(second)));
            }
        }
    }
}

fn earlier(second: u64) -> SecondProgress {
    let per_s = to_f64(OPS_PER_S) - to_f64(second % 100);
    SecondProgress {
        second,
        phase: "measure".to_owned(),
        streams: vec![StreamProgress {
            stream: "latest-metrics".to_owned(),
            unit: Unit::Queries,
            offered_per_s: Some(to_f64(OPS_PER_S)),
            units_per_s: per_s,
            p50_ns: Some(300_000 + 1_000 * (second % 50)),
            p99_ns: Some(900_000 + 10_000 * (second % 70)),
            p99_at_least: false,
            max_ns: None,
            recent: None,
            errors: 0,
            rejected: 0,
            counts: StreamCounts::default(),
        }],
        errors: 0,
        dropped: 0,
        sessions: SESSIONS,
        ..SecondProgress::default()
    }
}
