//! Holds all processes of a node for a time, by SIGSTOP and SIGCONT. Must not decide for how long.

use highwater_model::user_error::UserError;
use rustix::process::Signal;

use super::nodes::{Processes, running_process};
use super::processes::{Family, ProcessId};
use super::site::Site;

impl Processes {
    /// What holds all processes of a node, or releases them. To find them takes long enough to matter, so that it is done
    /// while they are held.
    pub(super) fn holder(site: &Site, number: u32) -> Result<impl FnMut(bool) + use<>, UserError> {
        let started = running_process(site, number)?;
        let find = move || {
            let leader = started.id?;
            let family = Family { leader, mark: &started.mark, groups: &started.groups };
            Some(family.members())
        };
        let mut members = find().unwrap_or_default();
        Ok(move |is_held| {
            let signal = if is_held { Signal::STOP } else { Signal::CONT };
            for id in &members {
                id.signal(signal);
            }
            if is_held {
                let found = find().unwrap_or_default();
                found.difference(&members).for_each(|id| id.signal(signal));
                members = found;
            }
        })
    }

    /// Holds all processes of a node, or releases them. The state says so, so that a later Highwater releases a node
    /// that one held which was killed.
    pub(super) fn hold(site: &mut Site, number: u32, how: Option<&str>) -> Result<(), UserError> {
        let is_held = how.is_some();
        let mut hold = Self::holder(site, number)?;
        let mark = |site: &mut Site| {
            if let Some(node) = site.file.state.nodes.get_mut(&number) {
                node.held_by = ProcessId::from_pid(std::process::id()).filter(|_| is_held);
            }
            site.file.write()
        };
        if is_held {
            mark(site)?;
        }
        hold(is_held);
        if !is_held {
            mark(site)?;
        }
        let done = how.unwrap_or("resumed");
        site.note(format!("node {number} was {done}, as planned"));
        Ok(())
    }
}
