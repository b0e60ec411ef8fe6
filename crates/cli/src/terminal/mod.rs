//! The only place that writes to the terminal: data on stdout, everything else on stderr.
//!
//! If the reader goes away (`highwater … | head`), output ends, but the exit code stays. A block of lines below the
//! output can be redrawn in place. Must not decide what is printed.

mod block;

use std::io::{self, ErrorKind, IsTerminal, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU16;
use std::sync::{Mutex, MutexGuard, PoisonError};

use block::Block;
use highwater_driver::redaction::without_passwords;
use highwater_model::display::harmless;
use highwater_model::user_error::UserError;
use highwater_report::{Ink, Summary};

use crate::error_text::render;

/// Default columns of a terminal that does not report them.
const COLUMNS: usize = 80;
/// Columns of a summary in a file or a pipe.
const COLUMNS_OF_FILES: usize = 100;

/// The block below all other output; locked during any write.
static BLOCK: Mutex<Block> = Mutex::new(Block::new());

/// Disables colors permanently, whatever the terminal supports.
pub fn without_color() {
    anstream::ColorChoice::Never.write_global();
}

/// Writes data to stdout, without control characters. A closed stdout is not an error.
pub fn data(text: &str) -> Result<(), UserError> {
    styled(&harmless(text))
}

/// Writes Highwater's own text to stdout, with its styles. A closed stdout is not an error.
pub fn styled(text: &str) -> Result<(), UserError> {
    let _below = room();
    let mut stdout = anstream::stdout().lock();
    match write(&mut stdout, text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            Err(UserError::usage(message))
        }
        _ => Ok(()),
    }
}

/// Writes a summary to stdout, as wide as the terminal, with colors if it supports them.
pub fn summary(summary: &Summary, verbose: bool) -> Result<(), UserError> {
    styled(&fitted(summary, verbose, stdout_columns()))
}

/// Writes a summary to stderr, if stdout is used otherwise.
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

/// Columns of the terminal on stdout, or the columns for files and pipes.
fn stdout_columns() -> usize {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return COLUMNS_OF_FILES;
    }
    reported_size(&stdout).map_or(COLUMNS, |(columns, _)| columns)
}

/// Writes text for the reader, not for a program, to stderr, without control characters. A failure cannot be reported.
pub fn note(text: &str) {
    styled_note(&harmless(text));
}

fn styled_note(text: &str) {
    let _below = room();
    let _ = write(&mut anstream::stderr().lock(), text);
}

/// Shows a failure on stderr and returns its exit code.
pub fn fail(failure: &UserError) -> u8 {
    const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
    const HINT: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();
    let text = render(failure);
    let colored = text.replacen("error:", &format!("{ERROR}error:{ERROR:#}"), 1).replacen(
        "\nhint:",
        &format!("\n{HINT}hint:{HINT:#}"),
        1,
    );
    styled_note(&colored);
    failure.exit_code()
}

/// Columns and rows for a block on stderr; absent if it cannot be redrawn, as in a pipe.
pub fn size() -> Option<(usize, usize)> {
    let stderr = io::stderr();
    if !stderr.is_terminal() || !block::can_redraw(|name| std::env::var_os(name)) {
        return None;
    }
    let (columns, rows) = reported_size(&stderr)?;
    // Some terminals wrap a line that fills its row; the last row is for the cursor.
    Some((columns - 1, rows - 1))
}

/// Columns and rows, at least one of each; the default if they are not reported.
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

/// Draws these lines below all other output, replacing the previous ones. They have no colors, so that disabling colors
/// does not remove cursor movements.
pub fn block(lines: &[String]) {
    let lines: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    draw(&mut lock(), &lines);
}

/// Clears the block until it is redrawn; output in between appears above it.
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
