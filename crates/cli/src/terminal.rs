//! The only place that writes to the terminal: data on stdout, everything else on stderr.
//!
//! A reader that goes away (`highwater … | head`) ends the output, not the program's verdict.

use std::io::{self, ErrorKind, Write};

use crate::exit;
use crate::failure::Failure;

/// Turns colours off for good, whatever the terminal can do.
pub fn without_colour() {
    anstream::ColorChoice::Never.write_global();
}

/// Writes data to stdout. A closed stdout is no error.
pub fn data(text: &str) -> Result<(), Failure> {
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
    let _ = write(&mut anstream::stderr().lock(), text);
}

/// Shows a failure on stderr and returns its exit code.
pub fn fail(failure: &Failure) -> u8 {
    const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
    const HINT: anstyle::Style = anstyle::AnsiColor::Cyan.on_default().bold();
    let text = failure.render();
    let coloured = text
        .replacen("error:", &format!("{ERROR}error:{ERROR:#}"), 1)
        .replacen("\nhint:", &format!("\n{HINT}hint:{HINT:#}"), 1);
    note(&coloured);
    failure.exit
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
