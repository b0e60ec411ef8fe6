//! Figures of a file or of runs, for readers: tables over an axis, with their cost model, and plausibility
//! warnings.
//!
//! Pure text without colors; equal figures give equal bytes. Must not compute anything.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use highwater_model::display::{self, foreign, percent_signed};
use highwater_model::numbers::round_to_u64;
use highwater_sizing::OpRate;
use highwater_sizing::plausibility::{PlausibilityWarning, Weight};
use highwater_sizing::series::names;
use highwater_sizing::tables::{
    BatchCostModel, Best, CostModel, Estimate, FLAT_SHARE, Flattening, Row, SURPRISE, Table,
    VariedSetting,
};

use crate::blocks::{self, Block, Report, Section};
use crate::layout::{Remark, Row as Line, labeled, list, or_absent};
use highwater_model::json::pretty;

/// Tables and warnings as one JSON object, with notes for the reader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FiguresReport {
    /// `highwater-figures/2`.
    pub schema: &'static str,
    /// Empty for a check.
    pub tables: Vec<Table>,
    /// Warnings of the plausibility check.
    pub warnings: Vec<PlausibilityWarning>,
    /// Remarks on how the file was read.
    pub notes: Vec<String>,
}

/// Version of the shape of [`FiguresReport`].
pub const FIGURES_SCHEMA: &str = "highwater-figures/2";

/// A report as JSON, pretty-printed, with a newline at the end.
pub fn figures_json(report: &FiguresReport) -> String {
    pretty(report)
}

/// A table with its title, as a report.
pub(crate) fn report(table: &Table) -> Report {
    let heading = std::iter::once(Block::Heading(title(table)));
    let blocks = heading.chain(blocks_of(table, &title(table), remarks(table))).collect();
    let section = Section { id: "table", title: "Table", lead: String::new(), blocks };
    Report { sections: vec![section], ..Report::default() }
}

/// The blocks of a table of a tuning, without a best value: the best value is not that of one table.
pub(crate) fn blocks_of_tuning(table: &Table, name: &str) -> Vec<Block> {
    let flattens = table.best.iter().map(|best| flattens(best, table));
    blocks_of(table, name, flattens.chain(besides(table)).collect())
}

/// The rows of a table, those of its parts, and remarks.
fn blocks_of(table: &Table, name: &str, remarks: Vec<Remark>) -> Vec<Block> {
    let (rows, words) = table_rows(table);
    let mut all = vec![Block::table(name, rows, words)];
    let parts = part_rows(table);
    if !parts.is_empty() {
        let caption = Some(Remark::new("each part", by_op_caption(&said(&table.unit))));
        let parts = blocks::Table::new("Each part", parts, words);
        all.push(Block::Table(blocks::Table { caption, ..parts }));
    }
    all.push(Block::Remarks(remarks));
    all
}

/// The best value, where the curve flattens, the cost model, and other changes.
fn remarks(table: &Table) -> Vec<Remark> {
    table
        .best
        .iter()
        .flat_map(|best| [best_line(best, table), flattens(best, table)])
        .chain(besides(table))
        .collect()
}

/// The cost model, and other changes.
fn besides(table: &Table) -> Vec<Remark> {
    table
        .cost_model
        .iter()
        .flat_map(|fit| cost_model(fit, table))
        .chain(varied(&table.also_varied))
        .collect()
}

fn title(table: &Table) -> String {
    let mut title = said(&table.series);
    for (name, value) in &table.part {
        title += &format!(" · {} {}", said(name), said(value));
    }
    if !table.source.is_empty() {
        title += &format!(" · {}", said(&table.source));
    }
    title
}

fn best_line(best: &Best, table: &Table) -> Remark {
    let [axis, value, unit] = [&table.axis.header, &best.value, &table.unit].map(|text| said(text));
    let mut sentence = format!("{axis} {value}: {} {unit}", display::rate(best.throughput));
    if !best.not_distinguished.is_empty() {
        sentence += &format!(
            "; within 3% of it, which one measurement cannot distinguish: {}",
            said(&best.not_distinguished.join(", "))
        );
    }
    Remark::new("best", sentence)
}

fn flattens(best: &Best, table: &Table) -> Remark {
    let axis = said(&table.axis.header);
    let percent = display::plain(FLAT_SHARE * 100.0);
    let sentence = match &best.flattens {
        Flattening::At(value) => {
            format!("at {axis} {}, the first that reaches {percent}% of the best", said(value))
        }
        Flattening::NotReached => format!(
            "not among these: only the last reaches {percent}% of the best, so the end was not \
             measured"
        ),
    };
    Remark::new("flattens", sentence)
}

fn varied(varied: &[VariedSetting]) -> Vec<Remark> {
    let Some((first, others)) = varied.split_first() else {
        return Vec::new();
    };
    let line = |varied: &VariedSetting| {
        let values = said(&varied.values.join(", "));
        format!("{} {values}", said(&varied.header))
    };
    let mut lines = vec![Remark::new("also changed", line(first))];
    lines.extend(others.iter().map(|varied| Remark::new("", line(varied))));
    lines.push(Remark::new("", "what the table shows is their effect, too"));
    lines
}

/// Maximum characters of text from a file in a line.
const LONGEST: usize = 100;

/// Text of a file, to be used in a sentence.
fn said(text: &str) -> String {
    foreign(text, LONGEST)
}

/// A column after the value and the throughput: its head, and its cell if there is one.
type Column = (&'static str, fn(&Row) -> Option<String>);

/// The head and the rows, and how many columns hold words.
fn table_rows(table: &Table) -> (Vec<Line>, usize) {
    let mut columns = Vec::from(columns(table));
    columns.retain(|(_, cell)| table.rows.iter().any(|row| cell(row).is_some()));
    let mean = if table.rows.iter().any(|row| row.repeats > 1) { "mean " } else { "" };
    let mut head = vec![said(&table.axis.header), mean.to_owned() + &said(&table.unit)];
    head.extend(columns.iter().map(|(head, _)| (*head).to_owned()));
    let mut lines = vec![Line::new(head)];
    for row in &table.rows {
        let mut cells = vec![said(&row.value), display::rate(row.throughput)];
        let others = columns.iter().map(|(_, cell)| cell(row));
        cells.extend(others.map(|cell| or_absent(cell, |cell| cell)));
        lines.push(Line::new(cells));
    }
    (lines, words(table))
}

/// Number of left-aligned columns, which hold words.
fn words(table: &Table) -> usize {
    usize::from(table.rows.iter().any(|row| row.number.is_none()))
}

/// The head and the rows of the parts; empty if the table has none.
fn part_rows(table: &Table) -> Vec<Line> {
    let rates: Vec<_> = table.rows.iter().map(|row| row.parts.clone()).collect();
    let values = table.rows.iter().map(|row| said(&row.value));
    by_op_rows(&said(&table.axis.header), values, &rates)
}

fn columns(table: &Table) -> [Column; 10] {
    let per_piece = if table.axis.name == names::NODES { "per node" } else { "each" };
    let amount = if table.axis.name == names::BATCH_ROWS { "time of one" } else { "time" };
    [
        ("gain", |row| row.gain.map(display::rate_signed)),
        ("change", |row| row.change.map(percent_signed)),
        ("efficiency", |row| row.efficiency.map(|share| format!("{:.1}%", share * 100.0))),
        (per_piece, |row| row.per_piece.map(display::rate)),
        ("per node", |row| row.per_node.map(display::rate)),
        ("0.8 rule", |row| row.rule_of_thumb.map(display::rate)),
        ("off", |row| row.rule_of_thumb.map(|rule| percent_signed(rule / row.throughput - 1.0))),
        (amount, |row| row.amount_s.map(seconds)),
        ("repeats", |row| (row.repeats > 1).then(|| row.repeats.to_string())),
        ("lowest to highest", |row| {
            let of = row.repeats_between.map(|ends| ends.map(display::rate));
            of.map(|[low, high]| format!("{low} to {high}"))
        }),
    ]
}

/// A duration in seconds, for display.
fn seconds(seconds: f64) -> String {
    display::duration(round_to_u64(seconds * 1e9))
}

/// The cost model of a batch: fixed and per-row time, their intervals, and where it fails.
fn cost_model(batches: &CostModel, table: &Table) -> Vec<Remark> {
    let line = batches.line.iter();
    let line = line.flat_map(|line| fit(line, batches, table));
    let changes = batches.changes.iter().map(|change| {
        let (axis, at, unit) = (&table.axis.header, &change.value, &table.unit);
        let [axis, at, unit] = [axis, at, unit].map(|text| said(text));
        let [made, expected] = [change.throughput, change.expected].map(display::rate);
        let [off, least] = [change.deviations.abs(), SURPRISE].map(display::plain);
        Remark::new(
            "regime",
            format!(
                "changes at {axis} {at}: {made} {unit}, where the rows before it make {expected} ({off} standard \
                 deviations; {least} is a change)"
            ),
        )
    });
    line.chain(changes).collect()
}

fn fit(line: &BatchCostModel, batches: &CostModel, table: &Table) -> Vec<Remark> {
    let what = if batches.of_batches { "batch" } else { "load" };
    let sessions = match (batches.of_batches, line.sessions_stated) {
        (false, _) => String::new(),
        (true, true) => format!(", {} sessions", display::plain(line.sessions)),
        (true, false) => ", sessions not stated and taken as one".to_owned(),
    };
    let [fixed, per_row] = [&line.fixed_s, &line.per_row_s].map(estimate);
    let time = format!("time of a {what} = {fixed} + {per_row} per row{sessions}");
    let unit = said(&table.unit);
    let [most, half] = [line.asymptote, line.half_size].map(|of| of.map(display::rate));
    let tends = match (most, half) {
        (Some(most), Some(half)) => {
            format!("tends to {most} {unit}, half of it at {half} rows")
        }
        (Some(most), None) => {
            format!("tends to {most} {unit}; its fixed cost cannot be identified")
        }
        (None, _) => "one more row costs nothing: the model does not hold here".to_owned(),
    };
    let fitted = format!(
        "{} values, least squares of relative errors, 95% confidence by Student's t; at worst {} off",
        batches.fitted,
        display::percent(line.worst),
    );
    [("cost model", time), ("", tends), ("", fitted)]
        .map(|(label, sentence)| Remark::new(label, sentence))
        .into()
}

/// `84.7 ms (95% CI 82.8 ms to 86.5 ms)`.
fn estimate(estimate: &Estimate) -> String {
    let signed = |value: f64| {
        let text = seconds(value.abs());
        if value < 0.0 { format!("-{text}") } else { text }
    };
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(signed);
    format!("{value} (95% CI {low} to {high})")
}

/// Maximum number of places of a warning that are listed; further ones are counted.
const PLACES_NAMED: usize = 4;
/// Maximum characters of a message, which quotes the file.
const LONGEST_MESSAGE: usize = 400;

/// Each warning with its figures, its places, and what to check; one line if there is none.
pub fn warnings_text(warnings: &[PlausibilityWarning]) -> String {
    if warnings.is_empty() {
        return labeled("plausible", "nothing speaks against these figures") + "\n";
    }
    let mut lines = vec![labeled("not plausible", &count(warnings))];
    for warning in warnings {
        lines.push(String::new());
        let weight = match warning.weight {
            Weight::Contradiction => "contradiction",
            Weight::Doubt => "doubt",
        };
        let code = warning.rule.code();
        lines.push(format!("{code} · {weight} · {}", places(&warning.places)));
        lines.push(format!("  {}", foreign(&warning.message, LONGEST_MESSAGE)));
        lines.push(format!("  check: {}", warning.check));
    }
    lines.join("\n") + "\n"
}

fn count(warnings: &[PlausibilityWarning]) -> String {
    let of = |weight: Weight| warnings.iter().filter(|o| o.weight == weight).count();
    let number = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    format!(
        "{}, {}",
        number(of(Weight::Contradiction), "contradiction"),
        number(of(Weight::Doubt), "doubt")
    )
}

/// `line 7, 8 and 3 more`.
fn places(places: &[String]) -> String {
    let named = places.iter().take(PLACES_NAMED);
    let named = list(named.map(|place| said(place)), ", ");
    match places.len().saturating_sub(PLACES_NAMED) {
        0 => named,
        rest => format!("{named} and {rest} more"),
    }
}

/// Maximum characters of an op's name.
const OP_NAME: usize = 40;

/// Throughput of each op: the head, and a row for each size with the size's name first; empty if no op is named.
pub(crate) fn by_op_rows(
    axis: &str,
    sizes: impl IntoIterator<Item = String>,
    rates: &[BTreeMap<String, OpRate>],
) -> Vec<Line> {
    let names: BTreeSet<&String> = rates.iter().flat_map(BTreeMap::keys).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut head = vec![axis.to_owned()];
    for name in &names {
        let name = foreign(name, OP_NAME);
        head.extend([name.clone(), format!("{name} gain")]);
    }
    let rows = sizes.into_iter().zip(rates).map(|(size, rates)| {
        let mut cells = vec![size];
        for name in &names {
            let of = rates.get(*name);
            let gain = of.and_then(|of| of.gain);
            cells.extend([
                or_absent(of, |of| display::rate(of.per_s)),
                or_absent(gain, percent_signed),
            ]);
        }
        Line::new(cells)
    });
    std::iter::once(Line::new(head)).chain(rows).collect()
}

/// Caption of the rows.
pub(crate) fn by_op_caption(unit: &str) -> String {
    format!("{unit}, and the gain over the first row")
}
