//! A comparison for people: text, Markdown and a page. Nothing is computed here but what a reader
//! is shown of several runs: their geometric mean.

mod markdown;
mod page;
#[cfg(test)]
mod tests;

use crate::analysis::comparison::{Compared, Comparison, Kind, POWER, Verdict};
use crate::model::display::{bytes, count, duration, foreign, percent, plain, rate, whole};
use crate::model::record::RunRecord;

use super::text::table::{Row, aligned, labelled};

pub use markdown::compare_markdown;
pub use page::compare_html;

/// Characters of a name or a setting.
const WORDS: usize = 120;
/// Differences that are listed.
const DIFFERENCES_MAX: usize = 40;

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, a variant.
    pub name: String,
    /// Its runs; never empty.
    pub runs: Vec<&'a RunRecord>,
}

/// What is compared with what.
#[derive(Debug)]
pub struct CompareReport<'a> {
    /// What the others are compared with.
    pub baseline: Group<'a>,
    /// The others, each with its comparison.
    pub others: Vec<(Group<'a>, Comparison)>,
}

/// The comparison as text, without colours.
pub fn compare_text(report: &CompareReport<'_>) -> String {
    let blocks = report.others.iter().map(|(group, comparison)| {
        let mut lines = vec![
            labelled("A", &named(&report.baseline)),
            labelled("B", &named(group)),
            String::new(),
        ];
        lines.extend(aligned(&rows(comparison), 2));
        lines.push(String::new());
        lines.push(labelled("verdict", &verdict(comparison, true)));
        lines.extend(told(comparison).iter().map(|line| labelled("", line)));
        let differs = differing(comparison);
        lines.extend(
            differs
                .iter()
                .enumerate()
                .map(|(number, line)| labelled(if number == 0 { "differs" } else { "" }, line)),
        );
        lines.join("\n") + "\n"
    });
    blocks.collect::<Vec<_>>().join("\n")
}

fn named(group: &Group<'_>) -> String {
    let runs = match group.runs.len() {
        1 => "1 run".to_owned(),
        several => format!("{several} runs"),
    };
    format!("{} · {runs}", foreign(&group.name, WORDS))
}

/// The head and a row for each figure; the first two columns hold words.
fn rows(comparison: &Comparison) -> Vec<Row> {
    let mut rows = vec![Row::new(["of", "figure", "A", "B", "difference", "95 %"])];
    rows.extend(comparison.figures.iter().map(row));
    rows
}

fn row(compared: &Compared) -> Row {
    let figure = &compared.figure;
    let value = |values: &[f64]| shown(figure.unit, mean(values));
    let (difference, interval) = match compared.effect {
        Some(effect) => (
            signed(effect.difference),
            format!("[{} … {}]", signed(effect.low), signed(effect.high)),
        ),
        None => (
            signed(mean(&compared.b) / mean(&compared.a) - 1.0),
            "–".to_owned(),
        ),
    };
    let place = if figure.place.is_empty() {
        "all".to_owned()
    } else {
        foreign(&figure.place, WORDS)
    };
    Row::new([
        place,
        figure.name.to_owned(),
        value(&compared.a),
        value(&compared.b),
        difference,
        interval,
    ])
    .remark(word(compared.verdict, false))
}

/// The geometric mean, which is what is compared.
fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    let n: f64 = values.iter().map(|_| 1.0).sum();
    (sum / n).exp()
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        "ns" => duration(whole(value)),
        "bytes" => bytes(whole(value)),
        unit => format!("{} {unit}", rate(value)),
    }
}

/// A share that was asked for, without needless digits.
fn whole_percent(part: f64) -> String {
    format!("{} %", plain(part * 100.0))
}

fn signed(part: f64) -> String {
    let sign = if part < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(part.abs()))
}

const fn word(verdict: Verdict, loud: bool) -> &'static str {
    match (verdict, loud) {
        (Verdict::Worse, true) => "WORSE",
        (Verdict::Worse, false) => "worse",
        (Verdict::CannotTell, _) => "cannot tell",
        (Verdict::Equal, _) => "equal",
        (Verdict::Better, _) => "better",
    }
}

/// `WORSE · worse: insert p99 · better: insert throughput`.
fn verdict(comparison: &Comparison, loud: bool) -> String {
    let word = word(comparison.verdict(), loud);
    match directions(comparison).as_str() {
        "" => word.to_owned(),
        directions => format!("{word} · {directions}"),
    }
}

/// Which figures are worse, and which better; empty where none is either.
fn directions(comparison: &Comparison) -> String {
    let of = |wanted: Verdict| {
        let figures = comparison.figures.iter();
        let figures = figures.filter(|compared| compared.verdict == wanted);
        let names: Vec<String> = figures
            .map(|compared| {
                let figure = &compared.figure;
                format!("{} {}", foreign(&figure.place, WORDS), figure.name)
                    .trim()
                    .to_owned()
            })
            .collect();
        (!names.is_empty()).then(|| format!("{}: {}", word(wanted, false), names.join(", ")))
    };
    let parts: Vec<String> = [Verdict::Worse, Verdict::Better]
        .into_iter()
        .filter_map(of)
        .collect();
    parts.join(" · ")
}

/// What the verdict rests on.
fn told(comparison: &Comparison) -> Vec<String> {
    let practical = whole_percent(comparison.practical);
    let figures = comparison.figures.len();
    let mut told = Vec::new();
    if comparison.is_guarded() {
        told.push("no verdict: the groups were asked different questions, see below".to_owned());
    }
    told.push(format!(
        "a difference matters from {practical} on; {figures} figures were looked at, and equal groups \
         are called different anywhere in 5 of 100 comparisons at most"
    ));
    let repeats = comparison
        .figures
        .iter()
        .map(|compared| compared.repeats)
        .max();
    let alone = comparison.runs.iter().any(|runs| *runs < 2);
    if let Some(repeats) = repeats {
        let chance = whole_percent(POWER);
        told.push(if alone {
            format!(
                "one run shows nothing of what differs from run to run; if that is 3 %, {} runs of each \
                 (--repeat {repeats}) show a difference of {practical} with a chance of {chance}",
                count(u64::from(repeats))
            )
        } else {
            format!(
                "{} runs of each show a difference of {practical} in every figure with a chance of \
                 {chance}",
                count(u64::from(repeats))
            )
        });
    }
    let worst = comparison
        .figures
        .iter()
        .filter_map(|compared| compared.detectable);
    if let Some(detectable) = worst.reduce(f64::max) {
        told.push(format!(
            "with these runs, differences from {} on are seen in the noisiest figure",
            percent(detectable)
        ));
    }
    told
}

/// `plan: 7f3a91 against 9fc329`, a line each.
fn differing(comparison: &Comparison) -> Vec<String> {
    let differences = &comparison.differences;
    let mut lines: Vec<String> = differences
        .iter()
        .take(DIFFERENCES_MAX)
        .map(|difference| {
            let [a, b] = [&difference.a, &difference.b].map(|text| match text.as_str() {
                "" => "–".to_owned(),
                text => foreign(text, WORDS),
            });
            let grave = match difference.kind {
                Kind::Question => "OTHER QUESTION: ",
                Kind::Trust => "NOT TO BE TRUSTED: ",
                Kind::Setting => "",
            };
            format!(
                "{grave}{}: {a} against {b}",
                foreign(&difference.name, WORDS)
            )
        })
        .collect();
    if differences.len() > DIFFERENCES_MAX {
        lines.push(format!("and {} more", differences.len() - DIFFERENCES_MAX));
    }
    lines
}
