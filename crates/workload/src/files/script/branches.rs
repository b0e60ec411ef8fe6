//! The branches of a script: which lines `\if`, `\elif`, `\else` and `\endif` belong together, which condition holds
//! where, and whether the transaction ends exactly once in every branch. Must not read expressions.

use std::ops::Range;

/// The branches of one `\if` so far.
struct Open {
    /// Number of this `\if` in the file, and of its current branch.
    place: (usize, usize),
    /// The variables of its conditions.
    before: Vec<usize>,
    /// The variable of the current branch.
    current: usize,
    is_else: bool,
    /// Of its first line.
    span: Range<usize>,
}

/// A branch: the number of its `\if`, and its own among the branches of that.
type Path = Vec<(usize, usize)>;

/// The branches up to a place in the file.
#[derive(Default)]
pub(super) struct Branches {
    open: Vec<Open>,
    /// For each `\if`, its number of branches, and whether they cover every case.
    all: Vec<(usize, bool)>,
    /// From each byte position on: the branch, and the variable of its condition.
    marks: Vec<(usize, Path, Option<usize>)>,
}

/// Why a line about branches is refused.
pub(super) type Refused = (&'static str, &'static str);

const NO_IF: Refused = ("there is no `\\if` before this", "a branch begins with \\if CONDITION");
const AFTER_ELSE: Refused = ("this follows `\\else`", "`\\else` is the last branch");

impl Branches {
    /// The variable of the current branch's condition.
    pub(super) fn current(&self) -> Option<usize> {
        self.open.last().map(|open| open.current)
    }

    /// The condition around the current `\if`, and those of its earlier branches; both are needed for its next one.
    pub(super) fn before(&self) -> Result<(Option<usize>, Vec<usize>), Refused> {
        let (last, outer) = self.open.split_last().ok_or(NO_IF)?;
        if last.is_else {
            return Err(AFTER_ELSE);
        }
        Ok((outer.last().map(|open| open.current), last.before.clone()))
    }

    /// An `\if` with the variable of its condition.
    pub(super) fn begin(&mut self, condition: usize, span: Range<usize>) {
        let at = span.end;
        let place = (self.all.len(), 0);
        self.all.push((1, false));
        let before = vec![condition];
        self.open.push(Open { place, before, current: condition, is_else: false, span });
        self.mark(at);
    }

    /// The next branch of the current `\if`.
    pub(super) fn next(&mut self, condition: usize, is_else: bool, at: usize) {
        if let Some(open) = self.open.last_mut() {
            open.place.1 += 1;
            self.all[open.place.0] = (open.place.1 + 1, is_else);
            open.before.push(condition);
            open.current = condition;
            open.is_else = is_else;
        }
        self.mark(at);
    }

    /// An `\endif`.
    pub(super) fn end(&mut self, at: usize) -> Result<(), Refused> {
        self.open.pop().ok_or(NO_IF)?;
        self.mark(at);
        Ok(())
    }

    fn mark(&mut self, at: usize) {
        let path = self.open.iter().map(|open| open.place).collect();
        self.marks.push((at, path, self.current()));
    }

    /// The line of an `\if` without `\endif`.
    pub(super) fn unfinished(&self) -> Option<Range<usize>> {
        self.open.last().map(|open| open.span.clone())
    }

    fn at(&self, at: usize) -> Option<&(usize, Path, Option<usize>)> {
        self.marks.iter().rev().find(|(from, ..)| *from <= at)
    }

    /// The variable of the condition at a byte position.
    pub(super) fn condition(&self, at: usize) -> Option<usize> {
        self.at(at)?.2
    }

    fn path(&self, at: usize) -> &[(usize, usize)] {
        self.at(at).map_or(&[], |(_, path, _)| path)
    }

    /// Whether steps at these byte positions, each with whether it ends the transaction, end it exactly once whatever
    /// the conditions are.
    pub(super) fn ends_once(&self, steps: &[(usize, bool)]) -> Result<(), EndError> {
        match self.ends(steps, 0)? {
            Ends::Always => Ok(()),
            Ends::Sometimes(at) => Err(EndError::NotInEveryBranch(at)),
            Ends::Never => Err(EndError::Missing),
        }
    }

    /// The same for the steps of one branch, which is `depth` deep.
    fn ends(&self, steps: &[(usize, bool)], depth: usize) -> Result<Ends, EndError> {
        let mut ends = Ends::Never;
        let mut rest = steps;
        while let Some((at, is_end)) = rest.first().copied() {
            match ends {
                Ends::Never => {}
                Ends::Always => return Err(EndError::After(at)),
                Ends::Sometimes(earlier) => return Err(EndError::NotInEveryBranch(earlier)),
            }
            let Some((number, _)) = self.path(at).get(depth).copied() else {
                rest = rest.get(1..).unwrap_or_default();
                if is_end {
                    ends = Ends::Always;
                }
                continue;
            };
            let within = |(at, _): &(usize, bool), branch: Option<usize>| {
                let place = self.path(*at).get(depth).copied();
                place.is_some_and(|(of, own)| of == number && branch.is_none_or(|n| n == own))
            };
            let count = rest.iter().take_while(|step| within(step, None)).count();
            let (inside, after) = rest.split_at(count);
            rest = after;
            let (branches, mut always) = self.all.get(number).copied().unwrap_or_default();
            for branch in 0..branches {
                let own: Vec<_> =
                    inside.iter().copied().filter(|step| within(step, Some(branch))).collect();
                let own_ends = self.ends(&own, depth + 1)?;
                always &= matches!(own_ends, Ends::Always);
                match own_ends {
                    Ends::Never => {}
                    Ends::Always => ends = Ends::Sometimes(own.last().map_or(at, |(at, _)| *at)),
                    Ends::Sometimes(at) => ends = Ends::Sometimes(at),
                }
            }
            if always {
                ends = Ends::Always;
            }
        }
        Ok(ends)
    }
}

/// Whether steps end the transaction; with the position of an end that is not reached in every branch.
enum Ends {
    Never,
    Sometimes(usize),
    Always,
}

/// Why a transaction does not end once; with the byte position of a step.
pub(super) enum EndError {
    /// It has no end.
    Missing,
    /// The end is not reached in every branch, or steps that follow it may come after an end.
    NotInEveryBranch(usize),
    /// This follows the end.
    After(usize),
}
