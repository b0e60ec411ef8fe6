//! Generated parts of documents: replaces the text between two marks, and keeps the rest.
//!
//! ```text
//! <!-- generated: NAME -->
//! …
//! <!-- end of NAME -->
//! ```

use std::fs;
use std::ops::Range;

use crate::process;

/// The names of all blocks in a document, in order.
pub fn names(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("<!-- generated: ")?.strip_suffix(" -->"))
        .collect()
}

/// Replaces the content of block `name` in a document of the repository.
pub fn rewrite(document: &str, name: &str, content: &str) -> Result<(), String> {
    let path = process::root().join(document);
    let failed = |error: std::io::Error| format!("{document}: {error}");
    let old = fs::read_to_string(&path).map_err(failed)?;
    let new = replace(&old, name, content).map_err(|error| format!("{document}: {error}"))?;
    fs::write(&path, new).map_err(failed)
}

/// `text` with the content of block `name` replaced by `content`.
pub fn replace(text: &str, name: &str, content: &str) -> Result<String, String> {
    let inside = find(text, name)?;
    Ok(format!(
        "{}\n{}\n\n{}",
        &text[..inside.start],
        content.trim_matches('\n'),
        &text[inside.end..]
    ))
}

/// The content of block `name`, without blank lines around it.
pub fn content<'a>(text: &'a str, name: &str) -> Result<&'a str, String> {
    Ok(text[find(text, name)?].trim_matches('\n'))
}

/// A program's output as a fence in a document.
pub fn verbatim(output: &str) -> String {
    format!("```text\n{}\n```", output.trim_end())
}

fn find(text: &str, name: &str) -> Result<Range<usize>, String> {
    let open = format!("<!-- generated: {name} -->\n");
    let close = format!("<!-- end of {name} -->");
    let start =
        text.find(&open).ok_or_else(|| format!("there is no block `{}`", open.trim_end()))?
            + open.len();
    let length = text[start..]
        .find(&close)
        .ok_or_else(|| format!("the block `{}` has no `{close}`", open.trim_end()))?;
    Ok(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# T\n\n<!-- generated: a -->\n\nold\n\n<!-- end of a -->\n\nkept\n";

    #[test]
    fn only_the_named_block_changes() {
        let new = replace(DOCUMENT, "a", "new\n").unwrap();
        assert_eq!(new, DOCUMENT.replace("old", "new"));
        assert_eq!(content(&new, "a").unwrap(), "new");
        assert_eq!(replace(&new, "a", "new").unwrap(), new);
        assert_eq!(names(DOCUMENT), ["a"]);
    }

    #[test]
    fn a_missing_mark_is_named() {
        assert!(replace(DOCUMENT, "b", "").unwrap_err().contains("generated: b"));
        let unclosed = DOCUMENT.replace("end of", "end");
        assert!(content(&unclosed, "a").unwrap_err().contains("end of a"));
    }
}
