//! Settings of `highwater size`: the rates, the figures, and the conditions. Must not compute a plan.

use std::path::PathBuf;

use highwater_model::numbers::to_f64;
use highwater_model::quantity::{parse_bytes, parse_count, parse_duration, parse_rate};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_next::quoted;
use highwater_sizing::cluster::{Origin, Reading, WithOrigin};
use highwater_sizing::scaling::Weighting;

use crate::intent::parsers::{self, wrong};
use crate::layers::{self, Layers};

/// Maximum of nodes, replicas, vCPUs, or months.
const MOST: u32 = 100_000;
/// Maximum number of rates: one of rows and one of queries.
const MOST_NEEDS: usize = 2;
const TARGET_HINT: &str = "a target is a rate: `1M` or `1M rows/s` for rows, `200q/s` for queries, \
`500k..800k` if demand is uncertain";

/// Settings of a size plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeIntent {
    /// Rates to sustain; at least one, each of a different kind.
    pub(super) rates: Vec<RequestedRate>,
    /// Files, directories, and runs.
    pub(super) from: Vec<String>,
    /// Names of the series to use, if there are several.
    pub(super) series: Vec<String>,
    /// Published series to take throughputs from, at most one for rows and one for queries. The growth is then assumed.
    pub(super) assume: Vec<String>,
    /// How points are interpreted.
    pub(super) reading: Reading,
    /// The conditions.
    pub(super) conditions: Conditions,
    /// Squares that the printed fits minimize.
    pub(super) squares: Weighting,
    /// Print the plan as JSON instead of the report.
    pub(super) json: bool,
    /// Print all details below the answer.
    pub(super) verbose: bool,
    /// File for a page of the plan.
    pub(super) html: Option<PathBuf>,
    /// The command that repeats the plan, with settings from the environment and files as flags.
    pub(super) command: String,
    /// Directory of the run store, for looking up IDs.
    pub(super) out: PathBuf,
}

/// A rate that the cluster must sustain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequestedRate {
    /// Rate per second; the upper end of an interval.
    pub(super) per_s: WithOrigin<f64>,
    /// The lower end of an interval.
    pub(super) at_least_per_s: Option<f64>,
    /// Whether it counts rows; otherwise queries.
    pub(super) rows: bool,
    /// Whether no unit was given: it then counts rows, unless the figures do not.
    pub(super) is_bare: bool,
}

/// Inputs of a plan other than its figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Conditions {
    /// Fraction of 1.
    pub(super) probability: WithOrigin<f64>,
    /// Fraction of 1.
    pub(super) headroom: WithOrigin<f64>,
    /// Fraction of 1, per month.
    pub(super) growth_per_month: WithOrigin<f64>,
    /// Months from now.
    pub(super) months: WithOrigin<u32>,
    /// Number of nodes.
    pub(super) tolerated_failures: WithOrigin<u32>,
    /// Replicas; as measured if absent.
    pub(super) replicas: Option<WithOrigin<u32>>,
    /// vCPUs of each planned node; as measured if absent.
    pub(super) vcpus_per_node: Option<WithOrigin<f64>>,
    /// Seconds.
    pub(super) retention_s: Option<WithOrigin<f64>>,
    /// Bytes on disk.
    pub(super) stored_bytes_per_row: Option<WithOrigin<f64>>,
    /// Bytes as sent.
    pub(super) sent_bytes_per_row: Option<WithOrigin<f64>>,
    /// Bytes of a query's response.
    pub(super) bytes_per_answer: Option<WithOrigin<f64>>,
    /// Price in any currency.
    pub(super) price_per_node_hour: Option<WithOrigin<f64>>,
    /// As recommended by the database's vendor if absent.
    pub(super) shards_per_vcpu: Option<WithOrigin<f64>>,
    /// Maximum; as recommended if absent.
    pub(super) shard_bytes: Option<WithOrigin<f64>>,
    /// Fraction of 1; as recommended if absent.
    pub(super) disk_fill: Option<WithOrigin<f64>>,
}

impl SizeIntent {
    pub(super) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let mut from: Vec<String> = layers.texts("from").collect();
        let (sources, rates) = split(&layers.positionals, !from.is_empty());
        from.extend(sources);
        Ok(Self {
            rates: requested_rates(&rates)?,
            from,
            series: layers.texts("series").collect(),
            assume: layers.texts("assume").collect(),
            reading: Reading {
                nodes: layers.parse("nodes", measured_nodes)?,
                error: layers.parse("error", part)?,
                p99_s: layers.parse("p99", seconds)?,
                replica_cost: layers.parse("replica-cost", replica_cost)?,
                model: layers.parse("model", parsers::model)?,
                published: false,
            },
            conditions: Conditions::resolve(layers)?,
            squares: layers.require("squares", squares)?,
            json: layers.switch("json")?,
            verbose: layers.switch("verbose")?,
            html: layers.parse("html", parsers::word)?.map(PathBuf::from),
            out: layers.require("out", parsers::word)?.into(),
            command: command(layers),
        })
    }
}

/// Flags that affect the output, but not the plan.
const OF_OUTPUT: [&str; 6] = ["json", "verbose", "html", "config", "no-color", "out"];

fn command(layers: &Layers) -> String {
    let mut words = vec!["highwater".to_owned(), layers.command.to_owned()];
    words.extend(layers.positionals.iter().map(|word| quoted(word)));
    for name in layers.flags.keys().filter(|name| !OF_OUTPUT.contains(name)) {
        let given = layers.value(name).filter(|given| given.origin != layers::Origin::Default);
        for text in layers.texts(name).filter(|_| given.is_some()) {
            words.extend([format!("--{name}"), quoted(&text)]);
        }
    }
    words.join(" ")
}

impl Conditions {
    fn resolve(layers: &Layers) -> Result<Self, UserError> {
        Ok(Self {
            probability: required(layers, "confidence", inner_part)?,
            headroom: required(layers, "headroom", part_below_one)?,
            growth_per_month: required(layers, "growth", growth)?,
            months: required(layers, "months", number)?,
            tolerated_failures: required(layers, "tolerate-failures", number)?,
            replicas: traced(layers, "replicas", number)?,
            vcpus_per_node: traced(layers, "vcpus", above_zero)?,
            retention_s: traced(layers, "retention", retention)?,
            stored_bytes_per_row: traced(layers, "bytes-per-row", bytes)?,
            sent_bytes_per_row: traced(layers, "sent-bytes-per-row", bytes)?,
            bytes_per_answer: traced(layers, "bytes-per-answer", bytes)?,
            price_per_node_hour: traced(layers, "price", parsers::amount)?,
            shards_per_vcpu: traced(layers, "shards-per-vcpu", parsers::amount)?,
            shard_bytes: traced(layers, "shard-size", bytes)?,
            disk_fill: traced(layers, "disk-fill", inner_part)?,
        })
    }
}

fn traced<T>(
    layers: &Layers,
    name: &str,
    parser: fn(&str) -> Result<T, UserError>,
) -> Result<Option<WithOrigin<T>>, UserError> {
    let Some(given) = layers.value(name) else {
        return Ok(None);
    };
    let origin = match given.origin {
        layers::Origin::Default => Origin::Assumed("default".to_owned()),
        _ => Origin::Given(given.place()),
    };
    let value = given.parse(parser)?;
    Ok(Some(WithOrigin { value, origin }))
}

fn required<T>(
    layers: &Layers,
    name: &str,
    parser: fn(&str) -> Result<T, UserError>,
) -> Result<WithOrigin<T>, UserError> {
    traced(layers, name, parser)?.ok_or_else(|| UserError::usage(format!("--{name} is missing")))
}

/// Separates the rates from further files after `--from FILE`, into which a shell expands `--from runs/*`. Names of
/// files and runs contain a path, an extension, or a date; rates contain none of them.
fn split(positionals: &[String], after_from: bool) -> (Vec<String>, Vec<String>) {
    const TIMES: [&str; 9] = ["s", "sec", "second", "m", "min", "minute", "h", "hour", "day"];
    let is_source = |text: &&String| {
        let ending = std::path::Path::new(text).extension();
        let named = ending.is_some_and(|ending| ending == "csv" || ending == "json");
        let bare = match text.rsplit_once('/') {
            Some((rate, time)) if TIMES.contains(&time) => rate,
            _ => text,
        };
        let dated = text.contains('-');
        after_from && (named || dated || bare.contains(std::path::MAIN_SEPARATOR))
    };
    positionals.iter().cloned().partition(|text| is_source(&text))
}

/// The words of the rates, each with its unit: `400000 rows/s` may be typed as two words.
fn joined(positionals: &[String]) -> Vec<String> {
    let mut rates: Vec<String> = Vec::new();
    for word in positionals {
        match rates.last_mut() {
            Some(number) if kind(word).0.is_empty() && !word.is_empty() => number.push_str(word),
            _ => rates.push(word.clone()),
        }
    }
    rates
}

/// The rates, each of a different kind.
fn requested_rates(positionals: &[String]) -> Result<Vec<RequestedRate>, UserError> {
    let mut requested: Vec<RequestedRate> = Vec::new();
    for text in joined(positionals) {
        let text = text.as_str();
        let fail = |cause: &str| {
            UserError::usage(format!("RATE: `{text}` {cause}")).with_hint(TARGET_HINT)
        };
        let (number, rows) = kind(text);
        let (least, number) = match number.split_once("..") {
            Some((least, most)) => (Some(least), most),
            None => (None, number),
        };
        let rate = |text: &str| {
            let number = parse_rate(text);
            number.map_err(|error| {
                UserError::usage(format!("RATE: {}", error.message)).with_hint(TARGET_HINT)
            })
        };
        let per_s = rate(number)?.as_f64();
        let at_least_per_s = least.map(rate).transpose()?.map(Rate::as_f64);
        if at_least_per_s.is_some_and(|least| least >= per_s) {
            return Err(fail("does not go upwards"));
        }
        if requested.iter().any(|other| other.rows == rows) {
            return Err(fail("is a second rate of the same kind"));
        }
        requested.push(RequestedRate {
            per_s: WithOrigin::given(per_s, "the command line"),
            at_least_per_s,
            rows,
            is_bare: !text.ends_with("/s") && !text.ends_with("ps"),
        });
    }
    match requested.len() {
        1..=MOST_NEEDS => Ok(requested),
        _ => Err(UserError::usage("no rate given").with_hint(TARGET_HINT)),
    }
}

/// The number of a rate, and whether it counts rows.
fn kind(text: &str) -> (&str, bool) {
    const QUERIES: [&str; 8] =
        ["queries/s", "query/s", "q/s", "qps", "transactions/s", "tps", "ops/s", "op/s"];
    const ROWS: [&str; 3] = ["rows/s", "row/s", "r/s"];
    let strip = |endings: &[&str]| {
        let mut endings = endings.iter();
        endings.find_map(|ending| text.strip_suffix(ending))
    };
    match (strip(&QUERIES), strip(&ROWS)) {
        (Some(number), _) => (number.trim_end(), false),
        (None, Some(number)) => (number.trim_end(), true),
        (None, None) => (text, true),
    }
}

fn number(text: &str) -> Result<u32, UserError> {
    let count = u32::try_from(parse_count(text)?).unwrap_or(u32::MAX);
    if count > MOST {
        return Err(wrong(text, "is too large", "give at most 100000"));
    }
    Ok(count)
}

fn above_zero(text: &str) -> Result<f64, UserError> {
    match number(text)? {
        0 => Err(wrong(text, "is not above zero", "give at least 1")),
        number => Ok(f64::from(number)),
    }
}

/// The size of the measured cluster.
fn measured_nodes(text: &str) -> Result<f64, UserError> {
    let hint =
        "it is the number of nodes that one measurement without a size was made on, such as `3`";
    above_zero(text)
        .map_err(|error| if text.contains(['.', ',']) { error.with_hint(hint) } else { error })
}

fn squares(text: &str) -> Result<Weighting, UserError> {
    let hint = "there are `relative` and `absolute`";
    serde_json::from_value(text.into()).map_err(|_| wrong(text, "is not a kind of squares", hint))
}

/// A percentage as a fraction of 1.
fn part(text: &str) -> Result<f64, UserError> {
    Ok(f64::from(parsers::percent_or_zero(text)?.0) / 1e6)
}

/// The cost of a replica as a fraction of that of the first copy; a replica can cost more.
fn replica_cost(text: &str) -> Result<f64, UserError> {
    const MOST: f64 = 1_000.0;
    let percent =
        if text == "0" { Some(0.0) } else { text.strip_suffix('%').and_then(plain_number) };
    percent.filter(|percent| *percent <= MOST).map(|percent| percent / 100.0).ok_or_else(|| {
        wrong(
            text,
            "is not the cost of a replica",
            "give percent of the first copy's cost: 0% to 1000%",
        )
    })
}

/// Digits, with or without a fraction.
fn plain_number(text: &str) -> Option<f64> {
    let is_plain = text.chars().all(|of| of.is_ascii_digit() || of == '.');
    text.parse().ok().filter(|_| is_plain)
}

/// Growth per month; the unit is not written.
fn growth(text: &str) -> Result<f64, UserError> {
    let hint = match plain_number(text) {
        Some(_) => format!("growth is percent per month: write `{text}%`"),
        None => "give percent per month, such as `5%`".to_owned(),
    };
    part(text).map_err(|error| error.with_hint(hint))
}

fn part_below_one(text: &str) -> Result<f64, UserError> {
    let part = part(text)?;
    if part < 1.0 {
        return Ok(part);
    }
    Err(wrong(text, "leaves no capacity", "give less than 100%"))
}

fn inner_part(text: &str) -> Result<f64, UserError> {
    let part = part(text)?;
    if part >= 1.0 {
        return Err(wrong(
            text,
            "is certainty, which no number of nodes gives",
            "give less than 100%",
        ));
    }
    if part > 0.0 {
        return Ok(part);
    }
    Err(wrong(text, "is not above zero", "give more than 0%"))
}

fn seconds(text: &str) -> Result<f64, UserError> {
    match parse_duration(text)? {
        Nanos::ZERO => Err(wrong(text, "is not above zero", "such as `50ms`")),
        nanos => Ok(nanos.as_secs_f64()),
    }
}

/// A retention time in days, weeks, or years. Months are not supported, because they differ in length.
fn retention(text: &str) -> Result<f64, UserError> {
    const DAY_S: f64 = 86_400.0;
    const UNITS: [(char, f64); 3] = [('d', DAY_S), ('w', 7.0 * DAY_S), ('y', 365.0 * DAY_S)];
    const HINT: &str = "how long rows are kept is a number of days, weeks or years, such as `90d`, \
                        `12w` or `2y`, or a duration, such as `12h`";
    let long = UNITS.iter().find_map(|(unit, seconds)| {
        let count = parse_count(text.strip_suffix(*unit)?).ok()?;
        let count = u32::try_from(count).ok().filter(|count| *count <= MOST)?;
        Some(f64::from(count) * seconds)
    });
    let seconds = match long {
        Some(seconds) => seconds,
        None => {
            parse_duration(text).map_err(|_| wrong(text, "is not a duration", HINT))?.as_secs_f64()
        }
    };
    if seconds > 0.0 {
        return Ok(seconds);
    }
    Err(wrong(text, "is not above zero", HINT))
}

fn bytes(text: &str) -> Result<f64, UserError> {
    match parse_bytes(text)? {
        0 => Err(wrong(text, "is not above zero", "such as `120` or `1kB`")),
        bytes => Ok(to_f64(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_rows_or_queries() {
        let words = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let requested = requested_rates(&texts);
            requested.map(|all| {
                let one = |rate: &RequestedRate| (rate.per_s.value, rate.rows);
                all.iter().map(one).collect::<Vec<_>>()
            })
        };
        assert_eq!(words(&["1M"]).unwrap(), [(1e6, true)]);
        assert_eq!(words(&["1.5M rows/s"]).unwrap(), [(1.5e6, true)]);
        assert_eq!(words(&["50k/s"]).unwrap(), [(5e4, true)]);
        for text in ["200q/s", "200 queries/s", "200qps"] {
            assert_eq!(words(&[text]).unwrap(), [(200.0, false)]);
        }
        assert_eq!(words(&["1M", "200q/s"]).unwrap().len(), 2);
        let interval = requested_rates(&["500k..800k".to_owned()]).unwrap();
        let ends = (interval[0].at_least_per_s, interval[0].per_s.value);
        assert_eq!(ends, (Some(5e5), 8e5));
        assert!(words(&["800k..500k"]).unwrap_err().message.contains("upwards"));
        assert!(words(&[]).is_err());
        assert!(words(&["1M", "2M"]).unwrap_err().message.contains("second"));
        assert!(words(&["many"]).is_err());
    }

    #[test]
    fn files_after_from_are_not_rates() {
        let words = ["1M", "50 queries/s", "runs/b", "c.csv", "2026-11-20T18-cpu"];
        let words = words.map(str::to_owned);
        let (sources, rates) = split(&words, true);
        assert_eq!(sources, ["runs/b", "c.csv", "2026-11-20T18-cpu"]);
        assert_eq!(rates, ["1M", "50 queries/s"]);
        assert!(split(&words, false).0.is_empty());
    }

    #[test]
    fn retentions_have_days_weeks_and_years() {
        assert_eq!(retention("90d"), Ok(90.0 * 86_400.0));
        assert_eq!(retention("2w"), Ok(14.0 * 86_400.0));
        assert_eq!(retention("1y"), Ok(365.0 * 86_400.0));
        assert_eq!(retention("12h"), Ok(43_200.0));
        for wrong in ["0d", "", "d", "-1d", "90", "3 moons", "99999999999d"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_plain_and_above_zero() {
        assert_eq!(parsers::amount("0.80"), Ok(0.8));
        let message = |text: &str| parsers::amount(text).unwrap_err().message;
        for wrong in ["1e400", "inf", "nan", "", "-", "--1"] {
            assert_eq!(message(wrong), format!("`{wrong}` is not an amount"));
        }
        assert_eq!(message("-1"), "`-1` is negative");
        assert_eq!(message("0"), "`0` is not above zero");
        for comma in ["1,5", "1,000", "1,000.50"] {
            assert!(message(comma).starts_with(&format!("`{comma}` has a comma")), "{comma}");
        }
    }

    #[test]
    fn a_rate_with_commas_or_below_zero_says_so() {
        for (text, cause) in [
            ("1,000", "`1,000` has commas between its digits"),
            ("1,000k rows/s", "`1,000k` has commas between its digits"),
            ("100..1,000", "`1,000` has commas between its digits"),
            ("-5", "`-5` is negative"),
        ] {
            let error = requested_rates(&[text.to_owned()]).unwrap_err();
            assert!(error.message.starts_with(&format!("RATE: {cause}")), "{}", error.message);
        }
    }

    fn rates(words: &[&str]) -> Result<Vec<RequestedRate>, UserError> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        requested_rates(&words)
    }

    #[test]
    fn a_unit_may_be_a_word_of_its_own() {
        let one = |words: &[&str]| rates(words).unwrap();
        assert_eq!(one(&["400k", "rows/s"]), one(&["400k rows/s"]));
        assert_eq!(one(&["1M", "rows/s", "200", "q/s"]), one(&["1M rows/s", "200q/s"]));
        assert!(rates(&["rows/s"]).is_err(), "a unit without a number");
    }

    #[test]
    fn a_percentage_or_a_size_in_another_form_is_answered_with_its_own() {
        let hint = |failure: UserError| failure.hint.unwrap();
        assert_eq!(hint(growth("3").unwrap_err()), "growth is percent per month: write `3%`");
        assert!(hint(growth("soon").unwrap_err()).contains("such as `5%`"));
        assert!(hint(measured_nodes("5..2").unwrap_err()).contains("such as `3`"));
        assert!(hint(measured_nodes("0").unwrap_err()).contains("at least 1"));
    }
}
