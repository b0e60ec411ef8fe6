//! Words and tables in Markdown; what a target says cannot become markup.

use highwater_model::display::foreign;

use super::layout::Row;

/// Characters of a target's own words.
const WORDS: usize = 300;

/// The first row is the head; the first `words` columns hold words.
pub(super) fn table(rows: &[Row], words: usize) -> String {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let cell = |column| {
            row.cells
                .get(column)
                .map_or_else(String::new, |c: &String| plain(c))
        };
        let mut cells: Vec<String> = (0..columns).map(cell).collect();
        if remarks {
            cells.push(plain(&row.remark));
        }
        lines.push(format!("| {} |", cells.join(" | ")));
        if number == 0 {
            let mut rule: Vec<&str> = (0..columns)
                .map(|column| if column < words { "---" } else { "---:" })
                .collect();
            rule.extend(remarks.then_some("---"));
            lines.push(format!("|{}|", rule.join("|")));
        }
    }
    lines.join("\n")
}

/// One line in which no character begins markup of either kind.
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
