//! The list of all documents. Must not use their content except titles and first paragraphs.

use xtask::tidy::Tree;
use xtask::tidy::documents::title_and_summary;

/// Pages in reading order; the others follow by name.
const FIRST_PAGES: &[&str] = &[
    "guide/first-run.md",
    "guide/postgresql.md",
    "guide/why-no-faster.md",
    "guide/when-a-node-dies.md",
    "guide/is-my-number-right.md",
    "guide/report.md",
    "guide/watching.md",
    "guide/compare.md",
    "guide/growing-a-cluster.md",
    "guide/size.md",
    "guide/import.md",
    "guide/why-not.md",
    "concepts/times.md",
    "concepts/open-and-closed.md",
    "concepts/judgments.md",
    "concepts/audit.md",
    "concepts/mark.md",
    "concepts/limit.md",
];

/// The list of all documents: title and first paragraph of each, by section.
pub(crate) fn index(tree: &Tree) -> String {
    let sections = [
        ("Guide", "docs/guide/"),
        ("Concepts", "docs/concepts/"),
        ("Reference", "docs/reference/"),
        ("Decisions", "docs/decisions/"),
        ("Figures", "docs/"),
    ];
    let mut text = String::new();
    for (title, directory) in sections {
        let mut entries: Vec<(usize, String)> = tree
            .with_extension("md")
            .filter_map(|(path, text)| {
                let inside = path.strip_prefix(directory)?;
                if inside.contains('/') || inside == "README.md" {
                    return None;
                }
                let (title, summary) = title_and_summary(text)?;
                let link = path.strip_prefix("docs/")?;
                let place = FIRST_PAGES.iter().position(|first| *first == link);
                let place = place.unwrap_or(FIRST_PAGES.len());
                Some((place, format!("- [{title}]({link}): {summary}")))
            })
            .collect();
        entries.sort_by_key(|(place, _)| *place);
        let entries: Vec<String> = entries.into_iter().map(|(_, entry)| entry).collect();
        if !entries.is_empty() {
            text = format!("{text}## {title}\n\n{}\n\n", entries.join("\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use xtask::process;

    use super::*;

    #[test]
    fn the_index_lists_titles_and_first_paragraphs() {
        let tree = Tree::new(&[
            ("docs/README.md", "# Index\n\nNot itself.\n"),
            ("docs/concepts/times.md", "# The times\n\nAn op\nhas three.\n\nMore.\n"),
            ("docs/benchmarks.md", "# Benchmarks\n\nFigures.\n"),
        ]);
        let listed = "## Concepts\n\n- [The times](concepts/times.md): An op has three.\n\n\
                      ## Figures\n\n- [Benchmarks](benchmarks.md): Figures.\n\n";
        assert_eq!(index(&tree), listed);
    }

    #[test]
    fn the_pages_that_come_first_are_there() {
        let tree = Tree::read(&process::root()).unwrap();
        for page in FIRST_PAGES {
            assert!(tree.contains(&format!("docs/{page}")), "{page}");
        }
    }
}
