//! The mix of queries recorded by a target, as ops weighted by the number of calls. Other statements become comments
//! with a reason. Must not convert a statement to an op.

use std::collections::BTreeMap;
// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_model::display::{count, foreign};
use highwater_model::table_shape::{RecordedStatements, TableShape};

use super::column;
use super::statement::{self, OpText, Rejection};
use super::{quoted, text};

/// Maximum number of ops in a mix: the most frequent ones.
const OPS_MAX: usize = 20;
/// Maximum number of statements without an op that are listed individually.
const LISTED_MAX: usize = 30;
/// Characters of a statement in a comment.
const SHOWN_MAX: usize = 300;
/// Why a statement other than a query is left out.
const NO_QUERY: &str = "no query";
/// Maximum weight in a stream.
const WEIGHT_MAX: u64 = 1_000_000;

/// The queries on the table recorded by a target.
pub(super) struct Mix {
    /// Most frequent first.
    ops: Vec<MixOp>,
    /// By reason and text.
    left_out: Vec<LeftOut>,
    /// Calls covered by the ops, and all calls on the table.
    calls: (u64, u64),
}

struct MixOp {
    text: OpText,
    calls: u64,
}

struct LeftOut {
    reason: String,
    shown: String,
    /// Number of distinct texts.
    texts: u64,
    calls: u64,
}

/// The mix of a table whose sketch is named `like`.
pub(super) fn mix(table: &TableShape, like: &str) -> Mix {
    let mut ops: BTreeMap<String, MixOp> = BTreeMap::new();
    let mut left: BTreeMap<(String, String), LeftOut> = BTreeMap::new();
    let mut all = 0;
    for recorded in &table.recorded.texts {
        let (key, reason) = match statement::read(recorded, table, like) {
            Ok(text) => {
                let op = ops.entry(text.sql.clone()).or_insert(MixOp { text, calls: 0 });
                op.calls += recorded.calls;
                all += recorded.calls;
                continue;
            }
            Err(Rejection::Elsewhere) => continue,
            Err(Rejection::NoQuery(word)) => (word, NO_QUERY.to_owned()),
            Err(Rejection::Because(reason, alike)) => {
                (alike.unwrap_or_else(|| shown(&recorded.sql)), reason)
            }
        };
        all += recorded.calls;
        let found = left.entry((reason.clone(), key)).or_insert(LeftOut {
            reason,
            shown: shown(&recorded.sql),
            texts: 0,
            calls: 0,
        });
        found.texts += 1;
        found.calls += recorded.calls;
    }
    let mut ops: Vec<MixOp> = ops.into_values().collect();
    ops.sort_by_key(|op| std::cmp::Reverse(op.calls));
    let mut left_out: Vec<LeftOut> = left.into_values().collect();
    for op in ops.drain(OPS_MAX.min(ops.len())..) {
        left_out.push(LeftOut {
            reason: format!("it is not among the {OPS_MAX} most frequent"),
            shown: shown(&op.text.sql),
            texts: 1,
            calls: op.calls,
        });
    }
    left_out.sort_by_key(|left| std::cmp::Reverse(left.calls));
    let kept = ops.iter().map(|op| op.calls).sum();
    Mix { ops, left_out, calls: (kept, all) }
}

/// A statement as a single comment line.
fn shown(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    foreign(&words.join(" "), SHOWN_MAX)
}

impl Mix {
    /// Names and weights for the stream; `None` without ops.
    pub(super) fn weights(&self) -> Option<String> {
        let most = self.ops.first()?.calls;
        let weights = self.ops.iter().enumerate().map(|(number, op)| {
            // In proportion to the greatest one, if that exceeds the maximum weight.
            let weight = scaled(op.calls, most);
            format!("recorded-{} = {}", number + 1, weight.max(1))
        });
        Some(weights.collect::<Vec<_>>().join(", "))
    }

    /// The ops, and comments on the rest.
    pub(super) fn write(&self, out: &mut String, table: &TableShape) {
        self.write_head(out, &table.recorded);
        for (number, op) in self.ops.iter().enumerate() {
            let calls = count(op.calls);
            let _ = writeln!(out, "\n[ops.recorded-{}]", number + 1);
            let summary = shown(&format!("{calls} calls: {}", op.text.sql));
            let _ = writeln!(out, "summary = {}", text(&summary));
            for remark in &op.text.remarks {
                let _ = writeln!(out, "# {remark}");
            }
            let sql = text(&op.text.sql);
            let _ = writeln!(out, "sql = {{ {} = {sql} }}", table.dialect);
            if op.text.parameters.is_empty() {
                continue;
            }
            let lines = op.text.parameters.iter().map(|parameter| {
                let kind = quoted(parameter.kind.name());
                let mut options = vec![("name", quoted(&parameter.name)), ("type", kind)];
                options.extend(parameter.options.iter().cloned());
                format!("    {},\n", column::inline(&options))
            });
            let _ = writeln!(out, "parameters = [\n{}]", lines.collect::<String>());
        }
    }

    fn write_head(&self, out: &mut String, recorded: &RecordedStatements) {
        if let Some(remark) = &recorded.remark {
            let _ = writeln!(out, "\n# {remark}.");
        }
        let Some(source) = &recorded.source else {
            return;
        };
        let (kept, all) = (count(self.calls.0), count(self.calls.1));
        let _ = writeln!(
            out,
            "\n# Queries on this table that {source} recorded: the ops `recorded-…` stand for\n\
             # {kept} of {all} calls, which are their weights. Values compared with a column are\n\
             # sampled from existing rows; how often each value was queried is unknown."
        );
        let read = u64::try_from(recorded.texts.len()).unwrap_or(u64::MAX);
        if recorded.different > read {
            let (read, there) = (count(read), count(recorded.different));
            let _ =
                writeln!(out, "# Only the {read} most frequent of {there} statements were read.");
        }
        if self.left_out.is_empty() {
            return;
        }
        let _ = writeln!(out, "# Left out, with the reason:");
        for left in self.left_out.iter().take(LISTED_MAX) {
            let others = match left.texts {
                1 => String::new(),
                more if left.reason == NO_QUERY => {
                    format!(" and {} that begin so", count(more - 1))
                }
                more => format!(" and {} with other values", count(more - 1)),
            };
            let calls = count(left.calls);
            let _ = writeln!(out, "# {calls} × {}{others} · {}", left.shown, left.reason);
        }
        let rest = self.left_out.iter().skip(LISTED_MAX);
        let (others, calls) = rest.fold((0_u64, 0), |(n, sum), left| (n + 1, sum + left.calls));
        if others > 0 {
            let _ = writeln!(out, "# and {} others with {} calls", count(others), count(calls));
        }
    }
}

/// The calls scaled such that the most calls get the maximum weight, if they exceed it.
fn scaled(calls: u64, most: u64) -> u64 {
    let weight = u128::from(calls) * u128::from(most.min(WEIGHT_MAX)) / u128::from(most.max(1));
    u64::try_from(weight).unwrap_or(WEIGHT_MAX)
}
