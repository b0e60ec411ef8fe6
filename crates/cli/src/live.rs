//! `--ui`, `--metrics-listen`, and `--otlp`: remote views of a running command. Must not serve.

use std::net::SocketAddr;
use std::rc::Rc;

use highwater_driver::interrupts::Interrupter;
use highwater_live::{
    ListenError, Live, LiveSettings, OTLP_HEADER_VARIABLES, OtlpHeaders, OtlpSettings, OtlpUrl,
    PageSettings,
};
use highwater_model::user_error::UserError;
use highwater_report::LiveRights;
use highwater_runner::control::{self, Controller};

use crate::intent::{LiveRequest, PageAddress};
use crate::terminal;

/// Default address of the page.
const USUAL: ([u8; 4], u16) = ([127, 0, 0, 1], 4_790);

/// The address of a page, and whether it may use another port.
pub(crate) fn place(at: PageAddress) -> (SocketAddr, bool) {
    match at {
        PageAddress::Usual => (SocketAddr::from(USUAL), true),
        PageAddress::At(address) => (address, false),
    }
}

/// Serves one run; clients of its controller may change it.
///
/// # Errors
/// If an address cannot be listened on.
pub fn of_run(
    request: &LiveRequest,
    controller: Option<Controller>,
) -> Result<Option<Rc<Live>>, UserError> {
    let rights = match controller {
        Some(_) => LiveRights::Control,
        None => LiveRights::View,
    };
    start(request, rights, controller)
}

/// Serves an experiment, which may be stopped and paused, but not changed: its trials run as planned.
///
/// # Errors
/// If an address cannot be listened on.
pub fn of_trials(
    request: &LiveRequest,
    interrupter: &Interrupter,
) -> Result<Option<Rc<Live>>, UserError> {
    if !request.control {
        return start(request, LiveRights::View, None);
    }
    let controller = control::of_trials(interrupter.clone());
    start(request, LiveRights::Trials, Some(controller))
}

fn start(
    request: &LiveRequest,
    rights: LiveRights,
    controller: Option<Controller>,
) -> Result<Option<Rc<Live>>, UserError> {
    if request.page.is_none() && request.metrics.is_none() && request.otlp.is_none() {
        return Ok(None);
    }
    let page = request.page.map(place).map(|(address, may_move)| PageSettings {
        address,
        may_move,
        rights,
        controller,
    });
    let live = Live::start(LiveSettings {
        page,
        metrics: request.metrics,
        otlp: request.otlp.clone().map(pushed_to).transpose()?,
    })
    .map_err(|failed| failure(&failed))?;
    for (what, url) in [("page", &live.page_url), ("metrics", &live.metrics_url)] {
        if let Some(url) = url {
            terminal::note(&format!("{what}: {url}\n"));
        }
    }
    Ok(Some(Rc::new(live)))
}

/// A collector, with the headers in OpenTelemetry's variables. They are secrets: they are not in any layer, so no flag
/// or file can contain them, and no message shows them.
fn pushed_to(url: OtlpUrl) -> Result<OtlpSettings, UserError> {
    let set = |name: &'static str| Some((name, std::env::var_os(name)?));
    let mut set = OTLP_HEADER_VARIABLES.into_iter().filter_map(set);
    let headers = match set.find(|(_, value)| !value.is_empty()) {
        None => OtlpHeaders::default(),
        Some((name, value)) => {
            let text = value.to_str().ok_or_else(|| no_headers(name, "not UTF-8"))?;
            let parsed = text.parse::<OtlpHeaders>();
            parsed.map_err(|why| no_headers(name, &why.to_string()))?
        }
    };
    Ok(OtlpSettings { url, headers, warn: terminal::warn })
}

fn no_headers(variable: &str, why: &str) -> UserError {
    UserError::usage(format!("{variable}: {why}")).with_hint(
        "give name=value, several separated by commas, with values percent-encoded, such as \
         Authorization=Bearer%20TOKEN",
    )
}

pub(crate) fn failure(failed: &ListenError) -> UserError {
    let ListenError { address, error } = failed;
    UserError::usage(format!("cannot listen on {address}: {error}")).with_hint(
        "name another address or port with --ui=ADDR, --listen ADDR, or --metrics-listen ADDR",
    )
}
