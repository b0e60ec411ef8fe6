//! A size plan: the number of nodes and why fewer are not enough, the basis of the answer, the alternatives, the
//! assumed growth, and all inputs.
//!
//! Must not compute.

pub(crate) mod decision;
#[cfg(test)]
mod tests;

use highwater_model::display::{
    about, count, foreign, percent, percent_whole, plain, rate, significant,
};
use highwater_sizing::cluster::{
    Alternative, Estimate, Input, ModelPlan, NeedPlan, Origin, SHORTAGE, SizeAxis, SizePlan,
    estimate, length,
};
use highwater_sizing::scaling::Curve;

use crate::answer::{Answer, JudgmentLine, KeyFigure, LimitLine, Tone, interval90, plural};
use crate::blocks::{Block, Report, Section, Table};
use crate::chart::Chart;
use crate::layout::{Remark, Row, headed, list, or_absent};
use crate::plots::{self, known_word};
use highwater_model::json::pretty;

use decision::probability;

/// Maximum characters of an origin.
const WORDS: usize = 200;
/// Maximum rows of regrets, including the head, up to which a terminal shows all.
const REGRETS_SHOWN: usize = 9;
/// What the words of the alternatives, and of the growth, mean.
const ALTERNATIVES: &str = "Copies: how often each row is stored. Headroom: the part of the capacity that stays free. \
                            Probability: that the cluster sustains the rate.";
const MODELS: &str = "Left out: how far off a model is on a size that it was not shown. Models with a weight are \
                      averaged; the others are shown for comparison. Each predicts with all of its shapes that the \
                      sizes allow, up to twice the largest size; the formula is its least-squares fit.";

/// The plan as JSON, pretty-printed, with a newline at the end; its schema is [`size_schema`].
pub fn size_json(plan: &SizePlan) -> String {
    pretty(plan)
}

/// JSON Schema (draft 2020-12) of [`size_json`], pretty-printed, with a newline at the end.
pub fn size_schema() -> String {
    pretty(&schemars::schema_for!(SizePlan))
}

/// The report of a plan.
pub(crate) fn report(plan: &SizePlan) -> Report {
    let mut charts = plots::growth(plan);
    let hero = charts.drain(..charts.len().min(1)).collect();
    let figures = figures(plan);
    let shown = figures.iter().filter(|of| ["headroom", "price"].contains(&&*of.label));
    let based = plan.needs.iter().flat_map(based_on);
    let regrets = regrets(plan).and_then(|of| of.caption);
    // The answer itself states what proves an unproven plan.
    let proof = decision::proof(plan).filter(|_| plan.is_proven());
    let proof = proof.map(|proof| Remark::new("to prove", proof));
    let stated = decision::not_stated(plan).map(|flags| Remark::new("not stated", flags));
    let facts = proof
        .into_iter()
        .chain(stated)
        .chain(regrets)
        .chain(shown.cloned())
        .chain(Remark::listed("based on", based))
        .chain(Remark::listed("note", plan.notes.iter().map(|note| foreign(note, 2 * WORDS))));
    // "Measured" and "published" must be distinguished.
    let origins = plan.needs.iter().map(|need| {
        let detail = foreign(need.origin.detail(), WORDS);
        format!("{} {}: {detail}", need.unit, need.origin.word())
    });
    let assumed = plan.assumed.then_some("rests on assumptions");
    let unproven = plan.nodes.to_prove.map(|_| "unproven");
    let is_simulated = plan.needs.iter().any(|need| need.simulated);
    let simulated = is_simulated.then_some("simulated: a model, not a database");
    let tags = assumed.into_iter().chain(unproven).chain(simulated).map(str::to_owned);
    Report {
        page_facts: origins.collect(),
        page_tags: tags.collect(),
        answer: answer(plan),
        opening: opening(plan),
        facts: facts.collect(),
        brief: Some(scenarios(plan)),
        hero: vec![Block::Charts(hero)],
        sections: std::iter::once(decided(plan, figures))
            .chain((!plan.alternatives.is_empty()).then(|| alternatives(plan)))
            .chain([growth(plan, charts), inputs_of(plan), in_words(plan)])
            .collect(),
        ..Report::default()
    }
}

/// The request, and the sources of the figures.
fn opening(plan: &SizePlan) -> Vec<String> {
    let mut first = decision::needs(plan);
    if plan.assumed {
        first.push_str(" · rests on assumptions, marked below");
    }
    if plan.nodes.to_prove.is_some() {
        first.push_str(" · unproven");
    }
    std::iter::once(first).chain(plan.needs.iter().flat_map(based_on)).collect()
}

/// The figures on which a need is based, and its growth if that has another source.
fn based_on(need: &NeedPlan) -> Vec<String> {
    let (word, detail) = (need.origin.word(), need.origin.detail());
    let model = if need.simulated { "simulated, not a database: " } else { "" };
    let mut lines = vec![format!("{model}{word} {} · {detail}", need.measured)];
    if need.growth != need.origin {
        lines.push(format!("growth {}: {}", need.growth.word(), need.growth.detail()));
    }
    lines
}

/// The nodes for each scenario.
fn scenarios(plan: &SizePlan) -> Table {
    Table::new("Scenarios", decision::scenario_rows(plan), 1)
}

/// The decision between clusters: the scenarios, the assumptions, and the cost of an unknown demand.
fn decided(plan: &SizePlan, figures: Vec<Remark>) -> Section {
    let weights = plan.decision.assumptions.iter();
    let weighed: Vec<String> = weights.map(|weight| decision::weighed(plan, weight)).collect();
    let mut lead = plural(plan.decision.scenarios.len(), "scenario");
    if !weighed.is_empty() {
        lead.push_str(&format!(", {} weighed", plural(weighed.len(), "assumption")));
    }
    let proof = decision::proof(plan).map(|proof| Remark::new("to prove", proof));
    let remarks = proof.into_iter().chain(Remark::listed("assumed", weighed));
    let first =
        [Block::Remarks(figures), Block::Table(scenarios(plan)), Block::Remarks(remarks.collect())];
    let regrets = regrets(plan).map(|of| Table { rows: around_the_least(of.rows), ..of });
    Section {
        id: "decision",
        title: "What decides",
        lead,
        blocks: first.into_iter().chain(regrets.map(Block::Table)).collect(),
    }
}

/// The excess cost of each size, below the size with the lowest regret; absent if the demand is known.
fn regrets(plan: &SizePlan) -> Option<Table> {
    let least = plan.decision.regrets.iter().find(|regret| regret.least)?;
    let sentence = format!(
        "{}: whatever demand turns out to be, at most {} a month too much, where a missing node costs {} times its \
         price",
        plan.axis.counted(least.nodes),
        rate(least.if_low.max(least.if_high)),
        plain(SHORTAGE)
    );
    let caption = Some(Remark::new("least regret", sentence));
    Some(Table { caption, ..Table::new("Regret", decision::regret_rows(plan), 0) })
}

/// If there are many sizes, the first, the last, and those around the one with the lowest regret.
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

fn alternatives(plan: &SizePlan) -> Section {
    Section {
        id: "alternatives",
        title: "Alternatives",
        lead: format!(
            "{}, with other nodes and copies",
            plural(plan.alternatives.len(), "cluster")
        ),
        blocks: vec![
            Block::table("Alternatives", alternative_rows(plan), 0),
            Block::Term(ALTERNATIVES.to_owned()),
        ],
    }
}

fn inputs_of(plan: &SizePlan) -> Section {
    let assumed = plan.inputs.iter().filter(|input| input.origin.is_assumption());
    Section {
        id: "inputs",
        title: "Inputs",
        lead: format!(
            "{} of {} assumed or published by others",
            assumed.count(),
            plural(plan.inputs.len(), "input")
        ),
        blocks: vec![Block::table("Inputs", input_rows(&plan.inputs), 4)],
    }
}

fn in_words(plan: &SizePlan) -> Section {
    let notes = plan.notes.iter().cloned();
    Section {
        id: "plan",
        title: "The plan in words",
        lead: match plan.notes.len() {
            0 => "a summary".to_owned(),
            notes => format!("a summary, and {}", plural(notes, "note")),
        },
        blocks: vec![
            Block::Paragraph(plan.summary.clone()),
            Block::Remarks(Remark::listed("note", notes).collect()),
        ],
    }
}

/// How the throughput of each unit grows with the nodes.
fn growth(plan: &SizePlan, charts: Vec<Chart>) -> Section {
    let known = plan.needs.iter().flat_map(|need| &need.curve);
    let known = known.filter(|point| point.measured_per_s.is_some()).count();
    let models: usize = plan.needs.iter().map(|need| need.models.len()).sum();
    let word = plan.needs.first().map_or("measured", known_word);
    let needs = plan.needs.iter().flat_map(|need| growth_of(plan.axis, need));
    Section {
        id: "growth",
        title: "Growth",
        lead: format!("{} {word}, {}", plural(known, "size"), plural(models, "scaling model")),
        blocks: std::iter::once(Block::Charts(charts))
            .chain(needs)
            .chain([Block::Term(MODELS.to_owned())])
            .collect(),
    }
}

fn growth_of(axis: SizeAxis, need: &NeedPlan) -> Vec<Block> {
    let models = if need.models.is_empty() {
        // States that no growth was measured, and which one is assumed.
        let growth = need.growth.detail();
        Block::Paragraph(format!("Growth is assumed: {growth}. No model is fitted."))
    } else {
        Block::table("Scaling models", self::models(&need.models), 1)
    };
    let label = format!("Sizes that were {}", known_word(need));
    let mut blocks = vec![
        Block::Heading(format!("How {} grow", need.unit)),
        Block::table(label, sizes(axis, need), 0),
        models,
    ];
    let sentences = need.identifiability.iter().flat_map(|of| &of.sentences);
    blocks.extend(sentences.cloned().map(Block::Paragraph));
    blocks.push(Block::Lines(crate::plots::text_plot(axis, need)));
    blocks
}

fn answer(plan: &SizePlan) -> Answer {
    let nodes = &plan.nodes;
    let capacity = plan.needs.iter().map(|need| estimate(need.capacity, &need.unit, about));
    let capacity = format!("capacity {}", list(capacity, " and "));
    let noun = plan.axis.noun();
    let needs = format!("{}{}", decision::needs(plan), decision::conditions(plan));
    let counted = plan.sized(nodes.planned);
    let basis = format!("{capacity} with {counted}");
    let basis = if nodes.is_exceeded { String::new() } else { basis };
    let (each, shown) = nodes
        .to_prove
        .map_or_else(|| (count(nodes.planned.into()), nodes.planned), decision::unproven);
    let (figure, unit) = match plan.machines() {
        _ if !nodes.reached => (format!("no number of {noun}"), String::new()),
        1 => (each, plan.axis.noun_of(shown).to_owned()),
        machines => (plural(machines as usize, "machine"), format!("of {each} {noun} each")),
    };
    let interval = match (nodes.interval, nodes.to_prove) {
        (Some(interval), _) => format!(
            "{} likely to be enough, {} expected (90% interval {})",
            planned_probability(plan),
            interval.expected,
            interval.text()
        ),
        (None, Some(proof)) => decision::proven_by(plan, proof),
        (None, None) => plan.ended(),
    };
    Answer {
        question: format!(
            "How many {noun} do {} need{}?",
            decision::needs(plan),
            decision::conditions(plan)
        ),
        figure,
        unit,
        condition: if nodes.is_exceeded {
            format!("for {needs}, to be {} sure", percent_whole(nodes.probability))
        } else {
            format!("for {needs}")
        },
        caveat: nodes
            .to_prove
            .map(|_| "unproven: predictions end at twice the largest measured size"),
        interval,
        basis,
        limit: fewer(plan),
        judgments: judgments(plan),
        keys: keys(plan),
        assumptions: decision::weighed_most(plan).collect(),
        ..Answer::default()
    }
}

fn planned(plan: &SizePlan) -> Option<&Alternative> {
    plan.alternatives.iter().find(|other| other.planned)
}

fn planned_probability(plan: &SizePlan) -> String {
    planned(plan)
        .and_then(|planned| planned.probability)
        .map_or_else(|| format!("at least {}", percent_whole(plan.nodes.probability)), probability)
}

/// Why one node fewer is not planned.
fn fewer(plan: &SizePlan) -> Option<LimitLine> {
    let replicas = planned(plan)?.replicas;
    let nodes = plan.nodes.planned.checked_sub(1).filter(|nodes| *nodes > 0)?;
    let mut others = plan.alternatives.iter();
    let fewer = others.find(|other| other.nodes == nodes && other.replicas == replicas)?;
    let enough = probability(fewer.probability?);
    let requested = percent_whole(plan.nodes.probability);
    let nodes = plan.axis.counted(nodes);
    Some(LimitLine {
        label: "Fewer are not enough:".to_owned(),
        what: format!("{nodes} with a probability of {enough}"),
        more: format!("where {requested} is requested."),
        is_reached: false,
    })
}

fn judgments(plan: &SizePlan) -> Vec<JudgmentLine> {
    let origin = plan.needs.first().map(|need| &need.origin);
    let (value, tone) = match origin {
        _ if plan.needs.iter().any(|need| need.simulated) => ("simulated", Tone::Open),
        Some(Origin::Measured(_) | Origin::Given(_)) => ("measured by you", Tone::Good),
        Some(Origin::Published(_)) => ("published by others", Tone::Open),
        Some(Origin::Assumed(_)) | None => ("assumed", Tone::Open),
    };
    let basis = plan
        .needs
        .first()
        .map_or_else(String::new, |need| format!("{}.", need.measured.trim_end_matches('.')));
    let all = plan.inputs.len();
    let assumed = plan.inputs.iter().map(|input| &input.origin);
    let (inputs, known) = match assumed.filter(|origin| origin.is_assumption()).count() {
        0 => ("all known".to_owned(), Tone::Good),
        some => (format!("{some} of {all} assumed"), Tone::Open),
    };
    let which = "Inputs says which, and the flag that changes each.".to_owned();
    let number = match (plan.is_proven(), plan.nodes.reached) {
        (true, _) => {
            let enough = percent_whole(plan.nodes.probability);
            ("proven", Tone::Good, format!("Enough with a probability of at least {enough}."))
        }
        (false, true) => {
            let sentence = "Beyond twice the largest measured size nothing is proven.";
            ("unproven", Tone::Open, sentence.to_owned())
        }
        (false, false) => {
            let sentence = format!("No number of {} is expected to be enough.", plan.axis.noun());
            ("none", Tone::Open, sentence)
        }
    };
    [
        ("Sizes", value.to_owned(), tone, basis),
        ("Inputs", inputs, known, which),
        ("Number", number.0.to_owned(), number.1, number.2),
    ]
    .map(|(name, value, tone, sentence)| JudgmentLine { name, value, tone, sentence })
    .into()
}

fn keys(plan: &SizePlan) -> Vec<KeyFigure> {
    let nodes = &plan.nodes;
    let mut keys: Vec<KeyFigure> = plan
        .needs
        .iter()
        .filter(|_| !nodes.is_exceeded)
        .map(|need| {
            let of = need.capacity;
            let figure = format!("{} {}", about(of.expected), need.unit);
            KeyFigure::new("capacity", figure, interval_note(of, about))
        })
        .collect();
    let free = nodes.headroom;
    let known = interval_note(free, percent_whole);
    let free = percent_whole(free.expected);
    keys.extend(plan.has_number().then(|| KeyFigure::new("headroom", free, known)));
    // The keys are truncated below, so the price comes before the less important ones.
    keys.extend(plan.price_per_month.map(|price| {
        let note = format!("a month of 730 hours, {} an hour", decision::hourly(price));
        KeyFigure::new("price", rate(price), note)
    }));
    if nodes.survive > 0 && plan.has_number() {
        let free = percent_whole(nodes.headroom_after_loss.expected);
        let lost = plural(nodes.survive as usize, "node");
        let lost = format!("headroom with {lost} lost");
        keys.push(KeyFigure::new("after loss", free, lost));
    }
    for (name, figure, known) in decision::key_figures(plan) {
        keys.push(KeyFigure::new(name, figure, known));
    }
    keys.extend(plan.shards.as_ref().map(|shards| {
        let primaries = shards.primaries.to_string();
        KeyFigure::new("shards", primaries, "primaries")
    }));
    keys.extend(plan.disk.as_ref().map(|disk| {
        let figure = display_bytes(disk.per_node_bytes);
        KeyFigure::new("disk", figure, "per node")
    }));
    keys.truncate(6);
    keys
}

fn interval_note(of: Estimate, show: fn(f64) -> String) -> String {
    let interval = of.interval.map(|[low, high]| interval90(low, high, show));
    interval.unwrap_or_else(|| "unproven".to_owned())
}

/// Each measured size with its throughput.
fn sizes(axis: SizeAxis, need: &NeedPlan) -> Vec<Row> {
    let noun = axis.noun();
    let head = format!("{noun} | {} | per {}", known_word(need), noun.trim_end_matches('s'));
    let sizes = need.curve.iter().filter_map(|point| {
        let measured = point.measured_per_s?;
        Some(Row::new([plain(point.nodes), about(measured), about(measured / point.nodes)]))
    });
    headed(&head, sizes)
}

fn figures(plan: &SizePlan) -> Vec<Remark> {
    let nodes = &plan.nodes;
    let noun = plan.axis.noun();
    let planned = plan.sized(nodes.planned);
    let enough = match &nodes.interval {
        Some(interval) => format!(
            "{}   {} expected (90% interval {}) · enough with a probability of {}",
            nodes.planned,
            interval.expected,
            interval.text(),
            percent_whole(nodes.probability)
        ),
        None => nodes.to_prove.map_or_else(
            || format!("no number is enough: {}", plan.ended()),
            |proof| {
                let (number, _) = decision::unproven(proof);
                format!("{number}   unproven · {}", decision::proven_by(plan, proof))
            },
        ),
    };
    let mut lines = vec![Remark::new(noun, enough)];
    for need in plan.needs.iter().filter(|_| !nodes.is_exceeded) {
        let capacity = estimate(need.capacity, &need.unit, about);
        lines.push(Remark::new("capacity", format!("{capacity} with {planned}")));
    }
    let free = estimate(nodes.headroom, "", percent_whole);
    let lost = match nodes.survive {
        lost if lost > 0 && plan.axis == SizeAxis::Nodes => {
            format!(
                " · with {lost} lost {}",
                estimate(nodes.headroom_after_loss, "", percent_whole)
            )
        }
        _ => String::new(),
    };
    let requested = decision::requested_headroom(plan).filter(|_| plan.is_proven());
    let margin = requested.map_or_else(String::new, |requested| {
        format!(
            " · {} requested, the rest is the margin for a probability of {}",
            percent_whole(requested),
            percent_whole(nodes.probability)
        )
    });
    if plan.has_number() {
        lines.push(Remark::new("headroom", format!("{free}{lost}{margin}")));
    }
    if let Some(shards) = &plan.shards {
        let days = shards.partition_days.map_or(String::new(), |days| {
            let length = length(days);
            format!(" a partition · a partition for each {length}, {} kept", shards.partitions)
        });
        let bytes = shards
            .bytes
            .map_or(String::new(), |bytes| format!(" · up to {} each", display_bytes(bytes)));
        let each = plain(shards.per_node.ceil());
        let text = format!("{} primaries{days}{bytes} · {each} on each node", shards.primaries);
        lines.push(Remark::new("shards", text));
        for rule in &shards.rules {
            lines.push(Remark::new("", format!("rule: {rule}")));
        }
    }
    lines.extend(storage(plan));
    lines
}

fn storage(plan: &SizePlan) -> Vec<Remark> {
    let disk = plan.disk.as_ref().map(|disk| {
        let [each, all, day] =
            [disk.per_node_bytes, disk.stored_bytes, disk.per_day_bytes].map(display_bytes);
        format!("{each} on each node · {all} with all copies · {day} a day come in")
    });
    let network = plan.network.as_ref().map(|of| {
        let bits = |bytes: f64| format!("{} Gbit/s", significant(bytes * 8.0 / 1e9));
        let [each, between] = [of.per_node_bytes_per_s, of.between_bytes_per_s].map(bits);
        let [into, out] = [of.in_bytes_per_s, of.out_bytes_per_s].map(bits);
        format!("{each} on each node · {into} in · {out} out · {between} between nodes")
    });
    let price = plan.price_per_month.map(|price| {
        format!("{} an hour · {} a month of 730 hours", decision::hourly(price), rate(price))
    });
    [("disk", disk), ("network", network), ("price", price)]
        .into_iter()
        .filter_map(|(label, text)| Some(Remark::new(label, text?)))
        .collect()
}

/// The head and a row for each alternative.
fn alternative_rows(plan: &SizePlan) -> Vec<Row> {
    let disk = plan.disk.as_ref().map_or("", |_| " | disk a node");
    let price = plan.price_per_month.map_or("", |_| " | a month (730 h)");
    let free = if plan.nodes.survive > 0 { "after loss" } else { "headroom" };
    let noun = plan.axis.noun();
    let head = format!("{noun} | copies | {free} | 90% interval | probability{disk}{price}");
    let row = |alternative: &Alternative| {
        let headroom = alternative.headroom;
        let mut cells = vec![
            alternative.nodes.to_string(),
            format!("1 + {}", alternative.replicas),
            percent_whole(headroom.expected),
            or_absent(headroom.interval, |ends| between(ends, percent_whole)),
            or_absent(alternative.probability, probability),
        ];
        cells.extend(alternative.disk_per_node_bytes.map(display_bytes));
        cells.extend(alternative.price_per_month.map(rate));
        let planned = alternative.planned.then(|| "planned".to_owned());
        let remarks = planned.into_iter().chain(alternative.remark.clone());
        Row::new(cells).remark(list(remarks, ", "))
    };
    headed(&head, plan.alternatives.iter().map(row))
}

/// The head and a row for each model; the first column holds words.
pub(super) fn models(models: &[ModelPlan]) -> Vec<Row> {
    let nodes = models.first().map_or(0.0, |model| model.nodes);
    let head = format!("model | weight | left out | predicted for {} | 90% interval", plain(nodes));
    headed(&head, models.iter().map(model))
}

fn model(model: &ModelPlan) -> Row {
    let cells = [
        model.model.name().to_owned(),
        // A model that is only shown has no weight.
        or_absent(Some(model.weight).filter(|w| *w > 0.0), percent_whole),
        or_absent(model.left_out_error, percent),
        or_absent(model.prediction, |p| about(p.expected)),
        or_absent(model.prediction.and_then(|of| of.interval), |ends| between(ends, about)),
    ];
    let remark = model.fit.as_ref().map_or(String::new(), |fit| curve(&fit.curve));
    Row::new(cells).remark(remark)
}

/// The formula with its parameters.
fn curve(curve: &Curve) -> String {
    let figure = significant;
    match *curve {
        Curve::Linear { per_node } => format!("{}·n", about(per_node)),
        Curve::Affine { fixed, per_node } => {
            format!("{} + {}·n", about(fixed), about(per_node))
        }
        Curve::Amdahl { first, contention } => {
            format!("γ {}, σ {}", about(first), figure(contention))
        }
        Curve::Usl { first, contention, crosstalk } => {
            let kappa = if crosstalk > 0.0 { format!("{crosstalk:.2e}") } else { "0".to_owned() };
            let peak = curve.peak().map_or(String::new(), |peak| {
                let at = figure(peak.size);
                format!(", peak {} at {at}", about(peak.per_s))
            });
            let (first, contention) = (about(first), figure(contention));
            format!("γ {first}, σ {contention}, κ {kappa}{peak}")
        }
        Curve::Power { first, exponent } => {
            format!("{}·n^{}", about(first), figure(exponent))
        }
    }
}

/// The head and a row for each input; all columns hold words.
fn input_rows(inputs: &[Input]) -> Vec<Row> {
    let rows = inputs.iter().map(|input| {
        let cells = [&input.name, &input.value, input.origin.word(), &input.flag];
        Row::new(cells).remark(foreign(input.origin.detail(), WORDS))
    });
    headed("input | value | origin | changed by", rows)
}

/// `97,100 to 99,200`.
fn between(ends: [f64; 2], show: impl Fn(f64) -> String) -> String {
    let [low, high] = ends.map(show);
    format!("{low} to {high}")
}

/// `1.20 TB`: decimal units, as disks are sold.
pub(crate) fn display_bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= 0.999_5 * unit);
    match unit {
        Some((unit, name)) => format!("{} {name}", significant(bytes / unit)),
        None => format!("{} B", rate(bytes)),
    }
}
