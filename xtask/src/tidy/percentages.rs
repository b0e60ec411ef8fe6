//! The rule that a percentage has no space before its sign, wherever it is read: in documents, messages, help
//! texts, and what is compared with them. Comments are free, and so are tests, which also read what others write.

use super::finding::Finding;
use super::tokens::{Kind, tokens};
use super::tree::{Tree, extension_of, is_test, production_lines};

/// SQL's remainder, history, and what other programs wrote.
const EXCEPTIONS: &[&str] = &[
    "CHANGELOG.md",
    "crates/cli/tests/fixtures/version-1/",
    "crates/driver/src/sql/audit.rs",
    "crates/import/src/samples/",
    "target/",
];

/// No percentage is written `95 %`.
pub(super) fn percentages_are_closed(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if EXCEPTIONS.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        let lines = match extension_of(path) {
            Some("md" | "snap") => open_lines(text, 1),
            Some("json") if path.starts_with("docs/") => open_lines(text, 1),
            Some("rs") if path.starts_with("crates/") && !is_test(path) => open_literals(text),
            _ => Vec::new(),
        };
        for line in lines {
            let what = "a space before `%`";
            findings.push(Finding::at(path, line, what, "write `95%`"));
        }
    }
    findings
}

/// Lines with a percentage that has a space, of literals before the test module.
fn open_literals(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = production_lines(text).map(|(_, line)| line).collect();
    let mut found = Vec::new();
    for token in tokens(&lines.join("\n")) {
        if let Kind::Text(literal) = token.kind {
            found.extend(open_lines(literal, token.line));
        }
    }
    found
}

/// Numbers of the lines with a percentage that has a space; the first one's is given.
fn open_lines(text: &str, first: usize) -> Vec<usize> {
    let lines = (first..).zip(text.lines());
    let open = lines.filter(|(_, line)| {
        line.match_indices('%').any(|(at, _)| {
            let figure = line[..at].trim_end_matches([' ', '\u{a0}']);
            figure.len() < at && figure.ends_with(|c: char| c.is_ascii_digit() || c == '}')
        })
    });
    open.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[usize]) {
        let found = percentages_are_closed(&Tree::of(&[(path, text)]));
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn documents_and_snapshots_have_none() {
        check("docs/a.md", "95%\n95 % CI\n-1.5\u{a0}%, 3%\nin % of all\n", &[2, 3]);
        check("docs/a.schema.json", "\"Half of 5 %.\"\n", &[1]);
        check("crates/report/src/a.snap", "CPU 97 %\n", &[1]);
        check("CHANGELOG.md", "95 %\n", &[]);
        check("a.csv", "65 %\n", &[]);
    }

    #[test]
    fn literals_have_none_and_remainders_are_free() {
        let code = "/// 95 %.\nfn f(a: u64) -> u64 {\n    say(\"{a} %\");\n    say(\"a\n 5 % b\");\n    \
                    say(\"{a}%\");\n    a / 10 % 60\n}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"5 %\";\n}\n";
        check("crates/model/src/a.rs", code, &[3, 5]);
        check("crates/model/tests/a.rs", code, &[]);
        check("crates/model/src/a/tests.rs", code, &[]);
    }
}
