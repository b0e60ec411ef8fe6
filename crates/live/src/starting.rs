//! Commands that the page of a store may start: what is asked, what it comes to, and what goes on. Who knows the
//! command line starts them, and they outlive the page. Must not start a process itself, nor read an argument.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use highwater_driver::redaction::redacted;
use highwater_report as report;
use maud::{Markup, html};

use crate::access::Access;
use crate::routes::{conflict, refusal, to_the_list};

/// Starts commands for the page.
pub trait Starter: Send + Sync {
    /// What the form has, in order.
    fn fields(&self) -> Vec<StartField>;

    /// The arguments that filled fields come to, without the program's name.
    ///
    /// # Errors
    /// They are no command, or one that the page may not start: why, without a password.
    fn arguments(&self, filled: &BTreeMap<String, String>) -> Result<Vec<String>, String>;

    /// The command line of such arguments, as a shell would read it; nothing is run by one.
    fn command_line(&self, arguments: &[String]) -> String;

    /// Starts a command with these arguments.
    ///
    /// # Errors
    /// Another one goes on, or the system starts none.
    fn start(&self, arguments: Vec<String>) -> Result<(), String>;

    /// What was started since this page is served, newest first.
    fn started(&self) -> Vec<StartedCommand>;

    /// Stops what goes on as an interrupt does.
    ///
    /// # Errors
    /// It is over.
    fn stop(&self, number: u32) -> Result<(), String>;
}

/// A field of the form.
#[derive(Debug, Clone)]
pub struct StartField {
    /// What its value is called when it is filled.
    pub name: &'static str,
    /// Beside it.
    pub label: &'static str,
    /// What stands in it while it is empty.
    pub hint: &'static str,
    /// What can be chosen, the first unless something else is; empty: any text.
    pub choices: Vec<&'static str>,
}

/// A command that was started.
#[derive(Debug, Clone)]
pub struct StartedCommand {
    /// From 1, in the order in which they were started.
    pub number: u32,
    /// As a shell would read it.
    pub command_line: String,
    /// What became of it.
    pub state: StartedState,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedState {
    /// It goes on.
    Running,
    /// It is over.
    Ended {
        /// Its exit code; absent where a signal ended it.
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

/// The form and what it sends; without a starter there is none.
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
    // A form of another site carries its origin; one without any is not from a browser.
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
            Ok(()) => to_the_list(),
            Err(why) => refused(&*of.starter, &filled, &why),
        };
    }
    let below = confirmation(&*of.starter, &filled, &arguments);
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
        Ok(()) => to_the_list(),
        Err(why) => conflict(why),
    }
}

fn refused(starter: &dyn Starter, filled: &BTreeMap<String, String>, why: &str) -> Response {
    let below = html! { p class="note" role="alert" { (why) } };
    let page = page(starter, filled, &below);
    (StatusCode::UNPROCESSABLE_ENTITY, Html(page)).into_response()
}

fn page(starter: &dyn Starter, filled: &BTreeMap<String, String>, below: &Markup) -> String {
    let body = html! {
        form id="controls" method="post" action="/start" {
            @for field in starter.fields() {
                p class="term" { label { (field.label) " " (input(&field, shown(filled, field.name))) } }
            }
            button type="submit" name="step" value="show" { "Show the command" }
        }
        (below)
    };
    report::served_page("Start a run", &body)
}

/// What was filled in, unless it has a password: that is sent back to nobody.
fn shown<'a>(filled: &'a BTreeMap<String, String>, name: &str) -> &'a str {
    let value = filled.get(name).map_or("", String::as_str);
    let mut words = value.split_whitespace().chain([value]);
    if words.any(|word| redacted(word).is_some()) {
        return "";
    }
    value
}

fn input(field: &StartField, value: &str) -> Markup {
    html! {
        @if field.choices.is_empty() {
            input name=(field.name) value=(value) placeholder=(field.hint) size="30" autocomplete="off";
        } @else {
            select name=(field.name) {
                @for choice in &field.choices {
                    option value=(choice) selected[*choice == value] { (choice) }
                }
            }
        }
    }
}

/// The command, and what starts it: the same fields again, so that nothing is kept of who looks.
fn confirmation(
    starter: &dyn Starter,
    filled: &BTreeMap<String, String>,
    arguments: &[String],
) -> Markup {
    let fields = filled.iter().filter(|(name, _)| *name != "step");
    html! {
        p { "This starts:" }
        pre id="command" { (starter.command_line(arguments)) }
        form method="post" action="/start" {
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button type="submit" name="step" value="start" { "Start it" }
        }
        p class="term" { "It goes on when this page is closed, and when the server ends." }
    }
}

/// What stands above the list of runs.
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
