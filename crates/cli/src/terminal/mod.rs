//! The only place that writes to the terminal: data on stdout, everything else on stderr.
//!
//! A reader that goes away (`highwater … | head`) ends the output, not the program's verdict. Below
//! what is written there may be a block of lines that are drawn again in place; it makes room first.

mod block;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use block::Block;

use crate::exit;
use crate::failure::Failure;

/// Columns of a terminal that does not tell.
const COLUMNS: usize = 80;
/// Rows of a terminal that does not tell.
const ROWS: usize = 24;

/// What is drawn below everything else; whoever writes holds it.
static BLOCK: Mutex<Block> = Mutex::new(Block::new());

/// Turns colors off for good, whatever the terminal can do.
pub fn without_color() {
    anstream::ColorChoice::Never.write_global();
}

/// Writes data to stdout. A closed stdout is no error.
pub fn data(text: &str) -> Result<(), Failure> {
    let _below = room();
    let mut stdout = anstream::stdout().lock();
    match write(&mut stdout, text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure {
            exit: exit::USAGE,
            message: format!("cannot write to standard output: {error}"),
            place: None,
            hint: None,
        }),
        _ => Ok(()),
    }
}

/// Writes something for the reader, not for a program, to stderr. Nobody can be told if it fails.
pub fn note(text: &str) {
    let _below = room();
    let _ = write(&mut anstream::stderr().lock(), text);
}

/// Shows a failure on stderr and returns its exit code.
pub fn fail(failure: &Failure) -> u8 {
    const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
    const HINT: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();
    let text = failure.render();
    let colored = text
        .replacen("error:", &format!("{ERROR}error:{ERROR:#}"), 1)
        .replacen("\nhint:", &format!("\n{HINT}hint:{HINT:#}"), 1);
    note(&colored);
    failure.exit
}

/// Columns and rows for a block on stderr; absent where none can be drawn again, as in a pipe.
pub fn size() -> Option<(usize, usize)> {
    let stderr = io::stderr();
    if !stderr.is_terminal() || !block::can_redraw(|name| std::env::var_os(name)) {
        return None;
    }
    let (columns, rows) = told_size(&stderr)?;
    let or = |told: u16, usual| if told == 0 { usual } else { told.into() };
    // Some terminals wrap a line that fills its row; the last row is the cursor's.
    Some((
        or(columns, COLUMNS).saturating_sub(1),
        or(rows, ROWS).saturating_sub(1),
    ))
}

#[cfg(target_os = "linux")]
fn told_size(stderr: &io::Stderr) -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(stderr).ok()?;
    Some((size.ws_col, size.ws_row))
}

#[cfg(not(target_os = "linux"))]
fn told_size(_stderr: &io::Stderr) -> Option<(u16, u16)> {
    None
}

/// Draws these lines below everything else, in place of the former ones. They have no colors, so
/// that no choice of colors takes out what moves the cursor.
pub fn block(lines: &[String]) {
    draw(&mut lock(), lines);
}

/// Takes the block away until it is drawn again; what is written in between is above it.
fn room() -> MutexGuard<'static, Block> {
    let mut block = lock();
    draw(&mut block, &[]);
    block
}

fn draw(block: &mut Block, lines: &[String]) {
    if let Some((columns, _)) = size() {
        // Nobody can be told if it fails.
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

/// Says on stderr what the user should know although it is no error.
pub fn warn(text: &str) {
    const WARNING: anstyle::Style = anstyle::AnsiColor::Yellow.on_default().bold();
    note(&format!(
        "{WARNING}warning:{WARNING:#} {}\n",
        crate::failure::without_passwords(text)
    ));
}
