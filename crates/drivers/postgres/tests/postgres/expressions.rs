//! The expressions of scripts against pgbench itself: the same values and types, and errors for the same expressions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use highwater_model::op::{OpBody, Value};
use highwater_model::units::Seed;
use highwater_testing::postgres::{Postgres, skipped};
use highwater_workload::random::Draws;
use highwater_workload::{OpContext, Script, WorkloadSpec};

/// Generated expressions.
const GENERATED: usize = 200;

/// The settings of both programs.
const SETTINGS: [(&str, &str); 4] =
    [("default_seed", "-4242"), ("n", "17"), ("x", "2.5"), ("yes", "true")];

/// Precedences, limits, and both sides of each rule that few generated expressions meet.
const WRITTEN: [&str; 58] = [
    "1 + 2 * 3 - 4 / 2 % 3",
    "-2 * -3 - -1",
    "- 9223372036854775808",
    "9223372036854775808",
    "-9223372036854775808 / -1",
    "-9223372036854775808 % -1",
    "9223372036854775807 + 1",
    "4611686018427387904 * -2",
    "7 / 2",
    "-7 / 2",
    "-7 % 3",
    "7.5 % 2",
    "7 / 0",
    "7 % 0",
    "7 / 0.0",
    "0.0 / 0.0 = 0.0 / 0.0",
    "sqrt(-1)",
    "ln(0)",
    "1e308 * 10",
    "1e3 + .5 + 5.",
    "1e",
    "~5 + 1 & 7",
    "1 | 2 # 3 & 4",
    "1 << 3 + 1",
    "-1 >> 60",
    "1 << 64",
    "1 << -1",
    "not 1 = 2 and 2 = 2 or null",
    "1 < 2 = true",
    "1 < 2 < 3",
    "(1 < 2) = (2 < 3)",
    "1 = 1.0",
    "1 != 2 and 1 <> 2",
    "null is null",
    "null isnull and 1 notnull",
    "true is not false",
    "1 is true",
    "null and true",
    "false and 1 / 0 = 1",
    "true or null",
    "false or 5",
    "not null",
    "not 5",
    "abs(null)",
    "greatest(1, 2.0, 3)",
    "least(:n, -:n, 4)",
    "greatest()",
    "least(true)",
    "int(2.5) + int(3.5) + int(-2.5)",
    "int(1e19)",
    "double(:n) / 4",
    "case when null then 1 when 0.0 then 2 when 3 then 4 end",
    "CASE WHEN false THEN 1 END",
    "pow(2, 10) + power(2, -1)",
    "hash(5) + hash_fnv1a(:n, 3) % 1000",
    "permute(5, 0)",
    "permute(:n, 1000000007) + permute(-3, 9223372036854775807, :default_seed)",
    "nonsense(1)",
];

/// Draws one choice after the other.
struct Choices {
    draws: Draws,
    next: u64,
}

impl Choices {
    fn below(&mut self, bound: u64) -> usize {
        self.next += 1;
        usize::try_from(self.draws.below(self.next, bound)).unwrap()
    }

    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len() as u64)]
    }

    /// A number up to some depth; rarely a truth value, which is an error in most places.
    fn number(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(8) == 0 {
            return self.leaf();
        }
        let next = depth - 1;
        match self.below(12) {
            0..=3 => {
                let operator = self.one_of(&["+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>"]);
                format!("{} {operator} {}", self.number(next), self.number(next))
            }
            4 => format!("({})", self.number(next)),
            5 => format!("{} {}", self.one_of(&["-", "+", "~"]), self.number(next)),
            6 | 7 => {
                let function = self.one_of(&[
                    "abs",
                    "double",
                    "exp",
                    "int",
                    "ln",
                    "sqrt",
                    "hash",
                    "hash_fnv1a",
                    "hash_murmur2",
                ]);
                format!("{function}({})", self.number(next))
            }
            8 => {
                let function =
                    self.one_of(&["mod", "pow", "power", "least", "greatest", "hash", "permute"]);
                format!("{function}({}, {})", self.number(next), self.number(next))
            }
            9 => {
                let function = self.one_of(&["least", "greatest", "permute"]);
                let (a, b) = (self.number(next), self.number(next));
                format!("{function}({a}, {b}, {})", self.number(next))
            }
            10 => {
                let (condition, value) = (self.truth(next), self.number(next));
                format!("CASE WHEN {condition} THEN {value} ELSE {} END", self.number(next))
            }
            _ => format!("case when {} then {} end", self.truth(next), self.number(next)),
        }
    }

    fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.one_of(&["true", "false", "TRUE", "null", ":yes"]).to_owned();
        }
        let next = depth - 1;
        match self.below(7) {
            0 | 1 => {
                let operator = self.one_of(&["<", "<=", ">", ">=", "=", "<>", "!="]);
                format!("{} {operator} {}", self.number(next), self.number(next))
            }
            2 | 3 => {
                format!("{} {} {}", self.truth(next), self.one_of(&["and", "OR"]), self.truth(next))
            }
            4 => format!("not {}", self.truth(next)),
            5 => {
                let test =
                    self.one_of(&["is null", "IS NOT NULL", "isnull", "is true", "is not false"]);
                format!("({}) {test}", self.number(next))
            }
            _ => format!("({})", self.truth(next)),
        }
    }

    fn leaf(&mut self) -> String {
        let leaves = [
            "0",
            "1",
            "2",
            "3",
            "7",
            "64",
            "1000",
            "65537",
            "0.5",
            "1.25",
            "3e2",
            ".1",
            ":n",
            ":x",
            "pi()",
            "9223372036854775807",
            "null",
            "true",
        ];
        self.one_of(&leaves).to_owned()
    }
}

/// `%.15g` of C.
fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{number:.14e}");
    let (digits, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let short = |text: &str| {
        let zeros = if text.contains('.') { "0" } else { "" };
        let text = text.trim_end_matches(|c| zeros.contains(c));
        text.trim_end_matches('.').to_owned()
    };
    if (-4..15).contains(&exponent) {
        let decimals = usize::try_from(14 - exponent).unwrap();
        return short(&format!("{number:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(digits), exponent.abs())
}

/// Our value as pgbench's `debug` writes it; none if the script is refused.
fn ours(expression: &str) -> Option<String> {
    let text = format!("\\set result {expression}\nSELECT :result");
    let settings: BTreeMap<String, String> = SETTINGS
        .iter()
        .filter(|(name, _)| *name == "default_seed" || text.contains(&format!(":{name}")))
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let script = Script { name: "q", text: &text, weight: 1 };
    let spec = WorkloadSpec::from_scripts(&[script], &settings).ok()?;
    let workload = spec.instantiate(&settings, Seed(1)).unwrap();
    let op = workload.op(&workload.streams()[0], 0, &OpContext::default());
    let OpBody::Query(values) = op.body else { panic!() };
    let [value] = values.as_slice() else { panic!("{values:?}") };
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => format!("int {number}"),
        Value::Float(number) => format!("double {}", general(*number)),
        Value::Boolean(truth) => format!("boolean {truth}"),
        other => panic!("{other:?}"),
    })
}

/// pgbench runs a script once.
fn pgbench(server: &Postgres, script: &str) -> Output {
    let mut command = Command::new(server.client_program("pgbench"));
    for (name, value) in SETTINGS {
        command.args(["-D", &format!("{name}={value}")]);
    }
    let url = server.url("postgres", "postgres");
    command.args(["-n", "-t", "1", "-f", "-", &url]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// The values that `debug` wrote.
fn debugged(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let values = text.lines().filter_map(|line| line.split_once("): "));
    values.map(|(_, value)| value.to_owned()).collect()
}

/// CASE with numbers of both kinds makes doubles of them all.
fn is_same(ours: &str, theirs: &str) -> bool {
    let number = |text: &str| text.split_once(' ').map(|(_, number)| number.to_owned());
    ours == theirs
        || (ours.starts_with("double ")
            && theirs.starts_with("int ")
            && number(ours) == number(theirs))
}

#[test]
fn expressions_have_the_values_and_errors_that_pgbench_gives_them() {
    if skipped() {
        return;
    }
    let mut choices = Choices { draws: Draws::new(Seed(51), &["expressions"]), next: 0 };
    let generated = (0..GENERATED).map(|n| match n % 4 {
        0 => choices.truth(3),
        _ => choices.number(4),
    });
    let written = WRITTEN.iter().map(|text| (*text).to_owned());
    let all: Vec<(String, Option<String>)> = written
        .chain(generated)
        .map(|text| {
            let value = ours(&text);
            (text, value)
        })
        .collect();
    let server = Postgres::start();
    // pgbench ends at the first error: those that we refuse are tried one by one.
    let mut script = String::new();
    for (text, _) in all.iter().filter(|(_, value)| value.is_some()) {
        writeln!(script, "\\set r debug({text})").unwrap();
    }
    let output = pgbench(&server, &script);
    let theirs = debugged(&output);
    let computed = all.iter().filter_map(|(text, value)| Some((text, value.as_ref()?)));
    for (place, (text, ours)) in computed.clone().enumerate() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let theirs = theirs.get(place).unwrap_or_else(|| panic!("{text} = {ours}: {messages}"));
        assert!(is_same(ours, theirs), "{text}: {ours}, but pgbench: {theirs}");
    }
    assert!(computed.count() > GENERATED / 2);
    let refused: Vec<&String> =
        all.iter().filter(|(_, value)| value.is_none()).map(|(text, _)| text).collect();
    assert!(refused.len() > 20);
    for text in refused {
        let output = pgbench(&server, &format!("\\set r debug({text})\n"));
        assert!(!output.status.success(), "{text}: pgbench has {:?}", debugged(&output));
    }
}
