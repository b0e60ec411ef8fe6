//! Streams of JSON, one value per line: `--events FILE|-`, the events of a command while it is running, and
//! `--control FILE|-`, commands to a running run.
//!
//! Separate threads write and read them, so that a slow disk, reader, or source delays nothing: dropped events are counted,
//! and the last line has their number. Must not affect a run, or depend on the effect of a command.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupter;
use highwater_driver::system;
use highwater_live::Live;
use highwater_model::control::{Command, CommandSender};
use highwater_model::event::{EVENT_SCHEMA, Event};
use highwater_model::json;
use highwater_model::quantity::print_instant;
use highwater_model::record::RecordRef;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_report::Summary;
use highwater_runner::control::{self, Controller, Controls};
use highwater_runner::request::{Observer, Observers};

use crate::intent::{LineStream, RunIntent, RunOutput};
use crate::progress::WarningsOnly;
use crate::{exit, terminal};

/// Maximum number of events in the queue.
const WAITING_MAX: usize = 4_096;
/// Maximum time that the end of a command waits for a reader that does not read.
const END: Duration = Duration::from_secs(5);

/// Destination of a command's events.
pub struct EventLog {
    lines: Option<SyncSender<String>>,
    /// Events that were dropped because the queue was full.
    dropped: Arc<AtomicU64>,
    /// Disconnected when everything is written.
    written: Receiver<()>,
}

impl EventLog {
    /// Starts a log, if one was requested.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn open(sink: Option<&LineStream>) -> Result<Option<Rc<Self>>, UserError> {
        let out: Box<dyn Write + Send> = match sink {
            None => return Ok(None),
            Some(LineStream::Standard) => Box::new(io::stdout()),
            Some(LineStream::File(path)) => {
                Box::new(system::create_without_waiting(path).map_err(|error| {
                    let message = format!("--events: cannot write {}: {error}", path.display());
                    UserError::usage(message).with_hint("name a file in a directory that is there")
                })?)
            }
        };
        let log = Self::to(out);
        let log = log.map_err(|error| UserError::usage(format!("--events: {error}")))?;
        Ok(Some(Rc::new(log)))
    }

    fn to(out: Box<dyn Write + Send>) -> io::Result<Self> {
        let (lines, to_write) = mpsc::sync_channel(WAITING_MAX);
        let (end, written) = mpsc::sync_channel(0);
        let dropped = Arc::<AtomicU64>::default();
        let unwritten = Arc::clone(&dropped);
        let writer = thread::Builder::new().name("events".to_owned());
        writer.spawn(move || {
            write_all(out, &to_write, &unwritten);
            drop::<SyncSender<()>>(end);
        })?;
        let log = Self { lines: Some(lines), dropped, written };
        log.event(&Event::Stream {
            schema: EVENT_SCHEMA.to_owned(),
            highwater: env!("CARGO_PKG_VERSION").to_owned(),
        });
        Ok(log)
    }
}

impl Observer for EventLog {
    fn event(&self, event: &Event) {
        let Some(lines) = &self.lines else { return };
        match lines.try_send(event_line(event)) {
            Err(TrySendError::Full(_)) => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
            // A writer that ended has reported why.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.lines = None;
        // Ends by the disconnection: nothing is ever sent.
        let _ = self.written.recv_timeout(END);
    }
}

fn event_line(event: &Event) -> String {
    let now = wall_clock();
    let time = print_instant(Nanos(now.0 - now.0 % 1_000_000));
    report::event_line(time, event)
}

fn write_all(out: impl Write, lines: &Receiver<String>, dropped: &AtomicU64) {
    match write_lines(BufWriter::new(out), lines, dropped) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            terminal::warn(&format!(
                "cannot write events: {error}; the run continues without them"
            ));
        }
    }
}

/// Flushes whenever the queue is empty, so that readers get each line as soon as possible.
fn write_lines(
    mut out: impl Write,
    lines: &Receiver<String>,
    dropped: &AtomicU64,
) -> io::Result<()> {
    while let Ok(first) = lines.recv() {
        out.write_all(first.as_bytes())?;
        for line in lines.try_iter().take(WAITING_MAX) {
            out.write_all(line.as_bytes())?;
        }
        out.flush()?;
    }
    let events = dropped.load(Ordering::Relaxed);
    if events > 0 {
        out.write_all(event_line(&Event::Dropped { events }).as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// Prints the record that is stored in `directory`; returns its exit code.
pub fn record(output: &RunOutput, record: RecordRef<'_>, directory: &str) -> Result<u8, UserError> {
    if output.json && output.events == Some(LineStream::Standard) {
        terminal::note(&json::print(record));
    } else if output.json {
        terminal::data(&json::print(record))?;
    } else {
        summary(output, &report::summary(record, directory))?;
    }
    Ok(exit::code(record))
}

/// Prints a summary on stdout, or on stderr if events go to stdout.
pub fn summary(output: &RunOutput, summary: &Summary) -> Result<(), UserError> {
    if output.events == Some(LineStream::Standard) {
        terminal::summary_note(summary, output.verbose);
        return Ok(());
    }
    terminal::summary(summary, output.verbose)
}

/// The observers of a command: its progress, unless only the result is requested, the log, and the live servers.
pub fn observer(
    output: &RunOutput,
    log: Option<&Rc<EventLog>>,
    live: Option<Rc<Live>>,
    progress: impl FnOnce() -> Rc<dyn Observer>,
) -> Rc<dyn Observer> {
    let shown: Rc<dyn Observer> =
        if output.quiet || output.json { Rc::new(WarningsOnly) } else { progress() };
    let log = log.map(|log| Rc::clone(log) as Rc<dyn Observer>);
    let live = live.map(|live| live as Rc<dyn Observer>);
    Rc::new(Observers([shown].into_iter().chain(log).chain(live).collect()))
}

/// Maximum bytes of a line.
const LINE_MAX: u64 = 16 * 1_024;

/// Starts reading commands, if there is a source; also returns the controller for the live page.
///
/// # Errors
/// If the source cannot be read.
pub fn open(
    settings: &RunIntent,
    interrupter: Interrupter,
) -> Result<(Option<Controller>, Controls), UserError> {
    let from_page = settings.output.live.control;
    if settings.control.is_none() && !from_page {
        return Ok((None, Controls::default()));
    }
    let (controller, controls) = control::channel(interrupter);
    if let Some(source) = &settings.control {
        read(source, controller.clone().used_by(CommandSender::Control))?;
    }
    Ok((from_page.then(|| controller.used_by(CommandSender::Page)), controls))
}

/// Reads from a source in a separate thread.
fn read(source: &LineStream, controller: Controller) -> Result<(), UserError> {
    let file = match source {
        LineStream::Standard => None,
        LineStream::File(path) => Some(file(path).map_err(|error| {
            let message = format!("--control: cannot read {}: {error}", path.display());
            UserError::usage(message).with_hint("make a named pipe (mkfifo FILE), or name a file")
        })?),
    };
    let reader = thread::Builder::new().name("control".to_owned());
    let reader = reader.spawn(move || match file {
        Some(file) => obey_all(BufReader::new(file), &controller),
        None => obey_all(io::stdin().lock(), &controller),
    });
    let started = reader.map_err(|error| UserError::usage(format!("--control: {error}")));
    started.map(drop)
}

/// Opens a pipe for reading and writing: so opening does not wait for a writer, and the pipe does not end when the last
/// of several writers closes it.
fn file(path: &Path) -> io::Result<File> {
    let is_pipe = system::is_pipe(path.metadata()?.file_type());
    OpenOptions::new().read(true).write(is_pipe).open(path)
}

/// Sends one command after the other, until the source or the run ends.
fn obey_all(mut source: impl BufRead, controller: &Controller) {
    for number in 1_u64.. {
        let warn = |message: &str| terminal::warn(&format!("--control, line {number}: {message}"));
        match next_line(&mut source) {
            Err(error) => return warn(&error.to_string()),
            Ok(None) => return,
            Ok(Some(line)) if line.trim_ascii().is_empty() => {}
            Ok(Some(line)) => match serde_json::from_slice::<Command>(&line) {
                Err(error) => warn(&error.to_string()),
                Ok(command) => {
                    let answer = controller.send(command).and_then(control::Reply::wait);
                    if let Err(why) = answer {
                        warn(&report::refusal(&why));
                    }
                }
            },
        }
    }
}

/// The next line; an error for a line that is too long, after which nothing is read.
fn next_line(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = source.take(LINE_MAX + 1).read_until(b'\n', &mut line)?;
    if line.len() as u64 > LINE_MAX {
        let message = format!("longer than {LINE_MAX} bytes; no more commands are read");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok((read > 0).then_some(line))
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use highwater_model::event::TimedEvent;

    use super::*;

    /// Blocks writes while its test holds the lock.
    #[derive(Clone, Default)]
    struct Slow(Arc<Mutex<Vec<u8>>>);

    impl Slow {
        fn held(&self) -> MutexGuard<'_, Vec<u8>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.held().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stalled_reader_blocks_nothing_and_sees_what_it_missed() {
        const SENT: u64 = 2 * WAITING_MAX as u64;
        let out = Slow::default();
        let log = EventLog::to(Box::new(out.clone())).unwrap();
        let held = out.held();
        for there in 0..SENT {
            log.event(&Event::Filling { there, rows: SENT });
        }
        drop(held);
        drop(log);
        let text = String::from_utf8(out.held().clone()).unwrap();
        let events: Vec<Event> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .map(|line: TimedEvent| line.event)
            .collect();
        let filling = |event: &&Event| matches!(event, Event::Filling { .. });
        let written = events.iter().filter(filling).count() as u64;
        let Some(Event::Dropped { events: missed }) = events.last() else {
            panic!("{:?}", events.last());
        };
        assert_eq!(written + missed, SENT);
        // The first line of the log may be among the queued events.
        assert!(written + 1 >= WAITING_MAX as u64, "{written} were written");
    }

    #[track_caller]
    fn check(text: &[u8], expected: &[Option<&str>]) {
        let mut source = text;
        for expected in expected {
            let found = next_line(&mut source).unwrap();
            let found = found.map(|line| String::from_utf8(line).unwrap());
            assert_eq!(found.as_deref(), *expected);
        }
    }

    #[test]
    fn lines_are_read_one_by_one_and_a_long_one_is_rejected() {
        check(b"a\nb", &[Some("a\n"), Some("b"), None]);
        check(b"", &[None]);
        let longest = vec![b'x'; usize::try_from(LINE_MAX).unwrap()];
        assert_eq!(next_line(&mut longest.as_slice()).unwrap().unwrap(), longest);
        let longer = [longest, vec![b'x']].concat();
        assert!(next_line(&mut longer.as_slice()).is_err());
    }
}
