//! Text from other sources cannot control a terminal, change the direction of the text around it, or hide in it.

use std::fs;

use highwater_model::display::is_unsafe;
use proptest::prelude::*;

use crate::called::Place;

/// Forbidden characters or text in a page or an output.
fn harmful(text: &str) -> Option<String> {
    let shown = |c: &char| is_unsafe(*c) && *c != '\n' && *c != '\t';
    text.chars().find(shown).map(|c| format!("{} in {text}", c.escape_unicode()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_text_in_a_record_controls_its_viewer(
        text in "[\u{202e}\u{2066}\u{200f}\u{feff}\u{1b}\u{9b}\u{7}a-c☃]{1,12}",
    ) {
        let place = Place::new();
        let label = format!("text={text}");
        let called = place.call(&["run", "cpu", "sim:", "-d", "5s", "-q", "--label", &label]);
        prop_assert!(matches!(called.code, Some(0 | 2 | 3)), "{called:?}");
        prop_assert_eq!(harmful(&called.stdout), None);
        prop_assert_eq!(harmful(&called.stderr), None);
        if let Some(run) = place.runs().first() {
            let page = fs::read_to_string(run.join("report.html")).unwrap();
            prop_assert_eq!(harmful(&page), None);
            let json = fs::read_to_string(run.join("record.json")).unwrap();
            prop_assert_eq!(harmful(&json), None);
            let record = highwater_model::json::parse(&json).unwrap();
            prop_assert_eq!(&record.header().labels["text"], &text);
            for format in ["json", "csv", "html"] {
                let shown = place.call(&["show", "--format", format]);
                prop_assert_eq!(harmful(&shown.stdout), None);
            }
        }
        // A name that is in no record is quoted in the message.
        let refused = place.call(&["run", &format!("x{text}"), "sim:"]);
        prop_assert_eq!(refused.code, Some(2));
        prop_assert_eq!(harmful(&refused.stderr), None);
    }
}
