//! `cargo xtask accuracy FILE`: the accuracy of predictions of larger sizes on the series of a file.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        writeln!(std::io::stderr(), "usage: cargo xtask accuracy FILE").ok();
        return ExitCode::FAILURE;
    };
    let (text, code) = match highwater_documents::accuracy::of_file(&file) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (error, ExitCode::FAILURE),
    };
    writeln!(std::io::stdout(), "{}", text.trim_end()).ok();
    code
}
