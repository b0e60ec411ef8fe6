//! One comparison of two groups in words and rows, for text, Markdown, and pages. Must not compute anything except the
//! means of several runs: arithmetic for fractions, otherwise geometric.

use highwater_analysis::comparison::{Compared, Comparison, Kind, POWER, Scale, Verdict};
use highwater_model::display::{
    ABSENT, bytes, duration, foreign, percent, plain, rate, significant, with_unit,
};
use highwater_model::numbers::round_to_u64;
use highwater_model::target_telemetry::units;

use crate::layout::{Row, aligned, headed, joined, labeled, list, or_absent};
use crate::markdown_words::{compared, table};

/// Maximum characters of a name or a setting.
pub(crate) const WORDS: usize = 120;
/// Scales of fractions, and their names in sentences.
const SHARES: [(Scale, &str); 2] = [
    (Scale::ShareOfOps, "the share of ops that failed"),
    (Scale::ShareOfSeconds, "shares of seconds"),
];
/// Maximum number of listed differences.
const DIFFERENCES_MAX: usize = 40;
/// Maximum number of proposed runs; above it, other advice is more useful.
const RUNS_PROPOSED: u32 = 30;

/// One comparison of two groups of these names.
pub(crate) fn lines(names: [&str; 2], comparison: &Comparison) -> Vec<String> {
    let [a, b] = named(names, comparison);
    let mut lines = vec![labeled("A", &a), labeled("B", &b), String::new()];
    lines.extend(aligned(&rows(comparison), 2));
    lines.push(String::new());
    lines.push(labeled("verdict", &verdict(comparison, true)));
    lines.extend(basis(comparison).iter().map(|line| labeled("", line)));
    lines.extend(listed("differs", &differing(comparison)));
    lines
}

/// The same as Markdown.
pub(crate) fn blocks(names: [&str; 2], comparison: &Comparison) -> Vec<String> {
    let lines = basis(comparison).into_iter().chain(differing(comparison));
    let figures = table(&rows(comparison), 2);
    let verdict = verdict(comparison, true);
    compared(&verdict, named(names, comparison), figures, lines)
}

/// Lines, the first of them with the label.
pub(crate) fn listed(label: &str, lines: &[String]) -> Vec<String> {
    let lines = lines
        .iter()
        .enumerate()
        .map(|(number, line)| labeled(if number == 0 { label } else { "" }, line));
    lines.collect()
}

/// Name of the figure with its place.
fn name_of(compared: &Compared) -> String {
    foreign(&compared.figure.full_name(), WORDS)
}

/// Both names with their numbers of runs.
pub(crate) fn named(names: [&str; 2], comparison: &Comparison) -> [String; 2] {
    let named = |side: usize| {
        let runs = match comparison.runs[side] {
            1 => "1 run".to_owned(),
            several => format!("{several} runs"),
        };
        format!("{} · {runs}", foreign(names[side], WORDS))
    };
    [named(0), named(1)]
}

/// The head and a row for each figure; the first two columns hold words.
pub(crate) fn rows(comparison: &Comparison) -> Vec<Row> {
    let head = "of | figure | A | B | difference | 95% CI";
    headed(head, comparison.figures.iter().map(row))
}

fn row(compared: &Compared) -> Row {
    let [a, b] = figures_of(compared);
    let (figure, unit) = difference(compared);
    Row::new([
        place_of(compared),
        compared.figure.name.clone(),
        a,
        b,
        with_unit(&figure, &unit),
        interval(compared),
    ])
    .remark(word(compared.verdict, false))
}

/// Place of a figure; `all` for the whole run.
pub(crate) fn place_of(compared: &Compared) -> String {
    match compared.figure.place.as_str() {
        "" => "all".to_owned(),
        place => foreign(place, WORDS),
    }
}

/// The means of both groups.
pub(crate) fn figures_of(compared: &Compared) -> [String; 2] {
    let figure = &compared.figure;
    means(compared).map(|mean| shown(&figure.unit, mean))
}

fn means(compared: &Compared) -> [f64; 2] {
    [&compared.a, &compared.b].map(|values| mean(values, compared.figure.scale))
}

/// Difference of B with its sign, and the unit of the difference.
pub(crate) fn difference(compared: &Compared) -> (String, String) {
    let scale = compared.figure.scale;
    let [a, b] = means(compared);
    let difference = match compared.effect {
        Some(effect) => effect.difference,
        None if scale.is_share() => b - a,
        None => b / a - 1.0,
    };
    if !a.is_finite() || !b.is_finite() {
        return (ABSENT.to_owned(), String::new());
    }
    (signed(difference), unit_of(scale).to_owned())
}

/// Unit of differences in hundredths.
const fn unit_of(scale: Scale) -> &'static str {
    if scale.is_share() { "points" } else { "%" }
}

/// `-35.0% to -30.6%`.
pub(crate) fn interval(compared: &Compared) -> String {
    let Some(effect) = compared.effect else {
        return ABSENT.to_owned();
    };
    let scale = compared.figure.scale;
    let (low, high, unit) = (signed(effect.low), signed(effect.high), unit_of(scale));
    let low = if scale.is_share() { low } else { with_unit(&low, unit) };
    format!("{low} to {}", with_unit(&high, unit))
}

/// The smallest difference that matters.
pub(crate) fn threshold(compared: &Compared) -> String {
    of_scale(compared, compared.practical)
}

/// The mean to compare: arithmetic for fractions, otherwise geometric.
fn mean(values: &[f64], scale: Scale) -> f64 {
    let share = scale.is_share();
    let of = |value: &f64| if share { *value } else { value.ln() };
    let sum: f64 = values.iter().map(of).sum();
    let n: f64 = values.iter().map(|_| 1.0).sum();
    if share { sum / n } else { (sum / n).exp() }
}

fn shown(unit: &str, value: f64) -> String {
    match unit {
        _ if !value.is_finite() => "∞".to_owned(),
        "ns" => duration(round_to_u64(value)),
        "bytes" => bytes(round_to_u64(value)),
        units::SHARE => percent(value),
        unit => format!("{} {unit}", rate(value)),
    }
}

/// A requested fraction, without needless digits.
fn whole_percent(part: f64) -> String {
    format!("{}%", plain(part * 100.0))
}

/// Hundredths, `+1.25`.
fn signed(part: f64) -> String {
    let sign = if part < 0.0 { "-" } else { "+" };
    format!("{sign}{}", significant(part.abs() * 100.0))
}

/// `0.1 points`, the unit of differences between fractions.
fn points(share: f64) -> String {
    match plain(share * 100.0).as_str() {
        "1" => "1 point".to_owned(),
        points => format!("{points} points"),
    }
}

pub(crate) const fn word(verdict: Verdict, loud: bool) -> &'static str {
    match (verdict, loud) {
        (Verdict::Worse, true) => "WORSE",
        (Verdict::Worse, false) => "worse",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::Equal, _) => "equal",
        (Verdict::Better, _) => "better",
    }
}

/// Maximum number of differences next to a verdict.
const HEADLINES: usize = 3;

/// `insert throughput -32.8%`: the decisive figures, the primary one first; only the primary one if none differs.
pub(crate) fn headlines(comparison: &Comparison) -> Vec<String> {
    let named = |compared: &&Compared| {
        let name = name_of(compared);
        if let Some(group) = without_end(compared) {
            return Some(format!("{name} ∞ in {group}"));
        }
        let effect = compared.effect?;
        let unit = unit_of(compared.figure.scale);
        let difference = with_unit(&signed(effect.difference), unit);
        Some(format!("{name} {difference}"))
    };
    let of = |verdict| of_verdict(comparison, verdict);
    let mut decisive: Vec<&Compared> = of(Verdict::Worse).chain(of(Verdict::Better)).collect();
    decisive.sort_by_key(|compared| !compared.is_primary);
    if decisive.is_empty() {
        decisive.extend(comparison.primary());
    }
    let more = decisive.len().saturating_sub(HEADLINES);
    let shown = decisive.iter().take(HEADLINES).filter_map(named);
    let rest = (more > 0).then(|| format!("and {more} more"));
    shown.chain(rest).collect()
}

/// The group whose percentile falls among failed ops and is therefore longer than any latency.
fn without_end(compared: &Compared) -> Option<&'static str> {
    match means(compared).map(f64::is_finite) {
        [true, false] => Some("B"),
        [false, true] => Some("A"),
        _ => None,
    }
}

/// Ways to decide the primary figure, the most certain first; empty if it is decided.
pub(crate) fn advice_lines(comparison: &Comparison) -> Vec<String> {
    let is_open =
        |primary: &&Compared| primary.verdict == Verdict::Inconclusive && !comparison.is_guarded();
    let primary = comparison.primary().filter(is_open);
    primary.map(|primary| advice(primary, &name_of(primary))).unwrap_or_default()
}

/// `WORSE · worse: insert p99 · better: insert throughput`.
fn verdict(comparison: &Comparison, loud: bool) -> String {
    let word = word(comparison.verdict(), loud);
    match directions(comparison).as_str() {
        "" => word.to_owned(),
        directions => format!("{word} · {directions}"),
    }
}

/// The figures with this verdict.
pub(crate) fn of_verdict(
    comparison: &Comparison,
    verdict: Verdict,
) -> impl Iterator<Item = &Compared> {
    comparison.figures.iter().filter(move |compared| compared.verdict == verdict)
}

/// Figures that are worse, and figures that are better; empty if there are none.
fn directions(comparison: &Comparison) -> String {
    let of = [Verdict::Worse, Verdict::Better].map(|verdict| {
        // Failures come before the percentiles that are infinite because of them.
        let mut all: Vec<&Compared> = of_verdict(comparison, verdict).collect();
        all.sort_by_key(|compared| without_end(compared).is_some());
        match list(all.into_iter().map(name_of), ", ").as_str() {
            "" => String::new(),
            names => format!("{}: {names}", word(verdict, false)),
        }
    });
    joined(of)
}

/// The decided figures, in a sentence.
pub(crate) fn certain(comparison: &Comparison) -> String {
    match directions(comparison).as_str() {
        "" => "no figure is better or worse for certain".to_owned(),
        directions => directions.replace(" · ", ", "),
    }
}

/// The basis of the verdict, and how to reach one.
pub(crate) fn basis(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.is_guarded() {
        lines.push("no verdict: the groups answer different questions, see below".to_owned());
    }
    lines.push(format!("a difference matters {}", matters(comparison)));
    if comparison.primary().is_none() && !comparison.figures.is_empty() {
        lines.push("not all runs have the figure that would be tested first".to_owned());
    }
    if let Some(primary) = comparison.primary() {
        let name = name_of(primary);
        lines.push(match comparison.figures.len() {
            1 => format!("{name} is tested"),
            2 => format!("{name} is tested first, then the other figure"),
            figures => {
                format!("{name} is tested first, then {} other figures together", figures - 1)
            }
        });
        lines.push(
            "equal groups are called different anywhere in at most 5 of 100 comparisons".to_owned(),
        );
        // The smallest difference of the primary figure that these runs can detect.
        lines.extend(primary.detectable.map(|detectable| {
            let (shown, power) = (of_scale(primary, detectable), whole_percent(POWER));
            format!("these runs show a difference of {shown} in {name} with {power} power")
        }));
    }
    lines.extend(advice_lines(comparison));
    lines.extend(undecided(comparison));
    lines
}

/// Ways to decide the primary figure, and the effect of each.
fn advice(primary: &Compared, name: &str) -> Vec<String> {
    let practical = of_scale(primary, primary.practical);
    let spread = of_scale(primary, primary.spread);
    let known = match primary.effect {
        Some(_) => format!("{name} differs by {spread} from run to run (standard deviation), so"),
        None => format!("one run does not show how {name} differs from run to run; at {spread}"),
    };
    let half = of_scale(primary, primary.spread / 2.0);
    vec![
        format!(
            "{known} it takes {} to show {practical} with {} power",
            runs_of_each(primary.repeats),
            whole_percent(POWER)
        ),
        format!(
            "longer runs: if runs differ by what happens within them (stalls, checkpoints), 4 \
             times the duration (-d) halves that, and it takes {}",
            runs_of_each(primary.repeats_at_half)
        ),
        "interleaving (run --interleave or --variant): a slow change of the machine then affects \
         both groups, and does not count as a difference"
            .to_owned(),
        format!(
            "a quieter machine (no other load, a fixed CPU frequency): at {half} from run to run, \
             it takes {}",
            runs_of_each(primary.repeats_at_half)
        ),
    ]
}

fn runs_of_each(repeats: u32) -> String {
    if repeats > RUNS_PROPOSED {
        format!("more than {RUNS_PROPOSED} runs of each")
    } else {
        format!("{repeats} runs of each (--repeat {repeats})")
    }
}

/// A difference in percent, or in points for fractions.
fn of_scale(compared: &Compared, difference: f64) -> String {
    if compared.figure.scale.is_share() { points(difference) } else { whole_percent(difference) }
}

/// `from 5% on, of the share of ops that failed from 0.1 points on`, for the kinds of figures that are present.
fn matters(comparison: &Comparison) -> String {
    let mut lines = vec![format!("from {} on", whole_percent(comparison.practical))];
    for (scale, what) in SHARES {
        let mut figures = comparison.figures.iter();
        if let Some(compared) = figures.find(|compared| compared.figure.scale == scale) {
            lines.push(format!("of {what} from {} on", points(compared.practical)));
        }
    }
    lines.join(", ")
}

/// The other figures without a verdict.
fn undecided(comparison: &Comparison) -> Option<String> {
    let open = of_verdict(comparison, Verdict::Inconclusive).filter(|c| !c.is_primary);
    let names = list(open.map(name_of), ", ");
    (!names.is_empty() && !comparison.is_guarded())
        .then(|| format!("inconclusive beside it, and without effect on the verdict: {names}"))
}

/// `plan: 7f3a91 against 9fc329`, a line each.
pub(crate) fn differing(comparison: &Comparison) -> Vec<String> {
    let differences = &comparison.differences;
    let mut lines: Vec<String> = differences
        .iter()
        .take(DIFFERENCES_MAX)
        .map(|difference| {
            let values = [difference.a.as_str(), difference.b.as_str()];
            against(difference.kind, &difference.name, values)
        })
        .collect();
    if differences.len() > DIFFERENCES_MAX {
        lines.push(format!("and {} more", differences.len() - DIFFERENCES_MAX));
    }
    lines
}

/// A value of at most `words` characters; the sign for absent values if there is none.
pub(crate) fn setting(text: &str, words: usize) -> String {
    or_absent(Some(text).filter(|text| !text.is_empty()), |text| foreign(text, words))
}

/// `plan: 7f3a91 against 9fc329`; unwanted differences come with a warning.
pub(crate) fn against(kind: Kind, name: &str, values: [&str; 2]) -> String {
    let [a, b] = values.map(|text| setting(text, WORDS));
    let grave = match kind {
        Kind::Question => "OTHER QUESTION: ",
        Kind::Trust => "NOT TO BE TRUSTED: ",
        Kind::Setting => "",
    };
    format!("{grave}{}: {a} against {b}", foreign(name, WORDS))
}
