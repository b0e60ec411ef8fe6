//! `highwater serve`: the runs of a store, to be listed, opened, compared and removed in a browser.
//!
//! It reads what is there at each request, running runs and finished ones alike, and keeps no index: a record that was
//! read is kept until its file changes. Must not run anything.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path as Part, RawQuery, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use highwater_analysis::comparison::{Criteria, PRACTICAL, compare};
use highwater_model::record::RecordRef;
use highwater_report::{
    self as report, CompareReport, Group, HistoryFilter, HistoryKind, HistoryRow,
};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::{record, store};

use crate::access::{Access, Refused};
use crate::routes::{BODY_MAX, REPORT_POLICY, refusal, secured, style, token_page};
use crate::{ListenError, bounds, listen, local, routes};

/// Runs that are looked at; older ones are left to the other commands.
const RUNS_MAX: usize = 5_000;
/// Runs of one comparison.
const COMPARED_MAX: usize = 100;

/// What changes when a file is written anew: its length, and seconds and nanoseconds of its last change.
type FileState = (u64, i64, i64);

/// A store that is served.
pub struct History {
    listener: TcpListener,
    shared: Arc<Shared>,
    /// Where it is, with the token that it needs.
    pub url: String,
}

struct Shared {
    access: Access,
    root: PathBuf,
    may_delete: bool,
    /// By directory: when its record was last changed, and its line.
    read: Mutex<HashMap<PathBuf, (FileState, HistoryRow)>>,
}

impl History {
    /// The store of this directory, at this address.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn open(
        root: &Path,
        address: SocketAddr,
        may_move: bool,
        may_delete: bool,
    ) -> Result<Self, ListenError> {
        let listener = listen(address, may_move)?;
        let address = local(&listener, address)?;
        let access = Access::to(address).map_err(|error| ListenError { address, error })?;
        Ok(Self {
            listener,
            url: access.url(),
            shared: Arc::new(Shared {
                access,
                root: root.to_owned(),
                may_delete,
                read: Mutex::default(),
            }),
        })
    }
}

/// Serves until it is interrupted.
///
/// # Errors
/// The system gives no event loop.
pub fn serve(history: History, mut interrupts: Interrupts) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
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
    let seen = Router::new()
        .route("/", get(list))
        .route("/live.css", get(|| async { style() }))
        .route("/run/{id}", get(run))
        .route("/compare", get(compared))
        .route("/delete/{id}", get(confirmation))
        .route("/delete", post(deleted))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared);
    open.merge(seen)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::map_response(secured))
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
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.retain(|run, _| runs.contains(run));
        runs.iter().map(|run| row(run, &mut read)).collect()
    }

    /// A run by the name of its directory; nothing else of the disk can be named.
    fn run(&self, id: &str) -> Option<PathBuf> {
        let runs = store::list(&self.root).unwrap_or_default();
        runs.into_iter()
            .find(|run| run.file_name().is_some_and(|name| *name == *id))
    }
}

fn row(run: &Path, read: &mut HashMap<PathBuf, (FileState, HistoryRow)>) -> HistoryRow {
    let id = || {
        run.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let changed = std::fs::metadata(run.join("record.json"))
        .map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    let Ok(changed) = changed else {
        return HistoryRow::without_record(id());
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
    ))
}

async fn run(State(shared): State<Arc<Shared>>, Part(id): Part<String>) -> Response {
    let Some(run) = shared.run(&id) else {
        return missing();
    };
    match record::read(&run) {
        Ok(record) => {
            let page = report::html(RecordRef::from(&record));
            ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(page)).into_response()
        }
        Err(error) => (StatusCode::CONFLICT, error.to_string()).into_response(),
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
            Err(error) => return (StatusCode::CONFLICT, error.to_string()).into_response(),
        }
    }
    let mut groups = ids.iter().zip(&records).map(|(id, record)| Group {
        name: id.clone(),
        runs: vec![record.into()],
    });
    let Some(baseline) = groups.next() else {
        return missing();
    };
    let criteria = Criteria {
        practical: PRACTICAL,
        primary: None,
    };
    let others = groups.map(|group| {
        let comparison = compare(&baseline.runs, &group.runs, criteria);
        (group, comparison)
    });
    let others = others.collect();
    let page = report::compare_html(&CompareReport { baseline, others });
    ([(CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(page)).into_response()
}

async fn confirmation(State(shared): State<Arc<Shared>>, Part(id): Part<String>) -> Response {
    let rows = shared.rows();
    match rows.iter().find(|row| row.id == id) {
        Some(row) if row.kind == HistoryKind::WithoutRecord => missing(),
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
    let is_over = |row: &HistoryRow| row.id == id && row.kind != HistoryKind::WithoutRecord;
    if !rows.iter().any(is_over) {
        return (StatusCode::CONFLICT, "no run with a record has this name").into_response();
    }
    match store::remove(&shared.root, &id) {
        Ok(()) => (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response(),
        Err(error) => (StatusCode::CONFLICT, error.to_string()).into_response(),
    }
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
    let named = pairs.filter(|(key, _)| key == name);
    named.map(|(_, value)| value.into_owned()).collect()
}
