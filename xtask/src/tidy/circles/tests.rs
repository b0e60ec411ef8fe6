//! Circles in small trees: real ones, and lookalikes.

use super::no_circles;
use crate::tidy::tree::Tree;

/// The first line and the uses of every circle in a crate with these files in `src`.
fn circles_in(files: &[(&str, &str)]) -> Vec<String> {
    let placed: Vec<(String, &str)> =
        files.iter().map(|(path, text)| (format!("c/src/{path}"), *text)).collect();
    let mut all: Vec<(&str, &str)> = placed.iter().map(|(p, t)| (p.as_str(), *t)).collect();
    all.push(("c/Cargo.toml", ""));
    no_circles(&Tree::of(&all))
        .iter()
        .map(|finding| {
            let lines: Vec<&str> = finding.what.lines().map(str::trim).collect();
            lines.join("; ").replace("c/src/", "")
        })
        .map(|what| what.trim_end_matches("; ").to_owned())
        .collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(circles_in(files), expected);
}

const TWO: &str = "2 files use each other; a.rs uses b.rs (B); b.rs uses a.rs (A)";

#[test]
fn two_files_that_use_each_other() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B;\npub struct A;"),
            ("b.rs", "pub struct B; fn f(_: crate::a::A) {}"),
        ],
        &[TWO],
    );
}

#[test]
fn one_direction_is_no_circle() {
    check(
        &[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B;"),
        ],
        &[],
    );
}

#[test]
fn a_circle_through_a_third_file() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use super::c; pub struct B(c::C);"),
            ("c.rs", "pub struct C; fn f() { crate::a::A; }"),
        ],
        &["3 files use each other; a.rs uses b.rs (B); b.rs uses c.rs (C); c.rs uses a.rs (A)"],
    );
}

#[test]
fn a_circle_through_a_re_export() {
    check(
        &[
            ("lib.rs", "pub mod p;"),
            ("p/mod.rs", "mod a; mod b; pub use a::A; pub use b::B as Bee;"),
            ("p/a.rs", "use super::Bee; pub struct A;"),
            ("p/b.rs", "use crate::p::A; pub struct B;"),
        ],
        &["2 files use each other; p/a.rs uses p/b.rs (Bee); p/b.rs uses p/a.rs (A)"],
    );
}

#[test]
fn a_parent_that_only_declares_and_passes_on_takes_no_part() {
    check(
        &[
            ("lib.rs", "mod p;"),
            ("p/mod.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("p/a.rs", "use super::B; pub struct A;"),
            ("p/b.rs", "pub struct B;"),
        ],
        &[],
    );
}

#[test]
fn a_parent_that_defines_what_its_child_uses_and_uses_the_child() {
    check(
        &[
            ("lib.rs", "mod p;"),
            ("p/mod.rs", "mod a; pub struct P; fn f() { a::g() }"),
            ("p/a.rs", "use super::P; pub fn g() {}"),
        ],
        &["2 files use each other; p/a.rs uses p/mod.rs (P); p/mod.rs uses p/a.rs (g)"],
    );
}

#[test]
fn nested_groups_aliases_and_imports_of_modules() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod d;"),
            ("a.rs", "use crate::{b::{self as bees, B}, d}; pub struct A; fn f() { bees::g() }"),
            ("b.rs", "use super::a::{A, A as Other}; pub struct B; pub fn g() {}"),
            ("d.rs", "use crate::a;"),
        ],
        &["2 files use each other; a.rs uses b.rs (B, g); b.rs uses a.rs (A)"],
    );
}

#[test]
fn everything_of_the_parent_counts_by_what_is_used_of_it() {
    let parent = "mod a; mod b; use b::B; pub use a::A; pub struct Unused;";
    check(
        &[
            ("lib.rs", "mod p;"),
            ("p/mod.rs", parent),
            ("p/a.rs", "use super::*; pub struct A(B);"),
            ("p/b.rs", "use super::A; pub struct B;"),
        ],
        &["2 files use each other; p/a.rs uses p/b.rs (B); p/b.rs uses p/a.rs (A)"],
    );
}

#[test]
fn inline_modules_are_part_of_their_file() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub mod inner { use super::super::b::B; } pub struct A;"),
            ("b.rs", "use crate::a::inner; use crate::a::A; pub struct B;"),
        ],
        &[TWO],
    );
}

#[test]
fn imports_of_functions_count_where_they_stand() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub struct A; fn f() { use crate::b; let _ = b::B; }"),
            ("b.rs", "pub struct B; fn f() { use crate::a::A; }"),
        ],
        &[TWO],
    );
}

#[test]
fn paths_in_attributes_count() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[serde(with = \"crate::b::B\")] pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ],
        &[TWO],
    );
}

#[test]
fn names_in_tests_comments_and_strings_do_not_count() {
    let b = "//! As [`crate::a::A`].\n/* use crate::a::A; */\npub const B: &str = \"see crate::a::A\";\n\
             fn f<'a>() { let _ = '\"'; let _ = r#\"use crate::a::A;\"#; }\n\
             #[cfg(test)]\nuse crate::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
    check(
        &[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", b)],
        &[],
    );
}

#[test]
fn files_of_tests_do_not_count() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b/mod.rs", "pub struct B; #[cfg(test)] mod tests; #[cfg(test)] mod samples;"),
            ("b/tests.rs", "use crate::a::A;"),
            ("b/samples.rs", "use crate::a::A;"),
        ],
        &[],
    );
}

#[test]
fn methods_and_variables_of_the_same_name_do_not_count() {
    check(
        &[
            ("lib.rs", "mod p;"),
            ("p/mod.rs", "mod a; pub fn run() { a::g() } pub fn own() {}"),
            ("p/a.rs", "use super::*; pub fn g(x: X) { x.run(); own() } fn own() {}"),
        ],
        &[],
    );
}

#[test]
fn other_crates_are_not_resolved() {
    check(
        &[
            ("lib.rs", "mod a; mod b; pub use serde::b::A;"),
            ("a.rs", "use other::b::B; use crate::b::B as Own; pub struct A;"),
            ("b.rs", "use serde::a::A; use crate::A as Foreign; pub struct B;"),
        ],
        &[],
    );
}

#[test]
fn folders_beside_each_other() {
    check(
        &[
            ("lib.rs", "mod x; mod y;"),
            ("x/mod.rs", "mod one; mod two; pub use one::One; pub use two::Two;"),
            ("x/one.rs", "pub struct One;"),
            ("x/two.rs", "use crate::y::Y; pub struct Two;"),
            ("y/mod.rs", "mod y; pub use y::Y;"),
            ("y/y.rs", "use crate::x::One; pub struct Y;"),
        ],
        &["2 folders use each other; x/ uses y/ (y.rs Y); y/ uses x/ (one.rs One)"],
    );
}

#[test]
fn a_folder_and_the_file_above_it_are_judged_file_by_file() {
    check(
        &[
            ("lib.rs", "mod x;"),
            ("x/mod.rs", "mod one; mod two; pub use two::Two; pub fn f() { one::One }"),
            ("x/one.rs", "pub struct One;"),
            ("x/two.rs", "pub struct Two; fn g() { super::f() }"),
        ],
        &[],
    );
}

#[test]
fn an_import_of_itself_ends() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub use crate::b::*; pub use crate::b::Lost;"),
            ("b.rs", "pub use crate::a::*; pub use crate::a::Lost;"),
        ],
        &[],
    );
}
