//! Shows on stderr how a run goes: one line a second, and one for each part without a pace.

use std::cell::{Cell, RefCell};

use highwater_core::report::{self, Filling};
use highwater_runner::observer::{Event, Observer};

use crate::terminal;

/// Tells of a run as it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    header_shown: Cell<bool>,
    /// How far a table is filled, where that is what the run is for.
    filling: RefCell<Option<Filling>>,
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        match event {
            Event::Begun { directory, title } => {
                terminal::note(&format!("{title}\n{directory}\n\n"));
            }
            Event::Phase { name, about } => terminal::note(&format!("{name}: {about}\n")),
            Event::Filling { there, rows } => {
                let filling = Filling::new(*there, *rows);
                terminal::note(&format!("{filling}\n"));
                *self.filling.borrow_mut() = Some(filling);
            }
            Event::Second(line) => {
                if !self.header_shown.replace(true) {
                    terminal::note(&format!("{}\n", report::interval_header(&line.streams)));
                }
                let mut text = report::interval_line(line);
                if let Some(filling) = self.filling.borrow_mut().as_mut() {
                    text.push_str(&filling.after(line));
                }
                terminal::note(&format!("{text}\n"));
            }
            Event::Warning(text) => terminal::warn(text),
            Event::Probe { .. } | Event::Probed(_) | Event::Measured { .. } => {}
        }
    }
}

/// Tells of a search as it goes on: two lines a probe.
#[derive(Debug, Default)]
pub struct SearchProgress;

impl Observer for SearchProgress {
    fn event(&self, event: &Event) {
        match event {
            Event::Probe { number, about } => terminal::note(&format!("probe {number}: {about}\n")),
            Event::Probed(probe) => {
                terminal::note(&format!("  {}\n", report::probe_line(probe)));
            }
            Event::Measured { cell, unit } => {
                terminal::note(&format!("  {}\n", report::cell_line(cell, unit)));
            }
            Event::Warning(text) => terminal::warn(text),
            Event::Begun { .. }
            | Event::Phase { .. }
            | Event::Filling { .. }
            | Event::Second(_) => {}
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
