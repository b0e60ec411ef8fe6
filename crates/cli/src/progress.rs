//! Shows the progress of a run on stderr: on a terminal as a block that is redrawn in place, otherwise as lines, one for
//! each second at first, and one for each part without a rate.
//!
//! A separate thread draws a few times per second, so that a slow terminal delays only itself. Must not compute figures,
//! make the lines (`report` does), or write to the terminal (`terminal` does).

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_model::event::{AuditProgress, AuditStage, Event, Part, SecondProgress};
use highwater_model::plan::Objective;
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_report::{Filling, Interval, Live};
use highwater_runner::request::Observer;

use crate::terminal;

/// Interval of progress lines of an audit without a terminal.
const AUDIT_SHOWN_EVERY: Nanos = Nanos::from_secs(10);

/// Without a terminal and without `--progress`, every second has a line up to this one.
const EACH_SECOND_FOR_S: u64 = 10;
/// Seconds of a line after that.
const LINE_S: u64 = 10;
/// Without a terminal, a trial that has had no line for this long has one that shows how far it is. A simulated second of
/// many rejected ops can take longer than a real one.
const QUIET_FOR: Nanos = Nanos::from_secs(30);

/// Shows the progress of a run, or of an experiment: two lines per trial, and on a terminal also the current trial.
#[derive(Debug)]
pub struct Progress {
    screen: Option<Screen>,
    /// Whether it is an experiment, whose runs are not shown in more detail.
    of_trials: bool,
    header_shown: Cell<bool>,
    /// Seconds of a line, if `--progress` gave them.
    line_s: Option<u64>,
    /// The seconds that share the next line.
    held: RefCell<Option<Interval>>,
    /// Whether the change to several seconds a line was announced.
    intervals_announced: Cell<bool>,
    /// Whether the last second was silent, and reported as such.
    silent: Cell<bool>,
    /// Elapsed time of the audit when it was last shown.
    audited: Cell<Nanos>,
    /// Objectives of the current run.
    objectives: RefCell<Vec<Objective>>,
    /// Progress of filling a table, for a run that fills one.
    filling: RefCell<Option<Filling>>,
    clock: RealClock,
    /// When the last line of an experiment was printed.
    spoke_at: Cell<Nanos>,
    /// Length of the current load.
    length: Cell<Option<Nanos>>,
    /// Whether the run has a simulated clock.
    simulated: Cell<bool>,
    /// Whether the sign for a percentile that is a lower bound was explained.
    bound_explained: Cell<bool>,
    /// Whether a figure over several seconds was explained.
    recent_explained: Cell<bool>,
    /// Whether a session could not connect in the last line.
    unconnected: Cell<bool>,
}

impl Progress {
    /// For a run; `line` is the interval of lines without a terminal, if `--progress` gave it.
    pub fn of_run(line: Option<Nanos>) -> Self {
        Self {
            screen: Screen::on_terminal(),
            of_trials: false,
            header_shown: Cell::default(),
            line_s: line.map(|line| line.0.div_ceil(1_000_000_000)),
            held: RefCell::default(),
            intervals_announced: Cell::default(),
            silent: Cell::default(),
            audited: Cell::default(),
            objectives: RefCell::default(),
            filling: RefCell::default(),
            clock: RealClock::start(),
            spoke_at: Cell::default(),
            length: Cell::default(),
            simulated: Cell::default(),
            bound_explained: Cell::default(),
            recent_explained: Cell::default(),
            unconnected: Cell::default(),
        }
    }

    /// For an experiment.
    pub fn of_trials() -> Self {
        Self { of_trials: true, ..Self::of_run(None) }
    }

    /// Takes a second; returns the intervals that it completes.
    fn completed(&self, second: &SecondProgress) -> impl Iterator<Item = Interval> {
        let mut held = self.held.borrow_mut();
        let other = match held.as_mut() {
            Some(interval) => interval.join(second.clone()),
            None => Some(second.clone()),
        };
        let before = other.and_then(|next| held.replace(Interval::new(next)));
        let line_s = self.line_s.unwrap_or(match second.second {
            ..=EACH_SECOND_FOR_S => 1,
            _ => LINE_S,
        });
        let is_due = second.second.is_multiple_of(line_s.max(1));
        let now = if is_due { held.take() } else { None };
        before.into_iter().chain(now)
    }

    /// Prints an interval as a line, below a header.
    fn line(&self, interval: &Interval) {
        let line = &interval.line;
        let objectives = self.objectives.borrow();
        if line.streams.iter().any(report::is_recent) && !self.recent_explained.replace(true) {
            terminal::note(&format!("        {}\n", report::RECENT));
        }
        if !self.header_shown.replace(true) {
            let header = report::interval_header(&line.streams, &objectives);
            terminal::note(&format!("{header}\n"));
        }
        if self.line_s.is_none() && interval.seconds > 1 && !self.intervals_announced.replace(true)
        {
            terminal::note(&format!("{}\n", report::intervals_begin(LINE_S)));
        }
        let was_away = self.unconnected.replace(line.unconnected.is_some());
        if let (false, Some(why)) = (was_away, &line.unconnected) {
            terminal::note(&format!("        {}\n", report::unconnected(why)));
        }
        // Each second's line would repeat the one before; the rare lines of a long run show that it continues.
        let is_silent = report::is_silent(line) && interval.seconds == 1;
        if is_silent && self.filling.borrow().is_none() {
            if !self.silent.replace(true) {
                terminal::note(&format!("{}\n", report::SILENCE));
            }
            return;
        }
        self.silent.set(false);
        if line.streams.iter().any(report::is_lower_bound) && !self.bound_explained.replace(true) {
            terminal::note(&format!("        {}\n", report::LOWER_BOUND));
        }
        let mut text = report::interval_line(line, &objectives);
        if let Some(filling) = self.filling.borrow_mut().as_mut() {
            text.push_str(&filling.after(interval));
        }
        terminal::note(&format!("{text}\n"));
    }

    /// Progress of an audit: every ten seconds, and whenever it reduces the size of its statements.
    fn audit(&self, progress: &AuditProgress) -> Option<String> {
        let since = progress.elapsed.saturating_sub(self.audited.get());
        let another = progress.elapsed < self.audited.get();
        let is_refused = matches!(progress.doing, AuditStage::Shrinking { .. });
        if another || since >= AUDIT_SHOWN_EVERY {
            self.audited.set(progress.elapsed);
        }
        let due = since >= AUDIT_SHOWN_EVERY || is_refused;
        (self.screen.is_none() && due).then(|| report::audit_line(progress))
    }

    /// The line of an event of an experiment; without a terminal also one for a trial that takes long.
    fn trial(&self, event: &Event) -> Option<String> {
        if let Event::Load(bounds) = event {
            self.length.set(bounds.length);
        }
        let now = self.clock.now();
        let is_due = now.saturating_sub(self.spoke_at.get()) >= QUIET_FOR;
        let line = match event {
            Event::Second(second) if self.screen.is_none() && is_due => {
                Some(format!("  {}", report::trial_progress(second, self.length.get())))
            }
            _ => trials(event),
        };
        if line.is_some() {
            self.spoke_at.set(now);
        }
        line
    }

    /// The line of an event of a run; seconds are printed separately.
    fn run(&self, event: &Event) -> Option<String> {
        let line = match event {
            Event::Begun {
                directory,
                workload,
                urls,
                target,
                simulated,
                objectives,
                settings_file,
                ..
            } => {
                self.simulated.set(*simulated);
                self.objectives.borrow_mut().clone_from(objectives);
                let title = report::begun(workload, urls, target);
                let settings = settings_file.iter().map(|file| report::settings_line(file) + "\n");
                format!("{title}\n{directory}\n{}", settings.collect::<String>())
            }
            Event::Estimate(estimate) => {
                format!("estimate: {}", report::estimate(estimate, self.simulated.get()))
            }
            Event::Part(part) => report::part_line(part),
            Event::Filling { there, rows } => {
                let filling = Filling::new(*there, *rows, self.simulated.get());
                let line = filling.to_string();
                *self.filling.borrow_mut() = Some(filling);
                line
            }
            Event::WarmedUp { took, steady } => report::warmed_up(*took, *steady),
            Event::Intervention(done) => report::intervention(done),
            Event::Second(line) if self.screen.is_none() => {
                self.completed(line).for_each(|interval| self.line(&interval));
                return None;
            }
            _ => return None,
        };
        Some(line)
    }
}

/// The line of an event of an experiment; details of a trial are below its title.
fn trials(event: &Event) -> Option<String> {
    let of_trial = match event {
        Event::Trial { number, trial, .. } => return Some(report::trial_begun(*number, trial)),
        Event::Part(part @ Part::Paused) => return Some(report::part_line(part)),
        Event::Intervention(done) => return Some(report::intervention(done)),
        Event::WarmedUp { took, steady } => report::warmed_up(*took, *steady),
        Event::Probed(probe) => report::probe_line(probe),
        Event::Measured { trial, unit } => report::trial_line(trial, unit.name()),
        Event::Sized { trial, unit } => report::scale_trial_line(trial, unit.name()),
        _ => return None,
    };
    Some(format!("  {of_trial}"))
}

impl Observer for Progress {
    fn event(&self, event: &Event) {
        if let Some(screen) = &self.screen {
            draw(screen, event);
        }
        // A load's last seconds are shown before the next event.
        if !matches!(event, Event::Second(_) | Event::Warning { .. })
            && let Some(interval) = self.held.take()
        {
            self.line(&interval);
        }
        let line = match event {
            Event::Audit(progress) => self.audit(progress),
            event if self.of_trials => self.trial(event),
            event => self.run(event),
        };
        if let Some(line) = line {
            terminal::note(&format!("{line}\n"));
        }
        WarningsOnly.event(event);
    }
}

/// Updates the block.
fn draw(screen: &Screen, event: &Event) {
    screen.note(|live, now| match event {
        Event::Trial { trial, progress, .. } => live.trial(now, trial, *progress),
        Event::Begun { objectives, settings_file, simulated, .. } => {
            live.begin(objectives, settings_file.as_deref());
            live.simulate(*simulated);
        }
        Event::Load(bounds) => live.load(*bounds),
        Event::Second(line) => live.second(line),
        Event::Audit(progress) => live.audit(now, progress.clone()),
        Event::Part(_) => live.other_part(),
        Event::Probed(_)
        | Event::Measured { .. }
        | Event::Repeated { .. }
        | Event::Sized { .. } => live.trial_ended(),
        _ => {}
    });
}

/// Shows only warnings.
#[derive(Debug, Default)]
pub struct WarningsOnly;

impl Observer for WarningsOnly {
    fn event(&self, event: &Event) {
        if let Event::Warning { kind, message } = event {
            terminal::warn(&report::warning(*kind, message));
        }
    }
}

/// Interval of drawings.
const PAUSE: Duration = Duration::from_millis(250);

/// Draws until it is dropped, which clears the block from the terminal.
#[derive(Debug)]
pub struct Screen {
    shared: Arc<SharedState>,
    clock: RealClock,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    live: Live,
    is_over: bool,
}

impl Screen {
    /// Starts drawing; absent if stderr is not a suitable terminal.
    pub fn on_terminal() -> Option<Self> {
        terminal::size()?;
        let shared = Arc::new(SharedState::default());
        let clock = RealClock::start();
        let shared_with_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("screen".to_owned());
        let thread = thread.spawn(move || draw_until_over(&shared_with_thread, clock)).ok()?;
        Some(Self { shared, clock, thread: Some(thread) })
    }

    /// Changes the state; the next drawing shows it.
    pub fn note(&self, change: impl FnOnce(&mut Live, Nanos)) {
        change(&mut self.shared.lock().live, self.clock.now());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.over.notify_all();
        if let Some(thread) = self.thread.take() {
            // After a panic, the thread no longer draws, which is enough here.
            let _ = thread.join();
        }
        terminal::block(&[]);
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw_until_over(shared: &SharedState, clock: RealClock) {
    let mut state = shared.lock();
    while !state.is_over {
        let live = state.live.clone();
        // A state change must not wait for the terminal.
        drop(state);
        if let Some((columns, rows)) = terminal::size() {
            terminal::block(&live.lines(clock.now(), columns, rows));
        }
        let wait = shared.over.wait_timeout_while(shared.lock(), PAUSE, |state| !state.is_over);
        state = wait.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[cfg(test)]
mod tests {
    use highwater_model::event::{StreamCounts, StreamProgress};
    use highwater_model::plan::Unit;

    use super::*;

    fn second(second: u64, phase: &str) -> SecondProgress {
        let stream = StreamProgress {
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            offered_per_s: None,
            units_per_s: f64::from(u32::try_from(second).unwrap()),
            p50_ns: None,
            p99_ns: Some(second),
            p99_at_least: false,
            max_ns: None,
            recent: None,
            errors: 1,
            rejected: 0,
            counts: StreamCounts::default(),
        };
        SecondProgress {
            second,
            phase: phase.to_owned(),
            streams: vec![stream],
            errors: 1,
            dropped: 0,
            sessions: 4,
            ..SecondProgress::default()
        }
    }

    /// Number of seconds, failed ops in them, their mean rate, and the highest p99.
    fn lines(
        progress: &Progress,
        phases: &[(&str, u64)],
    ) -> Vec<(u64, u32, u64, f64, Option<u64>)> {
        let mut at = 0;
        let mut seconds = Vec::new();
        for (phase, length) in phases {
            seconds.extend((at + 1..=at + length).map(|at| second(at, phase)));
            at += length;
        }
        let intervals = seconds.iter().flat_map(|second| progress.completed(second));
        intervals
            .map(|Interval { seconds, line }| {
                let stream = &line.streams[0];
                (line.second, seconds, line.errors, stream.units_per_s, stream.p99_ns)
            })
            .collect()
    }

    #[test]
    fn without_a_terminal_each_second_has_a_line_and_after_ten_of_them_every_tenth() {
        let progress = Progress { screen: None, ..Progress::of_run(None) };
        let shown = lines(&progress, &[("measure", 34)]);
        let seconds = shown.iter().map(|line| line.0).collect::<Vec<_>>();
        assert_eq!(seconds, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30]);
        assert_eq!(shown[10], (20, 10, 10, 15.5, Some(20)), "a mean, a sum and a maximum");
        assert_eq!(progress.held.take().map(|held| held.seconds), Some(4));
    }

    #[test]
    fn a_line_covers_the_requested_seconds_of_one_phase() {
        let progress = Progress { screen: None, ..Progress::of_run(Some(Nanos::from_secs(5))) };
        let shown = lines(&progress, &[("warm-up", 7), ("measure", 4)]);
        let seconds = shown.iter().map(|line| (line.0, line.1)).collect::<Vec<_>>();
        assert_eq!(seconds, [(5, 5), (7, 2), (10, 3)]);
    }

    /// Without a terminal, lines show that an audit is running, and that the target lacked memory for a statement.
    #[test]
    fn an_audit_without_a_terminal_is_a_line_every_ten_seconds_and_one_for_each_refusal() {
        let progress = Progress { screen: None, ..Progress::of_run(None) };
        let at = |seconds, doing: &AuditStage| {
            let shown = progress.audit(&AuditProgress {
                doing: doing.clone(),
                rows: 20,
                of: 60,
                elapsed: Nanos::from_secs(seconds),
                ..AuditProgress::default()
            });
            shown.unwrap_or_default()
        };
        let (reading, refused) = (
            AuditStage::ServerCounters,
            AuditStage::Shrinking { error: "CircuitBreakingException".to_owned() },
        );
        assert_eq!(at(9, &reading), "");
        let line = "audit: 10.0 s, 20 of 60 rows: reading the server's counters";
        assert_eq!(at(10, &reading), line);
        assert_eq!(at(11, &reading), "");
        let named = at(12, &refused);
        assert!(named.ends_with("no room: CircuitBreakingException"), "{named}");
        assert!(!at(20, &reading).is_empty());
        assert_eq!(at(3, &reading), "", "the audit of the next run");
        assert!(!at(13, &reading).is_empty());
    }
}
