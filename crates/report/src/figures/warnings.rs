//! Plausibility warnings, as paragraphs. Must not decide what is plausible.

use super::rows::said;
use crate::layout::{labeled, list};
use highwater_model::display::foreign;
use highwater_sizing::plausibility::{PlausibilityWarning, Weight};

/// Places of a warning that are listed; further places are counted.
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
