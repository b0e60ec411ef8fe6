//! Shows on stderr how a run goes: one line a second, and one for each part without a pace.

use std::cell::Cell;

use highwater_core::report;
use highwater_runner::observer::{Event, Observer};

use crate::terminal;

/// Tells of a run as it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    header_shown: Cell<bool>,
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        match event {
            Event::Begun { directory, title } => {
                terminal::note(&format!("{title}\n{directory}\n\n"));
            }
            Event::Phase { name, about } => terminal::note(&format!("{name}: {about}\n")),
            Event::Second(line) => {
                if !self.header_shown.replace(true) {
                    terminal::note(&format!("{}\n", report::interval_header(&line.streams)));
                }
                terminal::note(&format!("{}\n", report::interval_line(line)));
            }
            Event::Warning(text) => terminal::warn(text),
        }
    }
}

/// Tells only what went wrong.
#[derive(Debug, Default)]
pub struct WarningsOnly;

impl Observer for WarningsOnly {
    fn event(&self, event: &Event) {
        if let Event::Warning(text) = event {
            terminal::warn(text);
        }
    }
}
