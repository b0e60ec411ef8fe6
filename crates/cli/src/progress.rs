//! Shows the progress of a run on stderr: on a terminal a block that is redrawn in place, elsewhere
//! one line per second, and one for each part without a pace. Must not compute figures.

use std::cell::{Cell, RefCell};

use highwater_model::event::{Event, SecondProgress, WarningKind};
use highwater_report::{self as report, Filling};
use highwater_runner::observer::Observer;

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
    fn line(&self, line: &SecondProgress) {
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
            Event::Begun {
                directory,
                workload,
                urls,
                target,
            } => {
                let title = report::begun(workload, urls, target);
                terminal::note(&format!("{title}\n{directory}\n\n"));
            }
            Event::Estimate(estimate) => {
                terminal::note(&format!("estimate: {}\n", report::estimate(estimate)));
            }
            Event::Part(part) => terminal::note(&format!("{}\n", report::part_line(part))),
            Event::Filling { there, rows } => {
                let filling = Filling::new(*there, *rows);
                terminal::note(&format!("{filling}\n"));
                *self.filling.borrow_mut() = Some(filling);
            }
            Event::Intervention(done) => {
                terminal::note(&format!("{}\n", report::intervention(done)));
            }
            Event::Second(line) if self.screen.is_none() => self.line(line),
            Event::Warning { kind, message } => warn(*kind, message),
            _ => {}
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
            Event::Trial { number, trial, .. } => {
                let about = report::trial_about(trial);
                terminal::note(&format!("probe {number}: {about}\n"));
            }
            Event::Probed(probe) => {
                terminal::note(&format!("  {}\n", report::probe_line(probe)));
            }
            Event::Measured { trial, unit } => {
                terminal::note(&format!("  {}\n", report::trial_line(trial, unit.name())));
            }
            Event::Warning { kind, message } => warn(*kind, message),
            _ => {}
        }
    }
}

fn warn(kind: WarningKind, message: &str) {
    terminal::warn(&report::warning(kind, message));
}

/// Updates the block.
fn draw(screen: &Screen, event: &Event) {
    screen.note(|live, now| match event {
        Event::Trial { progress, .. } => live.probe(now, *progress),
        Event::Load(bounds) => live.load(*bounds),
        Event::Second(line) => live.second(line),
        Event::Audit(progress) => live.audit(now, progress.clone()),
        Event::Part(_) => live.other_part(),
        Event::Probed(_) | Event::Measured { .. } => live.probed(),
        _ => {}
    });
}

/// Shows only warnings.
#[derive(Debug, Default)]
pub struct WarningsOnly;

impl Observer for WarningsOnly {
    fn event(&self, event: &Event) {
        if let Event::Warning { kind, message } = event {
            warn(*kind, message);
        }
    }
}
