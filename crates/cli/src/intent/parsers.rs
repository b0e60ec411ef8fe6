//! Parsers of single settings that are not quantities: kinds, shares, names, and their values. Must not read other
//! settings.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use highwater_live::{OtlpUrl, OtlpUrlError};
use highwater_model::plan::{Arrivals, AuditLevel, LANES, Predicate, Share};
use highwater_model::quantity::{Ppm, parse_count, parse_duration, parse_instant, parse_percent};
use highwater_model::search::SearchAxis;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_sizing::scaling::ScalingModel;

use super::{PageAddress, StartAt};

/// Maximum bytes of a name or value of a label or a parameter.
const LONGEST_WORD: usize = 256;

/// The word for a warm-up until throughput is steady.
const STEADY: &str = "steady";
/// Default maximum of such a warm-up: a server that compiles at run time took a minute.
const STEADY_WITHIN: Nanos = Nanos::from_secs(120);

/// The value of a word with few choices.
pub(crate) fn one_of<T: Copy>(
    all: &[(&str, T)],
    text: &str,
    cause: &str,
    hint: &'static str,
) -> Result<T, UserError> {
    let found = all.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| wrong(text, cause, hint))
}

/// An error for a text that is not such a value.
pub(crate) fn wrong(text: &str, cause: &str, hint: &'static str) -> UserError {
    UserError::usage(format!("`{text}` {cause}")).with_hint(hint)
}

pub(crate) fn arrivals(text: &str) -> Result<Arrivals, UserError> {
    let hint = "there are `constant` and `poisson`";
    serde_json::from_value(text.into()).map_err(|_| wrong(text, "is not a kind of arrivals", hint))
}

/// Address of the live page: `usual`, or an address.
pub(crate) fn page_address(text: &str) -> Result<PageAddress, UserError> {
    match text {
        "usual" => Ok(PageAddress::Usual),
        _ => address(text).map(PageAddress::At),
    }
}

/// `4790`, `localhost:4790`, `0.0.0.0:4790`, `[::]:4790`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, UserError> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    port.parse().map(|port| SocketAddr::new(loopback, port)).or_else(|_| text.parse()).map_err(
        |_| {
            let hint = "give a port, or an IP address and a port, such as 127.0.0.1:4790";
            wrong(text, "is not an address to listen on", hint)
        },
    )
}

/// `http://localhost:4318`.
pub(crate) fn otlp_url(text: &str) -> Result<OtlpUrl, UserError> {
    text.parse().map_err(|error| {
        // A message must not contain a password.
        let shown = match error {
            OtlpUrlError::User => "the URL".to_owned(),
            _ => format!("`{text}`"),
        };
        UserError::usage(format!("{shown} {error}")).with_hint(
            "give the address of a collector's HTTP receiver, such as http://localhost:4318",
        )
    })
}

/// A scaling model by its name in tables, case-insensitive.
pub(crate) fn model(text: &str) -> Result<ScalingModel, UserError> {
    let found = ScalingModel::ALL.into_iter().find(|model| model.name().eq_ignore_ascii_case(text));
    let hint = "there are `linear`, `affine`, `amdahl`, `usl`, and `power`";
    found.ok_or_else(|| wrong(text, "is not a scaling model", hint))
}

pub(crate) fn axis(text: &str) -> Result<SearchAxis, UserError> {
    let hint = "there are `rate` and `sessions`";
    serde_json::from_value(text.into()).map_err(|_| wrong(text, "is not an axis", hint))
}

/// What has to remain during a fault: `rate>50%`.
pub(crate) fn rate_during(text: &str) -> Result<Ppm, UserError> {
    let hint = "write `rate>50%`";
    let share = text.replace(' ', "");
    let share = share.strip_prefix("rate>").map(|share| share.strip_prefix('=').unwrap_or(share));
    match share.map(parse_percent) {
        None => Err(wrong(text, "is not a condition for the time of a fault", hint)),
        Some(Ok(Ppm(0))) => Err(wrong(text, "requires nothing", hint)),
        Some(share) => share,
    }
}

/// A percentage from 0.5% to 50%.
pub(crate) fn tolerance(text: &str) -> Result<Ppm, UserError> {
    match parse_percent(text)? {
        tolerance if (5_000..=500_000).contains(&tolerance.0) => Ok(tolerance),
        _ => Err(wrong(text, "is out of range", "give 0.5% to 50%")),
    }
}

pub(crate) fn audit(text: &str) -> Result<AuditLevel, UserError> {
    let hint = "there are `count`, `sums`, `full` and `off`";
    serde_json::from_value(text.into()).map_err(|_| wrong(text, "is not an audit level", hint))
}

/// The suffix of a mark: `soak=30m`.
pub(crate) fn soak(text: &str) -> Result<Nanos, UserError> {
    let hint = "write `soak=30m`";
    let Some(length) = text.strip_prefix("soak=") else {
        return Err(wrong(text, "is nothing that can follow", hint));
    };
    match parse_duration(length)? {
        Nanos::ZERO => Err(wrong(text, "is not above zero", hint)),
        length => Ok(length),
    }
}

pub(crate) fn seed(text: &str) -> Result<Seed, UserError> {
    let hint = "a seed is a whole number from 0 to 18446744073709551615";
    let seed = text.parse().map(Seed);
    seed.map_err(|_| wrong(text, "is not a seed", hint))
}

/// A count from 1 to 2³² − 1.
pub(crate) fn positive(text: &str) -> Result<u32, UserError> {
    match u32::try_from(parse_count(text)?) {
        Ok(0) => Err(wrong(text, "is not above zero", "give at least 1")),
        Ok(count) => Ok(count),
        Err(_) => Err(wrong(text, "is too large", "give at most 4294967295")),
    }
}

/// A count from 1.
pub(crate) fn positive_long(text: &str) -> Result<u64, UserError> {
    match parse_count(text)? {
        0 => Err(wrong(text, "is not above zero", "give at least 1")),
        count => Ok(count),
    }
}

/// A count from 0 to 1,000.
pub(crate) fn retries(text: &str) -> Result<u32, UserError> {
    match u32::try_from(parse_count(text)?) {
        Ok(count @ 0..=1_000) => Ok(count),
        _ => Err(wrong(text, "is too large", "give at most 1000")),
    }
}

/// A percentage, or plain `0`.
pub(crate) fn percent_or_zero(text: &str) -> Result<Ppm, UserError> {
    if text == "0" {
        return Ok(Ppm(0));
    }
    parse_percent(text)
}

pub(crate) fn share(text: &str) -> Result<Share, UserError> {
    const HINT: &str = "a share is `i/n`, with i from 1 to n and n at most 64; or `auto`, to take both from the program \
                        that starts the load generators";
    let parsed =
        text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parsed {
        Some((index, of)) if 1 <= index && index <= of && of <= LANES => {
            Ok(Share { index, of, start_at: None })
        }
        _ => Err(wrong(text, "is not a share", HINT)),
    }
}

pub(crate) fn start_at(text: &str) -> Result<StartAt, UserError> {
    match text.strip_prefix('+') {
        Some(delay) => parse_duration(delay).map(StartAt::Delay),
        None => parse_instant(text).map(StartAt::Instant).map_err(|error| {
            error.with_hint(
                "give a point in time, such as `2026-11-20T18:30:00Z`, or a delay, such as `+10s`",
            )
        }),
    }
}

/// A duration; or `steady`, with an optional maximum after a colon.
pub(crate) fn warm_up(text: &str) -> Result<(Nanos, bool), UserError> {
    const HINT: &str = "give a duration, such as `30s`; or `steady`, or `steady:5m`, to run until \
                        throughput is steady, for that long at most";
    let Some(most) = text.strip_prefix(STEADY) else {
        let wrong = |error: UserError| error.with_hint(HINT);
        return parse_duration(text).map(|length| (length, false)).map_err(wrong);
    };
    let most = match most.strip_prefix(':') {
        Some(most) => parse_duration(most)?,
        None if most.is_empty() => STEADY_WITHIN,
        None => return Err(wrong(text, "is not a warm-up", HINT)),
    };
    if most == Nanos::ZERO {
        return Err(wrong(text, "leaves no time to become steady", HINT));
    }
    Ok((most, true))
}

pub(crate) fn predicate(text: &str) -> Result<Predicate, UserError> {
    const HINT: &str =
        "there are `ci95<PERCENT` and `errors>N`, such as 'ci95<1%' and 'errors>100'";
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(bound) = compact.strip_prefix("ci95<") {
        match parse_percent(bound)? {
            ppm if ppm.0 > 0 => Ok(Predicate::RelativeCiBelow { ppm: ppm.0 }),
            _ => Err(wrong(text, "can never hold", HINT)),
        }
    } else if let Some(bound) = compact.strip_prefix("errors>") {
        parse_count(bound).map(|count| Predicate::ErrorsAbove { count })
    } else {
        Err(wrong(text, "is not a predicate", HINT))
    }
}

/// `NAME=VALUE`, the name of letters, digits, `_`, `-` and `.`.
pub(crate) fn pair(text: &str) -> Result<(String, String), UserError> {
    const HINT: &str = "it is written `NAME=VALUE`; a name has letters, digits, `_`, `-` and `.`";
    let Some((name, value)) = text.split_once('=') else {
        return Err(wrong(text, "has no `=`", HINT));
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(wrong(name, "is not a name", HINT));
    }
    if name.len() > LONGEST_WORD || value.len() > LONGEST_WORD {
        let hint = "a name and a value have at most 256 bytes";
        return Err(wrong(name, "is too long", hint));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A file, and an optional weight after an `@`.
pub(crate) fn weighted_file(text: &str) -> Result<(PathBuf, Option<u32>), UserError> {
    let (path, weight) = match text.rsplit_once('@') {
        Some((path, weight)) if weight.bytes().all(|b| b.is_ascii_digit()) => (path, Some(weight)),
        _ => (text, None),
    };
    let hint = "a weight is from 1 to 1,000,000";
    let weight = weight.map(|weight| match weight.parse() {
        Ok(weight @ 1..=1_000_000) => Ok(weight),
        _ => Err(wrong(text, "has no usable weight", hint)),
    });
    Ok((PathBuf::from(word(path)?), weight.transpose()?))
}

/// `50ms` for each op, or `insert<50ms` for one op or stream.
pub(crate) fn latency_bound(text: &str) -> Result<(Option<String>, Nanos), UserError> {
    let Some((op, bound)) = text.split_once('<') else {
        return Ok((None, parse_duration(text)?));
    };
    let op = op.trim();
    if op.is_empty() {
        let bound = bound.trim_start_matches('=').trim();
        let hint = format!("write {bound}, or 'insert<{bound}' for one op");
        return Err(UserError::usage(format!("`{text}` names no op")).with_hint(hint));
    }
    let bound = bound.strip_prefix('=').unwrap_or(bound).trim();
    Ok((Some(op.to_owned()), parse_duration(bound)?))
}

/// An amount of money, or a decimal number.
pub(crate) fn amount(text: &str) -> Result<f64, UserError> {
    const HINT: &str = "such as `0.80` or `2`";
    let bare = text.strip_prefix('-').unwrap_or(text);
    let plain = bare.chars().all(|c| c.is_ascii_digit() || c == '.');
    let amount: Option<f64> = bare.parse().ok().filter(|amount| plain && *amount <= 1e9);
    match amount {
        Some(_) if bare != text => Err(wrong(text, "is negative", HINT)),
        Some(0.0) => Err(wrong(text, "is not above zero", HINT)),
        Some(amount) => Ok(amount),
        None if bare.contains(',') => {
            let cause = "has a comma: write a point before decimals, and nothing between thousands";
            Err(wrong(text, cause, HINT))
        }
        None => Err(wrong(text, "is not an amount", HINT)),
    }
}

pub(crate) fn word(text: &str) -> Result<String, UserError> {
    if text.is_empty() {
        return Err(wrong(text, "is empty", "give a name"));
    }
    Ok(text.to_owned())
}
