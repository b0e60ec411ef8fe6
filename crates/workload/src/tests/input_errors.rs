//! Errors in workload files: all are found, each with position, cause, and hint.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::generators::columns::OF_COLUMNS;
use crate::generators::parameters::OF_PARAMETERS;
use crate::generators::plain::PLAIN;
use crate::{OpContext, WorkloadSpec, builtin};
use highwater_model::op::OpBody;
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;

fn errors(text: &str) -> Vec<UserError> {
    WorkloadSpec::parse(text).err().unwrap_or_default()
}

/// The text underlined at the place of an error; empty if it is not in the file.
fn there(error: &UserError) -> String {
    let underlined = error
        .place
        .iter()
        .flat_map(|place| place.source.chars().skip(place.column - 1).take(place.width));
    underlined.collect()
}

/// One line per error: position, text there, cause, hint.
pub(super) fn shown(text: &str) -> String {
    errors(text).iter().fold(String::new(), |mut all, error| {
        let there: String = there(error).chars().take(24).collect();
        let (line, column) = error.position();
        writeln!(all, "{line}:{column} «{there}» {}", error.message).unwrap();
        if let Some(hint) = &error.hint {
            writeln!(all, "    {hint}").unwrap();
        }
        all
    })
}

#[test]
fn the_catalog_has_no_errors() {
    for entry in crate::catalog() {
        assert_eq!(shown(entry.text), "", "{}", entry.name);
        assert_eq!(WorkloadSpec::parse(entry.text).unwrap().name(), entry.name);
    }
}

/// The page about the format has one complete file, and fragments.
#[test]
fn the_example_of_the_reference_page_has_no_errors() {
    let page = include_str!("../../../../docs/reference/workload-file.md");
    let (_, behind) = page.split_once("```toml\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    assert_eq!(shown(example), "");
    let all = [PLAIN, OF_COLUMNS, OF_PARAMETERS].into_iter().flatten();
    for generator in all.copied().flatten() {
        let name = generator.name;
        let line = page.lines().find(|line| line.starts_with(&format!("| `{name}`")));
        let line = line.unwrap_or_else(|| panic!("`{name}` is not on the page"));
        for (option, ..) in generator.options {
            assert!(page.contains(&format!("`{option}`")), "{line}: {option}");
        }
    }
}

#[test]
fn the_example_of_a_new_file_has_no_errors() {
    assert_eq!(shown(crate::EXAMPLE), "");
}

#[test]
fn every_error_has_a_hint() {
    for text in [include_str!("bad.toml"), include_str!("worse.toml")] {
        for error in errors(text) {
            assert!(error.hint.is_some(), "{}", error.message);
        }
    }
}

#[test]
fn errors_in_what_is_made_are_found_at_their_places() {
    insta::assert_snapshot!(shown(include_str!("worse.toml")));
}

#[test]
fn syntax_errors_are_collected_with_their_places() {
    insta::assert_snapshot!(shown("format = 1\nname = \nversion = 01\n[parameters\n"), @r#"
    2:8 «» string values must be quoted, expected literal string
    3:11 «0» unexpected leading zero, expected nothing
    4:12 «» unclosed table, expected `]`
    "#);
}

#[test]
fn an_empty_file_is_rejected_with_the_missing_parts() {
    insta::assert_snapshot!(shown(""), @r#"
    1:1 «» the workload file has no `format`
        add format = 1
    1:1 «» the workload file has no `name`
        add name = "…"
    1:1 «» the workload file has no `version`
        add version = 1
    1:1 «» the workload file has no `summary`
        add summary = "…"
    1:1 «» the workload file has no ops
        add [ops.NAME] with `insert`, `sql` or `transaction`
    "#);
}

#[test]
fn every_error_of_a_bad_file_is_found_at_its_place() {
    assert_eq!(shown(include_str!("bad.toml")), include_str!("bad.txt"));
}

/// A value that cannot be read is not reported a second time for its consequences.
#[test]
fn one_mistake_is_one_error() {
    let text = r#"
format = 1
name = "w"
version = 1
summary = "s"
[parameters]
mode = { type = "text", default = "live" }
least = { type = "integer", default = -9223372036854775808 }
[entities.e]
count = 4
attributes = [
  { name = "a", generator = "choice", values = ["x", "y"], weights = ["a", 1] },
  { name = "b", generator = "choice", values = ["x", "y"], weights = 7 },
]
[tables.t]
create = { any = ["CREATE", { sql = "x", when = 5 }, { sql = "x", unless = [1, "2"] }] }
key = { any = "x" }
columns = [
  { name = "a", type = "bigint", generator = "zipfian", min = 1, max = 10, theta = "${thta}" },
  { name = "b", type = "bigint", generator = "zipfian", min = 1, max = 10, theta = "${mode}" },
  { name = "c", type = "bigint", generator = "uniform", min = 0, max = "-${least}" },
  { name = "d", type = "timestamp", generator = "timeline",
    start = "2016-01-01T00:00:00Z", interval = "1s", jitter = ["1x", "2s"] },
]
[ops.ask]
sql.any = "SELECT 1"
[streams.s]
unit = "queries"
arrivals = "constant"
ops = { ask = "often" }
[streams.t]
unit = "queries"
arrivals = "constant"
ops = { aks = 1 }
"#;
    insta::assert_snapshot!(shown(text), @r#"
    12:71 «"a"» `weights` of attribute `a` of entity `e` must be a whole number, not this string
        write a whole number such as 5
    13:70 «7» `weights` of attribute `b` of entity `e` must be a list, not this integer
        write [first, second]
    16:49 «5» `when` of a statement for `any` of `create` of table `t` must be a list, not this integer
        write [first, second]
    16:77 «1» `unless` of a statement for `any` of `create` of table `t` must be text in quotes, not this integer
        write "…", in quotes
    19:85 «${thta}» unknown parameter `thta`
        known here: least, mode
    20:84 «"${mode}"» `theta` of column `b` of table `t` must be a finite number, not the text parameter `mode`
        write a number such as 1.5
    21:72 «"-${least}"» `max` of column `c` of table `t` must be a whole number, not the integer parameter `least`
        write a whole number such as 5
    23:64 «"1x"» `jitter` of column `d` of table `t` must be a duration such as 500ms, 10s, 5m, 12h or 3d, not this string
        write a duration such as 500ms, 10s, 5m, 12h or 3d
    30:15 «"often"» `ask` of `ops` of stream `s` must be a whole number, not this string
        write a whole number such as 5
    34:9 «aks» unknown op `aks`
        did you mean `ask`?
    "#);
}

#[test]
fn an_expected_integer_is_its_value_however_it_is_written() {
    for equals in ["16", "+16", "1_6", "0x10", "0o20", "0b1_0000"] {
        let text = format!(
            "{}\n[invariants.a]\nequals = {equals}\nsql.any = \"SELECT 16\"\n",
            crate::EXAMPLE
        );
        let workload = super::parsed(&text).instantiate(&super::owned(&[]), Seed(0)).unwrap();
        let all = workload.invariants(&["any".to_owned()]).unwrap();
        assert_eq!(all.last().unwrap().expected(), "16", "{equals}");
    }
}

#[test]
fn errors_are_bounded() {
    let text: String = (0..200).fold(String::new(), |text, n| text + &format!("key{n} = 1\n"));
    assert_eq!(errors(&text).len(), 50);
    let long = "#".repeat((1 << 20) + 1);
    assert_eq!(errors(&long).len(), 1);
}

/// A workload with these numbers of columns, query parameters, and fields of an object.
fn wide(columns: usize, parameters: usize, fields: usize) -> String {
    let some = |count: usize, rest: &str| -> String {
        (0..count).fold(String::new(), |text, n| text + &format!("{{ name = \"s{n}\", {rest} }},"))
    };
    let seven = "type = \"integer\", generator = \"uniform\", min = 7, max = 7";
    let bound: String = (0..parameters.min(4_096)).map(|n| format!(" + :s{n}")).collect();
    format!(
        "format = 1\nname = \"wide\"\nversion = 1\nsummary = \"many of everything\"\n\
         [tables.t]\ncolumns = [{} {{ name = \"o\", type = \"object\", generator = \"object\", \
         fields = [{}] }}]\ncreate = {{ any = \"CREATE TABLE t\" }}\nkey = {{ any = \"s0\" }}\n\
         [ops.insert]\ninsert = \"t\"\nbatch = 1\n\
         [ops.ask]\nsql = {{ any = \"SELECT 1{bound}\" }}\nparameters = [{}]\n\
         [streams.insert]\nunit = \"rows\"\narrivals = \"constant\"\nops = {{ insert = 1 }}\n",
        some(columns, seven),
        some(fields, seven),
        some(parameters, seven),
    )
}

#[test]
fn no_column_parameter_or_field_is_left_out() {
    let most = wide(4_095, 3, 4_096);
    assert_eq!(errors(&most), []);
    let workload = super::parsed(&most).instantiate(&super::owned(&[]), Seed(0)).unwrap();
    let stream = &workload.streams()[0];
    let OpBody::Insert(rows) = workload.op(stream, 0, &OpContext::default()).body else {
        panic!();
    };
    assert_eq!(rows.columns.len(), 4_096);
    for (text, things) in [
        (wide(4_096, 3, 3), "table `t` has 4,097 columns, more than 4,096"),
        (wide(3, 4_097, 3), "op `ask` has 4,097 parameters, more than 4,096"),
        (wide(3, 3, 5_000), "column `o` of table `t` has 5,000 fields, more than 4,096"),
    ] {
        let errors = errors(&text);
        let [only] = errors.as_slice() else {
            panic!("{errors:?}");
        };
        assert_eq!(only.message, things);
        // The first one beyond the maximum.
        assert!(there(only).starts_with('{'));
    }
}

proptest! {
    #[test]
    fn no_damage_to_a_file_makes_it_panic(
        cut in 0..14_000_usize,
        length in 0..60_usize,
        paste in prop_oneof!["[a-z\"\\[\\]{}=$:;'ü\n]{0,6}", Just("${".to_owned()), Just("-1".to_owned())],
    ) {
        let text = builtin("cpu").unwrap().text;
        let at = |position: usize| {
            (0..=position.min(text.len())).rev().find(|p| text.is_char_boundary(*p)).unwrap()
        };
        let damaged = format!("{}{paste}{}", &text[..at(cut)], &text[at(cut + length)..]);
        for error in errors(&damaged) {
            let place = error.place.as_ref().unwrap();
            let line = damaged.lines().nth(place.line - 1).unwrap_or_default();
            prop_assert_eq!(&place.source, line.trim_end());
            prop_assert!(place.column <= line.chars().count() + 1);
            prop_assert!(!error.message.is_empty() && !error.message.contains('\n'));
        }
    }
}
