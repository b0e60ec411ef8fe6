//! `--control FILE|-`: commands to a running run, as JSON, one per line.
//!
//! A separate thread reads them and waits for the responses, so that the run never waits for their source. Must not
//! depend on the effect of a command.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::thread;

use highwater_driver::interrupts::Interrupter;
use highwater_model::control::{Command, CommandSender};
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::control::{self, Controller, Controls};

use crate::intent::{LineStream, RunIntent};
use crate::terminal;

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
    let is_pipe = path.metadata()?.file_type().is_fifo();
    OpenOptions::new().read(true).write(is_pipe).open(path)
}

/// Sends one command after the other, until the source or the run ends.
fn obey_all(mut source: impl BufRead, controller: &Controller) {
    for number in 1_u64.. {
        let warn = |message: &str| terminal::warn(&format!("--control, line {number}: {message}"));
        match line(&mut source) {
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
fn line(source: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
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
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: &[Option<&str>]) {
        let mut source = text;
        for expected in expected {
            let found = line(&mut source).unwrap();
            let found = found.map(|line| String::from_utf8(line).unwrap());
            assert_eq!(found.as_deref(), *expected);
        }
    }

    #[test]
    fn lines_come_one_by_one_and_a_long_one_is_refused() {
        check(b"a\nb", &[Some("a\n"), Some("b"), None]);
        check(b"", &[None]);
        let longest = vec![b'x'; usize::try_from(LINE_MAX).unwrap()];
        assert_eq!(line(&mut longest.as_slice()).unwrap().unwrap(), longest);
        let longer = [longest, vec![b'x']].concat();
        assert!(line(&mut longer.as_slice()).is_err());
    }
}
