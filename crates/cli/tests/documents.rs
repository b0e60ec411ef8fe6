//! The generated parts of the documents are what the crates and the program say today.
//!
//! `cargo xtask docs` runs this test to have them rewritten.

use std::path::Path;

use highwater_cli::commands;
use highwater_documents::{Mode, run};

#[test]
fn the_documents_are_as_generated() {
    let mode = if std::env::var_os(xtask::docs::WRITE).is_some() {
        Mode::Write
    } else {
        Mode::Check
    };
    let commands: Vec<&str> = commands::ALL.iter().map(|command| command.name).collect();
    match run(Path::new(env!("CARGO_BIN_EXE_highwater")), mode, &commands) {
        Ok(said) => println!("{}", said.join("\n")),
        Err(wrong) => panic!("{wrong}"),
    }
}
