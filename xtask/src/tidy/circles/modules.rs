//! The modules of one crate: the file, definitions, and imports of each. Must not resolve names. Code that is only
//! compiled for tests is omitted.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::tokens::{Kind, Token, group_end, tokens, without_tests};
use crate::tidy::tree::{Tree, is_test};

/// One name that a `use` imports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Import {
    /// The path as written; for `a::*` without the star.
    pub path: Vec<String>,
    /// The name in this module; `None` for `*` and for `as _`.
    pub name: Option<String>,
    /// Whether it imports everything in the path's module.
    pub glob: bool,
    /// Whether it is in the module itself, not inside a function.
    pub at_top: bool,
    /// Whether it is a `pub use` with any visibility.
    pub re_export: bool,
    /// Line, from 1.
    pub line: usize,
}

/// One path in the code, such as `crate::a::f`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsedPath {
    /// Its segments.
    pub segments: Vec<String>,
    /// Line, from 1.
    pub line: usize,
}

/// One module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Its file; inline modules share the file of their parent.
    pub file: String,
    /// Its parent module; `None` for the root.
    pub parent: Option<usize>,
    /// Modules that it declares.
    pub children: BTreeMap<String, usize>,
    /// Names of the items that it defines.
    pub items: BTreeSet<String>,
    /// Imported names.
    pub imports: Vec<Import>,
    /// Paths in its code.
    pub paths: Vec<UsedPath>,
    /// Every name at the start of an expression or path, not the `b` of `a.b` or `a::b`, with its first line.
    pub words: BTreeMap<String, usize>,
}

/// The modules below one root; the root is the first.
pub(super) fn modules(tree: &Tree, root: &str) -> Vec<Module> {
    let mut reader = Reader { tree, modules: Vec::new() };
    let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
    reader.read_file(root, directory, None);
    reader.modules
}

struct Reader<'a> {
    tree: &'a Tree,
    modules: Vec<Module>,
}

impl Reader<'_> {
    /// Reads the file of a module with children in `directory`.
    fn read_file(&mut self, file: &str, directory: &str, parent: Option<usize>) -> Option<usize> {
        let text = self.tree.text(file)?;
        let tokens = without_tests(&tokens(text));
        Some(self.read_module(&tokens, file, directory, parent))
    }

    fn read_module(
        &mut self,
        tokens: &[Token<'_>],
        file: &str,
        directory: &str,
        parent: Option<usize>,
    ) -> usize {
        let id = self.modules.len();
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        let (mut at, mut depth) = (0, 0_usize);
        let mut other_file: Option<&str> = None;
        while at < tokens.len() {
            let next = tokens.get(at + 1);
            let name = next.and_then(Token::word);
            match (tokens[at].kind, name) {
                (Kind::Mark('{'), _) => depth += 1,
                (Kind::Mark('}'), _) => depth = depth.saturating_sub(1),
                (Kind::Mark('#'), _) => other_file = path_attribute(&tokens[at..]).or(other_file),
                (Kind::Text(text), _) => self.read_path_in_text(id, text, tokens[at].line),
                (Kind::Word("use"), _) if !follows_dot(tokens, at) => {
                    at = self.read_use(id, tokens, at, depth == 0);
                    continue;
                }
                (Kind::Word("mod"), Some(name)) if depth == 0 => {
                    let inside = format!("{directory}/{name}");
                    let brace = at + 2;
                    if tokens.get(brace).is_some_and(|t| t.is_mark('{')) {
                        let end = group_end(tokens, brace);
                        let body = &tokens[brace + 1..end - 1];
                        let child = self.read_module(body, file, &inside, Some(id));
                        self.modules[id].children.insert(name.to_owned(), child);
                        at = end;
                    } else {
                        self.read_child(id, name, other_file.take(), directory);
                        at = brace;
                    }
                    continue;
                }
                (
                    Kind::Word("fn" | "struct" | "enum" | "trait" | "type" | "const" | "static"),
                    Some(name),
                ) if depth == 0 => {
                    self.modules[id].items.insert(name.to_owned());
                }
                (Kind::Word("macro_rules"), None) if depth == 0 => {
                    let name = tokens.get(at + 2).and_then(Token::word);
                    self.modules[id].items.extend(name.map(str::to_owned));
                }
                _ => {}
            }
            at = self.read_word(id, tokens, at);
        }
        id
    }

    /// Reads the file of `mod name;`.
    fn read_child(&mut self, id: usize, name: &str, other_file: Option<&str>, directory: &str) {
        let inside = format!("{directory}/{name}");
        let places = if let Some(other) = other_file {
            let here = self.modules[id].file.clone();
            let beside = here.rsplit_once('/').map_or("", |(directory, _)| directory);
            vec![normal(&format!("{beside}/{other}"))]
        } else {
            vec![format!("{inside}.rs"), format!("{inside}/mod.rs")]
        };
        for file in places {
            if is_test(&file) {
                continue;
            }
            if let Some(child) = self.read_file(&file, &inside, Some(id)) {
                self.modules[id].children.insert(name.to_owned(), child);
                return;
            }
        }
    }

    /// Records a word, or the whole path that starts with it; returns the index after it.
    fn read_word(&mut self, id: usize, tokens: &[Token<'_>], at: usize) -> usize {
        let Some(first) = tokens[at].word() else {
            return at + 1;
        };
        let line = tokens[at].line;
        let continues = at > 0 && tokens[at - 1].kind == Kind::PathSeparator;
        if continues || follows_dot(tokens, at) {
            return at + 1;
        }
        let module = &mut self.modules[id];
        module.words.entry(first.to_owned()).or_insert(line);
        let mut segments = vec![first.to_owned()];
        let mut end = at + 1;
        while tokens.get(end).is_some_and(|t| t.kind == Kind::PathSeparator)
            && let Some(word) = tokens.get(end + 1).and_then(Token::word)
        {
            segments.push(word.to_owned());
            end += 2;
        }
        if segments.len() > 1 {
            module.paths.push(UsedPath { segments, line });
        }
        at + 1
    }

    /// Attributes such as `#[serde(with = "crate::a::b")]` name paths in strings. A string that consists of one
    /// absolute path counts as such a path.
    fn read_path_in_text(&mut self, id: usize, text: &str, line: usize) {
        let segments: Vec<String> = text.split("::").map(str::to_owned).collect();
        let is_path = segments.len() > 1
            && matches!(segments[0].as_str(), "crate" | "self" | "super")
            && segments.iter().all(|segment| {
                !segment.is_empty() && segment.chars().all(|c| c.is_alphanumeric() || c == '_')
            });
        if is_path {
            self.modules[id].paths.push(UsedPath { segments, line });
        }
    }

    /// Reads `use …;`; returns the index after it.
    fn read_use(&mut self, id: usize, tokens: &[Token<'_>], at: usize, at_top: bool) -> usize {
        // `impl Trait + use<'a>` imports nothing.
        if tokens.get(at + 1).is_some_and(|t| t.is_mark('<')) {
            return at + 1;
        }
        let re_export =
            tokens[..at].last().is_some_and(|before| before.is_word("pub") || before.is_mark(')'));
        let template = Import { at_top, re_export, ..Import::default() };
        let mut found = Vec::new();
        let end = read_use_tree(tokens, at + 1, &template, &mut found);
        self.modules[id].imports.append(&mut found);
        end
    }
}

/// Reads one branch of a `use`, whose leading segments are in `template`; returns the index after it.
fn read_use_tree(
    tokens: &[Token<'_>],
    mut at: usize,
    template: &Import,
    found: &mut Vec<Import>,
) -> usize {
    let mut import = template.clone();
    let mut renamed = false;
    while let Some(token) = tokens.get(at) {
        import.line = token.line;
        match token.kind {
            Kind::PathSeparator => at += 1,
            Kind::Word("as") => {
                let name = tokens.get(at + 1).and_then(Token::word);
                import.name = name.filter(|name| *name != "_").map(str::to_owned);
                renamed = true;
                at += 2;
            }
            Kind::Word("self") if !import.path.is_empty() => at += 1,
            Kind::Word(word) => {
                import.path.push(word.to_owned());
                at += 1;
            }
            Kind::Mark('*') => {
                import.glob = true;
                at += 1;
            }
            Kind::Mark('{') => {
                let end = group_end(tokens, at);
                at += 1;
                while at < end - 1 {
                    at = read_use_tree(tokens, at, &import, found);
                    at += usize::from(tokens.get(at).is_some_and(|t| t.is_mark(',')));
                }
                return end;
            }
            _ => break,
        }
    }
    if !renamed && !import.glob {
        import.name = import.path.last().cloned();
    }
    if !import.path.is_empty() {
        found.push(import);
    }
    at
}

/// The file in `#[path = "file"]`.
fn path_attribute<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    if !tokens.get(2)?.is_word("path") {
        return None;
    }
    match tokens.get(4)?.kind {
        Kind::Text(file) => Some(file),
        _ => None,
    }
}

fn follows_dot(tokens: &[Token<'_>], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).map(|i| &tokens[i]);
    // `..` is a range, which a path may follow.
    before(1).is_some_and(|t| t.is_mark('.')) && !before(2).is_some_and(|t| t.is_mark('.'))
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
