//! `--ui`, `--metrics-listen` and `--otlp`: who may look at a command from elsewhere while it goes on. Must not serve.

use std::net::SocketAddr;
use std::rc::Rc;

use highwater_live::{ListenError, Live, LiveSettings, OtlpSettings, PageSettings};
use highwater_report::LiveRights;
use highwater_runner::control::{self, Controller};
use highwater_runner::interrupts::Interrupter;

use crate::failure::Failure;
use crate::intent::{LiveRequest, PageAddress};
use crate::terminal;

/// Where the page is, unless somebody says otherwise.
pub(crate) const USUAL: ([u8; 4], u16) = ([127, 0, 0, 1], 4_790);

/// Serves one run; whoever has its controller may change it.
///
/// # Errors
/// An address cannot be listened on.
pub fn of_run(
    request: &LiveRequest,
    controller: Option<Controller>,
) -> Result<Option<Rc<Live>>, Failure> {
    let rights = match controller {
        Some(_) => LiveRights::Control,
        None => LiveRights::View,
    };
    start(request, rights, controller)
}

/// Serves an experiment, which may be stopped and paused: its trials are as they were planned.
///
/// # Errors
/// An address cannot be listened on.
pub fn of_trials(
    request: &LiveRequest,
    interrupter: &Interrupter,
) -> Result<Option<Rc<Live>>, Failure> {
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
) -> Result<Option<Rc<Live>>, Failure> {
    if request.page.is_none() && request.metrics.is_none() && request.otlp.is_none() {
        return Ok(None);
    }
    let page = request.page.map(|at| PageSettings {
        address: match at {
            PageAddress::Usual => SocketAddr::from(USUAL),
            PageAddress::At(address) => address,
        },
        may_move: at == PageAddress::Usual,
        rights,
        controller,
    });
    let live = Live::start(LiveSettings {
        page,
        metrics: request.metrics,
        otlp: request.otlp.clone().map(|url| OtlpSettings {
            url,
            warn: terminal::warn,
        }),
    });
    let live = live.map_err(|failed| failure(&failed))?;
    for (what, url) in [("page", &live.page_url), ("metrics", &live.metrics_url)] {
        if let Some(url) = url {
            terminal::note(&format!("{what}: {url}\n"));
        }
    }
    Ok(Some(Rc::new(live)))
}

pub(crate) fn failure(failed: &ListenError) -> Failure {
    let ListenError { address, error } = failed;
    Failure::usage(format!("cannot listen on {address}: {error}")).with_hint(
        "name another address or port with --ui=ADDR, --listen ADDR, or --metrics-listen ADDR",
    )
}
