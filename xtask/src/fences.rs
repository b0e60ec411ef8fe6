//! Fenced code in documents, and how the commands in it are verified. Must not run any.
//!
//! Sites that host code do not render the words after a fence's language:
//!
//! - `sh run`: runs as printed, with exit code 0, or with one of those in `exit=3` or `exit=0,3`
//! - `sh dry-run`: its flags and names are valid, which needs no target; `target=crate://db/doc` is the reader's
//!   target, for commands that a simulated cluster does not support
//! - `sh needs=postgres`: runs if that is installed
//! - `sql file=top.sql`: the file with that name, for the commands below it

/// One fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Line of its opening fence, from 1.
    pub line: usize,
    /// The first word after the opening fence; empty if there is none.
    pub language: String,
    /// The other words.
    pub tags: Vec<String>,
    /// The text between opening and closing fence.
    pub text: String,
}

/// How the commands of a fence are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// They run as printed, and the last one ends with one of these exit codes.
    Run(Vec<i32>),
    /// They are parsed with this target, and nothing is sent.
    DryRun(String),
    /// They run if all of these are installed.
    Needs(Vec<String>),
}

/// The fences of a document, in order.
pub fn fences(text: &str) -> Vec<Fence> {
    let mut all = Vec::new();
    let mut open: Option<(Fence, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let bare = line.trim_start();
        let mark: String = bare.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &mut open {
            Some((fence, closing)) if bare.trim_end() == closing => {
                all.push(fence.clone());
                open = None;
            }
            Some((fence, _)) => {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            None if mark.len() >= 3 => {
                let mut words = bare[mark.len()..].split_whitespace().map(str::to_owned);
                let fence = Fence {
                    line: number,
                    language: words.next().unwrap_or_default(),
                    tags: words.collect(),
                    text: String::new(),
                };
                open = Some((fence, mark));
            }
            None => {}
        }
    }
    all
}

impl Fence {
    /// Whether it contains commands. All shells count as `sh` here, so that no tag can be forgotten.
    pub fn is_commands(&self) -> bool {
        matches!(self.language.as_str(), "sh" | "bash" | "console" | "shell" | "zsh")
    }

    /// The name of the file that it contains, for commands below it.
    pub fn file(&self) -> Option<&str> {
        let mut tags = self.tags.iter();
        tags.find_map(|tag| tag.strip_prefix("file="))
    }

    /// How its commands are verified.
    ///
    /// # Errors
    /// If its tags are invalid.
    pub fn kept(&self) -> Result<Kept, String> {
        let tags: Vec<&str> = self.tags.iter().map(String::as_str).collect();
        match tags.as_slice() {
            ["run"] => Ok(Kept::Run(vec![0])),
            ["run", exit] => {
                let codes = exit.strip_prefix("exit=").map(|codes| codes.split(','));
                let codes: Option<Vec<i32>> =
                    codes.and_then(|codes| codes.map(|code| code.parse().ok()).collect());
                let codes = codes.ok_or_else(|| format!("`{exit}` is not `exit=CODE`"))?;
                Ok(Kept::Run(codes))
            }
            ["dry-run"] => Ok(Kept::DryRun("sim:".to_owned())),
            ["dry-run", target] => {
                let target = target.strip_prefix("target=");
                let target = target
                    .ok_or_else(|| format!("`{target}` is not `target=URL`", target = tags[1]))?;
                Ok(Kept::DryRun(target.to_owned()))
            }
            [needs] if needs.starts_with("needs=") => {
                let needs = needs["needs=".len()..].split(',').map(str::to_owned);
                Ok(Kept::Needs(needs.collect()))
            }
            [] => Err("commands without a tag".to_owned()),
            _ => Err(format!("`{}` is no tag of commands", tags.join(" "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(opening: &str, expected: Result<Kept, &str>) {
        let found = fences(&format!("# T\n\n{opening}\nhighwater run\n```\n"));
        let [fence] = found.as_slice() else {
            unreachable!("{found:?}");
        };
        assert_eq!((fence.line, fence.text.as_str()), (3, "highwater run\n"));
        assert_eq!(fence.kept(), expected.map_err(str::to_owned));
    }

    #[test]
    fn the_words_after_the_language_determine_how_commands_are_verified() {
        check("```sh run", Ok(Kept::Run(vec![0])));
        check("```sh run exit=3", Ok(Kept::Run(vec![3])));
        check("```sh run exit=0,3", Ok(Kept::Run(vec![0, 3])));
        check("```sh dry-run", Ok(Kept::DryRun("sim:".to_owned())));
        let crate_db = Kept::DryRun("crate://db/doc".to_owned());
        check("```sh dry-run target=crate://db/doc", Ok(crate_db));
        check("```sh dry-run crate:", Err("`crate:` is not `target=URL`"));
        let both = vec!["postgres".to_owned(), "jq".to_owned()];
        check("```sh needs=postgres,jq", Ok(Kept::Needs(both)));
        check("```sh", Err("commands without a tag"));
        check("```sh soon", Err("`soon` is no tag of commands"));
        check("```sh run exit=x", Err("`exit=x` is not `exit=CODE`"));
    }

    #[test]
    fn a_fence_in_a_list_and_one_with_a_fence_inside_are_fences() {
        let found = fences("- a\n  ```sql file=a.sql\n  SELECT 1\n  ```\n\n````text\n```\n````\n");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].file(), Some("a.sql"));
        assert_eq!(found[1].text, "```\n");
    }
}
