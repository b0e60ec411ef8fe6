//! `highwater serve`: lists, opens, compares, removes, and starts the runs of a store in a browser.
//!
//! Reads the store at each request, for running and finished runs, and keeps no index; a record is cached until its
//! file changes. Must not run anything: the starter of commands is passed in.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::{Path as Part, RawQuery, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::{StreamExt as _, stream};
use highwater_analysis::comparison::{Criteria, PRACTICAL};
use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupts;
use highwater_model::judgment::Judgments;
use highwater_model::record::RecordRef;
use highwater_model::units::Nanos;
use highwater_report::{
    self as report, CompareReport, Group, GrowthsReport, HistoryFilter, HistoryKind,
    HistoryProgress, HistoryRow,
};
use highwater_runner::{record, store};
use maud::html;

use crate::followed::{self, FollowedRuns};
use crate::routes::{
    Access, RequestRefusal, live_script, refusal, report_page, style, to, token_page,
};
use crate::server::lock;
use crate::starting::{self, Starter};
use crate::{ListenError, listen, listen_for_metrics, local, metrics, routes, server};

/// Maximum number of runs that are read; older ones are left to the other commands.
const RUNS_MAX: usize = 5_000;
/// Maximum number of newest runs that are checked for being in progress.
const GOING_ON_MAX: usize = 100;
/// Maximum number of runs in a comparison.
const COMPARED_MAX: usize = 100;
/// Cache time of metrics for scrapers: reading the store takes longer than sending them.
const SCRAPED_FOR: Nanos = Nanos::from_secs(5);

/// State of a file, which changes when it is rewritten: length, and time of its last change since 1970.
type FileState = (u64, Duration);

/// Settings of the server, and rights of its page.
pub struct HistorySettings {
    /// Directory of the store.
    pub root: PathBuf,
    /// Address to listen on. If the port is in use and `may_move` is set, the system chooses another one.
    pub address: SocketAddr,
    /// Whether another port is acceptable.
    pub may_move: bool,
    /// Whether runs may be removed.
    pub may_delete: bool,
    /// Starts commands; absent if the page must not start any.
    pub starter: Option<Arc<dyn Starter>>,
    /// Address for scraping the answers of stored runs.
    pub metrics: Option<SocketAddr>,
}

/// A served store.
pub struct History {
    listener: TcpListener,
    metrics: Option<TcpListener>,
    shared: Arc<HistoryState>,
    /// URL of the page, with the token if one is required.
    pub url: String,
    /// URL of the metrics.
    pub metrics_url: Option<String>,
}

struct HistoryState {
    access: Access,
    root: PathBuf,
    may_delete: bool,
    starter: Option<Arc<dyn Starter>>,
    /// By directory: the state of its record's file, and its row.
    read: Mutex<HashMap<PathBuf, (FileState, HistoryRow)>>,
    /// The last metrics for scrapers, and when they were made.
    scraped: Mutex<Option<(Nanos, String)>>,
    /// Running runs that clients view.
    followed: Mutex<FollowedRuns>,
}

impl History {
    /// Opens the store with these settings.
    ///
    /// # Errors
    /// If an address cannot be listened on.
    pub fn open(settings: HistorySettings) -> Result<Self, ListenError> {
        let listener = listen(settings.address, settings.may_move)?;
        let address = local(&listener, settings.address)?;
        // A page that starts commands is only for its user, also on loopback, which other users may share.
        let access = Access::to(address, settings.starter.is_some());
        let access = access.map_err(|error| ListenError { address, error })?;
        let (metrics, metrics_url) = listen_for_metrics(settings.metrics)?;
        Ok(Self {
            listener,
            metrics,
            url: access.url(),
            metrics_url,
            shared: Arc::new(HistoryState {
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
/// If the system provides no event loop.
pub fn serve(history: History, mut interrupts: Interrupts) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(listener) = history.metrics {
            tokio::spawn(server::serve(listener, scraped_router(Arc::clone(&history.shared))));
        }
        let served = server::serve(history.listener, router(history.shared));
        tokio::select! {
            () = served => {}
            _ = interrupts.next() => {}
        }
    });
    Ok(())
}

fn router(shared: Arc<HistoryState>) -> Router {
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
        .fallback(|| async { error(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(middleware::from_fn_with_state(shared, guard));
    routes::with_headers(open.merge(seen))
}

/// Only the answers of stored runs.
fn scraped_router(shared: Arc<HistoryState>) -> Router {
    Router::new().route("/metrics", get(scraped)).with_state(shared)
}

async fn scraped(State(shared): State<Arc<HistoryState>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], shared.scraped()).into_response()
}

async fn guard(State(shared): State<Arc<HistoryState>>, request: Request, next: Next) -> Response {
    match shared.access.look(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(RequestRefusal::Token) if request.uri().path() == "/" => token_page(),
        Err(refused) => refusal(refused),
    }
}

impl HistoryState {
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

    /// The metrics for scrapers, regenerated if they are some seconds old.
    fn scraped(&self) -> String {
        let mut scraped = lock(&self.scraped);
        let now = wall_clock();
        // `abs_diff`, so that a clock that was set back does not keep an old text fresh.
        let is_recent = |made: &Nanos| made.0.abs_diff(now.0) < SCRAPED_FOR.0;
        if let Some((_, text)) = scraped.as_ref().filter(|(made, _)| is_recent(made)) {
            return text.clone();
        }
        let text = metrics::text(metrics::of_store(&self.rows()));
        *scraped = Some((now, text.clone()));
        text
    }

    /// A run by the name of its directory; no other path can be named.
    fn run(&self, id: &str) -> Option<PathBuf> {
        let runs = store::list(&self.root).unwrap_or_default();
        runs.into_iter().find(|run| run.file_name().is_some_and(|name| *name == *id))
    }
}

/// Adds the progress of a run, if a process is running it.
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
        .and_then(|file| Ok((file.len(), file.modified()?)))
        .map(|(length, at)| (length, at.duration_since(UNIX_EPOCH).unwrap_or_default()));
    let Ok(changed) = changed else {
        let draft = store::read_draft(run);
        return draft.map_or_else(
            || HistoryRow::without_record(id()),
            |draft| HistoryRow::from_draft(id(), (&draft).into()),
        );
    };
    if let Some((_, row)) = read.get(run).filter(|(at, _)| *at == changed) {
        return row.clone();
    }
    let row = match record::read(run) {
        Ok(record) => HistoryRow {
            // A renamed directory is found by its new name.
            id: id(),
            ..HistoryRow::from_record((&record).into())
        },
        Err(_) => HistoryRow::without_record(id()),
    };
    // Its file does not change when its process ends without an outcome.
    if !row.judgments.as_ref().is_some_and(Judgments::is_running) {
        read.insert(run.to_owned(), (changed, row.clone()));
    }
    row
}

async fn list(State(shared): State<Arc<HistoryState>>, RawQuery(query): RawQuery) -> Html<String> {
    Html(listed(&shared, query, None))
}

/// The list, below a sentence on what was requested.
fn listed(shared: &HistoryState, query: Option<String>, above: Option<&str>) -> String {
    let query = query.unwrap_or_default();
    let field = |name| values(&query, name).into_iter().next().unwrap_or_default();
    let filter = HistoryFilter {
        workload: field("workload"),
        target: field("target"),
        label: field("label"),
    };
    let started = starting::summary(shared.starter.as_deref());
    let above = html! {
        @if let Some(sentence) = above { p class="note" role="alert" { (sentence) } }
        (started)
    };
    report::history_page(&shared.rows(), &filter, shared.may_delete, &above)
}

async fn run(State(shared): State<Arc<HistoryState>>, Part(id): Part<String>) -> Response {
    let Some(run) = shared.run(&id) else {
        return missing();
    };
    if let Some(page) = lock(&shared.followed).page(&run, wall_clock()) {
        return Html(page).into_response();
    }
    match record::read(&run) {
        Ok(record) => {
            let home = ["All runs", "/"].map(str::to_owned);
            report_page(routes::served_report(RecordRef::from(&record), home))
        }
        Err(failed) => error(StatusCode::CONFLICT, &failed.to_string()),
    }
}

/// The parts of the page of a running run, each time they change.
async fn live(State(shared): State<Arc<HistoryState>>, Part(id): Part<String>) -> Response {
    let Some(run) = shared.run(&id) else {
        return missing();
    };
    let reader = Reader { shared, run, sent: None, is_ended: false };
    let events = stream::unfold(reader, Reader::next);
    let events = events.map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// A client that views a running run.
struct Reader {
    shared: Arc<HistoryState>,
    run: PathBuf,
    /// The parts that were sent last.
    sent: Option<Arc<str>>,
    is_ended: bool,
}

impl Reader {
    /// The next version, or the end of the stream; then nothing.
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

async fn compared(State(shared): State<Arc<HistoryState>>, RawQuery(query): RawQuery) -> Response {
    let mut ids = values(&query.unwrap_or_default(), "run");
    if ids.len() < 2 || ids.len() > COMPARED_MAX {
        let what = format!("To compare, choose from 2 to {COMPARED_MAX} runs in the list.");
        let page = Html(listed(&shared, None, Some(&what)));
        return (StatusCode::BAD_REQUEST, page).into_response();
    }
    // IDs begin with the time: the oldest run is the baseline.
    ids.sort();
    let mut records = Vec::new();
    for id in &ids {
        let Some(run) = shared.run(id) else {
            return missing();
        };
        match record::read(&run) {
            Ok(record) => records.push(record),
            Err(failed) => return error(StatusCode::CONFLICT, &failed.to_string()),
        }
    }
    let rows: Vec<HistoryRow> = ids
        .iter()
        .zip(&records)
        .map(|(id, record)| HistoryRow { id: id.clone(), ..HistoryRow::from_record(record.into()) })
        .collect();
    let names = report::names_apart(&rows);
    let groups: Vec<Group<'_>> = names
        .into_iter()
        .zip(&records)
        .map(|(name, record)| Group { name, runs: vec![record.into()] })
        .collect();
    let home = [["All runs", "/"].map(str::to_owned)];
    let page = match GrowthsReport::from_groups(&groups, PRACTICAL) {
        Some(report) => Some(report::growths_html_with_links(&report, &home)),
        None => CompareReport::from_groups(groups, Criteria::default())
            .map(|report| report::compare_html_with_links(&report, &home)),
    };
    page.map_or_else(missing, report_page)
}

async fn confirmation(State(shared): State<Arc<HistoryState>>, Part(id): Part<String>) -> Response {
    let rows = shared.rows();
    match rows.iter().find(|row| row.id == id) {
        Some(row) if !is_over(row) => missing(),
        Some(row) if shared.may_delete => Html(report::deletion_page(row)).into_response(),
        Some(_) => not_allowed(),
        None => missing(),
    }
}

async fn deleted(
    State(shared): State<Arc<HistoryState>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    if !shared.may_delete {
        return not_allowed();
    }
    // Forms of other sites carry their origin; a request without one does not come from a browser.
    if let Err(refused) = shared.access.is_own_page(&headers) {
        return refusal(refused);
    }
    let Some(id) = values(&body, "id").into_iter().next() else {
        return error(StatusCode::BAD_REQUEST, "no run is named");
    };
    // A run without a record may be in progress.
    let rows = shared.rows();
    if !rows.iter().any(|row| row.id == id && is_over(row)) {
        return error(StatusCode::CONFLICT, "no run with this name has a record and has ended");
    }
    match store::remove(&shared.root, &id) {
        Ok(()) => to("/"),
        Err(failed) => error(StatusCode::CONFLICT, &failed.to_string()),
    }
}

/// An experiment has a record even while it is running.
fn is_over(row: &HistoryRow) -> bool {
    row.kind != HistoryKind::WithoutRecord && row.progress.is_none()
}

fn missing() -> Response {
    error(StatusCode::NOT_FOUND, "there is no such run")
}

fn not_allowed() -> Response {
    error(
        StatusCode::FORBIDDEN,
        "this page may remove nothing: it was started without --allow-delete",
    )
}

/// A page in the frame of the others.
pub(crate) fn error(code: StatusCode, why: &str) -> Response {
    (code, Html(report::error_page(why))).into_response()
}

/// All values of `name` in `name=value&name=value`.
fn values(form: &str, name: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(form.as_bytes());
    pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
}
