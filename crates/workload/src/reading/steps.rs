//! The steps of a transaction in a file: statements as texts, and tables with a statement, a pause or the ROLLBACK, and
//! the condition for it.

use highwater_model::op::ColumnType;

use super::op::report;
use crate::definition::QueryParameter;
use crate::generators::parameters::ParameterGenerator;
use crate::input::{Entry, Section};
use crate::sql::{Control, MAX_STATEMENTS, Sql, SqlInputError};
use crate::steps::{Action, Answer, Step, known_after};

/// The keys of a step, for hints.
const KEYS: &str = "a step is a text, or a table with `sql` and perhaps `answer`, `pause_us` or \
                    `rollback`, and perhaps `when`";

/// The steps of a transaction in one dialect; `None` if any has an error. `names` are those by which statements use the
/// parameters.
pub(super) fn read_steps(
    entry: Entry<'_>,
    place: &str,
    parameters: &[QueryParameter],
    names: &[String],
) -> Option<Vec<Step>> {
    let elements = entry.list()?;
    if elements.is_empty() || elements.len() > MAX_STATEMENTS {
        let message = format!("{place} has {} statements", elements.len());
        return entry.error(message, format!("it has 1 to {MAX_STATEMENTS}"));
    }
    let tables: Vec<Option<Section<'_>>> = elements
        .iter()
        .map(|element| element.is_table().then(|| element.section(format!("a step of {place}")))?)
        .collect();
    let mut steps = Vec::new();
    let mut texts = Vec::new();
    let mut good = true;
    for (element, table) in elements.iter().zip(&tables) {
        let step = match table {
            None => Some(Step { when: None, action: Action::Statement(*element), answer: None }),
            Some(table) => read_step(table, parameters),
        };
        let Some(step) = step else {
            good = false;
            continue;
        };
        if let Some(Step { action: Action::RollBack, .. }) = steps.last() {
            element.error::<()>(
                format!("{place} has a step after its ROLLBACK"),
                "the ROLLBACK is the last step, perhaps with `when`: else the transaction commits",
            );
            good = false;
        }
        if let Action::Statement(sql) = step.action {
            texts.push((sql, sql.text()?));
        }
        steps.push(step);
    }
    for (element, text) in &texts {
        if let Some(control) = Control::parse(text) {
            let message = format!("{place} begins or ends a transaction itself");
            let hint = match control {
                Control::RollBack => "write { rollback = true } as the last step",
                _ => "leave it out: the list is what stands between BEGIN and COMMIT",
            };
            element.error::<()>(message, hint);
        }
    }
    if !good {
        return None;
    }
    let sql = read_texts(entry, place, &texts, &steps, parameters, names)?;
    let mut sql = sql.into_iter();
    let of_step = |Step { when, action, answer }| {
        let action = match action {
            Action::Statement(_) => Action::Statement(sql.next()?),
            Action::Pause(value) => Action::Pause(value),
            Action::RollBack => Action::RollBack,
        };
        Some(Step { when, action, answer })
    };
    let steps: Vec<Step> = steps.into_iter().map(of_step).collect::<Option<_>>()?;
    check_answers(&steps, parameters, &elements, place)?;
    Some(steps)
}

/// A step that is a table.
fn read_step<'s>(of: &'s Section<'_>, parameters: &[QueryParameter]) -> Option<Step<Entry<'s>>> {
    let integers = &[ColumnType::Integer, ColumnType::Bigint];
    let when = of.optional("when");
    let (sql, pause, rollback) =
        (of.optional("sql"), of.optional("pause_us"), of.optional("rollback"));
    let when = match when {
        Some(entry) => Some(single(entry, parameters, &[ColumnType::Boolean])?),
        None => None,
    };
    let action = match (sql, pause, rollback) {
        (Some(entry), None, None) => Action::Statement(entry),
        (None, Some(entry), None) => Action::Pause(single(entry, parameters, integers)?),
        (None, None, Some(entry)) if entry.is_true() => Action::RollBack,
        _ => return of.error(format!("{} does nothing, or more than one thing", of.place), KEYS),
    };
    let answer = match of.section("answer") {
        Some(part) => Some(read_answer(of, &part, parameters)?),
        None => None,
    };
    if answer.is_some() && !matches!(action, Action::Statement(_)) {
        return of.error(format!("{} has an answer but no statement", of.place), KEYS);
    }
    of.finish();
    of.good(Step { when, action, answer })
}

/// The columns of an answer, each with the parameter that it becomes.
fn read_answer(
    of: &Section<'_>,
    part: &Section<'_>,
    parameters: &[QueryParameter],
) -> Option<Answer> {
    let mut columns = Vec::new();
    for entry in part.entries() {
        let position = entry.key_position("parameter", parameters)?;
        let is_answer = |of: &QueryParameter| matches!(of.generator, ParameterGenerator::Answer(_));
        if !parameters.get(position).is_some_and(is_answer) {
            let message = format!("parameter `{}` is not one of an answer", entry.key);
            return entry.error(message, "give it generator = \"answer\"");
        }
        columns.push((position, entry.text()?));
    }
    let rows = [("one", false), ("any", true)];
    let any_rows = match of.optional("rows") {
        Some(entry) => entry.word("number of rows", &rows)?,
        None => false,
    };
    Some(Answer { columns, any_rows })
}

/// Each value from an answer comes from one step, and is used in later ones.
fn check_answers(
    steps: &[Step],
    parameters: &[QueryParameter],
    elements: &[Entry<'_>],
    place: &str,
) -> Option<()> {
    let after = known_after(steps, parameters);
    let given = steps.iter().flat_map(|step| step.answer.iter().flat_map(|of| &of.columns));
    for (position, parameter) in parameters.iter().enumerate() {
        let is_answer = matches!(parameter.generator, ParameterGenerator::Answer(_));
        let times = given.clone().filter(|(of, _)| *of == position).count();
        if is_answer && times != 1 {
            let message =
                format!("`:{}` is in the answers of {times} steps of {place}", parameter.name);
            return elements.first()?.error(message, "name it in `answer` of one step");
        }
    }
    for (number, step) in steps.iter().enumerate() {
        let known = |position: usize| after.get(position).copied().flatten();
        let is_early = |position: usize| known(position).is_some_and(|after| after >= number);
        let uses = |position: &usize| {
            step.when == Some(*position)
                || step.action == Action::Pause(*position)
                || step.statement().is_some_and(|sql| sql.uses(*position))
        };
        let early = (0..parameters.len()).filter(uses).find(|position| is_early(*position));
        if let Some(parameter) = early.and_then(|position| parameters.get(position)) {
            let message = format!("`:{}` is not known before this step of {place}", parameter.name);
            return elements.get(number)?.error(message, "use it after the step with its answer");
        }
    }
    Some(())
}

/// The position of a parameter with one value of one of these types.
fn single(entry: Entry<'_>, parameters: &[QueryParameter], kinds: &[ColumnType]) -> Option<usize> {
    let position = entry.position("parameter", parameters)?;
    let parameter = parameters.get(position)?;
    if parameter.count != 1 || !kinds.contains(&parameter.kind) {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{}`", kind.name())).collect();
        let kinds = kinds.join(" or ");
        let message =
            format!("`{}` names `{}`, which is not one {kinds}", entry.key, parameter.name);
        return entry.error(message, "give the parameter that type, and `count` 1");
    }
    Some(position)
}

fn read_texts(
    entry: Entry<'_>,
    place: &str,
    texts: &[(Entry<'_>, String)],
    steps: &[Step<Entry<'_>>],
    parameters: &[QueryParameter],
    names: &[String],
) -> Option<Vec<Sql>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let used_by_steps = |name: &str| {
        let position = parameters.iter().position(|parameter| parameter.name == name);
        position.is_some_and(|position| {
            steps.iter().any(|step| {
                let given = step.answer.iter().flat_map(|answer| &answer.columns);
                step.when == Some(position)
                    || given.into_iter().any(|(of, _)| *of == position)
                    || matches!(step.action, Action::Pause(value) if value == position)
            })
        })
    };
    let (all, errors) = Sql::cut_all(&all, &names);
    let mut good = true;
    for (number, error) in errors {
        let of_all = match &error {
            SqlInputError::UnusedParameter(name) if used_by_steps(name) => continue,
            SqlInputError::UnusedParameter(_) => true,
            _ => false,
        };
        let at = texts.get(number).filter(|_| !of_all).map_or(entry, |(element, _)| *element);
        let several = "each statement is a text of its own in the list";
        report(at, place, &names, error, several);
        good = false;
    }
    good.then_some(all)
}
