//! Commands that the documents show: what a reader pastes first does what the text beside it says.

use std::fs;
use std::path::{Path, PathBuf};

use crate::called::Place;

/// Instead of the minutes of an example: as many ops as show whether its objective is met.
const LENGTH: &str = "30s";

/// All documents for users.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("docs")];
    let mut documents = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

/// The words of each shown command behind the program's name.
fn commands(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter_map(|line| {
        let words = line.strip_prefix("highwater ");
        let words = words.or_else(|| line.strip_prefix("cargo run --release -- "))?;
        words.split('#').next()
    });
    lines
        .map(|words| words.split_whitespace().collect())
        .collect()
}

#[test]
fn the_simulated_cluster_meets_the_objective_of_every_example() {
    let mut tried = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for mut words in commands(&text) {
            let has = |word: &str| words.iter().any(|own| own.starts_with(word));
            if words.first() != Some(&"run") || !has("sim:") || !(has("--p9") || has("--objective"))
            {
                continue;
            }
            if let Some(at) = words.iter().position(|word| *word == "-d") {
                words[at + 1] = LENGTH;
            }
            words.push("-q");
            let called = Place::new().call(&words);
            assert_eq!(called.code, Some(0), "{document:?}: {words:?} {called:?}");
            assert!(
                called.stdout.contains("objective      met"),
                "{document:?}: {words:?} {called:?}"
            );
            tried += 1;
        }
    }
    assert!(tried >= 2, "the documents have such examples: {tried}");
}
