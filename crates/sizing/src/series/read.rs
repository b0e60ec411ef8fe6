//! Reads a CSV file of figures: typed points, or all errors with their positions.
//!
//! Cells are separated by commas, semicolons, or tabs, as in the header; `#` begins a comment line; an empty cell is a
//! value that the source does not state. A cell's own unit, as in `10 GiB/s` or `84.7 ms`, overrides its column's.

use std::collections::BTreeMap;
use std::ops::Range;

use highwater_model::user_error::{UserError, suggest};

use super::columns::{Bound, NO_UNIT, NOUNS, bind, normalized};
use super::columns::{Dimension, KNOWN_COLUMNS, Role};
use super::{Column, Origin, Point, SeriesSet, Setting};

/// Maximum number of errors reported at once.
const MOST_MISTAKES: usize = 20;
/// Maximum number of rows in a file.
const MOST_ROWS: usize = 100_000;
/// Maximum number of columns in a file.
const MOST_COLUMNS: usize = 200;
/// Name of the series if the file has none.
const UNNAMED: &str = "series";
/// The required first line of a file.
const HEADER_HINT: &str = "begin with a line that names the columns, such as `nodes,rows_per_s`";

/// Reads a file; returns its points, or all its errors in the file's order (at most 20).
pub fn read(text: &str) -> Result<SeriesSet, Vec<UserError>> {
    let mut reading = Reading {
        text,
        delimiter: delimiter(text),
        bound: Vec::new(),
        errors: Vec::new(),
        notes: Vec::new(),
    };
    let points = reading.points();
    if reading.errors.is_empty() {
        Ok(SeriesSet { points, columns: reading.columns(), notes: reading.notes })
    } else {
        reading.errors.truncate(MOST_MISTAKES);
        Err(reading.errors)
    }
}

/// A file being read.
struct Reading<'a> {
    text: &'a str,
    delimiter: u8,
    bound: Vec<Bound>,
    errors: Vec<UserError>,
    notes: Vec<String>,
}

/// A record of the file with the byte at which it begins.
struct Line {
    start: usize,
    number: usize,
    cells: Vec<String>,
}

impl Reading<'_> {
    fn points(&mut self) -> Vec<Point> {
        let mut lines = self.lines().into_iter();
        let Some(header) = lines.next() else {
            self.error_at(0..0, "the file has no header and no figures", HEADER_HINT);
            return Vec::new();
        };
        self.bind(&header);
        if !self.errors.is_empty() {
            return Vec::new();
        }
        let lines: Vec<Line> = lines.collect();
        self.words_are_settings(&lines);
        self.points_may_be_groups(&lines);
        if !self.errors.is_empty() {
            return Vec::new();
        }
        let points: Vec<Point> = lines.into_iter().filter_map(|line| self.point(&line)).collect();
        if points.is_empty() && self.errors.is_empty() {
            let end = self.text.len();
            let message = "there are no figures below the header";
            self.error_at(end..end, message, "write one line per measured point");
        }
        points
    }

    /// The file split into cells by the library.
    fn lines(&mut self) -> Vec<Line> {
        let bare = self.text.trim_start_matches('\u{feff}');
        let skipped = self.text.len() - bare.len();
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .comment(Some(b'#'))
            .flexible(true)
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(bare.as_bytes());
        let (mut lines, mut number, mut counted) = (Vec::new(), 1, 0);
        for record in reader.records() {
            // The text is UTF-8 and lengths may differ, so this fails only in extreme cases.
            let Ok(record) = record else {
                break;
            };
            let position = record.position().map_or(0, csv::Position::byte);
            let position = usize::try_from(position).unwrap_or(usize::MAX);
            let start = record_start(self.text, position.saturating_add(skipped));
            number += self.text[counted..start].matches('\n').count();
            counted = start;
            if record.iter().all(str::is_empty) {
                continue;
            }
            if lines.len() > MOST_ROWS {
                self.error_at(start..start, &format!("more than {MOST_ROWS} rows"), "");
                break;
            }
            lines.push(Line { start, number, cells: record.iter().map(str::to_owned).collect() });
        }
        lines
    }

    fn bind(&mut self, header: &Line) {
        if header.cells.len() > MOST_COLUMNS {
            self.error(header, 0, &format!("more than {MOST_COLUMNS} columns"), "");
            return;
        }
        let is_number = |cell: &String| number(cell, Dimension::Count, None).is_ok();
        if header.cells.iter().all(is_number) {
            let what = "numbers stand where the names of columns belong";
            self.error(header, 0, what, HEADER_HINT);
            return;
        }
        self.bound = bind(&header.cells);
        self.second_of_two_is_throughput();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for (at, column) in self.bound.clone().iter().enumerate() {
            if column.name.is_empty() {
                let what = format!("column {} has no name", at + 1);
                self.error(header, at, &what, HEADER_HINT);
            } else if let Some(first) = seen.insert(column.name.clone(), column.header.clone()) {
                let what = format!("`{first}` and `{}` are the same column", column.header);
                let hint = "give one of them another name, or delete it";
                self.error(header, at, &what, hint);
            }
            self.note_unknown(column);
        }
        let mut bound = self.bound.iter();
        if bound.all(|column| column.role != Role::Throughput) {
            let per_other = header.cells.iter().find_map(|cell| per_other_time(&normalized(cell)));
            let hint = per_other.or_else(|| header.cells.iter().find_map(|cell| {
                let names = ["throughput", "rows_per_s", "queries_per_s"];
                suggest(&normalized(cell), names).filter(|said| said.starts_with("did"))
            })).unwrap_or_else(|| {
                "name the column that holds it `throughput`, or by what it counts: `rows_per_s`, \
                 `queries_per_s`, `tpmC`"
                    .to_owned()
            });
            self.error(header, 0, "no column holds the throughput", &hint);
        }
    }

    /// In a file of two columns the second is the throughput, whatever its name.
    fn second_of_two_is_throughput(&mut self) {
        let Self { bound, notes, .. } = self;
        let [first, second] = &mut bound[..] else {
            return;
        };
        let both_set = first.role == Role::Setting && second.role == Role::Setting;
        if both_set && !second.known && per_other_time(&second.name).is_none() {
            let header = &second.header;
            notes.push(format!("`{header}`, the second of two columns, is the throughput"));
            second.role = Role::Throughput;
            "throughput".clone_into(&mut second.name);
        }
    }

    /// A column without any number is a text setting, whatever its name: `disk` may be a rate, or `nvme`.
    fn words_are_settings(&mut self, lines: &[Line]) {
        for (at, column) in self.bound.iter_mut().enumerate() {
            let is_number = |cell: &&str| cell.contains(|c: char| c.is_ascii_digit());
            let is_measured = matches!(column.role, Role::Setting | Role::Figure);
            let mut stated = lines
                .iter()
                .filter_map(|line| line.cells.get(at))
                .map(String::as_str)
                .filter(|cell| !is_absent(cell));
            let mut all = stated.clone();
            if is_measured && stated.next().is_some() && all.all(|cell| !is_number(&cell)) {
                column.role = Role::Setting;
                column.dimension = Dimension::Word;
                column.name = normalized(&column.header);
            }
        }
    }

    /// Semicolons separate columns where a comma is the decimal point, so that `21.000` is 21,000 there and 21
    /// elsewhere. Another number of decimals in the file decides; without one, the reader is asked.
    fn points_may_be_groups(&mut self, lines: &[Line]) {
        if self.delimiter != b';' {
            return;
        }
        let decimals = |cell: &str| {
            let (whole, rest) = cell.split_once('.')?;
            let is_number =
                |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            (is_number(whole) && rest.split('.').all(is_number)).then(|| rest.to_owned())
        };
        let is_measured = |at: usize| {
            self.bound.get(at).is_some_and(|column| column.dimension != Dimension::Word)
        };
        let mut first = None;
        for line in lines {
            for (at, cell) in line.cells.iter().enumerate().filter(|(at, _)| is_measured(*at)) {
                match decimals(cell) {
                    Some(rest) if rest.split('.').all(|group| group.len() == 3) => {
                        first.get_or_insert((line, at));
                    }
                    Some(_) => return,
                    None => {}
                }
            }
        }
        if let Some((line, at)) = first {
            let cell = &line.cells[at];
            let thousands = cell.replace('.', ",");
            let what = if cell.matches('.').count() == 1 {
                let decimal = cell.trim_end_matches('0').trim_end_matches('.');
                format!("`{cell}` is {thousands} or {decimal}")
            } else {
                format!("`{cell}` has points where {thousands} is meant")
            };
            let hint = "columns are separated by semicolons here, so the point may separate thousands: write \
                        numbers without it, such as 21000 or 21";
            self.error(line, at, &what, hint);
        }
    }

    fn note_unknown(&mut self, column: &Bound) {
        if column.known || column.role != Role::Setting || column.name.len() < 4 {
            return;
        }
        let names = KNOWN_COLUMNS.iter().map(|known| known.name);
        let near = suggest(&column.name, names.chain(["throughput"]));
        if let Some(near) = near.filter(|said| said.starts_with("did")) {
            let header = &column.header;
            self.notes.push(format!("`{header}` is taken as a setting of its own: {near}"));
        }
    }

    fn point(&mut self, line: &Line) -> Option<Point> {
        let (has, wants) = (line.cells.len(), self.bound.len());
        if has != wants {
            let what = format!("{has} cells, but the header names {wants} columns");
            let hint = "leave a cell empty where the source states nothing; put a text with a \
                        separator in it into double quotes";
            self.error(line, has.min(wants), &what, hint);
            return None;
        }
        let before = self.errors.len();
        let mut point = Point {
            origin: Origin::Line(line.number),
            series: UNNAMED.to_owned(),
            unit: NO_UNIT.to_owned(),
            ..Point::default()
        };
        for (at, column) in self.bound.clone().iter().enumerate() {
            self.cell(line, at, column, &mut point);
        }
        if let Some((factor, unit)) = thousands(&point.unit) {
            point.throughput *= factor;
            point.parts.values_mut().for_each(|part| *part *= factor);
            for end in ["throughput_low", "throughput_high"] {
                point.figures.entry(end.to_owned()).and_modify(|end| *end *= factor);
            }
            point.unit = unit;
        }
        if let (Some(low), Some(high)) =
            (point.figures.remove("throughput_low"), point.figures.remove("throughput_high"))
        {
            point.interval = Some([low.min(high), low.max(high)]);
        }
        (self.errors.len() == before).then_some(point)
    }

    fn cell(&mut self, line: &Line, at: usize, column: &Bound, point: &mut Point) {
        let cell = line.cells[at].as_str();
        let name = column.name.clone();
        match column.role {
            Role::Throughput => self.throughput(line, at, column, point),
            _ if is_absent(cell) => {}
            Role::About => match column.name.as_str() {
                "series" => cell.clone_into(&mut point.series),
                "source" => cell.clone_into(&mut point.source),
                "unit" => cell.clone_into(&mut point.unit),
                // A claim may also be in the remarks.
                "objective" => point.missed = cell == "missed",
                "claim" | "note" if point.claim.is_empty() => cell.clone_into(&mut point.claim),
                "claim" | "note" => point.claim = format!("{}; {cell}", point.claim),
                _ => {}
            },
            Role::Setting if column.dimension == Dimension::Word => {
                point.settings.insert(name, Setting::Word(cell.to_owned()));
            }
            Role::Setting if !column.known => {
                let setting = number(cell, Dimension::Count, None)
                    .map_or_else(|_| Setting::Word(cell.to_owned()), Setting::Number);
                point.settings.insert(name, setting);
            }
            Role::Setting => {
                let value = self.number(line, at, column).map(Setting::Number);
                point.settings.extend(value.map(|value| (name, value)));
            }
            Role::Figure => {
                let value = self.number(line, at, column);
                point.figures.extend(value.map(|value| (name, value)));
            }
            Role::Part => {
                let value = self.number(line, at, column);
                point.parts.extend(value.map(|value| (name, value)));
            }
        }
    }

    fn throughput(&mut self, line: &Line, at: usize, column: &Bound, point: &mut Point) {
        if point.unit == NO_UNIT
            && let Some(unit) = &column.unit
        {
            point.unit.clone_from(unit);
        }
        let cell = &line.cells[at];
        if is_absent(cell) {
            let hint = "delete the line if the source does not state it";
            self.wrong(line, at, "the throughput is missing", hint);
            return;
        }
        match self.number(line, at, column) {
            Some(value) if value > 0.0 => point.throughput = value,
            Some(_) => {
                let what = format!("`{cell}` is not above zero");
                self.wrong(line, at, &what, "delete the line if nothing was measured");
            }
            None => {}
        }
    }

    /// A number that must not be negative, or zero if it counts machines.
    fn number(&mut self, line: &Line, at: usize, column: &Bound) -> Option<f64> {
        let cell = &line.cells[at];
        let (what, hint) = match number(cell, column.dimension, column.scale) {
            Ok(value) if value < 0.0 => {
                (format!("`{cell}` is negative"), "nothing that is counted here can be below zero")
            }
            Ok(0.0) if column.name == "nodes" => {
                ("there must be a node".to_owned(), "count the database's nodes from 1")
            }
            Ok(value) => return Some(value),
            Err(wrong) => (wrong.cause, wrong.hint),
        };
        self.wrong(line, at, &what, hint);
        None
    }

    /// Reports an error in a cell, after the name of its column.
    fn wrong(&mut self, line: &Line, at: usize, what: &str, hint: &str) {
        let message = format!("column `{}`: {what}", self.bound[at].header);
        self.error(line, at, &message, hint);
    }

    fn error(&mut self, line: &Line, field: usize, message: &str, hint: &str) {
        let spans = spans(self.text, line.start, self.delimiter);
        let end = spans.last().map_or(line.start, |last| last.end);
        let span: Range<usize> = spans.get(field).cloned().unwrap_or(end..end);
        self.error_at(span, message, hint);
    }

    fn error_at(&mut self, span: Range<usize>, message: &str, hint: &str) {
        let error = UserError::in_text(self.text, &span, message);
        self.errors.push(error.hinted((!hint.is_empty()).then_some(hint)));
    }

    fn columns(&self) -> Vec<Column> {
        self.bound
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                header: column.header.clone(),
                role: column.role,
            })
            .collect()
    }
}

/// The most frequent separator in the first line with content.
fn delimiter(text: &str) -> u8 {
    let text = text.trim_start_matches('\u{feff}');
    let header = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .unwrap_or_default();
    // The first of equals is chosen.
    let candidates = [b',', b';', b'\t'];
    let count = |byte: u8| header.bytes().filter(|b| *b == byte).count();
    let most = candidates.into_iter().map(count).max().unwrap_or(0);
    let mut candidates = candidates.into_iter();
    candidates.find(|byte| count(*byte) == most).unwrap_or(b',')
}

/// The byte at which the record begins that the library reports at `position`: the library includes preceding comments
/// and blank lines.
pub(super) fn record_start(text: &str, position: usize) -> usize {
    let mut start = position.min(text.len());
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        let is_content = !line.trim().is_empty() && !line.starts_with('#');
        if is_content || line.is_empty() {
            return start;
        }
        start += line.len();
    }
}

/// The positions of the fields of the record that begins at `start`, without surrounding blanks.
pub(super) fn spans(text: &str, start: usize, delimiter: u8) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let (mut field, mut quoted, mut at) = (start, false, start);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            byte if byte == delimiter && !quoted => {
                spans.push(trimmed(text, field..at));
                field = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    spans.push(trimmed(text, field..at));
    spans
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let field = text.get(span.clone()).unwrap_or_default();
    let start = span.start + (field.len() - field.trim_start().len());
    start..start + field.trim().len()
}

/// Contents of a cell that count as empty.
const ABSENT: [&str; 8] = ["", "-", "–", "—", "?", "n/a", "na", "null"];

/// Whether the cell means that the source does not state the value.
pub(super) fn is_absent(cell: &str) -> bool {
    ABSENT.contains(&cell.to_lowercase().as_str())
}

/// Why a cell is not a number, and the suggested fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotANumber {
    pub(super) cause: String,
    pub(super) hint: &'static str,
}

/// The cell in the base unit of `dimension`. `scale` is the unit in the column's name; if neither has one, times,
/// bytes, and rates of bytes are rejected.
pub(super) fn number(
    cell: &str,
    dimension: Dimension,
    scale: Option<f64>,
) -> Result<f64, NotANumber> {
    let fail = |cause: &str| NotANumber {
        cause: format!("`{}` {cause}", cell.chars().take(40).collect::<String>()),
        hint: hint(dimension),
    };
    let end = cell
        .char_indices()
        .find(|(at, c)| !belongs_to_number(cell, *at, *c))
        .map_or(cell.len(), |(at, _)| at);
    let (numeral, unit) = cell.split_at(end);
    let value = plain(numeral).ok_or_else(|| fail("is not a number"))?;
    let unit = unit.trim();
    let factor = if unit.is_empty() {
        match (scale, dimension) {
            (Some(scale), _) => scale,
            (None, Dimension::Count | Dimension::Percent | Dimension::Word) => 1.0,
            (None, _) => {
                return Err(fail("has no unit"));
            }
        }
    } else {
        factor(unit, dimension).ok_or_else(|| fail("has a unit that does not fit here"))?
    };
    let value = value * factor;
    if value.is_finite() { Ok(value) } else { Err(fail("is too large")) }
}

/// Digits, signs, points, group separators, and the `e` of an exponent.
fn belongs_to_number(cell: &str, at: usize, c: char) -> bool {
    let next = cell[at + c.len_utf8()..].chars().next();
    match c {
        '0'..='9' | '.' | ',' | '_' | '\'' => true,
        '+' | '-' => at == 0 || cell[..at].ends_with(['e', 'E']),
        'e' | 'E' => {
            at > 0 && next.is_some_and(|next| next.is_ascii_digit() || "+-".contains(next))
        }
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' => next.is_some_and(|next| next.is_ascii_digit()),
        _ => false,
    }
}

/// A number without a unit. Groups of three digits may be separated, all by the same character.
fn plain(numeral: &str) -> Option<f64> {
    let (whole, rest) = match numeral.find(['.', 'e', 'E']) {
        Some(at) => numeral.split_at(at),
        None => (numeral, ""),
    };
    let separators: Vec<char> =
        whole.chars().filter(|c| !c.is_ascii_digit() && !"+-".contains(*c)).collect();
    let Some(separator) = separators.first() else {
        return finite(numeral);
    };
    let mut groups = whole.split(*separator);
    let first = groups.next()?.trim_start_matches(['+', '-']);
    let in_groups = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    if !in_groups || separators.iter().any(|other| other != separator) {
        return None;
    }
    finite(&(whole.replace(*separator, "") + rest))
}

fn finite(numeral: &str) -> Option<f64> {
    let value: f64 = numeral.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The number of base units in the cell's unit.
fn factor(unit: &str, dimension: Dimension) -> Option<f64> {
    match dimension {
        Dimension::Count => count_factor(unit),
        Dimension::Percent => (unit == "%").then_some(1.0),
        Dimension::Time => time_factor(unit),
        Dimension::Bytes => byte_factor(unit),
        Dimension::ByteRate => {
            let per_s = unit
                .strip_suffix("/s")
                .or_else(|| unit.strip_suffix("/sec"))
                .or_else(|| unit.strip_suffix("ps"))?;
            byte_factor(per_s).or_else(|| bit_factor(per_s))
        }
        Dimension::Word => None,
    }
}

/// `k`, `M`, `G`, and the noun of a count: `293k rows/s`.
fn count_factor(unit: &str) -> Option<f64> {
    let (prefix, noun) = match unit.chars().next()? {
        'k' | 'K' => (1e3, &unit[1..]),
        'M' => (1e6, &unit[1..]),
        'G' => (1e9, &unit[1..]),
        _ => (1.0, unit),
    };
    let noun = noun.trim();
    let is_noun = noun.is_empty() || (noun.ends_with("/s") && !noun.contains(char::is_numeric));
    is_noun.then_some(prefix)
}

fn time_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" | "sec" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

fn byte_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" | "bytes" | "byte" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TiB" => 1_099_511_627_776.0,
        _ => return None,
    })
}

fn bit_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "bit" | "b" => 0.125,
        "kbit" | "kb" => 125.0,
        "Mbit" | "Mb" => 0.125e6,
        "Gbit" | "Gb" => 0.125e9,
        "Tbit" | "Tb" => 0.125e12,
        _ => return None,
    })
}

fn hint(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Word | Dimension::Count => {
            "write a number such as 1043659, \"1,043,659\" or 1.04M; leave the cell empty if the \
             source does not state it"
        }
        Dimension::Percent => "write percent, such as 65 or 65%",
        Dimension::Time => {
            "write a time with its unit, such as 85 ms, or name the unit in the header: \
             mean_latency_ms"
        }
        Dimension::Bytes => {
            "write bytes with their unit, such as 2.5 MB, or name the unit in the header: \
             bytes_per_row, batch_mb"
        }
        Dimension::ByteRate => {
            "write a rate with its unit, such as 10 Gbit/s or 400 MiB/s, or name the unit in the \
             header: network_gbit_per_s"
        }
    }
}

/// The factor and the plain unit of one in thousands or millions: `krows/s` is 1,000 rows/s.
fn thousands(unit: &str) -> Option<(f64, String)> {
    let prefixes = [
        ("k", 1e3),
        ("kilo", 1e3),
        ("thousand ", 1e3),
        ("M", 1e6),
        ("mega", 1e6),
        ("million ", 1e6),
    ];
    prefixes.into_iter().find_map(|(prefix, factor)| {
        let plain = unit.strip_prefix(prefix)?;
        let noun = plain.strip_suffix("/s")?;
        NOUNS.contains(&noun).then(|| (factor, plain.to_owned()))
    })
}

/// What to do with a rate that is not one per second.
fn per_other_time(name: &str) -> Option<String> {
    if name == "rpm" {
        return per_other_time("rows_per_min").map(|hint| hint.replace("rows_per_min", name));
    }
    let times = [("min", 60), ("minute", 60), ("h", 3_600), ("hour", 3_600), ("day", 86_400)];
    let (counted, divisor) = times.iter().find_map(|(time, seconds)| {
        let counted = name.strip_suffix(time)?.strip_suffix("_per_")?;
        (!counted.is_empty()).then_some((counted, seconds))
    })?;
    Some(format!("divide `{name}` by {divisor}, and name the column `{counted}_per_s`"))
}
