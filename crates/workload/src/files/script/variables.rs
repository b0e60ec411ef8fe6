//! The variables of a script: lines `\set NAME EXPRESSION` in their order, settings, and seeds; which of them statements
//! use, directly or through others; and the parameters that they become. Must not read statements.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use highwater_model::op::{ColumnType, Value};
use highwater_model::units::Seed;

use crate::expression::{
    self, DEFAULT_SEED, ErrorKind, Expression, ExpressionError, Inputs, RANDOM_SEED,
};
use crate::random::Draws;
use crate::rows::quoted;

/// Ops that are tried before a run, so that expressions that fail often are found.
const TRIED_OPS: u64 = 100;

/// The variables so far.
pub(super) struct Variables<'a> {
    settings: &'a BTreeMap<String, String>,
    all: Vec<Variable>,
    /// Names of settings that the file uses.
    pub(super) used: Vec<String>,
    /// In the order of the file.
    pub(super) answers: Vec<GivenAnswer>,
}

/// A name that has this value from a place of the file on.
struct Variable {
    name: String,
    /// Byte position in the file, and the number of the line; 0 for one that is not set in the file.
    at: usize,
    line: usize,
    /// The expression, in a branch with its condition, or a text that is none.
    text: String,
    /// The expression as written.
    written: String,
    /// Why later ones cannot be computed either, if there is no expression.
    expression: Option<Expression>,
    /// Whether statements use it.
    is_sent: bool,
    /// Its value depends on an answer.
    late: bool,
    /// For the column of an answer, which has no expression: the variable whose value it has without a row.
    otherwise: Option<usize>,
}

/// A line `\gset` or `\aset`, and the variables that its answer sets.
pub(super) struct GivenAnswer {
    /// Byte positions of the statement and of the command.
    pub(super) statement: usize,
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) prefix: String,
    pub(super) any_rows: bool,
    /// The condition for which the statement is run.
    pub(super) branch: Option<usize>,
    /// The words of the statement, in lower case.
    pub(super) words: Vec<String>,
    /// Positions of the variables, each with its column.
    pub(super) columns: Vec<(usize, String)>,
}

/// Why a variable has no value; in words, except that of a name without a value.
pub(super) enum SetError {
    /// A name without a value in an expression: it and the message.
    NotGiven(String, String),
    Invalid(String),
}

/// A use of a variable in statements: its place, and the position of the variable.
pub(super) type Uses = Vec<(Range<usize>, usize)>;

impl<'a> Variables<'a> {
    pub(super) fn new(settings: &'a BTreeMap<String, String>) -> Self {
        let mut new = Self { settings, all: Vec::new(), used: Vec::new(), answers: Vec::new() };
        for seed in [DEFAULT_SEED, RANDOM_SEED] {
            // Functions use them without a name, so they come first.
            if settings.contains_key(seed) {
                new.add_setting(seed);
            }
        }
        new
    }

    /// The position of the variable with a name before a byte position; a setting becomes one.
    fn find(&mut self, name: &str, before: usize) -> Option<usize> {
        let is_it = |known: &&Variable| known.name == name && known.at <= before;
        let set_at = self.all.iter().filter(is_it).map(|known| known.at).max();
        // The answer whose statement has the column's name counts; without a value of that name, the last answer.
        let sets = |answer: &&GivenAnswer| {
            answer.at < before
                && answer.at >= set_at.unwrap_or(0)
                && name
                    .strip_prefix(answer.prefix.as_str())
                    .is_some_and(|column| !column.is_empty())
        };
        let mentions = |answer: &&GivenAnswer| {
            let column = name.strip_prefix(answer.prefix.as_str()).unwrap_or_default();
            answer.words.contains(&column.to_ascii_lowercase())
        };
        let all = self.answers.iter().filter(sets);
        let mentioned = all.clone().filter(mentions).map(|answer| answer.at).next_back();
        let others = all.map(|answer| answer.at).next_back();
        if let Some(at) = mentioned {
            return self.add_answer(name, at);
        }
        if let Some(set_at) = set_at {
            return self.all.iter().rposition(|known| known.name == name && known.at == set_at);
        }
        if let Some(at) = others.filter(|_| !self.settings.contains_key(name)) {
            return self.add_answer(name, at);
        }
        let is_seed = name == DEFAULT_SEED || name == RANDOM_SEED;
        if !self.settings.contains_key(name) {
            return is_seed.then(|| self.add(name, format!(":{name}"), None));
        }
        Some(self.add_setting(name))
    }

    /// Adds the variable that the answer at a byte position sets.
    fn add_answer(&mut self, name: &str, at: usize) -> Option<usize> {
        let number = self.answers.iter().position(|answer| answer.at == at)?;
        let answer = self.answers.get(number)?;
        let known = answer.columns.iter().map(|(position, _)| *position);
        let is_it = |position: &usize| self.all.get(*position).is_some_and(|of| of.name == name);
        if let Some(known) = known.into_iter().find(is_it) {
            return Some(known);
        }
        let (line, may_not_set) = (answer.line, answer.branch.is_some() || answer.any_rows);
        let otherwise = if may_not_set { self.find(name, at.saturating_sub(1)) } else { None };
        let text = format!(":{name}");
        let position = self.all.len();
        self.all.push(Variable {
            name: name.to_owned(),
            at,
            line,
            written: text.clone(),
            text,
            expression: None,
            is_sent: true,
            late: true,
            otherwise,
        });
        let answer = self.answers.get_mut(number)?;
        let column = name.strip_prefix(answer.prefix.as_str()).unwrap_or(name).to_owned();
        answer.columns.push((position, column));
        Some(position)
    }

    fn add_setting(&mut self, name: &str) -> usize {
        self.used.push(name.to_owned());
        let value = self.settings.get(name).map(String::as_str).unwrap_or_default();
        // The file that is made names the setting, so that another value can be set there.
        self.add(name, format!("${{{name}}}"), Some(value))
    }

    /// Adds a variable that no line sets; of a setting, its value.
    fn add(&mut self, name: &str, text: String, setting: Option<&str>) -> usize {
        let expression = match setting {
            Some(value) => is_literal(value).then(|| self.parse(value).ok()).flatten(),
            None => self.parse(&text).ok(),
        };
        let name = name.to_owned();
        let written = text.clone();
        self.all.push(Variable {
            name,
            at: 0,
            line: 0,
            text,
            written,
            expression,
            is_sent: false,
            late: false,
            otherwise: None,
        });
        self.all.len() - 1
    }

    fn parse(&self, text: &str) -> Result<Expression, ExpressionError> {
        let names: Vec<&str> = self.all.iter().map(|known| known.name.as_str()).collect();
        let kinds: Vec<ColumnType> = self.all.iter().map(Variable::kind).collect();
        Expression::parse(text, &names, &kinds)
    }

    /// Reads a line `\set`, in a branch with the variable of its condition. After an error the name has no value, and
    /// later uses of it are no further errors.
    pub(super) fn set(
        &mut self,
        name: &str,
        text: &str,
        place: (usize, usize),
        branch: Option<usize>,
    ) -> Result<(), SetError> {
        let Some(condition) = branch.and_then(|branch| self.all.get(branch)) else {
            return self.define(name, text, place, str::to_owned);
        };
        // Where the branch is not taken, it keeps its value.
        let condition = condition.name.clone();
        let earlier = match self.find(name, place.0) {
            Some(_) => format!(":{name}"),
            None => "null".to_owned(),
        };
        self.define(name, text, place, |text| {
            format!("case when :{condition} then ({text}) else {earlier} end")
        })
    }

    /// Reads the condition of a branch: it is taken within `outer`, and without one of `before` being taken. The result
    /// is the position of its variable.
    pub(super) fn branch(
        &mut self,
        text: &str,
        (at, line): (usize, usize),
        outer: Option<usize>,
        before: &[usize],
    ) -> (usize, Result<(), SetError>) {
        let name = |position: usize| self.all.get(position).map_or("", |known| known.name.as_str());
        let taken: String =
            before.iter().map(|taken| format!("when :{} then false ", name(*taken))).collect();
        let outer = outer.map(|outer| format!("when not :{} then false ", name(outer)));
        let outer = outer.unwrap_or_default();
        let read = self.define(&format!("{line}if"), text, (at, line), |text| {
            format!("case {outer}{taken}when {text} then true else false end")
        });
        (self.all.len().saturating_sub(1), read)
    }

    /// Reads the length of a pause, in units of this many microseconds. The result is the position of its variable.
    pub(super) fn pause(
        &mut self,
        text: &str,
        unit_us: u32,
        (at, line): (usize, usize),
    ) -> (usize, Result<(), SetError>) {
        let read = self.define(&format!("{line}sleep"), text, (at, line), |text| {
            format!("int({text}) * {unit_us}")
        });
        (self.all.len().saturating_sub(1), read)
    }

    /// The variable that is true if one of several conditions is.
    pub(super) fn any(&mut self, conditions: &[usize], what: &str) -> Option<usize> {
        if let [only] = conditions {
            return Some(*only);
        }
        let names: Option<Vec<String>> = conditions
            .iter()
            .map(|position| Some(format!(":{}", self.all.get(*position)?.name)))
            .collect();
        let (at, line) = self.all.iter().map(|known| (known.at, known.line)).max()?;
        // Its parts are no errors.
        let _ =
            self.define(&format!("{line}{what}"), &names?.join(" or "), (at, line), str::to_owned);
        Some(self.all.len().saturating_sub(1))
    }

    /// Notes that steps of the transaction use a variable.
    pub(super) fn send(&mut self, position: usize) {
        if let Some(variable) = self.all.get_mut(position) {
            variable.is_sent = true;
        }
    }

    /// Adds a variable; `whole` completes the text of its expression.
    fn define(
        &mut self,
        name: &str,
        text: &str,
        (at, line): (usize, usize),
        whole: impl Fn(&str) -> String,
    ) -> Result<(), SetError> {
        let mut from: Vec<&str> =
            expression::variables(text).iter().map(|(_, name)| *name).collect();
        from.dedup();
        let mut not_a_number = None;
        for known in &from {
            if let Some(found) = self.find(known, at).and_then(|found| self.all.get(found)) {
                let is_text = found.expression.is_none() && found.line == 0;
                not_a_number = not_a_number.or(is_text.then(|| (*known).to_owned()));
            }
        }
        // Errors are those of the text as written.
        let parsed = self.parse(text).and_then(|_| self.parse(&whole(text)));
        self.all.push(Variable {
            name: name.to_owned(),
            at,
            line,
            text: whole(text),
            written: text.to_owned(),
            late: parsed.as_ref().is_ok_and(|expression| {
                expression
                    .variables()
                    .iter()
                    .any(|used| self.all.get(*used).is_some_and(|v| v.late))
            }),
            expression: parsed.as_ref().ok().cloned(),
            is_sent: false,
            otherwise: None,
        });
        let (subject, verb) = subject(name);
        let place = format!("{subject} is {verb} on line {line}");
        if let Some(known) = not_a_number {
            let message =
                format!("{place} from `:{known}`, which is neither a number nor a truth value");
            return Err(SetError::Invalid(message));
        }
        match parsed.map_err(|error| error.kind) {
            Ok(_) => Ok(()),
            Err(ErrorKind::UnknownVariable(known)) => {
                let message = format!("{place} from `:{known}`, which has no value");
                Err(SetError::NotGiven(known, message))
            }
            Err(ErrorKind::Invalid(message)) => Err(SetError::Invalid(format!(
                "{subject} cannot be {verb} on line {line}: {message}"
            ))),
        }
    }

    /// Notes the uses of variables in statements; an error is a use before the line that sets it.
    pub(super) fn note_uses<'n>(
        &mut self,
        uses: impl Iterator<Item = (Range<usize>, &'n str)>,
    ) -> (Uses, Vec<(Range<usize>, String)>) {
        let (mut noted, mut early) = (Vec::new(), Vec::new());
        for (place, name) in uses {
            if let Some(position) = self.find(name, place.start) {
                if let Some(variable) = self.all.get_mut(position) {
                    variable.is_sent = true;
                }
                noted.push((place, position));
            } else if let Some(later) = self.all.iter().find(|known| known.name == name) {
                early.push((place, format!("`:{name}` is set only on line {}", later.line)));
            }
        }
        (noted, early)
    }

    /// All names with a value somewhere in the file.
    pub(super) fn names(&self) -> Vec<&str> {
        self.all.iter().map(|known| known.name.as_str()).collect()
    }

    /// Whether each variable is used by a statement, or by another one that is.
    fn needed(&self) -> Vec<bool> {
        let mut needed: Vec<bool> = self.all.iter().map(|known| known.is_sent).collect();
        for (position, known) in self.all.iter().enumerate().rev() {
            if needed.get(position) == Some(&true) {
                let of_expression = known.expression.as_ref().map(Expression::variables);
                let otherwise = known.otherwise;
                for used in of_expression.unwrap_or_default().into_iter().chain(otherwise) {
                    if let Some(used) = needed.get_mut(used) {
                        *used = true;
                    }
                }
            }
        }
        needed
    }

    /// Computes the values of some ops; an error has the byte position of the line, and comes once for each cause.
    pub(super) fn try_ops(&self) -> Vec<(usize, String)> {
        let mut errors = Vec::new();
        let begins: Vec<usize> = (0..self.all.len()).collect();
        // Those that cannot be computed, and those computed from them.
        let mut failed = vec![false; self.all.len()];
        for index in 0..TRIED_OPS {
            let mut values = Vec::with_capacity(self.all.len());
            for (position, known) in self.all.iter().enumerate() {
                let has_failed = |used: &usize| failed.get(*used) == Some(&true);
                let expression = known.expression.as_ref().filter(|expression| {
                    !known.late
                        && !has_failed(&position)
                        && !expression.variables().iter().any(has_failed)
                });
                let draws = Draws::new(Seed(0), &[&known.name, &position.to_string()]);
                let inputs = Inputs {
                    values: &values,
                    begins: &begins,
                    seed: Seed(0),
                    draws: &draws,
                    index,
                };
                let value = expression.and_then(|expression| {
                    let failure =
                        |message: String| errors.push((known.at, known.failure(&message)));
                    expression.evaluate(&inputs).map_err(failure).ok()
                });
                if let Some(failed) =
                    failed.get_mut(position).filter(|_| value.is_none() && !known.late)
                {
                    *failed = true;
                }
                values.push(value.unwrap_or(Value::Null));
            }
        }
        errors
    }

    /// The names of the parameters that the variables become: each is unique, and the first that statements use keeps
    /// its own.
    pub(super) fn unique_names(&self) -> Vec<String> {
        let mut unique = vec![String::new(); self.all.len()];
        for is_sent in [true, false] {
            for (position, known) in self.all.iter().enumerate() {
                if known.is_sent != is_sent {
                    continue;
                }
                let own = known.file_name();
                let mut free = std::iter::once(own.clone())
                    .chain((2..).map(|n| format!("{own}_{n}")))
                    .filter(|name| {
                        *name == known.name || self.all.iter().all(|other| other.name != *name)
                    });
                let name = free.find(|name| !unique.contains(name)).unwrap_or_default();
                if let Some(place) = unique.get_mut(position) {
                    *place = name;
                }
            }
        }
        unique
    }

    /// The parameters that statements use, directly or through others, as lines of a workload file.
    pub(super) fn write(&self, out: &mut String) {
        let names = self.unique_names();
        let needed = self.needed();
        for ((position, known), name) in self.all.iter().enumerate().zip(&names) {
            if needed.get(position) != Some(&true) {
                continue;
            }
            let name = quoted(name);
            // Writing to a string cannot fail.
            let _ = if known.expression.is_none() && known.late {
                let otherwise = known.otherwise.and_then(|of| names.get(of));
                let otherwise =
                    otherwise.map(|of| format!(", otherwise = {}", quoted(of))).unwrap_or_default();
                writeln!(
                    out,
                    "{{ name = {name}, type = \"text\", generator = \"answer\"{otherwise} }},"
                )
            } else if let Some(expression) = &known.expression {
                // What depends on an answer can be of any type; a condition and a pause cannot.
                let is_any = known.late && !known.name.starts_with(|c: char| c.is_ascii_digit());
                let kind = if is_any { "text" } else { expression.kind().name() };
                let count = if known.is_sent { "" } else { "count = 0, " };
                let value = quoted(&self.renamed(position, &names));
                writeln!(
                    out,
                    "{{ name = {name}, type = \"{kind}\", {count}generator = \"expression\", \
                     value = {value} }},"
                )
            } else {
                let value = quoted(self.settings.get(&known.name).map_or("", String::as_str));
                writeln!(
                    out,
                    "{{ name = {name}, type = \"text\", generator = \"constant\", value = {value} }},"
                )
            };
        }
    }

    /// The text of an expression with the unique names of the variables in it.
    fn renamed(&self, position: usize, names: &[String]) -> String {
        let Some(known) = self.all.get(position) else {
            return String::new();
        };
        let mut text = known.text.clone();
        let earlier = self.all.get(..position).unwrap_or_default();
        for (place, name) in expression::variables(&known.text).into_iter().rev() {
            let used = earlier.iter().rposition(|other| other.name == name);
            if let Some(unique) = used.and_then(|used| names.get(used)).filter(|new| *new != name) {
                text.replace_range(place, &format!(":{unique}"));
            }
        }
        text
    }
}

/// Whether the value of a setting is a number or a truth value.
fn is_literal(text: &str) -> bool {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.parse::<f64>().is_ok_and(f64::is_finite);
    is_number || text == "true" || text == "false"
}

impl Variable {
    fn kind(&self) -> ColumnType {
        self.expression.as_ref().map_or(ColumnType::Bigint, Expression::kind)
    }

    /// A failed computation: the variable, its line, the variables that it is computed from, and the cause.
    fn failure(&self, cause: &str) -> String {
        let from = expression::variables(&self.written);
        let from: Vec<String> = from.iter().map(|(_, name)| format!("`:{name}`")).collect();
        let from = match from.as_slice() {
            [] => String::new(),
            from => format!(" from {}", from.join(", ")),
        };
        let (subject, verb) = subject(&self.name);
        format!("{subject} is {verb} on line {}{from}: {cause}", self.line)
    }

    /// Its name in the workload file: that of a condition or pause, which no script can set, begins with its line.
    fn file_name(&self) -> String {
        let what = self.name.trim_start_matches(|c: char| c.is_ascii_digit());
        match self.name.strip_suffix(what) {
            Some(line) if !line.is_empty() => format!("{what}_{line}"),
            _ => self.name.clone(),
        }
    }
}

/// A variable in messages, and what a line does to it.
fn subject(name: &str) -> (String, &'static str) {
    match name.trim_start_matches(|c: char| c.is_ascii_digit()) {
        what if what == name => (format!("`:{name}`"), "set"),
        "sleep" => ("the pause".to_owned(), "computed"),
        _ => ("the condition".to_owned(), "computed"),
    }
}
