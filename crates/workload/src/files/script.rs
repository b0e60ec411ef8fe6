//! Workloads from SQL files, like those of pgbench: each file is one statement, or one transaction, on the user's own
//! tables.
//!
//! `\set NAME EXPRESSION` gives a parameter a new value for each op; settings by the user give values to the other
//! parameters. The result is a workload file, and is read as one. Must not open files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::WorkloadSpec;
use crate::rows::quoted;
use crate::sql::{Control, MAX_STATEMENTS, Sql, SqlInputError, Token, statements, tokens};
use highwater_model::numbers::signed_to_f64;
use highwater_model::plan::Unit;
use highwater_model::user_error::{UserError, one_line, suggest};

/// An SQL file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script<'a> {
    /// Its file name without directory and extension.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Relative frequency; at least 1.
    pub weight: u32,
}

/// An error with the number of its file, or without a number if it is in the settings.
pub type ScriptError = (Option<usize>, UserError);

impl WorkloadSpec {
    /// A workload whose ops are the statements of these files, in proportion to their weights. `settings` are values of
    /// parameters that no file sets.
    pub fn from_scripts(
        scripts: &[Script<'_>],
        settings: &BTreeMap<String, String>,
    ) -> Result<Self, Vec<ScriptError>> {
        let mut errors = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut used = Vec::new();
        let mut not_given = Vec::new();
        let (mut ops, mut weights) = (String::new(), Vec::new());
        let mut unit = Unit::Transactions;
        for (number, script) in scripts.iter().enumerate() {
            let name = op_name(script.name, &names);
            let mut reader = ScriptReader {
                script,
                settings,
                parameters: Vec::new(),
                used: Vec::new(),
                not_given: std::mem::take(&mut not_given),
                errors: Vec::new(),
            };
            let body = reader.read();
            if matches!(body, ScriptBody::Statement(_)) {
                unit = Unit::Queries;
            }
            errors.extend(reader.errors.into_iter().map(|m| (Some(number), m)));
            used.extend(reader.used);
            not_given = reader.not_given;
            write_op(&mut ops, &name, &body, &reader.parameters);
            weights.push(format!("{} = {}", quoted(&name), script.weight));
            names.push(name);
        }
        for name in settings.keys().filter(|name| !used.contains(name)) {
            let message = format!("no file has a parameter `:{name}`");
            let hint = suggest(name, used.iter().map(String::as_str));
            errors.push((None, UserError::usage(one_line(&message)).hinted(hint)));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let name = match names.as_slice() {
            [only] => only.clone(),
            _ => "files".to_owned(),
        };
        let parameters = settings.iter().map(|(name, value)| {
            let (kind, value) = match value.parse::<i64>() {
                Ok(number) => ("integer", number.to_string()),
                Err(_) => ("text", quoted(value)),
            };
            format!("{name} = {{ type = \"{kind}\", default = {value} }}\n")
        });
        let text = format!(
            "format = 1\nname = {}\nversion = 1\nsummary = \"statements of files\"\n\
             [parameters]\n{}{ops}[streams.{}]\nunit = \"{}\"\narrivals = \"poisson\"\n\
             ops = {{ {} }}\n",
            quoted(&name),
            parameters.collect::<String>(),
            quoted(&name),
            unit.name(),
            weights.join(", "),
        );
        Self::parse(&text).map_err(|errors| errors.into_iter().map(|m| (None, m)).collect())
    }
}

/// The statements of one file.
enum ScriptBody {
    Statement(String),
    /// The statements between BEGIN and END.
    Transaction(Vec<String>),
}

/// Why the expression of a `\set` has no value.
enum ExpressionError {
    /// The setting that it names was not given.
    NotGiven(String),
    Invalid(String),
}

impl From<String> for ExpressionError {
    fn from(message: String) -> Self {
        Self::Invalid(message)
    }
}

fn too_great() -> String {
    "the number is too great".to_owned()
}

/// Reads one file.
struct ScriptReader<'a> {
    script: &'a Script<'a>,
    settings: &'a BTreeMap<String, String>,
    /// Name, type and generator.
    parameters: Vec<(String, &'static str, String)>,
    /// Names of settings that the file uses.
    used: Vec<String>,
    /// Names of settings that are missing, each of which is one error in all files.
    not_given: Vec<String>,
    errors: Vec<UserError>,
}

impl ScriptReader<'_> {
    /// The statements of the file; only parameters that they use are kept.
    fn read(&mut self) -> ScriptBody {
        // Command lines are replaced by empty ones, so that positions are kept.
        let mut sql = String::new();
        let mut at = 0;
        for line in self.script.text.split_inclusive('\n') {
            let span = at..at + line.trim_end().len();
            at += line.len();
            match line.trim_start().strip_prefix('\\') {
                Some(command) => {
                    self.command(command.trim(), span);
                    sql.extend(line.chars().map(|c| if c == '\n' { c } else { ' ' }));
                }
                None => sql.push_str(line),
            }
        }
        if let Some(place) = sql.find("${") {
            self.report(place..place + 2, "`${` cannot stand in a statement", "write `$ {`");
        }
        self.take_settings(&sql);
        let places = statements(&sql);
        let text = |place: &Range<usize>| sql.get(place.clone()).unwrap_or_default();
        let begins = places.first().is_some_and(|first| Control::parse(text(first)).is_some());
        if begins {
            let inner = self.between(&sql, &places);
            self.check(&sql, &inner);
            return ScriptBody::Transaction(
                inner.iter().map(|place| text(place).to_owned()).collect(),
            );
        }
        self.check(&sql, &places);
        if let [first, _, ..] = places.as_slice() {
            let hint = "wrap them in BEGIN; … END; to send them as one transaction, or give several \
                        files, each with -f";
            self.report(first.end..first.end + 1, "more than one statement", hint);
        }
        let whole = sql.trim().trim_end_matches(';').trim_end();
        // Comments are kept, except after a semicolon.
        let cut = tokens(whole).any(|(_, token)| matches!(token, Token::Semicolon));
        ScriptBody::Statement(match places.first() {
            Some(first) if cut => text(first).to_owned(),
            _ => whole.to_owned(),
        })
    }

    /// The statements between the first, BEGIN, and the last, END.
    fn between(&mut self, sql: &str, statements: &[Range<usize>]) -> Vec<Range<usize>> {
        let text = |place: &Range<usize>| sql.get(place.clone()).unwrap_or_default();
        let [begin, inner @ .., end] = statements else {
            return Vec::new();
        };
        match Control::parse(text(begin)) {
            Some(Control::Begin) => {}
            Some(Control::BeginWithMode) => {
                let hint = "write BEGIN; and set the mode for the session, in a URL such as \
                            `…?options=-cdefault_transaction_isolation%3Dserializable`";
                self.report(begin.clone(), "BEGIN says which kind of transaction", hint);
            }
            _ => {
                let hint = "a transaction begins with BEGIN; and ends with END;";
                self.report(begin.clone(), "there is no transaction here to end", hint);
            }
        }
        if Control::parse(text(end)) != Some(Control::End) {
            let hint = "write END; behind its last statement";
            self.report(end.clone(), "the transaction does not end", hint);
        }
        if inner.len() > MAX_STATEMENTS {
            let hint = format!("at most {MAX_STATEMENTS}");
            let message = format!("a transaction of {} statements", inner.len());
            self.report(begin.clone(), message, &hint);
        }
        for place in inner {
            if Control::parse(text(place)).is_some() {
                let hint = "one file is one transaction; give several files, each with -f";
                let message = "this begins, ends or divides a transaction inside another";
                self.report(place.clone(), message, hint);
            }
        }
        inner.to_vec()
    }

    /// Reports errors in statements. A value that is set but unused is not an error in a script, and does not become a
    /// parameter.
    fn check(&mut self, sql: &str, places: &[Range<usize>]) {
        let names: Vec<&str> = self.parameters.iter().map(|(name, ..)| name.as_str()).collect();
        let texts: Vec<&str> = places.iter().filter_map(|place| sql.get(place.clone())).collect();
        let errors = Sql::parse_all(&texts, &names).err().unwrap_or_default();
        if texts.is_empty() {
            let message = if self.script.text.trim().is_empty() {
                "the file is empty"
            } else {
                "there is no statement in the file"
            };
            let hint =
                "write one statement, such as `SELECT 1`, or several between BEGIN; and END;";
            self.report(0..0, message, hint);
        }
        for (number, error) in errors {
            let place = places.get(number).cloned().unwrap_or(0..0);
            self.report_sql(sql, place, &error);
        }
    }

    /// Reads a line that begins with a backslash.
    fn command(&mut self, command: &str, span: Range<usize>) {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        if word != "set" {
            let hint = "a file has lines `\\set NAME EXPRESSION` and one statement or transaction";
            self.report(span, format!("unknown command `\\{word}`"), hint);
            return;
        }
        let (name, expression) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest, ""));
        let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good || self.parameters.iter().any(|(other, ..)| other == name) {
            let hint = "\\set NAME EXPRESSION, each name once";
            self.report(span, format!("`{name}` cannot be set"), hint);
            return;
        }
        match self.generator(expression.trim()) {
            Ok(generator) => self.parameters.push((name.to_owned(), "bigint", generator)),
            Err(error) => {
                // So that statements that use it are not reported as well.
                let any = "generator = \"constant\", value = 0".to_owned();
                self.parameters.push((name.to_owned(), "bigint", any));
                let message = match error {
                    ExpressionError::Invalid(message) => message,
                    ExpressionError::NotGiven(name) if self.not_given.contains(&name) => return,
                    ExpressionError::NotGiven(name) => {
                        let message = format!("`:{name}` has no value");
                        self.report(span, message, &format!("give one with --set {name}=…"));
                        self.not_given.push(name);
                        return;
                    }
                };
                let hint = "an integer, or random(1, 100000 * :scale), random_zipfian(FIRST, LAST, \
                            EXPONENT), random_gaussian(…) or random_exponential(FIRST, LAST, PARAMETER)";
                self.report(span, message, hint);
            }
        }
    }

    /// The generator of an expression, in workload file syntax.
    fn generator(&mut self, expression: &str) -> Result<String, ExpressionError> {
        let call = expression.split_once('(');
        let random = call
            .map(|(function, arguments)| (function.trim(), arguments))
            .filter(|(function, _)| function.starts_with("random"));
        let Some((function, arguments)) = random else {
            let value = self.number(expression)?;
            return Ok(format!("generator = \"constant\", value = {value}"));
        };
        let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        let ([first, last] | [first, last, _]) = arguments[..] else {
            return Err(format!("`{function}` takes two or three arguments").into());
        };
        let (first, last) = (self.number(first)?, self.number(last)?);
        if first > last {
            return Err(format!("`{function}` ends before it begins: {first} to {last}").into());
        }
        let ends = format!("min = {first}, max = {last}");
        let shape = arguments.get(2).map(|text| text.parse::<f64>());
        match (function, shape) {
            ("random", None) => Ok(format!("generator = \"uniform\", {ends}")),
            ("random_zipfian", Some(Ok(s))) if s > 0.0 && (s - 1.0).abs() > 1e-6 => {
                Ok(format!("generator = \"zipfian\", order = \"ranked\", theta = {s:?}, {ends}"))
            }
            ("random_gaussian", Some(Ok(p))) if p >= 2.0 => {
                let (mean, deviation) = bell(first, last, p);
                let (least, most) = (signed_to_f64(first), signed_to_f64(last));
                Ok(format!(
                    "generator = \"normal\", mean = {mean:?}, deviation = {deviation:?}, \
                     min = {least:?}, max = {most:?}"
                ))
            }
            // gamma · items = p, like in pgbench, with half of the items as the fraction.
            ("random_exponential", Some(Ok(p))) if p > 0.0 && p < 70.0 => Ok(format!(
                "generator = \"exponential\", data = 0.5, percentile = {:?}, {ends}",
                1.0 - libm::exp(-p / 2.0)
            )),
            _ => Err(format!("`{expression}` is not an expression that scripts may have").into()),
        }
    }

    /// A sum of products of integers and given parameters.
    fn number(&mut self, text: &str) -> Result<i64, ExpressionError> {
        let mut sum: i64 = 0;
        for (sign, term) in terms(text) {
            let mut product: i64 = sign;
            for factor in term.split('*').map(str::trim) {
                let value = match factor.strip_prefix(':') {
                    Some(name) => {
                        self.used.push(name.to_owned());
                        let given = self.settings.get(name);
                        given.ok_or_else(|| ExpressionError::NotGiven(name.to_owned()))?.parse()
                    }
                    None => factor.parse(),
                };
                let value: i64 = value.map_err(|_| format!("`{factor}` is no whole number"))?;
                product = product.checked_mul(value).ok_or_else(too_great)?;
            }
            sum = sum.checked_add(product).ok_or_else(too_great)?;
        }
        Ok(sum)
    }

    /// Adds the settings that the statement uses as parameters, and removes unused parameters.
    fn take_settings(&mut self, sql: &str) {
        let used = Sql::names(sql);
        self.parameters.retain(|(name, ..)| used.contains(name));
        for name in used {
            if self.parameters.iter().any(|(other, ..)| *other == name) {
                continue;
            }
            if let Some(value) = self.settings.get(&name) {
                self.used.push(name.clone());
                let (kind, generator) = if value.parse::<i64>().is_ok() {
                    let value = format!("\"${{{name}}}\"");
                    let generator =
                        format!("generator = \"uniform\", min = {value}, max = {value}");
                    ("bigint", generator)
                } else {
                    let value = quoted(value);
                    ("text", format!("generator = \"constant\", value = {value}"))
                };
                self.parameters.push((name, kind, generator));
            }
        }
    }

    fn report_sql(&mut self, sql: &str, place: Range<usize>, error: &SqlInputError) {
        match error {
            SqlInputError::UnknownParameter(name) => {
                let within = sql.get(place.clone()).unwrap_or_default();
                let at = place.start + within.find(&format!(":{name}")).unwrap_or(0);
                let hint = format!("add a line `\\set {name} random(1, 1000)`, or --set {name}=…");
                let message = format!("`:{name}` is not set");
                self.report(at..at + name.len() + 1, message, &hint);
            }
            SqlInputError::Unterminated(what) => {
                let whole = place.start..sql.trim_end().len();
                self.report(whole, format!("a {what} does not end"), "close it");
            }
            // A place is a single statement without a semicolon, and only used values became parameters.
            SqlInputError::Empty
            | SqlInputError::SeveralStatements
            | SqlInputError::UnusedParameter(_) => {}
        }
    }

    fn report(&mut self, span: Range<usize>, message: impl Into<String>, hint: &str) {
        let error = UserError::in_text(self.script.text, &span, &message.into());
        self.errors.push(error.with_hint(hint));
    }
}

/// The signed terms of a sum.
fn terms(text: &str) -> Vec<(i64, &str)> {
    let mut terms = Vec::new();
    let (mut begin, mut sign) = (0, 1);
    for (place, c) in text.char_indices() {
        let before = text.get(begin..place).unwrap_or_default();
        if matches!(c, '+' | '-') && (!before.trim().is_empty() || place == 0) {
            if place > 0 {
                terms.push((sign, before));
            }
            sign = if c == '-' { -1 } else { 1 };
            begin = place + 1;
        }
    }
    terms.push((sign, text.get(begin..).unwrap_or_default()));
    terms
}

/// Mean and deviation of pgbench's Gaussian: the range is 2 · p deviations wide; values are rounded down to whole
/// numbers.
fn bell(first: i64, last: i64, p: f64) -> (f64, f64) {
    let width = signed_to_f64(last) - signed_to_f64(first) + 1.0;
    (signed_to_f64(first) + width / 2.0, width / (2.0 * p))
}

fn write_op(
    text: &mut String,
    name: &str,
    body: &ScriptBody,
    parameters: &[(String, &str, String)],
) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[ops.{}]\nparameters = [", quoted(name));
    for (name, kind, generator) in parameters {
        let name = quoted(name);
        let _ = writeln!(text, "{{ name = {name}, type = \"{kind}\", {generator} }},");
    }
    let _ = match body {
        ScriptBody::Statement(sql) => writeln!(text, "]\nsql = {{ any = {} }}", quoted(sql)),
        ScriptBody::Transaction(all) => {
            let all: Vec<String> = all.iter().map(|sql| quoted(sql)).collect();
            let all = all.join(",\n");
            writeln!(text, "]\ntransaction = {{ any = [\n{all}\n] }}")
        }
    };
}

/// A unique name of letters, digits, and dashes.
fn op_name(name: &str, taken: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut plain: String =
        name.chars().take(50).map(|c| if is_plain(c) { c } else { '-' }).collect();
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.insert(0, 'f');
    }
    let free = std::iter::once(plain.clone())
        .chain((2..).map(|n| format!("{plain}-{n}")))
        .into_iter()
        .find(|name| !taken.contains(name) && name != "files");
    free.unwrap_or(plain)
}
