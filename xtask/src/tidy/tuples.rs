//! The rule that functions take named arguments: no tuple, and no pattern that takes one apart.
//!
//! `f((a, b), c)` does not show at the call which value is which; a struct or two arguments do.

use super::finding::Finding;
use super::tokens::{Kind, Token, group_end, tokens, without_tests};
use super::tree::Tree;

/// No function of a crate has a parameter that is a tuple, or whose pattern is a tuple or an array.
pub(super) fn no_tuple_parameters(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.product() {
        let tokens = without_tests(&tokens(text));
        for (at, token) in tokens.iter().enumerate() {
            let Some(name) = tokens.get(at + 1).and_then(Token::word) else {
                continue;
            };
            if !token.is_word("fn") {
                continue;
            }
            for line in tuple_parameters(&tokens, at + 2) {
                let what = format!("a parameter of `{name}` is a tuple");
                let hint = "give each value a parameter of its own, or the pair a type";
                findings.push(Finding::at(path, line, what, hint));
            }
        }
    }
    findings
}

/// Lines of the tuple parameters of the function whose generics or parentheses begin at `at`.
fn tuple_parameters(tokens: &[Token<'_>], at: usize) -> Vec<usize> {
    let open = after_generics(tokens, at);
    let end = group_end(tokens, open);
    let mut lines = Vec::new();
    let mut begin = open + 1;
    while begin + 1 < end {
        let parameter = &tokens[begin..end - 1];
        let parameter = &parameter[..length_to_comma(parameter)];
        if let Some(first) = parameter.first()
            && is_tuple_parameter(parameter)
        {
            lines.push(first.line);
        }
        begin += parameter.len() + 1;
    }
    lines
}

/// The index of the parenthesis of the parameters.
fn after_generics(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.kind {
            Kind::Mark('<') => depth += 1,
            // `->` in a bound such as `F: Fn() -> T` closes nothing.
            Kind::Mark('>') if !tokens[i - 1].is_mark('-') => depth = depth.saturating_sub(1),
            Kind::Mark('(') if depth == 0 => return i,
            _ => {}
        }
    }
    tokens.len()
}

/// Length of the first parameter, up to a comma that is in no bracket.
fn length_to_comma(tokens: &[Token<'_>]) -> usize {
    let (mut at, mut angles) = (0, 0_usize);
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::Mark('(' | '[' | '{') => {
                at = group_end(tokens, at);
                continue;
            }
            Kind::Mark('<') => angles += 1,
            Kind::Mark('>') if !tokens[at - 1].is_mark('-') => angles = angles.saturating_sub(1),
            Kind::Mark(',') if angles == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

fn is_tuple_parameter(parameter: &[Token<'_>]) -> bool {
    let is_passed = |t: &&Token<'_>| matches!(t.kind, Kind::Mark('&')) || t.is_word("mut");
    let starts_with = |tokens: &[Token<'_>], marks: &[char]| {
        let first = tokens.iter().find(|t| !is_passed(t));
        first.is_some_and(|t| marks.iter().any(|mark| t.is_mark(*mark)))
    };
    if starts_with(parameter, &['(', '[']) {
        return true;
    }
    let Some(colon) = parameter.iter().position(|t| t.is_mark(':')) else {
        return false;
    };
    // A type in parentheses, such as `&(dyn A + B)`, is no tuple: it has no comma.
    let ty = &parameter[colon + 1..];
    starts_with(ty, &['('])
        && ty.iter().position(|t| t.is_mark('(')).is_some_and(|open| {
            let inside = &ty[open + 1..group_end(ty, open).saturating_sub(1)];
            length_to_comma(inside) < inside.len()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[&str]) {
        let found: Vec<String> = no_tuple_parameters(&Tree::of(&[("crates/a/src/a.rs", code)]))
            .iter()
            .map(|finding| format!("{}: {}", finding.line, finding.what))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tuples_in_types_and_patterns_are_found() {
        let found = ["1: a parameter of `f` is a tuple"];
        check("fn f(a: (u8, u8)) {}", &found);
        check("fn f(&self, b: u8, a: &'a (u8, u8)) {}", &found);
        check("fn f<T: Into<u8>, F: Fn(u8) -> T>((a, b): P, c: F) {}", &found);
        check("fn f([a, b]: [u8; 2]) {}", &found);
        check("fn f(&(a, b): &Pair) {}", &found);
        check("fn f(\n a: u8,\n (b, c): P) {}", &["3: a parameter of `f` is a tuple"]);
    }

    #[test]
    fn what_only_looks_like_a_tuple_is_not() {
        check("fn f(a: &(dyn A + Send), b: Vec<(u8, u8)>, c: &[(u8, u8)]) {}", &[]);
        check("fn f(a: impl Fn((u8, u8)) -> (u8, u8), b: ()) -> (u8, u8) {}", &[]);
        check("fn f(a: [u8; 2], b: &mut [u8], P { c, d }: P, P(e): P) {}", &[]);
        check("type F = fn((u8, u8)); fn g() { |(a, b)| a }", &[]);
        check("#[cfg(test)] fn f(a: (u8, u8)) {}", &[]);
    }
}
