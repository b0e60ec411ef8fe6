//! The generated parts of the documents match the current crates and program, and the pages about reason codes only
//! describe existing ones.

use std::path::Path;

use highwater_cli::commands;
use highwater_documents::{Mode, run};
use highwater_model::judgment::ReasonCode;

#[test]
fn the_documents_are_as_generated() {
    let mode =
        if std::env::var_os(xtask::docs::WRITE).is_some() { Mode::Write } else { Mode::Check };
    let commands: Vec<&str> = commands::ALL.iter().map(|command| command.name).collect();
    match run(Path::new(env!("CARGO_BIN_EXE_highwater")), mode, &commands) {
        Ok(said) => println!("{}", said.join("\n")),
        Err(wrong) => panic!("{wrong}"),
    }
}

/// Texts between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_reasons_that_a_guide_explains_are_in_the_reference() {
    let guide = include_str!("../../../../docs/guide/is-my-number-right.md");
    let rows = guide.lines().skip_while(|line| !line.starts_with("| reason |"));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).flat_map(quoted).collect();
    let is_known = |name: &&str| ReasonCode::ALL.iter().any(|(_, known, ..)| known == name);
    let unknown: Vec<&&str> = named.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {named:?}");
    assert!(named.len() >= 5, "{named:?}");
}
