//! `highwater serve`: the runs of a store, to be listed, opened, compared, removed and started in a browser.
//!
//! It reads what is there at each request, running runs and finished ones alike, and keeps no index: a record that was
//! read is kept until its file changes. Must not run anything: what starts a command is given to it.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path as Part, RawQuery, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use futures_util::stream;
use highwater_analysis::comparison::{Criteria, PRACTICAL};
use highwater_model::record::RecordRef;
use highwater_model::units::Nanos;
use highwater_report::{
    self as report, CompareReport, Group, GrowthsReport, HistoryFilter, HistoryKind,
    HistoryProgress, HistoryRow,
};
use highwater_runner::clock::wall_clock;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::{record, store};

use crate::access::{Access, Refused};
use crate::followed::{self, Followed};
use crate::routes::{
    REPORT_POLICY, conflict, live_script, refusal, style, to_the_list, token_page,
};
use crate::shared::lock;
use crate::starting::{self, Starter};
use crate::{ListenError, bounds, listen, listen_for_metrics, local, metrics, routes, stored};

/// Runs that are looked at; older ones are left to the other commands.
const RUNS_MAX: usize = 5_000;
/// The newest of them may go on.
const GOING_ON_MAX: usize = 100;
/// Runs of one comparison.
const COMPARED_MAX: usize = 100;
/// How long scrapers get the same answers: reading the store takes longer than sending them.
const SCRAPED_FOR: Nanos = Nanos::from_secs(5);

/// What changes when a file is written anew: its length, and seconds and nanoseconds of its last change.
type FileState = (u64, i64, i64);

/// What is served, and what its page may do.
pub struct HistorySettings {
    /// The store.
    pub root: PathBuf,
    /// Where it is served. The port is taken from the system where another program has it, if it `may_move`.
    pub address: SocketAddr,
    /// Whether another port will do.
    pub may_move: bool,
    /// Whether runs may be removed.
    pub may_delete: bool,
    /// Starts commands; absent where the page may start none.
    pub starter: Option<Arc<dyn Starter>>,
    /// Where the answers of stored runs can be scraped.
    pub metrics: Option<SocketAddr>,
}

/// A store that is served.
pub struct History {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    shared: Arc<Shared>,
    /// Where it is, with the token that it needs.
    pub url: String,
    /// Where the metrics are.
    pub metrics_url: Option<String>,
}

struct Shared {
    access: Access,
    root: PathBuf,
    may_delete: bool,
    starter: Option<Arc<dyn Starter>>,
    /// By directory: when its record was last changed, and its line.
    read: Mutex<HashMap<PathBuf, (FileState, HistoryRow)>>,
    /// What scrapers got last, and when it was made.
    scraped: Mutex<Option<(Nanos, String)>>,
    /// Those that go on and are looked at.
    followed: Mutex<Followed>,
}

impl History {
    /// The store of these settings.
    ///
    /// # Errors
    /// An address cannot be listened on.
    pub fn open(settings: HistorySettings) -> Result<Self, ListenError> {
        let listener = listen(settings.address, settings.may_move)?;
        let address = local(&listener, settings.address)?;
        // What starts commands is for its user alone, also on loopback, where others may be.
        let access = Access::to(address, settings.starter.is_some());
        let access = access.map_err(|error| ListenError { address, error })?;
        let (metrics, metrics_url) = listen_for_metrics(settings.metrics)?;
        Ok(Self {
            listener,
            metrics,
            url: access.url(),
            metrics_url,
            shared: Arc::new(Shared {
                access,
                root: settings.root,
                may_delete: settings.may_delete,
                starter: settings.starter,
                read: Mutex::default(),
                scraped: Mutex::default(),
                followed: Mutex::default(),
            }),
        })
    }
}

/// Serves until it is interrupted.
///
/// # Errors
/// The system gives no event loop.
pub fn serve(history: History, mut interrupts: Interrupts) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(listener) = history.metrics {
            tokio::spawn(bounds::serve(listener, scraped_router(Arc::clone(&history.shared))));
        }
        let served = bounds::serve(history.listener, router(history.shared));
        tokio::select! {
            () = served => {}
            _ = interrupts.next() => {}
        }
    });
    Ok(())
}

fn router(shared: Arc<Shared>) -> Router {
    let open = routes::login_of(shared.access.clone());
    let starting = starting::routes(shared.access.clone(), shared.starter.clone());
    let seen = Router::new()
        .route("/", get(list))
        .route("/live.css", get(|| async { style() }))
        .route("/live.js", get(|| async { live_script() }))
        .route("/run/{id}", get(run))
        .route("/run/{id}/live", get(live))
        .route("/compare", get(compared))
        .route("/delete/{id}", get(confirmation))
        .route("/delete", post(deleted))
        .with_state(Arc::clone(&shared))
        .merge(starting)
        .layer(middleware::from_fn_with_state(shared, guard));
    routes::with_headers(open.merge(seen))
}

/// The answers of stored runs alone.
fn scraped_router(shared: Arc<Shared>) -> Router {
    Router::new().route("/metrics", get(scraped)).with_state(shared)
}

async fn scraped(State(shared): State<Arc<Shared>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], shared.scraped()).into_response()
}

async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match shared.access.look(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(Refused::Token) if request.uri().path() == "/" => token_page(),
        Err(refused) => refusal(refused),
    }
}

impl Shared {
    /// The newest runs, newest first.
    fn rows(&self) -> Vec<HistoryRow> {
        let mut runs = store::list(&self.root).unwrap_or_default();
        runs.truncate(RUNS_MAX);
        let mut read = lock(&self.read);
        let there: HashSet<&PathBuf> = runs.iter().collect();
        read.retain(|run, _| there.contains(run));
        let mut rows: Vec<HistoryRow> = runs.iter().map(|run| row(run, &mut read)).collect();
        for (run, row) in runs.iter().zip(&mut rows).take(GOING_ON_MAX) {
            going_on(run, row);
        }
        rows
    }

    /// The answers as scrapers get them, made anew where the last ones are some seconds old.
    fn scraped(&self) -> String {
        let mut scraped = lock(&self.scraped);
        let now = wall_clock();
        // A clock that was set back makes nothing recent for long.
        let is_recent = |made: &Nanos| made.0.abs_diff(now.0) < SCRAPED_FOR.0;
        if let Some((_, text)) = scraped.as_ref().filter(|(made, _)| is_recent(made)) {
            return text.clone();
        }
        let text = metrics::text(stored::of_store(&self.rows()));
        *scraped = Some((now, text.clone()));
        text
    }

    /// A run by the name of its directory; nothing else of the disk can be named.
    fn run(&self, id: &str) -> Option<PathBuf> {
        let runs = store::list(&self.root).unwrap_or_default();
        runs.into_iter().find(|run| run.file_name().is_some_and(|name| *name == *id))
    }
}

/// Adds how far a run is, if a process is at work on it.
fn going_on(run: &Path, row: &mut HistoryRow) {
    let Some(underway) = store::underway(run) else {
        return;
    };
    let lengths = underway.plan.phases.iter().map(|phase| phase.duration.0);
    row.progress = Some(HistoryProgress {
        trial: (underway.trials > 0).then_some(underway.trials),
        second: underway.last.as_ref().map_or(0, |last| last.second + 1),
        of_s: lengths.sum::<u64>() / Nanos::SECOND.0,
        phase: underway.last.map_or_else(String::new, |last| last.phase),
    });
    if row.workload.is_empty() {
        row.workload = underway.plan.workload.name;
    }
}

fn row(run: &Path, read: &mut HashMap<PathBuf, (FileState, HistoryRow)>) -> HistoryRow {
    let id = || run.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let changed = std::fs::metadata(run.join("record.json"))
        .map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    let Ok(changed) = changed else {
        return HistoryRow { has_draft: store::has_draft(run), ..HistoryRow::without_record(id()) };
    };
    if let Some((_, row)) = read.get(run).filter(|(at, _)| *at == changed) {
        return row.clone();
    }
    let row = match record::read(run) {
        Ok(record) => HistoryRow {
            // A directory that was renamed is found by its name.
            id: id(),
            ..HistoryRow::of((&record).into())
        },
        Err(_) => HistoryRow::without_record(id()),
    };
    read.insert(run.to_owned(), (changed, row.clone()));
    row
}

async fn list(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Html<String> {
    let query = query.unwrap_or_default();
    let field = |name| values(&query, name).into_iter().next().unwrap_or_default();
    let filter = HistoryFilter {
        workload: field("workload"),
        target: field("target"),
        label: field("label"),
    };
    Html(report::history_page(
        &shared.rows(),
        &filter,
        shared.may_delete,
        &starting::summary(shared.starter.as_deref()),
    ))
}

async fn run(State(shared): State<Arc<Shared>>, Part(id): Part<String>) -> Response {
    let Some(run) = shared.run(&id) else {
        return missing();
    };
    if let Some(page) = lock(&shared.followed).page(&run, wall_clock()) {
        return Html(page).into_response();
    }
    match record::read(&run) {
        Ok(record) => report_page(report::html(RecordRef::from(&record))),
        Err(error) => conflict(error.to_string()),
    }
}

/// The parts of the page of a run that goes on, each time they change.
async fn live(State(shared): State<Arc<Shared>>, Part(id): Part<String>) -> Response {
    let Some(run) = shared.run(&id) else {
        return missing();
    };
    let reader = Reader { shared, run, sent: None, is_ended: false };
    let events = stream::unfold(reader, Reader::next);
    let events = events.map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Who looks at a run that goes on.
struct Reader {
    shared: Arc<Shared>,
    run: PathBuf,
    /// What was sent last.
    sent: Option<Arc<str>>,
    is_ended: bool,
}

impl Reader {
    /// The next version, or that there will be none; then nothing.
    #[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
    async fn next(mut self) -> Option<(Event, Self)> {
        while !self.is_ended {
            let parts = lock(&self.shared.followed).parts(&self.run, wall_clock());
            let Some(parts) = parts else {
                self.is_ended = true;
                return Some((Event::default().event("ended").data("ended"), self));
            };
            if self.sent.as_ref() != Some(&parts) {
                self.sent = Some(Arc::clone(&parts));
                return Some((Event::default().event("parts").data(&*parts), self));
            }
            tokio::time::sleep(Duration::from_nanos(followed::EVERY.0)).await;
        }
        None
    }
}

async fn compared(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let mut ids = values(&query.unwrap_or_default(), "run");
    if ids.len() < 2 || ids.len() > COMPARED_MAX {
        let what = format!("choose from 2 to {COMPARED_MAX} runs");
        return (StatusCode::BAD_REQUEST, what).into_response();
    }
    // Ids begin with the time: the oldest is the baseline.
    ids.sort();
    let mut records = Vec::new();
    for id in &ids {
        let Some(run) = shared.run(id) else {
            return missing();
        };
        match record::read(&run) {
            Ok(record) => records.push(record),
            Err(error) => return conflict(error.to_string()),
        }
    }
    let groups: Vec<Group<'_>> = ids
        .iter()
        .zip(&records)
        .map(|(id, record)| Group { name: id.clone(), runs: vec![record.into()] })
        .collect();
    let page = match GrowthsReport::of(&groups, PRACTICAL) {
        Some(report) => Some(report::growths_html(&report)),
        None => CompareReport::of(groups, Criteria::default()).as_ref().map(report::compare_html),
    };
    page.map_or_else(missing, report_page)
}

async fn confirmation(State(shared): State<Arc<Shared>>, Part(id): Part<String>) -> Response {
    let rows = shared.rows();
    match rows.iter().find(|row| row.id == id) {
        Some(row) if !is_over(row) => missing(),
        Some(row) if shared.may_delete => Html(report::deletion_page(row)).into_response(),
        Some(_) => not_allowed(),
        None => missing(),
    }
}

async fn deleted(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    if !shared.may_delete {
        return not_allowed();
    }
    // A form of another site carries its origin; one without any is not from a browser.
    if let Err(refused) = shared.access.is_own_page(&headers) {
        return refusal(refused);
    }
    let Some(id) = values(&body, "id").into_iter().next() else {
        return (StatusCode::BAD_REQUEST, "no run is named").into_response();
    };
    // What has no record may be a run that goes on.
    let rows = shared.rows();
    if !rows.iter().any(|row| row.id == id && is_over(row)) {
        return conflict("no run with this name has a record and is over");
    }
    match store::remove(&shared.root, &id) {
        Ok(()) => to_the_list(),
        Err(error) => conflict(error.to_string()),
    }
}

/// An experiment has a record while it goes on.
fn is_over(row: &HistoryRow) -> bool {
    row.kind != HistoryKind::WithoutRecord && row.progress.is_none()
}

fn report_page(page: String) -> Response {
    ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(page)).into_response()
}

fn missing() -> Response {
    (StatusCode::NOT_FOUND, "no such run").into_response()
}

fn not_allowed() -> Response {
    (StatusCode::FORBIDDEN, "started without --allow-delete").into_response()
}

/// The values of a name in `name=value&name=value`.
fn values(form: &str, name: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(form.as_bytes());
    pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
}
