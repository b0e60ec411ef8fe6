//! Shows the progress of a run on stderr: on a terminal a block that is redrawn in place, elsewhere
//! one line per second, and one for each part without a pace. Must not compute figures.

use std::cell::{Cell, RefCell};

use highwater_report::{self as report, Filling, IntervalLine};
use highwater_runner::observer::{Event, Observer};

use crate::screen::Screen;
use crate::terminal;

/// Shows the progress of a run.
#[derive(Debug)]
pub struct Progress {
    screen: Option<Screen>,
    header_shown: Cell<bool>,
    /// Progress of filling a table, for a run that fills one.
    filling: RefCell<Option<Filling>>,
}

impl Progress {
    /// Of a run that begins.
    pub fn new() -> Self {
        Self {
            screen: Screen::on_terminal(),
            header_shown: Cell::default(),
            filling: RefCell::default(),
        }
    }

    /// One second as a line, below a header.
    fn line(&self, line: &IntervalLine) {
        if !self.header_shown.replace(true) {
            terminal::note(&format!("{}\n", report::interval_header(&line.streams)));
        }
        let mut text = report::interval_line(line);
        if let Some(filling) = self.filling.borrow_mut().as_mut() {
            text.push_str(&filling.after(line));
        }
        terminal::note(&format!("{text}\n"));
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        if let Some(screen) = &self.screen {
            draw(screen, event);
        }
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
            Event::Second(line) if self.screen.is_none() => self.line(line),
            Event::Warning(text) => terminal::warn(text),
            Event::Second(_)
            | Event::Load(_)
            | Event::Audit(_)
            | Event::Probe { .. }
            | Event::Probed(_)
            | Event::Measured { .. } => {}
        }
    }
}

/// Shows the progress of a search: two lines per probe, and on a terminal the current probe.
#[derive(Debug)]
pub struct SearchProgress {
    screen: Option<Screen>,
}

impl SearchProgress {
    /// Of a search that begins.
    pub fn new() -> Self {
        Self {
            screen: Screen::on_terminal(),
        }
    }
}

impl Default for SearchProgress {
    fn default() -> Self {
        Self::new()
    }
}

impl Observer for SearchProgress {
    fn event(&self, event: &Event) {
        if let Some(screen) = &self.screen {
            draw(screen, event);
        }
        match event {
            Event::Probe { number, about, .. } => {
                terminal::note(&format!("probe {number}: {about}\n"));
            }
            Event::Probed(probe) => {
                terminal::note(&format!("  {}\n", report::probe_line(probe)));
            }
            Event::Measured { trial, unit } => {
                terminal::note(&format!("  {}\n", report::trial_line(trial, unit)));
            }
            Event::Warning(text) => terminal::warn(text),
            Event::Begun { .. }
            | Event::Phase { .. }
            | Event::Filling { .. }
            | Event::Load(_)
            | Event::Audit(_)
            | Event::Second(_) => {}
        }
    }
}

/// Updates the block.
fn draw(screen: &Screen, event: &Event) {
    screen.note(|live, now| match event {
        Event::Probe { progress, .. } => live.probe(now, *progress),
        Event::Load(bounds) => live.load(*bounds),
        Event::Second(line) => live.second(line),
        Event::Audit(progress) => live.audit(now, progress.clone()),
        Event::Phase { .. } => live.other_part(),
        Event::Probed(_) | Event::Measured { .. } => live.probed(),
        Event::Begun { .. } | Event::Filling { .. } | Event::Warning(_) => {}
    });
}

/// Shows only warnings.
#[derive(Debug, Default)]
pub struct WarningsOnly;

impl Observer for WarningsOnly {
    fn event(&self, event: &Event) {
        if let Event::Warning(text) = event {
            terminal::warn(text);
        }
    }
}
