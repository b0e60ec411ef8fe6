//! The only place that writes to the terminal: data on stdout, everything else on stderr.
//!
//! If the reader goes away (`highwater … | head`), output ends, but the exit code stays. A block of
//! lines below the output can be redrawn in place. Must not decide what is printed.

mod block;

use std::io::{self, ErrorKind, IsTerminal, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU16;
use std::sync::{Mutex, MutexGuard, PoisonError};

use block::Block;
use highwater_driver::redaction::without_passwords;
use highwater_model::display::harmless;
use highwater_report::{Ink, Summary};

use crate::failure::Failure;

/// Columns of a terminal that does not report them.
const COLUMNS: usize = 80;
/// Columns of a summary that goes into a file or a pipe.
const COLUMNS_OF_FILES: usize = 100;

/// The block below everything else; locked while anything is written.
static BLOCK: Mutex<Block> = Mutex::new(Block::new());

/// Turns colors off for good, whatever the terminal can do.
pub fn without_color() {
    anstream::ColorChoice::Never.write_global();
}

/// Writes data to stdout, without what could steer a terminal. A closed stdout is no error.
pub fn data(text: &str) -> Result<(), Failure> {
    styled(&harmless(text))
}

/// Writes text of our own to stdout, with its styles. A closed stdout is no error.
pub fn styled(text: &str) -> Result<(), Failure> {
    let _below = room();
    let mut stdout = anstream::stdout().lock();
    match write(&mut stdout, text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            Err(Failure::usage(message))
        }
        _ => Ok(()),
    }
}

/// Writes a summary to stdout, as wide as the terminal, with colors where it has them.
pub fn summary(summary: &Summary, verbose: bool) -> Result<(), Failure> {
    styled(&fitted(summary, verbose, stdout_columns()))
}

/// Writes a summary to stderr, where stdout has something else.
pub fn summary_note(summary: &Summary, verbose: bool) {
    let columns = size().map_or(COLUMNS_OF_FILES, |(columns, _)| columns);
    styled_note(&fitted(summary, verbose, columns));
}

fn fitted(summary: &Summary, verbose: bool, columns: usize) -> String {
    let paint = |ink: Ink, text: &str| {
        let (text, style) = (harmless(text), style(ink));
        format!("{style}{text}{style:#}")
    };
    if !verbose {
        return summary.short(columns, &paint);
    }
    summary.full(columns, &paint)
}

const fn style(ink: Ink) -> anstyle::Style {
    use anstyle::AnsiColor;
    match ink {
        Ink::Plain => anstyle::Style::new(),
        Ink::Strong => anstyle::Style::new().bold(),
        Ink::Good => AnsiColor::Green.on_default(),
        Ink::Bad => AnsiColor::Red.on_default().bold(),
        Ink::Open => AnsiColor::Yellow.on_default().bold(),
        Ink::Dim => anstyle::Style::new().dimmed(),
    }
}

/// Columns of the terminal on stdout; of a file or a pipe as many as a page has.
fn stdout_columns() -> usize {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return COLUMNS_OF_FILES;
    }
    reported_size(&stdout).map_or(COLUMNS, |(columns, _)| columns)
}

/// Writes something for the reader, not for a program, to stderr, without what could steer a
/// terminal. A failure cannot be reported.
pub fn note(text: &str) {
    styled_note(&harmless(text));
}

fn styled_note(text: &str) {
    let _below = room();
    let _ = write(&mut anstream::stderr().lock(), text);
}

/// Shows a failure on stderr and returns its exit code.
pub fn fail(failure: &Failure) -> u8 {
    const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
    const HINT: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();
    let text = failure.render();
    let colored = text.replacen("error:", &format!("{ERROR}error:{ERROR:#}"), 1).replacen(
        "\nhint:",
        &format!("\n{HINT}hint:{HINT:#}"),
        1,
    );
    styled_note(&colored);
    failure.exit
}

/// Columns and rows for a block on stderr; absent where none can be drawn again, as in a pipe.
pub fn size() -> Option<(usize, usize)> {
    let stderr = io::stderr();
    if !stderr.is_terminal() || !block::can_redraw(|name| std::env::var_os(name)) {
        return None;
    }
    let (columns, rows) = reported_size(&stderr)?;
    // Some terminals wrap a line that fills its row; the last row is the cursor's.
    Some((columns - 1, rows - 1))
}

/// Columns and rows, of each one at least; the usual number where it is not reported.
#[cfg(target_os = "linux")]
fn reported_size(stream: &impl std::os::fd::AsFd) -> Option<(usize, usize)> {
    const ROWS: usize = 24;
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let or = |number, usual: usize| NonZeroU16::new(number).map_or(usual, |it| it.get().into());
    Some((or(size.ws_col, COLUMNS), or(size.ws_row, ROWS)))
}

#[cfg(not(target_os = "linux"))]
fn reported_size<S>(_stream: &S) -> Option<(usize, usize)> {
    None
}

/// Draws these lines below everything else, in place of the former ones. They have no colors, so
/// that no choice of colors takes out what moves the cursor.
pub fn block(lines: &[String]) {
    let lines: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    draw(&mut lock(), &lines);
}

/// Takes the block away until it is drawn again; what is written in between is above it.
fn room() -> MutexGuard<'static, Block> {
    let mut block = lock();
    draw(&mut block, &[]);
    block
}

fn draw(block: &mut Block, lines: &[String]) {
    if let Some((columns, _)) = size() {
        // A failure cannot be reported.
        let _ = block.draw(&mut io::stderr().lock(), lines, columns + 1);
    }
}

fn lock() -> MutexGuard<'static, Block> {
    BLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Shows a warning on stderr.
pub fn warn(text: &str) {
    const WARNING: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();
    styled_note(&format!("{WARNING}warning:{WARNING:#} {}\n", harmless(&without_passwords(text))));
}
