//! Workloads from SQL files, like those of pgbench: each file is one statement, or one transaction, on the user's own
//! tables.
//!
//! `\set NAME EXPRESSION` gives a parameter a new value for each op; settings by the user give values to the other
//! parameters. The result is a workload file, and is read as one. Must not open files.

mod branches;
mod variables;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::WorkloadSpec;
use crate::rows::quoted;
use crate::sql::{Control, MAX_STATEMENTS, Sql, SqlInputError, Token, statements, tokens};
use crate::steps::{Action, Answer, Step};
use highwater_model::plan::Unit;
use highwater_model::user_error::{UserError, one_line, suggest};

use self::branches::{Branches, EndError, Refused};
use self::variables::{GivenAnswer, SetError, Uses, Variables};

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
                // A byte order mark is no part of the text.
                text: script.text.trim_start_matches('\u{feff}'),
                variables: Variables::new(settings),
                branches: Branches::default(),
                pauses: Vec::new(),
                not_given: std::mem::take(&mut not_given),
                errors: Vec::new(),
            };
            let body = reader.read();
            if matches!(body, ScriptBody::Statement(_)) {
                unit = Unit::Queries;
            }
            errors.extend(reader.errors.into_iter().map(|m| (Some(number), m)));
            not_given = reader.not_given;
            write_op(&mut ops, &name, &body, &reader.variables);
            used.extend(reader.variables.used);
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
    /// The steps between BEGIN and END; their positions are those of variables.
    Transaction(Vec<Step<String>>),
}

/// Reads one file.
struct ScriptReader<'a> {
    text: &'a str,
    variables: Variables<'a>,
    branches: Branches,
    /// The lines `\sleep`, with the variable of each.
    pauses: Vec<(Range<usize>, usize)>,
    /// Names of settings that are missing, each of which is one error in all files.
    not_given: Vec<String>,
    errors: Vec<UserError>,
}

impl ScriptReader<'_> {
    /// The statements of the file.
    fn read(&mut self) -> ScriptBody {
        let sql = self.read_commands();
        if let Some(place) = sql.find("${") {
            self.report(place..place + 2, "`${` cannot stand in a statement", "write `$ {`");
        }
        self.refuse_commands_in(&sql);
        let places = statements(&sql);
        let text = |place: &Range<usize>| sql.get(place.clone()).unwrap_or_default();
        let begins = places.first().is_some_and(|first| Control::parse(text(first)).is_some());
        let steps = if begins { self.between(&sql, &places) } else { Vec::new() };
        let inner = if begins {
            let statement = |(place, step): &(Range<usize>, Step<()>)| {
                matches!(step.action, Action::Statement(())).then(|| place.clone())
            };
            steps.iter().filter_map(statement).collect()
        } else {
            places.clone()
        };
        let uses = self.note_uses(&sql);
        self.check(&sql, &inner);
        let names = self.variables.unique_names();
        if begins {
            let answers = &self.variables.answers;
            let all = steps.into_iter().map(|(place, step)| Step {
                when: step.when,
                answer: answers
                    .iter()
                    .find(|of| of.statement == place.start)
                    .map(|of| Answer { columns: of.columns.clone(), any_rows: of.any_rows }),
                action: match step.action {
                    Action::Statement(()) => {
                        Action::Statement(renamed(&sql, &place, &uses, &names))
                    }
                    Action::Pause(variable) => Action::Pause(variable),
                    Action::RollBack => Action::RollBack,
                },
            });
            return ScriptBody::Transaction(all.collect());
        }
        self.refuse_steps(&places);
        if let [first, _, ..] = places.as_slice() {
            let hint = "wrap them in BEGIN; … END; to send them as one transaction, or give several \
                        files, each with -f";
            self.report(first.end..first.end + 1, "more than one statement", hint);
        }
        let start = sql.len() - sql.trim_start().len();
        let whole = sql.trim().trim_end_matches(';').trim_end();
        // Comments are kept, except after a semicolon.
        let cut = tokens(whole).any(|(_, token)| matches!(token, Token::Semicolon));
        let place = match places.first() {
            Some(first) if cut => first.clone(),
            _ => start..start + whole.len(),
        };
        ScriptBody::Statement(renamed(&sql, &place, &uses, &names))
    }

    /// Reads the lines that begin with a backslash. The result is the text with blanks in their place, so that positions
    /// are kept.
    fn read_commands(&mut self) -> String {
        let text = self.text;
        let mut sql = String::new();
        let mut lines = text.split_inclusive('\n').enumerate();
        let mut at = 0;
        while let Some((number, line)) = lines.next() {
            if !line.trim_start().starts_with('\\') {
                sql.push_str(line);
                self.answer_in_line(&mut sql, at, number + 1);
                at += line.len();
                continue;
            }
            let mut end = at + line.len();
            // A backslash at the end of the line continues it.
            while text.get(at..end).is_some_and(|line| line.trim_end().ends_with('\\'))
                && let Some((_, more)) = lines.next()
            {
                end += more.len();
            }
            let whole = text.get(at..end).unwrap_or_default();
            let command = whole.trim_start().trim_start_matches('\\').trim();
            let span = at..at + whole.trim_end().len();
            let ends = match answer_command(command) {
                Some(any_rows) => {
                    self.answer(&sql, any_rows, command, &span, number + 1);
                    true
                }
                None => self.command(command, span, number + 1),
            };
            let mut blank = whole.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
            if ends {
                blank.next();
                sql.push(';');
            }
            sql.extend(blank);
            at = end;
        }
        if let Some(open) = self.branches.unfinished() {
            self.report(open, "`\\if` without `\\endif`", "write \\endif after its last branch");
        }
        sql
    }

    /// Reads `\gset` or `\aset` behind a statement in the last line of the text, which begins at a byte position.
    fn answer_in_line(&mut self, sql: &mut String, line_at: usize, line: usize) {
        let is_command = |place: &Range<usize>| {
            place.start >= line_at
                && sql.get(place.start..).is_some_and(|rest| rest.starts_with('\\'))
        };
        let Some(place) = tokens(sql).map(|(place, _)| place).find(is_command) else {
            return;
        };
        let rest = sql.get(place.start..).unwrap_or_default();
        let command = rest.trim_start_matches('\\').trim().to_owned();
        let span = place.start..place.start + rest.trim_end().len();
        if let Some(any_rows) = answer_command(&command) {
            let blank = rest.bytes().skip(1).map(|byte| if byte == b'\n' { '\n' } else { ' ' });
            let blank: String = blank.collect();
            sql.truncate(place.start);
            self.answer(sql, any_rows, &command, &span, line);
            sql.push(';');
            sql.push_str(&blank);
        }
    }

    /// Notes which statement a `\gset` or `\aset` belongs to: the last one of this text.
    fn answer(
        &mut self,
        sql: &str,
        any_rows: bool,
        command: &str,
        span: &Range<usize>,
        line: usize,
    ) {
        let mut words = command.split_whitespace();
        let word = words.next().unwrap_or_default().to_owned();
        let prefix = words.next().unwrap_or_default().to_owned();
        let statement = statements(sql).pop();
        let text = statement.clone().and_then(|place| sql.get(place)).unwrap_or_default();
        let of_rows = !text.is_empty() && Control::parse(text).is_none();
        let is_taken = self
            .variables
            .answers
            .iter()
            .any(|of| Some(of.statement) == statement.as_ref().map(|s| s.start));
        let Some(statement) = statement.filter(|_| of_rows && !is_taken) else {
            let hint = "write it behind a statement that returns a row";
            self.report(span.clone(), format!("`\\{word}` follows no statement"), hint);
            return;
        };
        self.variables.answers.push(GivenAnswer {
            statement: statement.start,
            at: span.start,
            line,
            prefix,
            any_rows,
            branch: self.branches.condition(statement.start),
            words: returned(text),
            columns: Vec::new(),
        });
    }

    /// Reports commands at the end of a statement, such as `\;`.
    fn refuse_commands_in(&mut self, sql: &str) {
        for (place, _) in tokens(sql) {
            let rest = sql.get(place.start..).unwrap_or_default();
            if let Some(command) = rest.strip_prefix('\\') {
                let word = command.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let (message, hint) = refused(&word.to_ascii_lowercase());
                self.report(place.start..place.end + word.len(), message, hint);
            }
        }
    }

    /// Notes which variables statements use.
    fn note_uses(&mut self, sql: &str) -> Uses {
        let uses = tokens(sql).filter_map(|(place, token)| match token {
            Token::Parameter(name) => Some((place, name)),
            _ => None,
        });
        let (uses, early) = self.variables.note_uses(uses);
        for (place, message) in early {
            self.report(place, message, "move that line before the statement");
        }
        for (at, message) in self.variables.try_ops() {
            let line = self.text.get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            let hint = "an expression has a value in every op";
            self.report(at..at + line.trim_end().len(), message, hint);
        }
        uses
    }

    /// The steps between the first statement, BEGIN, and those that end the transaction; the ROLLBACK is the last step.
    fn between(&mut self, sql: &str, statements: &[Range<usize>]) -> Vec<(Range<usize>, Step<()>)> {
        let control =
            |place: &Range<usize>| Control::parse(sql.get(place.clone()).unwrap_or_default());
        let [begin, rest @ ..] = statements else {
            return Vec::new();
        };
        match control(begin) {
            Some(Control::Begin) if self.branches.condition(begin.start).is_none() => {}
            Some(Control::Begin) => {
                let hint = "write BEGIN; before the first \\if";
                self.report(begin.clone(), "the transaction begins in a branch", hint);
            }
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
        let mut steps = Vec::new();
        let (mut ends, mut order) = (Vec::new(), Vec::new());
        for place in rest {
            let when = self.branches.condition(place.start);
            let is_end = match control(place) {
                Some(end @ (Control::End | Control::RollBack)) => {
                    ends.push((place.clone(), end == Control::RollBack, when));
                    true
                }
                inner => {
                    if inner.is_some() && ends.is_empty() {
                        let hint = "one file is one transaction; give several files, each with -f";
                        let message = "this begins, ends or divides a transaction inside another";
                        self.report(place.clone(), message, hint);
                    }
                    steps.push((
                        place.clone(),
                        Step { when, action: Action::Statement(()), answer: None },
                    ));
                    false
                }
            };
            order.push((place.start, is_end));
        }
        for (place, variable) in std::mem::take(&mut self.pauses) {
            if place.start < begin.start {
                self.report(place, OUTSIDE.0, OUTSIDE.1);
                continue;
            }
            let when = self.branches.condition(place.start);
            order.push((place.start, false));
            steps.push((place, Step { when, action: Action::Pause(variable), answer: None }));
        }
        order.sort_unstable();
        steps.sort_by_key(|(place, _)| place.start);
        self.check_end(&order, sql, statements);
        if steps.len() > MAX_STATEMENTS {
            let hint = format!("at most {MAX_STATEMENTS}");
            let message = format!("a transaction of {} statements", steps.len());
            self.report(begin.clone(), message, &hint);
        }
        steps.extend(self.rollback(&ends));
        for (_, step) in &steps {
            step.when.into_iter().for_each(|variable| self.variables.send(variable));
            if let Action::Pause(variable) = step.action {
                self.variables.send(variable);
            }
        }
        steps
    }

    /// Reports a transaction that does not end, or ends before its last step.
    fn check_end(&mut self, steps: &[(usize, bool)], sql: &str, statements: &[Range<usize>]) {
        let place = |at: usize| {
            let statement = statements.iter().find(|place| place.start == at);
            statement.cloned().unwrap_or(at..at + 1)
        };
        let Err(error) = self.branches.ends_once(steps) else {
            return;
        };
        // A branch or a string that does not end is reported as such.
        let is_read = tokens(sql).last().is_some_and(|(last, _)| last.end == sql.len());
        if self.branches.unfinished().is_some() || !is_read {
            return;
        }
        match error {
            EndError::Missing => {
                let end = statements.last().cloned().unwrap_or(0..0);
                self.report(
                    end,
                    "the transaction does not end",
                    "write END; behind its last statement",
                );
            }
            EndError::NotInEveryBranch(at) => {
                let hint =
                    "every branch of an \\if with an \\else ends the transaction, or none does";
                self.report(place(at), "the transaction ends here, but not in every branch", hint);
            }
            EndError::After(at)
                if self.text.get(at..).is_some_and(|rest| rest.starts_with('\\')) =>
            {
                self.report(place(at), OUTSIDE.0, OUTSIDE.1);
            }
            EndError::After(at) => {
                let hint = "one file is one transaction; give several files, each with -f";
                self.report(place(at), "this follows the end of the transaction", hint);
            }
        }
    }

    /// The step that rolls back, if some of these ends do: place, whether it is a ROLLBACK, and its condition.
    fn rollback(
        &mut self,
        ends: &[(Range<usize>, bool, Option<usize>)],
    ) -> Option<(Range<usize>, Step<()>)> {
        let (place, ..) = ends.iter().find(|(_, rolls_back, _)| *rolls_back)?;
        let rolls_back = ends.iter().filter(|(_, rolls_back, _)| *rolls_back);
        let conditions: Option<Vec<usize>> = rolls_back.map(|(_, _, when)| *when).collect();
        let is_always = ends.iter().all(|(_, rolls_back, _)| *rolls_back);
        let when = match conditions {
            Some(conditions) if !is_always => self.variables.any(&conditions, "rollback"),
            _ => None,
        };
        Some((place.clone(), Step { when, action: Action::RollBack, answer: None }))
    }

    /// Reports steps that only a transaction can have.
    fn refuse_steps(&mut self, places: &[Range<usize>]) {
        for (place, _) in std::mem::take(&mut self.pauses) {
            self.report(place, OUTSIDE.0, OUTSIDE.1);
        }
        let answers = std::mem::take(&mut self.variables.answers);
        if let Some(first) = answers.first() {
            let hint = "write BEGIN; before the first statement and END; after the last one";
            let message = "an answer is used outside of a transaction";
            self.report(first.at..first.at + 5, message, hint);
        }
        if let [only] = places
            && self.branches.condition(only.start).is_some()
        {
            let hint = "write BEGIN; before the first \\if and END; after the last \\endif";
            self.report(only.clone(), "a statement in a branch, outside of a transaction", hint);
        }
    }

    /// Reports errors in statements. A value that is set but unused is not an error in a script, and does not become a
    /// parameter.
    fn check(&mut self, sql: &str, places: &[Range<usize>]) {
        let mut names = self.variables.names();
        names.sort_unstable();
        names.dedup();
        let texts: Vec<&str> = places.iter().filter_map(|place| sql.get(place.clone())).collect();
        let errors = Sql::parse_all(&texts, &names).err().unwrap_or_default();
        if texts.is_empty() {
            let message = if self.text.trim().is_empty() {
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

    /// Reads a command without its backslash; returns whether it ends the statement before it.
    fn command(&mut self, command: &str, span: Range<usize>, line: usize) -> bool {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let (rest, place) = (rest.trim(), (span.start, line));
        let word = word.to_ascii_lowercase();
        match word.as_str() {
            "set" => {
                self.set(rest, span, line);
                return false;
            }
            "sleep" => {
                if let Some((length, unit_us)) = pause(rest) {
                    let (variable, read) = self.variables.pause(length, unit_us, place);
                    self.report_set(read, span.clone());
                    self.pauses.push((span, variable));
                } else {
                    let hint = "\\sleep NUMBER or :NAME, then us, ms or s";
                    self.report(span, format!("no pause has the length `{rest}`"), hint);
                }
            }
            "if" => {
                let outer = self.branches.current();
                let (variable, read) = self.variables.branch(rest, place, outer, &[]);
                self.report_set(read, span.clone());
                self.branches.begin(variable, span);
            }
            "elif" | "else" => match self.branches.before() {
                Ok((outer, before)) => {
                    let is_else = word == "else";
                    let condition = if is_else { "true" } else { rest };
                    let (variable, read) = self.variables.branch(condition, place, outer, &before);
                    self.report_set(read, span.clone());
                    self.branches.next(variable, is_else, span.end);
                }
                Err((message, hint)) => self.report(span, message, hint),
            },
            "endif" => {
                if let Err((message, hint)) = self.branches.end(span.end) {
                    self.report(span, message, hint);
                }
            }
            _ => {
                let (message, hint) = refused(&word);
                self.report(span, message, hint);
                return false;
            }
        }
        true
    }

    /// Reads the rest of a line `\set`.
    fn set(&mut self, rest: &str, span: Range<usize>, line: usize) {
        let (name, expression) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let good = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            let hint = "\\set NAME EXPRESSION; a name is a letter, then letters, digits and _";
            self.report(span, format!("`{name}` cannot be set"), hint);
            return;
        }
        let (place, branch) = ((span.start, line), self.branches.current());
        let read = self.variables.set(name, expression.trim(), place, branch);
        self.report_set(read, span);
    }

    /// Reports an expression that cannot be computed.
    fn report_set(&mut self, read: Result<(), SetError>, span: Range<usize>) {
        let hint = "an expression as in pgbench's \\set, such as random(1, 100000 * :scale) or \
                    :other % 10 + 1";
        match read {
            Ok(()) => {}
            Err(SetError::Invalid(message)) => self.report(span, message, hint),
            Err(SetError::NotGiven(missing, _)) if self.not_given.contains(&missing) => {}
            Err(SetError::NotGiven(missing, message)) => {
                let hint = match missing.as_str() {
                    "client_id" => "an op belongs to no client: any session can send it. Draw a \
                                    number, such as random(0, 7), or give one with --set client_id=…"
                        .to_owned(),
                    _ => format!("give one with --set {missing}=…"),
                };
                self.report(span, message, &hint);
                self.not_given.push(missing);
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
        let error = UserError::in_text(self.text, &span, &message.into());
        self.errors.push(error.with_hint(hint));
    }
}

/// The words that may be names of the columns that a statement returns, in lower case: those of its select list or of
/// RETURNING, without what is in parentheses; of a column with AS only its name.
fn returned(statement: &str) -> Vec<String> {
    let (mut all, mut column) = (Vec::new(), Vec::new());
    let (mut depth, mut is_list) = (0_usize, true);
    for (place, _) in tokens(statement) {
        let word = statement.get(place).unwrap_or_default().to_ascii_lowercase();
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            "," => all.append(&mut column),
            "as" => column.clear(),
            "from" | "insert" | "update" | "delete" | "merge" => is_list = false,
            "select" | "returning" => (is_list, column) = (true, Vec::new()),
            _ if is_list && word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                column.push(word);
            }
            _ if is_list && word.starts_with('"') => column.push(word.trim_matches('"').to_owned()),
            _ => {}
        }
    }
    all.append(&mut column);
    all
}

/// Whether a command takes the columns of an answer, and from any number of rows.
fn answer_command(command: &str) -> Option<bool> {
    let word = command.split_whitespace().next().unwrap_or_default();
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    if is("gset") { Some(false) } else { is("aset").then_some(true) }
}

/// Why a pause is refused that is in no transaction.
const OUTSIDE: Refused = (
    "`\\sleep` outside of a transaction",
    "pause between ops with --think; between BEGIN; and END; a pause is part of the transaction",
);

/// The length of a pause and its unit in microseconds.
fn pause(text: &str) -> Option<(&str, u32)> {
    let mut words = text.split_whitespace();
    let length = words.next()?;
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit()) && text.len() < 10;
    let name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !length.strip_prefix(':').map_or_else(|| is_number(length), name) {
        return None;
    }
    let unit_us = match words.next().map(str::to_ascii_lowercase).as_deref() {
        Some("us") => 1,
        Some("ms") => 1_000,
        None | Some("s") => 1_000_000,
        Some(_) => return None,
    };
    words.next().is_none().then_some((length, unit_us))
}

/// Why a command is refused: message and hint.
fn refused(word: &str) -> (String, &'static str) {
    match word {
        "shell" | "setshell" => (
            format!("`\\{word}` runs a program on the load generator"),
            "an op is a function of seed and index: compute the value with \\set, or give it with --set",
        ),
        "" => (
            "`\\;` sends several statements as one request".to_owned(),
            "statements are prepared, and sent one by one: write `;`",
        ),
        "startpipeline" | "endpipeline" => (
            format!("`\\{word}` is not supported"),
            "statements, their order and their values are known before the op is sent; give variants \
             in files of their own, each with -f FILE@WEIGHT",
        ),
        _ => (
            format!("unknown command `\\{word}`"),
            "a file has lines `\\set NAME EXPRESSION` and one statement or transaction",
        ),
    }
}

/// A statement in which variables have the names of their parameters.
fn renamed(sql: &str, place: &Range<usize>, uses: &Uses, names: &[String]) -> String {
    let mut text = sql.get(place.clone()).unwrap_or_default().to_owned();
    let inside = uses.iter().filter(|(at, _)| place.start <= at.start && at.end <= place.end);
    for (at, variable) in inside.rev() {
        if let Some(name) = names.get(*variable) {
            text.replace_range(at.start - place.start..at.end - place.start, &format!(":{name}"));
        }
    }
    text
}

fn write_op(text: &mut String, name: &str, body: &ScriptBody, variables: &Variables<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[ops.{}]\nparameters = [", quoted(name));
    variables.write(text);
    let _ = match body {
        ScriptBody::Statement(sql) => writeln!(text, "]\nsql = {{ any = {} }}", quoted(sql)),
        ScriptBody::Transaction(all) => {
            let names = variables.unique_names();
            let all: Vec<String> = all.iter().map(|step| written(step, &names)).collect();
            let all = all.join(",\n");
            writeln!(text, "]\ntransaction = {{ any = [\n{all}\n] }}")
        }
    };
}

/// A step as an element of the list in a workload file.
fn written(step: &Step<String>, names: &[String]) -> String {
    let name = |position: usize| quoted(names.get(position).map_or("", String::as_str));
    let action = match (&step.action, step.when) {
        (Action::Statement(sql), None) if step.answer.is_none() => return quoted(sql),
        (Action::Statement(sql), _) => format!("sql = {}", quoted(sql)),
        (Action::Pause(variable), _) => format!("pause_us = {}", name(*variable)),
        (Action::RollBack, _) => "rollback = true".to_owned(),
    };
    let when = step.when.map(|when| format!(", when = {}", name(when))).unwrap_or_default();
    let answer = step.answer.as_ref().map(|answer| {
        let columns = answer.columns.iter();
        let columns = columns.map(|(of, column)| format!("{} = {}", name(*of), quoted(column)));
        let columns: Vec<String> = columns.collect();
        let rows = if answer.any_rows { ", rows = \"any\"" } else { "" };
        format!(", answer = {{ {} }}{rows}", columns.join(", "))
    });
    format!("{{ {action}{}{when} }}", answer.unwrap_or_default())
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
