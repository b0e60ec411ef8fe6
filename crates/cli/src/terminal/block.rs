//! Lines that are redrawn in place, below all other output.
//!
//! The cursor stays visible, at the start of the line below them, and every drawing is one write that ends with a line
//! feed. So the terminal is in a clean state whenever and however the program ends.

use std::ffi::OsString;
use std::io::{self, Write};

/// The current drawing.
#[derive(Debug, Default)]
pub(super) struct Block {
    lines: Vec<String>,
}

impl Block {
    /// An empty block.
    pub(super) const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Replaces the previous lines by these, on a terminal with `columns` columns.
    pub(super) fn draw(
        &mut self,
        to: &mut impl Write,
        lines: &[String],
        columns: usize,
    ) -> io::Result<()> {
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
pub(super) fn can_redraw(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    value("TERM").is_some_and(|term| term != "dumb") && value("CI").is_none()
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
