//! The page of the command line, generated from `--help-all`: each flag once, and the common end of all help
//! texts once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Minimum indentation of a line that continues the entry above it.
const TEXT_INDENT: usize = 10;
/// A section that is the same for every command: help about help.
const OPTIONS: &str = "Options";

/// A flag or argument as printed in the help, and its text.
type Entry = (String, String);

/// The page below its introduction, from each command's name and long help.
pub(crate) fn page(helps: &[(&str, String)]) -> String {
    let paragraphs: Vec<Vec<&str>> =
        helps.iter().map(|(_, help)| help.trim_end().split("\n\n").collect()).collect();
    let ends = common_end(&paragraphs);
    let mut first_in: BTreeMap<Entry, &str> = BTreeMap::new();
    let mut text = String::new();
    for ((name, _), paragraphs) in helps.iter().zip(&paragraphs) {
        let own = &paragraphs[..paragraphs.len() - ends];
        text += &command(name, own, &mut first_in);
    }
    let end = paragraphs.first().map_or(&[][..], |all| &all[all.len() - ends..]);
    let _ = write!(text, "## All commands\n\n```text\n{}\n```", end.join("\n\n"));
    text
}

/// Number of paragraphs at the end that all of them share.
fn common_end(texts: &[Vec<&str>]) -> usize {
    let Some((first, others)) = texts.split_first() else {
        return 0;
    };
    let is_shared = |from_end: usize| {
        let of = |text: &Vec<&str>| text.iter().nth_back(from_end).map(|line| (*line).to_owned());
        others.iter().all(|other| of(other) == of(first))
    };
    (0..first.len()).take_while(|from_end| is_shared(*from_end)).count()
}

fn command<'a>(
    name: &'a str,
    paragraphs: &[&str],
    first_in: &mut BTreeMap<Entry, &'a str>,
) -> String {
    let mut text = format!("## highwater {name}\n\n");
    let mut rows = String::new();
    let mut elsewhere: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for paragraph in paragraphs {
        if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            let _ = write!(text, "```text\n{usage}\n```\n\n");
            continue;
        }
        if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
            let lines: Vec<&str> =
                examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            rows += &format!("\n```text\n{}\n```\n", lines.join("\n"));
            continue;
        }
        let (heading, entry) = split_heading(paragraph);
        let Some(entry) = entry_of(entry) else {
            let _ = write!(text, "{}.\n\n", paragraph.trim_end_matches('.'));
            continue;
        };
        if heading == Some(OPTIONS) || entry.0.contains("--help-all") {
            continue;
        }
        if let Some(heading) = heading {
            let _ = writeln!(rows, "| **{heading}** | |");
        }
        if let Some(first) = first_in.get(&entry) {
            elsewhere.entry(first).or_default().push(format!("`{}`", entry.0));
            continue;
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(rows, "| `{}` | {} |", cell(&entry.0), cell(&entry.1));
        first_in.insert(entry, name);
    }
    text += &table(&rows);
    for (first, flags) in elsewhere {
        let _ = write!(
            text,
            "As in [`highwater {first}`](#highwater-{first}): {}.\n\n",
            flags.join(", ")
        );
    }
    text
}

/// The rows below a head, without headings that have no rows.
fn table(rows: &str) -> String {
    let lines: Vec<&str> = rows.lines().collect();
    let is_heading = |line: &str| line.starts_with("| **");
    let kept = lines.iter().enumerate().filter(|(at, line)| {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        !is_heading(line) || (next.starts_with('|') && !is_heading(next))
    });
    let kept: Vec<&str> = kept.map(|(_, line)| *line).collect();
    let head = if kept.first().is_some_and(|line| line.starts_with('|')) {
        "| flag | does |\n|---|---|\n"
    } else {
        ""
    };
    format!("{head}{}\n\n", kept.join("\n").trim_start())
}

/// The heading of a section, and the entry below it.
fn split_heading(paragraph: &str) -> (Option<&str>, &str) {
    match paragraph.split_once('\n') {
        Some((first, rest)) if !first.starts_with(' ') && first.ends_with(':') => {
            (first.strip_suffix(':'), rest)
        }
        _ => (None, paragraph),
    }
}

/// A flag or argument, and its text in one line; absent for other text.
fn entry_of(paragraph: &str) -> Option<Entry> {
    let (spelled, text) = paragraph.split_once('\n')?;
    let is_text = |line: &str| line.starts_with(&" ".repeat(TEXT_INDENT));
    let is_entry = spelled.starts_with("  ") && text.lines().all(is_text);
    let words: Vec<&str> = text.split_whitespace().collect();
    is_entry.then(|| (spelled.trim().to_owned(), words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "Numbers take k.\n\nExit codes:\n  0  success";

    fn help(summary: &str, flags: &str, examples: &str) -> String {
        format!(
            "{summary}\n\nUsage: highwater x\n\nOptions:\n  -h, --help\n          Print\n\n\
             {flags}\n\nExamples:\n  {examples}\n\n{END}\n"
        )
    }

    #[test]
    fn a_flag_that_two_commands_share_is_described_once() {
        let shared = "Load:\n  -R, --rate <RATE>\n          Offer RATE\n          per second";
        let own = format!("{shared}\n\nOutput:\n      --kind <a|b>\n          Print a or b");
        let text = page(&[
            ("run", help("Runs", shared, "highwater run")),
            ("find", help("Finds", &own, "highwater find")),
        ]);
        insta::assert_snapshot!(text, @r"
        ## highwater run

        Runs.

        ```text
        highwater x
        ```

        | flag | does |
        |---|---|
        | **Load** | |
        | `-R, --rate <RATE>` | Offer RATE per second |

        ```text
        highwater run
        ```

        ## highwater find

        Finds.

        ```text
        highwater x
        ```

        | flag | does |
        |---|---|
        | **Output** | |
        | `--kind <a\|b>` | Print a or b |

        ```text
        highwater find
        ```

        As in [`highwater run`](#highwater-run): `-R, --rate <RATE>`.

        ## All commands

        ```text
        Numbers take k.

        Exit codes:
          0  success
        ```
        ");
    }
}
