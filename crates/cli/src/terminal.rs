//! The only place that writes to the terminal: data on stdout, everything else on stderr. Also the prompts: for a
//! password, and for confirmation.
//!
//! If the reader goes away (`highwater … | head`), output ends, but the exit code stays. A block of lines below the output
//! can be redrawn in place: the cursor stays visible, at the start of the line below it, and every drawing is one write that
//! ends with a line feed. So the terminal is in a clean state whenever and however the program ends. Must not decide what is
//! printed, or store a password except in the URLs.

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdin};
use std::num::NonZeroU16;
use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_driver::system::{self, TerminalStream};
use highwater_driver::target_url::without_passwords;
use highwater_driver::{Secret, TargetUrl};
use highwater_model::display::harmless;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_report::{Ink, Summary};

use crate::exit::render;

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
    if !stderr.is_terminal() || !can_redraw(|name| std::env::var_os(name)) {
        return None;
    }
    let (columns, rows) = reported_size(&stderr)?;
    // Some terminals wrap a line that fills its row; the last row is for the cursor.
    Some((columns - 1, rows - 1))
}

/// Columns and rows, at least one of each; the default if they are not reported.
fn reported_size(stream: &impl TerminalStream) -> Option<(usize, usize)> {
    const ROWS: usize = 24;
    let [columns, rows] = system::terminal_size(stream)?;
    let or = |number, usual: usize| NonZeroU16::new(number).map_or(usual, |it| it.get().into());
    Some((or(columns, COLUMNS), or(rows, ROWS)))
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

/// The current drawing.
#[derive(Debug, Default)]
struct Block {
    lines: Vec<String>,
}

impl Block {
    /// An empty block.
    const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Replaces the previous lines by these, on a terminal with `columns` columns.
    fn draw(&mut self, to: &mut impl Write, lines: &[String], columns: usize) -> io::Result<()> {
        if self.lines == lines {
            return Ok(());
        }
        let mut text = self.erasure(columns);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.lines = lines.to_vec();
        to.write_all(text.as_bytes())?;
        to.flush()
    }

    /// Moves up to the first row of the block, and clears everything from there. A line takes several rows if the
    /// terminal has become narrower since.
    fn erasure(&self, columns: usize) -> String {
        let columns = columns.max(1);
        let rows = self.lines.iter().map(|line| line.chars().count().div_ceil(columns).max(1));
        match rows.sum::<usize>() {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }
}

/// Whether lines can be redrawn on this terminal: it must support moving up, and must not be the log of a CI job.
fn can_redraw(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    value("TERM").is_some_and(|term| term != "dumb") && value("CI").is_none()
}

/// Whether there is a terminal for a prompt.
pub fn is_interactive() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Whether the user answers a prompt with yes; anything else, including the end of the input, is
/// no.
pub fn is_confirmed(question: &str) -> bool {
    note(&format!("{question} [y/N] "));
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// If a connection was rejected without a password, prompts for one, for all URLs of the target that have none. False
/// if the cause was another one, if there is no terminal, or if nothing was typed.
pub fn for_password(error: &UserError, urls: &mut [TargetUrl]) -> bool {
    let lacks_password = |url: &TargetUrl| url.password.is_none();
    let Some(first) = urls.iter().find(|url| lacks_password(url)) else {
        return false;
    };
    if error.kind != UserErrorKind::Refused || !is_interactive() {
        return false;
    }
    let typed = rpassword::prompt_password(format!("Password for {first}: "));
    let Some(password) = typed.ok().filter(|typed| !typed.is_empty()) else {
        return false;
    };
    for url in urls.iter_mut().filter(|url| lacks_password(url)) {
        url.password = Some(Secret::new(password.clone()));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(block: &mut Block, lines: &[&str], columns: usize) -> String {
        let mut to = Vec::new();
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        block.draw(&mut to, &lines, columns).unwrap();
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn lines_are_drawn_over_the_former_ones_and_only_when_they_changed() {
        let mut block = Block::new();
        assert_eq!(drawn(&mut block, &[], 80), "");
        assert_eq!(drawn(&mut block, &["one", "two"], 80), "one\ntwo\n");
        assert_eq!(drawn(&mut block, &["one", "two"], 80), "");
        assert_eq!(drawn(&mut block, &["three"], 80), "\r\u{1b}[2A\u{1b}[Jthree\n");
        assert_eq!(drawn(&mut block, &[], 80), "\r\u{1b}[1A\u{1b}[J");
        assert_eq!(drawn(&mut block, &[], 80), "");
    }

    #[test]
    fn a_terminal_that_became_narrower_has_wrapped_the_former_lines() {
        let mut block = Block::new();
        drawn(&mut block, &["1234567890", "", "12345"], 80);
        // Blocks of three rows, one row, and two rows.
        assert_eq!(drawn(&mut block, &[], 4), "\r\u{1b}[6A\u{1b}[J");
    }

    #[test]
    fn only_an_interactive_terminal_is_drawn_on() {
        for (term, ci, expected) in [
            (Some("xterm-256color"), None, true),
            (Some("xterm"), Some(""), true),
            (Some("xterm"), Some("true"), false),
            (Some("dumb"), None, false),
            (Some(""), None, false),
            (None, None, false),
        ] {
            let variable = |name: &str| match name {
                "TERM" => term.map(OsString::from),
                "CI" => ci.map(OsString::from),
                _ => None,
            };
            assert_eq!(can_redraw(variable), expected, "{term:?} {ci:?}");
        }
    }
}
