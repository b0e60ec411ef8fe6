//! Words and tables in Markdown; text from the target is escaped.

use highwater_model::display::foreign;

use super::layout::{Row, list};

/// Maximum characters of text from the target.
const WORDS: usize = 300;

/// The first row is the head; the first `words` columns hold words.
pub(super) fn table(rows: &[Row], words: usize) -> String {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column: usize| plain(row.cells.get(column).map_or("", String::as_str));
        let remark = remarks.then(|| plain(&row.remark));
        let cells = (0..columns).map(cell).chain(remark);
        lines.push(format!("| {} |", list(cells, " | ")));
        if number == 0 {
            let rule = (0..columns).map(|column| if column < words { "---" } else { "---:" });
            let rule = rule.chain(remarks.then_some("---"));
            lines.push(format!("|{}|", list(rule, "|")));
        }
    }
    lines.join("\n")
}

/// A comparison: its result, the definitions of A and B, its table, and all other lines.
pub(super) fn compared(
    shows: &str,
    names: [String; 2],
    table: String,
    lines: impl Iterator<Item = String>,
) -> Vec<String> {
    let [a, b] = names.map(|name| plain(&name));
    let mut blocks = vec![
        format!("## {}", plain(shows)),
        format!("A: {a}  \nB: {b}"),
        table,
        list(lines.map(|line| format!("- {}", plain(&line))), "\n"),
    ];
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// One line in which no character begins markup of Markdown or HTML.
pub(super) fn plain(text: &str) -> String {
    let mut shown = String::new();
    for character in foreign(text, WORDS).chars() {
        match character {
            '<' => shown.push_str("&lt;"),
            '&' => shown.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' => {
                shown.push('\\');
                shown.push(character);
            }
            other => shown.push(other),
        }
    }
    shown
}
