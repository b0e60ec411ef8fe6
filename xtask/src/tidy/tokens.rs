//! Rust source as tokens: names, strings, and punctuation with their lines, for rules about code rather than lines.
//!
//! Comments and the content of ordinary strings cannot be mistaken for code. This is not a parser: it does not handle
//! types or macros, and does not check that the source compiles.

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// Kind of the token.
    pub kind: Kind<'a>,
    /// Line, from 1.
    pub line: usize,
}

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// A name, a keyword, or a number; raw names without `r#`.
    Word(&'a str),
    /// The content of a string literal of any kind, escapes as written.
    Text(&'a str),
    /// `::`.
    PathSeparator,
    /// Any other single character of punctuation.
    Mark(char),
}

impl<'a> Token<'a> {
    /// The name or keyword.
    pub(super) fn word(&self) -> Option<&'a str> {
        match self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether this is the keyword or name `word`.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// Whether this is the punctuation `mark`.
    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// The tokens of `source`.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { source, at: 0, line: 1, tokens: Vec::new() };
    while scanner.step() {}
    scanner.tokens
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Consumes one token, comment, or space; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if rest.starts_with("//") {
            self.advance(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.advance(block_comment(rest));
        } else if let Some((open, hashes)) = raw_string(rest) {
            let close = format!("\"{}", "#".repeat(hashes));
            let inside = rest[open..].find(&close).unwrap_or(rest.len() - open);
            self.push(Kind::Text(&rest[open..open + inside]));
            self.advance((open + inside + close.len()).min(rest.len()));
        } else if first == '"' || rest.starts_with("b\"") || rest.starts_with("c\"") {
            let open = rest.find('"').map_or(1, |at| at + 1);
            let inside = string_length(&rest[open..]);
            self.push(Kind::Text(&rest[open..open + inside]));
            self.advance((open + inside + 1).min(rest.len()));
        } else if first == '\'' || rest.starts_with("b'") {
            self.advance(quoted_length(rest));
        } else if let Some(name) = rest.strip_prefix("r#") {
            let length = word_length(name);
            self.push(Kind::Word(&name[..length]));
            self.advance(2 + length);
        } else if is_word_char(first) {
            let length = word_length(rest);
            self.push(Kind::Word(&rest[..length]));
            self.advance(length);
        } else if rest.starts_with("::") {
            self.push(Kind::PathSeparator);
            self.advance(2);
        } else {
            if !first.is_whitespace() {
                self.push(Kind::Mark(first));
            }
            self.advance(first.len_utf8());
        }
        true
    }

    fn push(&mut self, kind: Kind<'a>) {
        let line = self.line;
        self.tokens.push(Token { kind, line });
    }

    fn advance(&mut self, length: usize) {
        let passed = &self.rest()[..length];
        self.line += passed.matches('\n').count();
        self.at += length;
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word_char(c)).unwrap_or(text.len())
}

/// Length of the block comment at the start of `text`; block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Start of a raw string's content, and the number of its `#`.
fn raw_string(text: &str) -> Option<(usize, usize)> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(['"', '#']))
    })?;
    let rest = &text[prefix.len()..];
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some((prefix.len() + hashes + 1, hashes))
}

/// Length of a string's content up to its closing quote.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Length of the character literal or lifetime at the start of `text`.
fn quoted_length(text: &str) -> usize {
    let open = if text.starts_with('b') { 2 } else { 1 };
    let inside = &text[open..];
    let mut chars = inside.char_indices();
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character itself may be a quote.
            let skipped = 1 + inside[1..].chars().next().map_or(0, char::len_utf8);
            let close = inside[skipped..].find('\'').unwrap_or(0);
            open + skipped + close + 1
        }
        Some((_, _)) if matches!(chars.next(), Some((_, '\''))) => {
            open + inside.find('\'').unwrap_or(0).max(1) + 1
        }
        Some(_) => open + word_length(inside),
        None => text.len(),
    }
}

/// The tokens without code that is only compiled for tests: an item, a field, or a statement after `#[cfg(test)]`.
pub(super) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            at = item_end(tokens, attribute_end(tokens, at));
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    use Kind::{Mark, Word};
    let [begin @ .., first, second, third] =
        std::array::from_fn::<_, 7, _>(|at| tokens.get(at).map(|token| token.kind));
    let is_cfg = begin == [Mark('#'), Mark('['), Word("cfg"), Mark('(')].map(Some);
    let is_test = (first, second) == (Some(Word("test")), Some(Mark(')')));
    let is_all = [first, second, third] == [Word("all"), Mark('('), Word("test")].map(Some);
    is_cfg && (is_test || is_all)
}

/// The index after the attribute that begins at `at`.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> usize {
    let open = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|t| t.is_mark('!')));
    group_end(tokens, open)
}

/// The index after the group with its opening bracket at `open`.
pub(super) fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The index after the item, field, or statement that begins at `at`, including its attributes.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while tokens.get(at).is_some_and(|t| t.is_mark('#')) {
        at = attribute_end(tokens, at);
    }
    if tokens.get(at).is_some_and(|t| t.is_word("pub")) {
        at += 1;
        if tokens.get(at).is_some_and(|t| t.is_mark('(')) {
            at = group_end(tokens, at);
        }
    }
    let first = tokens.get(at).and_then(Token::word).unwrap_or_default();
    let ends_with_braces = matches!(
        first,
        "fn" | "mod" | "impl" | "struct" | "enum" | "trait" | "unsafe" | "async" | "macro_rules"
    );
    let is_item = ends_with_braces || matches!(first, "use" | "const" | "static" | "type" | "let");
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::Mark(';') => return at + 1,
            Kind::Mark(',') if !is_item => return at + 1,
            Kind::Mark('}' | ')' | ']') => return at,
            Kind::Mark('{') if ends_with_braces || !is_item => return group_end(tokens, at),
            Kind::Mark('{' | '(' | '[') => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        tokens(source).iter().filter_map(Token::word).collect()
    }

    #[test]
    fn comments_and_strings_are_no_words() {
        let source = "a // b\n/* c /* d */ e */ f \"g \\\" h\" r#\"i \" j\"# b\"k\" l";
        assert_eq!(words(source), ["a", "f", "l"]);
    }

    #[test]
    fn characters_and_lifetimes_end_where_they_end() {
        assert_eq!(words("x '\"' y"), ["x", "y"]);
        assert_eq!(words(r"x '\'' y b'\\' z '\u{2014}' w"), ["x", "y", "z", "w"]);
        assert_eq!(words("fn f<'a>(b: &'a str) 'é'"), ["fn", "f", "b", "str"]);
        assert_eq!(words("'{' g '}'"), ["g"]);
    }

    #[test]
    fn raw_names_lose_their_prefix() {
        assert_eq!(words("r#type = r\"x\""), ["type"]);
    }

    #[test]
    fn lines_count_through_strings_and_comments() {
        let found = tokens("a\n/*\n\n*/ b \"\n\" c");
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 4, 4, 5]);
    }

    #[test]
    fn parts_for_tests_are_left_out() {
        let left = |source: &str| {
            without_tests(&tokens(source))
                .iter()
                .filter_map(Token::word)
                .map(str::to_owned)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(left("use a; #[cfg(test)] use b::{c, d}; e"), "use a e");
        assert_eq!(left("#[cfg(test)] mod t { x; } y"), "y");
        assert_eq!(left("#[cfg(test)] #[x(z)] pub(super) mod t; y"), "y");
        assert_eq!(left("#[cfg(test)] const A: [u8; 2] = [1, 2]; y"), "y");
        assert_eq!(left("#[cfg(test)] impl A for [u8; 2] { z } y"), "y");
        assert_eq!(left("{ #[cfg(test)] a: B, c }"), "c");
        assert_eq!(left("{ #[cfg(test)] a: B } c"), "c");
        assert_eq!(left("#[cfg(not(test))] a"), "cfg not test a");
    }
}
