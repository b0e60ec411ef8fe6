//! Parser for the needed part of the Prometheus text format: samples of selected metrics, with their labels.
//!
//! Format: <https://prometheus.io/docs/instrumenting/exposition_formats/>. Lines that do not conform are skipped: one
//! unusual exporter must not hide the rest.

/// Maximum selected samples of a response.
const SAMPLES_MAX: usize = 10_000;
/// Error text if a response has more.
pub(super) const TOO_MANY: &str = "it has more than 10,000 samples of what is read";

/// One line of figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) metric: &'a str,
    pub(super) labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
    /// From its `# TYPE` line.
    pub(super) counter: bool,
}

/// The samples of the selected metrics; `None` if there are too many, because a part of them would be taken for all.
pub(super) fn samples(text: &str, is_needed: impl Fn(&str) -> bool) -> Option<Vec<Sample<'_>>> {
    let mut samples = Vec::new();
    let mut counter = ("", false);
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if words.next() == Some("TYPE") {
                counter = (words.next().unwrap_or(""), words.next() == Some("counter"));
            }
            continue;
        }
        let end = line.find(|c: char| c == '{' || c.is_whitespace());
        let metric = line.get(..end.unwrap_or(line.len())).unwrap_or("");
        if metric.is_empty() || !is_needed(metric) {
            continue;
        }
        if let Some((labels, value)) = labels_and_value(&line[metric.len()..]) {
            let is_counter = counter.0 == metric;
            samples.push(Sample {
                metric,
                labels,
                value,
                counter: if is_counter { counter.1 } else { metric.ends_with("_total") },
            });
        }
        if samples.len() > SAMPLES_MAX {
            return None;
        }
    }
    Some(samples)
}

type Labels<'a> = Vec<(&'a str, String)>;

/// The text after the name: labels in braces, if any, the value, and an optional time.
fn labels_and_value(rest: &str) -> Option<(Labels<'_>, f64)> {
    let (labels, rest) = match rest.strip_prefix('{') {
        None => (Vec::new(), rest),
        Some(inside) => labels(inside)?,
    };
    let value = rest.split_whitespace().next()?;
    Some((labels, value.parse().ok()?))
}

/// Labels up to the closing brace, and the remaining text.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once('=')?;
        let (value, behind) = unquoted(quoted.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim(), value));
        rest = behind;
    }
}

/// A text up to its closing quote, and the remaining text.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400",} 3

# TYPE msdos_file_access_time_seconds gauge
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="no \"file\"\n"} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
untold_total 7
broken{a="b 1
broken{a=b} 1
broken
"#;

    #[test]
    fn the_example_of_the_format_is_read() {
        let read = samples(ANSWER, |_| true).unwrap();
        let values: Vec<(&str, f64, bool)> =
            read.iter().map(|s| (s.metric, s.value, s.counter)).collect();
        let expected = [
            ("http_requests_total", 1_027.0, true),
            ("http_requests_total", 3.0, true),
            ("msdos_file_access_time_seconds", 1.458_255_915e9, false),
            ("metric_without_timestamp_and_labels", 12.47, false),
            ("something_weird", f64::INFINITY, false),
            ("untold_total", 7.0, true),
        ];
        assert_eq!(values, expected);
        let post = ("method", "post".to_owned());
        assert_eq!(read[1].labels, [post, ("code", "400".to_owned())]);
        assert_eq!(read[2].labels[0].1, r"C:\DIR\FILE.TXT");
        assert_eq!(read[2].labels[1].1, "no \"file\"\n");
        assert_eq!(samples(ANSWER, |metric| metric == "untold_total").unwrap().len(), 1);
    }

    #[test]
    fn a_list_beyond_the_bound_is_refused_and_not_cut() {
        let of = |lines: usize| "m{a=\"b\"} 1\n".repeat(lines);
        let most = of(SAMPLES_MAX);
        assert_eq!(samples(&most, |_| true).map_or(0, |all| all.len()), SAMPLES_MAX);
        assert_eq!(samples(&of(SAMPLES_MAX + 1), |_| true), None);
        let shown = highwater_model::display::count(SAMPLES_MAX as u64);
        assert!(TOO_MANY.contains(&shown));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "([a-z#{}=\",\\\\ 0-9.\n]|ä){0,200}") {
            samples(&text, |_| true);
        }
    }
}
