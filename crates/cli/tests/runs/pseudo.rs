//! A pseudo-terminal, and what it displays to a user.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize};
use rustix::termios::{tcgetattr, tcsetattr, tcsetwinsize};

use crate::called::Place;

/// The interrupt key.
const INTERRUPT: &[u8] = b"\x03";

/// The result of a call on its terminal.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) code: Option<i32>,
    /// Everything that was written, unchanged.
    pub(crate) written: String,
    /// The display each time before something was cleared.
    pub(crate) frames: Vec<String>,
    /// The display at the end.
    pub(crate) end: String,
}

/// Calls the program on a terminal with `columns` columns. Interrupts it once all parts of `interrupt`, separated by
/// `|`, were written, unless it is empty.
pub(crate) fn call(
    place: &Place,
    words: &[&str],
    variables: &[(&str, &str)],
    (columns, interrupt): (u16, &str),
) -> Shown {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    keep_what_was_written(&master);
    let name = ptsname(&master, Vec::new()).unwrap();
    let name = name.to_str().unwrap().to_owned();
    let mut process = start(place, words, variables, &name);
    let mut terminal = File::from(master);
    let mut written = Vec::new();
    let mut interrupted = interrupt.is_empty();
    let mut part = [0; 4096];
    // When the last process has closed the terminal, a read returns an error instead of the end.
    while let Ok(read @ 1..) = terminal.read(&mut part) {
        written.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&written);
        if !interrupted && interrupt.split('|').all(|part| text.contains(part)) {
            interrupted = true;
            terminal.write_all(INTERRUPT).unwrap();
        }
    }
    let written = String::from_utf8(written).unwrap();
    let (frames, end) = seen(&written, columns.into());
    Shown { code: process.wait().unwrap().code(), written, frames, end }
}

/// By default, an interrupt discards output that was not read yet; this setting keeps it.
fn keep_what_was_written(master: &impl AsFd) {
    let mut modes = tcgetattr(master).unwrap();
    modes.local_modes.insert(LocalModes::NOFLSH);
    tcsetattr(master, OptionalActions::Now, &modes).unwrap();
}

/// Starts the program as the owner of the terminal, so that keys send signals to it.
fn start(place: &Place, words: &[&str], variables: &[(&str, &str)], terminal: &str) -> Child {
    let open = || {
        let opened = OpenOptions::new().read(true).write(true).open(terminal);
        Stdio::from(opened.unwrap())
    };
    let mut all = vec!["-c", env!("CARGO_BIN_EXE_highwater")];
    all.extend(words);
    let mut command = place.prepared(Command::new("setsid"), &all);
    command.env("TERM", "xterm").env_remove("CI");
    command.envs(variables.iter().copied());
    command.stdin(open()).stdout(open()).stderr(open());
    command.spawn().unwrap()
}

/// Emulates a terminal, as far as the program uses it.
fn seen(written: &str, columns: usize) -> (Vec<String>, String) {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut frames = Vec::new();
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                let sequence = rest.as_str();
                let end = sequence.find(char::is_alphabetic).unwrap();
                match &sequence[end..=end] {
                    "A" => row -= sequence[1..end].parse::<usize>().unwrap(),
                    "J" => {
                        frames.push(text(&rows));
                        rows.truncate(row + 1);
                        rows[row].truncate(column);
                    }
                    color => assert_eq!(color, "m", "{sequence}"),
                }
                rest = sequence[end + 1..].chars();
            }
            character => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                rows.resize(rows.len().max(row + 1), Vec::new());
                let line = &mut rows[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = character;
                column += 1;
            }
        }
        rows.resize(rows.len().max(row + 1), Vec::new());
    }
    let end = text(&rows);
    (frames, end)
}

fn text(rows: &[Vec<char>]) -> String {
    rows.iter()
        .map(|row| row.iter().collect::<String>())
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
