//! A size plan for decision makers: the nodes, the cluster with one node lost and in six months, the price, and the
//! most influential assumptions.

use highwater_model::display::{self, about, percent_whole, plain, rate};
use highwater_sizing::cluster::{Regret, SHORTAGE, SizePlan};

use super::fitted::Summary;
use super::layout::{Ink, Line, Span};
use super::lines::{WORDS, and_more, first_of, first_rows};
use crate::layout::{Row, list};
use crate::size::{decided, size_text};

/// Maximum rows of regrets, including the head, up to which all are shown.
const REGRETS_SHOWN: usize = 9;

/// The summary of a size plan.
pub fn size_summary(plan: &SizePlan) -> Summary {
    let facts = decided::facts(plan).into_iter().map(|(name, fact)| Line::labeled(&name, fact));
    let decided_lines = facts.chain(price(plan)).chain(regrets(plan));
    Summary {
        answer: vec![Line::Answer(answer(plan)), capacity(plan)],
        blocks: vec![decided_lines.collect(), assumed(plan), rests(plan)],
        details: size_text(plan),
    }
}

fn answer(plan: &SizePlan) -> Vec<Span> {
    let counts = &plan.nodes;
    let (nodes, needs) = (decided::nodes(counts.planned), decided::needs(plan));
    let sentence = format!("{nodes} for {needs}");
    let enough = percent_whole(counts.probability);
    let enough = Span::plain(format!("enough with a probability of {enough} or more"));
    if plan.extrapolated {
        let warning = Span::new(Ink::Open, "EXTRAPOLATED");
        vec![Span::new(Ink::Open, sentence), warning, enough]
    } else {
        vec![Span::new(Ink::Strong, sentence), enough]
    }
}

fn capacity(plan: &SizePlan) -> Line {
    let each = plan.needs.iter().map(|need| {
        let of = need.capacity;
        let [expected, low, high] = [of.expected, of.low, of.high].map(about);
        let unit = &need.unit;
        format!("{expected} {unit} expected (90% interval {low} to {high})")
    });
    let free = decided::headroom(plan.nodes.headroom);
    let each = list(each, ", ");
    Line::labeled("capacity", format!("{each}; {free} of it free"))
}

fn price(plan: &SizePlan) -> Option<Line> {
    let price = plan.price_per_month?;
    let sentence = format!("{} a month of 730 hours", rate(price));
    Some(Line::labeled("price", sentence))
}

/// The sizes that an unknown demand decides between, and the one with the lowest regret.
fn regrets(plan: &SizePlan) -> Vec<Line> {
    let all = &plan.decision.regrets;
    let Some(least) = all.iter().find(|regret| regret.least) else {
        return Vec::new();
    };
    let greatest = |regret: &Regret| regret.if_low.max(regret.if_high);
    let sentence = format!(
        "{}: whatever demand turns out to be, at most {} a month too much, where a missing node costs {} times its \
         price",
        decided::nodes(least.nodes),
        rate(greatest(least)),
        plain(SHORTAGE)
    );
    let rows = around_the_least(decided::regret_rows(plan));
    let mut lines = vec![Line::labeled("least regret", sentence)];
    lines.extend(first_rows(rows, 0));
    lines
}

/// Of many sizes the first, the last, and those around the one with the lowest regret.
fn around_the_least(rows: Vec<Row>) -> Vec<Row> {
    let least = rows.iter().position(|row| !row.remark.is_empty());
    let (Some(least), true) = (least, rows.len() > REGRETS_SHOWN) else {
        return rows;
    };
    let last = rows.len() - 1;
    let shown = rows
        .into_iter()
        .enumerate()
        .filter(|(at, _)| *at <= 1 || *at == last || at.abs_diff(least) <= 2);
    shown.map(|(_, row)| row).collect()
}

/// The most influential assumptions, each with the flag that changes it.
fn assumed(plan: &SizePlan) -> Vec<Line> {
    let shown: Vec<String> = decided::weighed_most(plan).collect();
    let more = plan.decision.assumptions.len() - shown.len();
    let last = shown.len().saturating_sub(1);
    shown
        .iter()
        .enumerate()
        .map(|(at, weighed)| {
            let label = if at == 0 { "assumed" } else { "" };
            let more = if at == last { more } else { 0 };
            Line::labeled(label, and_more(weighed, more))
        })
        .collect()
}

/// The basis of the plan.
fn rests(plan: &SizePlan) -> Vec<Line> {
    let needs = plan.needs.iter().map(|need| {
        let (verb, detail) = (need.origin.word(), need.origin.detail());
        let grown = if need.growth == need.origin {
            String::new()
        } else {
            format!("; growth {}: {}", need.growth.word(), need.growth.detail())
        };
        let sentence = format!("{}, {verb}: {detail}{grown}", need.measured);
        Line::labeled("based on", display::foreign(&sentence, WORDS))
    });
    let notes = plan.notes.iter().map(|note| display::foreign(note, WORDS));
    needs.chain(first_of("note", notes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shown rows of a head and `sizes` sizes, of which size `least` has the lowest regret.
    fn shown(sizes: usize, least: usize) -> String {
        let row = |n: usize| {
            let remark = if n == least { "least regret" } else { "" };
            Row::new([n.to_string()]).remark(remark)
        };
        let cells: Vec<String> = around_the_least((0..=sizes).map(row).collect())
            .into_iter()
            .flat_map(|row| row.cells)
            .collect();
        cells.join(" ")
    }

    #[test]
    fn of_many_sizes_the_ends_and_those_around_the_least_regret_are_shown() {
        assert_eq!(shown(8, 5), "0 1 2 3 4 5 6 7 8");
        assert_eq!(shown(30, 12), "0 1 10 11 12 13 14 30");
        assert_eq!(shown(30, 1), "0 1 2 3 30");
        assert_eq!(shown(30, 30), "0 1 28 29 30");
    }
}
