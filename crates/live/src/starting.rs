//! Commands that the page of a store may start: the form, the resulting command line, and the running commands. The
//! caller starts them, and they outlive the page. Must not start a process itself, or parse an argument.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use highwater_driver::target_url::redacted;
use highwater_report as report;
use maud::{Markup, html};

use crate::history::error;
use crate::routes::{Access, refusal, to};

/// Starts commands for the page.
pub trait Starter: Send + Sync {
    /// Fields of the form, in order.
    fn fields(&self) -> Vec<StartField>;

    /// The arguments for the filled fields, without the program's name.
    ///
    /// # Errors
    /// If they are not a command, or one that the page must not start: the reason, without a password.
    fn arguments(&self, filled: &BTreeMap<String, String>) -> Result<Vec<String>, String>;

    /// The command line of these arguments, quoted for a shell; it is not run by a shell.
    fn command_line(&self, arguments: &[String]) -> String;

    /// What these arguments would do, in a few lines, without a connection to the target.
    ///
    /// # Errors
    /// A value is wrong: the reason.
    fn rehearse(&self, arguments: &[String]) -> Result<String, String>;

    /// Starts a command with these arguments.
    ///
    /// # Errors
    /// If another one is running, or the system cannot start it.
    fn start(&self, arguments: Vec<String>) -> Result<(), String>;

    /// ID of the run that is in progress, whichever process started it.
    fn running(&self) -> Option<String>;

    /// Commands started since the server began, newest first.
    fn started(&self) -> Vec<StartedCommand>;

    /// Stops a running command as an interrupt does.
    ///
    /// # Errors
    /// If it has already ended.
    fn stop(&self, number: u32) -> Result<(), String>;
}

/// A field of the form.
#[derive(Debug, Clone)]
pub struct StartField {
    /// Key of its value.
    pub name: &'static str,
    /// Label next to it.
    pub label: &'static str,
    /// The hint below it.
    pub hint: &'static str,
    /// The choices, the first one being the default; empty if any text is allowed.
    pub choices: Vec<&'static str>,
    /// Values to choose from although any text is allowed, the first one being the default.
    pub suggestions: Vec<String>,
    /// The commands that have it; empty if all of them do.
    pub commands: &'static [&'static str],
}

/// A started command.
#[derive(Debug, Clone)]
pub struct StartedCommand {
    /// Number from 1, in order of start.
    pub number: u32,
    /// Quoted for a shell.
    pub command_line: String,
    /// Its current state.
    pub state: StartedState,
}

/// State of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedState {
    /// It is running.
    Running,
    /// It has ended.
    Ended {
        /// Its exit code; absent if a signal ended it.
        code: Option<i32>,
        /// The last lines that it printed.
        output: String,
    },
}

#[derive(Clone)]
struct Starting {
    access: Access,
    starter: Arc<dyn Starter>,
}

/// The form and its targets; empty without a starter.
pub(crate) fn routes(access: Access, starter: Option<Arc<dyn Starter>>) -> Router {
    let Some(starter) = starter else {
        return Router::new();
    };
    Router::new()
        .route("/start", get(empty).post(filled))
        .route("/stop", post(stopped))
        .with_state(Starting { access, starter })
}

async fn empty(State(of): State<Starting>) -> Html<String> {
    Html(page(&*of.starter, &BTreeMap::new(), &html! {}))
}

async fn filled(State(of): State<Starting>, headers: HeaderMap, body: String) -> Response {
    // Forms of other sites carry their origin; a request without one does not come from a browser.
    if let Err(refused) = of.access.is_own_page(&headers) {
        return refusal(refused);
    }
    let filled: BTreeMap<String, String> = form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .filter(|(_, value)| !value.trim().is_empty())
        .collect();
    let starts = filled.get("step").is_some_and(|step| step == "start");
    let arguments = match of.starter.arguments(&filled) {
        Ok(arguments) => arguments,
        Err(why) => return refused(&*of.starter, &filled, &why),
    };
    if starts {
        return match of.starter.start(arguments) {
            Ok(()) => to_its_page(&*of.starter).await,
            Err(why) => refused(&*of.starter, &filled, &why),
        };
    }
    // A child process parses the values, which takes as long as it takes.
    let (starter, rehearsed) = (Arc::clone(&of.starter), arguments.clone());
    let rehearsal = tokio::task::spawn_blocking(move || starter.rehearse(&rehearsed)).await;
    let what = match rehearsal {
        Ok(Err(why)) => return refused(&*of.starter, &filled, &why),
        Ok(Ok(what)) => what,
        Err(_) => String::new(),
    };
    let below = confirmation(&*of.starter, &filled, &arguments, &what);
    Html(page(&*of.starter, &filled, &below)).into_response()
}

async fn stopped(State(of): State<Starting>, headers: HeaderMap, body: String) -> Response {
    if let Err(refused) = of.access.is_own_page(&headers) {
        return refusal(refused);
    }
    let mut pairs = form_urlencoded::parse(body.as_bytes());
    let number = pairs.find(|(name, _)| name == "number");
    let number = number.and_then(|(_, value)| value.parse().ok());
    let unnamed = Err("no command is named".to_owned());
    match number.map_or(unnamed, |number| of.starter.stop(number)) {
        Ok(()) => to("/"),
        Err(why) => error(StatusCode::CONFLICT, &why),
    }
}

/// How often the run of a started command is looked for.
const LOOKED_FOR: u32 = 50;
/// The pause between these.
const PAUSE: Duration = Duration::from_millis(100);

/// The page of the run that a started command begins, or the list if it ended, or takes long to begin one.
#[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
async fn to_its_page(starter: &dyn Starter) -> Response {
    for _ in 0..LOOKED_FOR {
        if let Some(id) = starter.running() {
            return to(&format!("/run/{id}"));
        }
        if starter.started().first().is_none_or(|newest| newest.state != StartedState::Running) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    to("/")
}

fn refused(starter: &dyn Starter, filled: &BTreeMap<String, String>, why: &str) -> Response {
    let below = html! { p class="note" role="alert" { (why) } };
    let page = page(starter, filled, &below);
    (StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response()
}

fn page(starter: &dyn Starter, filled: &BTreeMap<String, String>, below: &Markup) -> String {
    let body = html! {
        form id="start-form" method="post" action="/start" {
            div class="start" {
                @for field in starter.fields() {
                    label data-for=(field.commands.join(" ")) {
                        span { (field.label) }
                        span class="field" {
                            (input(&field, shown(filled, &field)))
                            @if !field.hint.is_empty() { small { (field.hint) } }
                        }
                    }
                }
            }
            p { button type="submit" name="step" value="show" { "Show the command" } }
        }
        div id="below" { (below) }
    };
    report::served_page("Start a run", &body)
}

/// The filled value, unless it contains a password, which is never sent back; of an empty form, the default.
fn shown<'a>(filled: &'a BTreeMap<String, String>, field: &'a StartField) -> &'a str {
    let default = field.suggestions.first().filter(|_| filled.is_empty());
    let value = filled.get(field.name).or(default).map_or("", String::as_str);
    let mut words = value.split_whitespace().chain([value]);
    if words.any(|word| redacted(word).is_some()) {
        return "";
    }
    value
}

fn input(field: &StartField, value: &str) -> Markup {
    html! {
        @if field.choices.is_empty() {
            @let list = format!("{}-list", field.name);
            input name=(field.name) value=(value) autocomplete="off"
                list=[(!field.suggestions.is_empty()).then_some(&list)];
            @if !field.suggestions.is_empty() {
                datalist id=(list) { @for value in &field.suggestions { option value=(value) {} } }
            }
        } @else {
            select name=(field.name) {
                @for choice in &field.choices {
                    option value=(choice) selected[*choice == value] { (choice) }
                }
            }
        }
    }
}

/// The command and the button that starts it. The fields are sent again, so that no state is kept per client.
fn confirmation(
    starter: &dyn Starter,
    filled: &BTreeMap<String, String>,
    arguments: &[String],
    what: &str,
) -> Markup {
    let fields = filled.iter().filter(|(name, _)| *name != "step");
    html! {
        p { "This starts:" }
        pre id="command" { (starter.command_line(arguments)) }
        @for line in what.lines() { p class="term" { (line) } }
        form method="post" action="/start" {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            @if starter.running().is_none() { button type="submit" name="step" value="start" { "Start it" } }
        }
        @if let Some(id) = starter.running() {
            p class="note" {
                "Not before " a href=(format!("/run/{id}")) { "the run in progress" }
                " has ended: two loads on one machine distort each other's figures."
            }
        } @else {
            p class="term" { "It continues when this page is closed and when the server ends." }
        }
    }
}

/// The section above the list of runs.
pub(crate) fn summary(starter: Option<&dyn Starter>) -> Markup {
    let Some(starter) = starter else {
        return html! {};
    };
    let started = starter.started();
    html! {
        p { a id="start" href="/start" { "Start a run" } }
        @if !started.is_empty() {
            h2 { "Started here" }
            @for command in started { (one(&command)) }
        }
    }
}

fn one(command: &StartedCommand) -> Markup {
    html! {
        pre { (command.command_line) }
        @match &command.state {
            StartedState::Running => {
                form method="post" action="/stop" {
                    input type="hidden" name="number" value=(command.number);
                    "running " button type="submit" { "Stop it" }
                }
            }
            StartedState::Ended { code, output } => {
                p {
                    @match code {
                        Some(code) => { "ended with exit code " (code) }
                        None => { "ended by a signal" }
                    }
                }
                @if *code != Some(0) && !output.is_empty() { pre { (output) } }
            }
        }
    }
}
