//! The rule that everything we link may be given away: permissive licenses only.

use serde_json::Value;

use super::finding::Finding;

/// SPDX identifiers that ask for no more than their notice.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only add permissions.
const EXCEPTIONS: &[&str] = &["LLVM-exception"];

/// Judges the answer of `cargo metadata`.
pub fn check(metadata: &Value) -> Vec<Finding> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    let Some(packages) = packages.filter(|packages| !packages.is_empty()) else {
        let what = "`cargo metadata` names no packages";
        return vec![Finding::at("Cargo.lock", 1, what, "run it by hand")];
    };
    packages
        .iter()
        .filter_map(|package| {
            let name = package.get("name").and_then(Value::as_str)?;
            let license = package.get("license").and_then(Value::as_str);
            let what = match license {
                Some(expression) if is_permissive(expression) => return None,
                Some(expression) => format!("crate `{name}` has the license `{expression}`"),
                None => format!("crate `{name}` states no license"),
            };
            let hint = "take another crate; or, if the license is permissive, add its SPDX \
                        identifier in xtask/src/tidy/licenses.rs";
            Some(Finding::at("Cargo.lock", 1, what, hint))
        })
        .collect()
}

/// Whether an SPDX expression leaves a choice that is permissive. Crates older than the SPDX
/// rule write `/` for `OR`.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    let permitted = any_of(&mut rest);
    rest.is_empty() && permitted == Some(true)
}

/// `term OR term …`; `None` when it does not parse.
fn any_of(rest: &mut &[&str]) -> Option<bool> {
    let mut permitted = all_of(rest)?;
    while let Some((&"OR", after)) = rest.split_first() {
        *rest = after;
        permitted |= all_of(rest)?;
    }
    Some(permitted)
}

/// `license AND license …`
fn all_of(rest: &mut &[&str]) -> Option<bool> {
    let mut permitted = one(rest)?;
    while let Some((&"AND", after)) = rest.split_first() {
        *rest = after;
        permitted &= one(rest)?;
    }
    Some(permitted)
}

/// `( … )`, or an identifier with or without an exception.
fn one(rest: &mut &[&str]) -> Option<bool> {
    let (&first, after) = rest.split_first()?;
    *rest = after;
    if first == "(" {
        let permitted = any_of(rest)?;
        let (&")", after) = rest.split_first()? else {
            return None;
        };
        *rest = after;
        return Some(permitted);
    }
    let mut permitted = PERMISSIVE.contains(&first);
    if let [with, exception, after @ ..] = *rest
        && *with == "WITH"
    {
        permitted &= EXCEPTIONS.contains(exception);
        *rest = after;
    }
    Some(permitted)
}
