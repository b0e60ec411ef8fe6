//! A comparison of groups of runs with the first one, under the names that the user gave them: which figures differ,
//! and other differences.
//!
//! Must not compute anything except the means of several runs: arithmetic for fractions, otherwise geometric.

mod answer;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use highwater_analysis::comparison::{
    Comparison, Criteria, Difference, FigureComparison, Kind, POWER, Scale, Verdict, compare,
};
use highwater_analysis::growth::{ComparedGrowths, Grown, compare_growths};
use highwater_model::display::{
    ABSENT, bytes, duration, foreign, percent, plain, rate, significant, with_unit,
};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::RecordRef;
use highwater_model::target_telemetry::units;

use self::answer::telling;
pub(crate) use self::answer::{answer, sentence};
use crate::answer::plural;
use crate::blocks::{Block, Report, Section, Table};
use crate::judgments::{flaws, together};
use crate::layout::{Remark, Row, headed, joined, list, or_absent};
use crate::plots::{Overlaid, overlay};

/// Maximum characters of a name or a setting.
const WORDS: usize = 120;
/// Scales of fractions, and their names in sentences.
const SHARES: [(Scale, &str); 2] =
    [(Scale::ShareOfOps, "failed ops"), (Scale::ShareOfSeconds, "fractions of seconds")];
/// Maximum number of listed differences.
const DIFFERENCES_MAX: usize = 40;
/// Maximum number of proposed runs; above it, other advice is more useful.
const RUNS_PROPOSED: u32 = 30;
/// What the verdicts mean.
const VERDICTS: &str = "Equal: the whole interval is inside the difference that matters. Better or worse: the difference would be rare \
     between equal groups. Inconclusive: too few runs, or runs that differ too much. The interval is Welch's, of the \
     logarithms, from the spread between runs; fractions of ops and seconds are compared by their difference, in \
     percentage points.";
/// The head of the figures.
const HEAD: &str = "of | figure | A | B | difference | 95% CI";
/// Number of its columns that are about what was measured.
const MEASURED: usize = 4;

/// All of them as one report.
pub(crate) fn page(report: &CompareReport<'_>) -> Report {
    let facts = report.all().map(|group| {
        let name = foreign(&group.name, WORDS);
        format!("{name}, {}", plural(group.runs.len(), "run"))
    });
    let runs = report.all().flat_map(|group| group.runs.iter().map(|run| run.judgments()));
    let mut page = Report::merged(reports(report));
    page.answer.judgments = together(runs);
    for section in &mut page.sections {
        section.blocks.push(Block::Term(VERDICTS.to_owned()));
    }
    page.sections.extend(courses(report));
    page.page_facts = facts.collect();
    page
}

/// A report for each group that is compared with the first one.
pub(crate) fn reports(report: &CompareReport<'_>) -> Vec<Report> {
    let others = report.others.iter();
    let reports = others.map(|(group, of)| {
        let both = [&report.baseline, group];
        let mut compared = report_of(both.map(|group| group.name.as_str()), of);
        for (fact, group) in compared.facts.iter_mut().zip(both) {
            let flaws = flaws(group.runs.iter().copied());
            fact.sentence = joined([std::mem::take(&mut fact.sentence), flaws]);
        }
        compared
    });
    reports.collect()
}

fn report_of(names: [&str; 2], comparison: &Comparison) -> Report {
    let [a, b] = named(names, comparison);
    let mut facts = vec![Remark::new("A", a), Remark::new("B", b)];
    let (shown, equal) = unequal(comparison);
    facts.extend((equal > 0).then(|| Remark::new("equal", plural(equal, "other figure"))));
    facts.extend(Remark::listed("basis", basis(comparison)));
    facts.extend(Remark::listed("to decide", advice_lines(comparison)));
    facts.extend(Remark::listed("differs", differing(comparison)));
    Report {
        answer: answer(names, comparison),
        brief: Some(Table { rows: shown, ..figures(comparison) }),
        facts,
        hero: match comparison.figures.as_slice() {
            [] => Vec::new(),
            _ if comparison.is_guarded() => Vec::new(),
            _ => vec![Block::Intervals(Box::new(comparison.clone()))],
        },
        sections: vec![section(comparison, blocks(names, comparison))],
        ..Report::default()
    }
}

/// The section of one or more comparisons, of which this is the first.
pub(super) fn section(first: &Comparison, blocks: Vec<Block>) -> Section {
    Section { id: "figures", title: "Figures", lead: certain(first), blocks }
}

/// One comparison of two groups of these names.
pub(super) fn blocks(names: [&str; 2], comparison: &Comparison) -> Vec<Block> {
    let [a, b] = named(names, comparison);
    let basis = Remark::listed("basis", basis(comparison));
    let advice = Remark::listed("to decide", advice_lines(comparison));
    let differs = Remark::listed("differs", differing(comparison));
    vec![
        Block::Heading(verdict(comparison)),
        Block::Remarks(vec![Remark::new("A", a), Remark::new("B", b)]),
        Block::Table(figures(comparison)),
        Block::Remarks(basis.chain(advice).chain(differs).collect()),
    ]
}

/// Every figure; the first two columns hold words.
fn figures(comparison: &Comparison) -> Table {
    Table::new("Figures of both groups", rows(comparison, &comparison.figures), 2)
}

/// The primary figure and those that are not equal, below their head, and the number of the others.
fn unequal(comparison: &Comparison) -> (Vec<Row>, usize) {
    let is_shown =
        |compared: &&FigureComparison| compared.verdict != Verdict::Equal || compared.is_primary;
    let shown: Vec<&FigureComparison> = comparison.figures.iter().filter(is_shown).collect();
    let equal = comparison.figures.len() - shown.len();
    (rows(comparison, shown), equal)
}

/// The time series of all runs, overlaid; absent if no run has any.
fn courses(report: &CompareReport<'_>) -> Option<Section> {
    let groups = report.all().map(|group| {
        let runs = group.runs.iter();
        Overlaid {
            name: foreign(&group.name, WORDS),
            runs: runs.map(|run| run.measured_run().run).collect(),
        }
    });
    let charts = overlay(&groups.collect::<Vec<_>>());
    (!charts.is_empty()).then(|| Section {
        id: "courses",
        title: "Time courses",
        lead: "all runs, laid over each other".to_owned(),
        blocks: vec![Block::Charts(charts)],
    })
}

/// Name of the figure with its place.
fn name_of(compared: &FigureComparison) -> String {
    foreign(&compared.figure.full_name(), WORDS)
}

/// Both names with their numbers of runs.
fn named(names: [&str; 2], comparison: &Comparison) -> [String; 2] {
    let named = |side: usize| {
        let runs = match comparison.runs[side] {
            1 => "1 run".to_owned(),
            several => format!("{several} runs"),
        };
        format!("{} · {runs}", foreign(names[side], WORDS))
    };
    [named(0), named(1)]
}

/// The head and a row for each of these figures; the first two columns hold words. Of groups that answer different
/// questions only what each measured.
fn rows<'a>(
    comparison: &Comparison,
    figures: impl IntoIterator<Item = &'a FigureComparison>,
) -> Vec<Row> {
    let rows = headed(HEAD, figures.into_iter().map(row));
    if !comparison.is_guarded() {
        return rows;
    }
    rows.into_iter().map(|row| Row::new(row.cells.into_iter().take(MEASURED))).collect()
}

fn row(compared: &FigureComparison) -> Row {
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
    .remark(word(compared.verdict))
}

/// Place of a figure; `run` for that of a whole run.
pub(crate) fn place_of(compared: &FigureComparison) -> String {
    match compared.figure.place.as_str() {
        "" => "run".to_owned(),
        place => foreign(place, WORDS),
    }
}

/// The means of both groups.
pub(crate) fn figures_of(compared: &FigureComparison) -> [String; 2] {
    let figure = &compared.figure;
    means(compared).map(|mean| shown(&figure.unit, mean))
}

fn means(compared: &FigureComparison) -> [f64; 2] {
    [&compared.a, &compared.b].map(|values| mean(values, compared.figure.scale))
}

/// Difference of B with its sign, and the unit of the difference.
pub(crate) fn difference(compared: &FigureComparison) -> (String, String) {
    let scale = compared.figure.scale;
    let [a, b] = means(compared);
    let difference = match compared.effect {
        Some(effect) => effect.difference,
        None if scale.is_share() => b - a,
        None => b / a - 1.0,
    };
    if compared.verdict == Verdict::NotCompared || !a.is_finite() || !b.is_finite() {
        return (ABSENT.to_owned(), String::new());
    }
    (signed(difference), unit_of(scale).to_owned())
}

/// Unit of differences in hundredths.
const fn unit_of(scale: Scale) -> &'static str {
    if scale.is_share() { "points" } else { "%" }
}

/// `-35.0% to -30.6%`.
pub(crate) fn interval(compared: &FigureComparison) -> String {
    let Some(effect) = compared.effect else {
        return ABSENT.to_owned();
    };
    let scale = compared.figure.scale;
    let (low, high, unit) = (signed(effect.low), signed(effect.high), unit_of(scale));
    let low = if scale.is_share() { low } else { with_unit(&low, unit) };
    format!("{low} to {}", with_unit(&high, unit))
}

/// The smallest difference that matters.
fn threshold(compared: &FigureComparison) -> String {
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

pub(crate) const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "worse",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Equal => "equal",
        Verdict::Better => "better",
        Verdict::NotCompared => "not compared",
    }
}

/// Maximum number of differences next to a verdict.
const HEADLINES: usize = 3;

/// `insert throughput -32.8%`: the decisive figures, the primary one first; only the primary one if none differs.
fn headlines(comparison: &Comparison) -> Vec<String> {
    let named = |compared: &&FigureComparison| {
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
    let mut decisive: Vec<&FigureComparison> =
        of(Verdict::Worse).chain(of(Verdict::Better)).collect();
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
fn without_end(compared: &FigureComparison) -> Option<&'static str> {
    match means(compared).map(f64::is_finite) {
        [true, false] => Some("B"),
        [false, true] => Some("A"),
        _ => None,
    }
}

/// Ways to decide the primary figure, the most certain first; empty if it is decided.
fn advice_lines(comparison: &Comparison) -> Vec<String> {
    let is_open = |primary: &&FigureComparison| primary.verdict == Verdict::Inconclusive;
    let primary = comparison.primary().filter(is_open);
    primary.map(|primary| advice(primary, &name_of(primary))).unwrap_or_default()
}

/// `WORSE · worse: insert p99 · better: insert throughput`.
fn verdict(comparison: &Comparison) -> String {
    let word = match comparison.verdict() {
        Verdict::Worse => "WORSE",
        other => word(other),
    };
    match directions(comparison).as_str() {
        "" => word.to_owned(),
        directions => format!("{word} · {directions}"),
    }
}

/// The figures with this verdict.
fn of_verdict(
    comparison: &Comparison,
    verdict: Verdict,
) -> impl Iterator<Item = &FigureComparison> {
    comparison.figures.iter().filter(move |compared| compared.verdict == verdict)
}

/// Figures that are worse, and figures that are better; empty if there are none.
fn directions(comparison: &Comparison) -> String {
    let of = [Verdict::Worse, Verdict::Better].map(|verdict| {
        // Failures come before the percentiles that are infinite because of them.
        let mut all: Vec<&FigureComparison> = of_verdict(comparison, verdict).collect();
        all.sort_by_key(|compared| without_end(compared).is_some());
        match list(all.into_iter().map(name_of), ", ").as_str() {
            "" => String::new(),
            names => format!("{}: {names}", word(verdict)),
        }
    });
    joined(of)
}

/// The decided figures, in a sentence.
fn certain(comparison: &Comparison) -> String {
    match directions(comparison).as_str() {
        "" => "no figure is shown to be better or worse".to_owned(),
        directions => directions.replace(" · ", ", "),
    }
}

/// The basis of the verdict, and how to reach one.
fn basis(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    if comparison.is_guarded() {
        lines.push("no verdict: the groups answer different questions, see below".to_owned());
    }
    lines.push(matters(comparison));
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
            "of 100 comparisons of equal groups, at most 5 find a difference in any figure"
                .to_owned(),
        );
        // The smallest difference of the primary figure that these runs can detect.
        lines.extend(primary.detectable.map(|detectable| {
            let (shown, power) = (of_scale(primary, detectable), whole_percent(POWER));
            format!("these runs detect a difference of {shown} in {name} with {power} power")
        }));
    }
    lines.extend(undecided(comparison));
    lines
}

/// Ways to decide the primary figure, and the effect of each.
fn advice(primary: &FigureComparison, name: &str) -> Vec<String> {
    let practical = of_scale(primary, primary.practical);
    let spread = of_scale(primary, primary.spread);
    let known = match primary.effect {
        Some(_) => format!("{name} varies by {spread} from run to run (standard deviation), so"),
        None => format!("one run does not show how {name} varies from run to run; at {spread}"),
    };
    let half = of_scale(primary, primary.spread / 2.0);
    vec![
        format!(
            "{known} it takes {} to detect {practical} with {} power",
            runs_of_each(primary.repeats),
            whole_percent(POWER)
        ),
        format!(
            "longer runs: where stalls or checkpoints within runs cause the variation, 4 times the \
             duration (-d) halves it, and it takes {}",
            runs_of_each(primary.repeats_at_half)
        ),
        "interleaved runs (run --interleave or --variant): a slow drift of the machine then affects \
         both groups alike"
            .to_owned(),
        format!(
            "a quieter machine (no other load, a fixed CPU frequency): if runs vary by {half}, it \
             takes {}",
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
fn of_scale(compared: &FigureComparison, difference: f64) -> String {
    if compared.figure.scale.is_share() { points(difference) } else { whole_percent(difference) }
}

/// `differences below 5% count as equal (failed ops: 0.1 points)`, for the kinds of figures that are present.
fn matters(comparison: &Comparison) -> String {
    let shares = SHARES.iter().filter_map(|(scale, what)| {
        let mut figures = comparison.figures.iter();
        let compared = figures.find(|compared| compared.figure.scale == *scale)?;
        Some(format!("{what}: {}", points(compared.practical)))
    });
    let shares = match list(shares, "; ").as_str() {
        "" => String::new(),
        shares => format!(" ({shares})"),
    };
    format!("differences below {} count as equal{shares}", whole_percent(comparison.practical))
}

/// The other figures without a verdict.
fn undecided(comparison: &Comparison) -> Option<String> {
    let open = of_verdict(comparison, Verdict::Inconclusive).filter(|c| !c.is_primary);
    let names = list(open.map(name_of), ", ");
    (!names.is_empty())
        .then(|| format!("also inconclusive, without effect on the verdict: {names}"))
}

/// `plan: 7f3a91 against 9fc329`, one line each.
fn differing(comparison: &Comparison) -> Vec<String> {
    let differences = &comparison.differences;
    // A setting says what the hashes of two plans only show.
    let is_plan = |of: &&Difference| of.kind == Kind::Question && of.name == "plan";
    let setting = telling(comparison).filter(|_| differences.iter().any(|of| is_plan(&of)));
    let others = differences.iter().filter(|of| setting.is_none() || !is_plan(of));
    let others = others.filter(|of| setting.is_none_or(|setting| !std::ptr::eq(*of, setting)));
    let mut lines: Vec<String> = setting
        .into_iter()
        .chain(others)
        .take(DIFFERENCES_MAX)
        .map(|difference| {
            let values = [difference.a.as_str(), difference.b.as_str()];
            let of_plan = setting.is_some_and(|setting| std::ptr::eq(difference, setting));
            let kind = if of_plan { Kind::Question } else { difference.kind };
            against(kind, &difference.name, values)
        })
        .collect();
    if differences.len() > DIFFERENCES_MAX {
        lines.push(format!("and {} more", differences.len() - DIFFERENCES_MAX));
    }
    lines
}

/// A value of at most `words` characters; the sign for absent values if there is none.
fn setting(text: &str, words: usize) -> String {
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

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, or a variant.
    pub name: String,
    /// Its runs; never empty.
    pub runs: Vec<RecordRef<'a>>,
}

/// A growth with the name that the user gave it.
#[derive(Debug)]
pub struct NamedGrowth<'a> {
    /// Name of its record.
    pub name: String,
    /// The growth.
    pub growth: Grown<'a>,
}

/// A baseline, and everything that is compared with it.
#[derive(Debug)]
pub struct Beside<T, C> {
    /// The baseline of all comparisons.
    pub baseline: T,
    /// The others, each with its comparison.
    pub others: Vec<(T, C)>,
}

/// Comparisons of groups with a baseline.
pub type CompareReport<'a> = Beside<Group<'a>, Comparison>;

/// Comparisons of growths with a baseline.
pub type GrowthsReport<'a> = Beside<NamedGrowth<'a>, ComparedGrowths<'a>>;

impl<T, C> Beside<T, C> {
    /// Compares the first with each of the others; absent without any others.
    fn first(all: Vec<T>, compare: impl Fn(&T, &T) -> C) -> Option<Self> {
        let mut all = all.into_iter();
        let baseline = all.next()?;
        let others = all.map(|other| {
            let compared = compare(&baseline, &other);
            (other, compared)
        });
        let others = others.collect();
        Some(Self { baseline, others })
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        let others = self.others.iter().map(|(other, _)| other);
        std::iter::once(&self.baseline).chain(others)
    }
}

impl<'a> CompareReport<'a> {
    /// Compares the first group with each of the others; absent without any others.
    pub fn from_groups(groups: Vec<Group<'a>>, criteria: Criteria<'_>) -> Option<Self> {
        Self::first(groups, |a, b| compare(&a.runs, &b.runs, criteria))
    }
}

impl<'a> GrowthsReport<'a> {
    /// Compares the first growth with each of the others. Relative changes below the fraction `practical` (above 0)
    /// do not matter. Absent if anything else is compared, or if one group has several growths.
    pub fn from_groups(groups: &[Group<'a>], practical: f64) -> Option<Self> {
        let named = groups.iter().map(|group| {
            let [record] = group.runs.as_slice() else {
                return None;
            };
            Some(NamedGrowth { name: group.name.clone(), growth: Grown::from_record(*record)? })
        });
        Self::beside_first(named.collect::<Option<_>>()?, practical, &BTreeSet::new())
    }

    /// Compares the first growth with each of the others, which differ in `declared` settings; absent without any
    /// others.
    pub fn beside_first(
        growths: Vec<NamedGrowth<'a>>,
        practical: f64,
        declared: &BTreeSet<String>,
    ) -> Option<Self> {
        Self::first(growths, |a, b| compare_growths(a.growth, b.growth, practical, declared))
    }
}
