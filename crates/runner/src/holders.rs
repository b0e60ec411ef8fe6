//! Who holds a lease: this process, another one of this machine, or one elsewhere, which only its heartbeat shows. Must not
//! read or write leases.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use highwater_driver::Lease;
use highwater_driver::system;
use highwater_driver::table_registry::{Holder, Owner};

use crate::kernel;

/// Maximum characters of an owner's name.
const NAME_CHARACTERS_MAX: usize = 80;

/// Tokens that runs of this process hold.
static HELD_HERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The token of a run of this process, while it holds its tables. If a busy target could not release a lease, the
/// target still has it and this process still runs: the next run recognizes by the token that no run holds it.
pub(crate) struct HeldToken(pub(crate) String);

impl HeldToken {
    pub(crate) fn new(token: String) -> Self {
        let mut held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(token.clone());
        Self(token)
    }

    fn is_held_here(token: &str) -> bool {
        let held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.contains(token)
    }
}

impl Drop for HeldToken {
    fn drop(&mut self) {
        let mut held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.0);
    }
}

/// The state of a lease's holder, as far as this machine can see it.
pub fn holder_of(lease: &Lease) -> Holder {
    lease.holder(|owner| is_at_work(owner, &lease.token))
}

/// Identifies this process to others.
pub(crate) fn this_process() -> Owner {
    let host = system::machine_names().host.unwrap_or_else(|| "unknown".to_owned());
    let named = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = named.unwrap_or_else(system::user_without_name);
    let name = format!("{user}@{host}");
    // Another run prints this text, so it must not contain terminal control characters.
    let is_plain = |c: &char| c.is_ascii_graphic();
    Owner {
        name: name.chars().filter(is_plain).take(NAME_CHARACTERS_MAX).collect(),
        machine: kernel::process_space().unwrap_or_default(),
        process: std::process::id(),
        started: kernel::process_start(std::process::id()).unwrap_or(0),
    }
}

/// Whether the holder of a token is running; `None` for a holder on another machine.
pub(crate) fn is_at_work(owner: &Owner, token: &str) -> Option<bool> {
    if *owner == this_process() {
        return Some(HeldToken::is_held_here(token));
    }
    is_running(owner)
}

/// Whether a process of this machine is running; `None` for one of another machine.
fn is_running(owner: &Owner) -> Option<bool> {
    if owner.machine.is_empty() || kernel::process_space()? != owner.machine {
        return None;
    }
    let started = kernel::process_start(owner.process)?;
    Some(started > 0 && started == owner.started)
}
