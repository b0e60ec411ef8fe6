//! Progress on a terminal and without one.

use crate::called::{Place, split};
use crate::pseudo::{Shown, call};

/// Text that only the drawing contains.
const DRAWN: [&str; 3] = ["█", "░", "\u{1b}[J"];

/// A run on the real clock, short.
const RUN: &str = "run cpu sim:?clock=real --warm-up 0s -d";

/// The display of a command on a terminal with `columns` columns until its end.
fn shown(place: &Place, line: &str, variables: &[(&str, &str)], columns: u16) -> Shown {
    call(place, &split(line), variables, (columns, ""))
}

fn is_drawn(text: &str) -> bool {
    DRAWN.iter().any(|drawn| text.contains(drawn))
}

/// The frames with a line that begins with this text.
fn with<'a>(shown: &'a Shown, begin: &str) -> Vec<&'a str> {
    let frames = shown.frames.iter().map(String::as_str);
    let has = |frame: &&str| frame.lines().any(|line| line.starts_with(begin));
    frames.filter(has).collect()
}

#[test]
fn a_terminal_shows_one_block_in_place_and_the_report_at_the_end() {
    let place = Place::new();
    let shown = shown(&place, &format!("{RUN} 4s"), &[], 100);
    let measured = with(&shown, "measure  ");
    let last = measured.last().unwrap();
    assert!(last.contains("█") && last.contains(" of 4 s · "), "{last}");
    for part in ["\nstream  ", "achieved", "p50", "rejected", "\ninsert  ", " up to "] {
        assert!(last.contains(part), "{part}: {last}");
    }
    assert_eq!(last.matches("stream  ").count(), 1, "{last}");
    // Nothing of the drawing is left, and no line per second was written.
    assert!(!is_drawn(&shown.end) && !shown.end.contains("second  phase"), "{}", shown.end);
    assert!(shown.end.contains("\naudit: ") && shown.end.contains("\ndata "), "{}", shown.end);
    assert!(shown.end.ends_with('\n'), "{}", shown.end);
}

#[test]
fn filling_a_table_and_its_audit_show_rows_of_all_and_the_time_left() {
    let place = Place::new();
    // At a rate: without one, a fast machine would fill the table before anything can be shown.
    let filling = "load cpu sqlite:a.db --rows 300k --rate 100k --audit full";
    let shown = shown(&place, filling, &[], 100);
    let filled = with(&shown, "fill  ");
    assert!(filled.iter().any(|frame| frame.contains(" of 300,000 rows · ")), "{filled:?}");
    let left = filled.iter().any(|frame| frame.contains(" s left · "));
    assert!(left, "{filled:?}");
    // Counted, then read back.
    let audited = with(&shown, "audit  ");
    let read = |frame: &&str| frame.contains(" of 600,000 rows · ");
    assert!(audited.iter().any(read), "{audited:?}");
}

#[test]
fn a_search_and_a_tuning_show_how_many_probes_are_over() {
    let place = Place::new();
    let short = split("--probe 3s --warm-up 0s --settle 0s --budget");
    let search = split("find cpu sim:?clock=real --start 20k --max 20k --confirm 3s --p50 5s");
    let tuning = ["tune", "cpu", "sim:?clock=real", "--over", "sessions=1,2"];
    let met = "\nobjective    p50 ≤ 5 s: none took longer (50% allowed)";
    for (words, budget, second, objective) in [
        (&search[..], "2m", "trial 2 of about ", met),
        (&tuning[..], "2m", "trial 2 of at most 12 · ", ""),
    ] {
        let words = [words, &short, &[budget]].concat();
        // Waits for both, because their order differs between the commands.
        let shown = call(&place, &words, &[], (140, &format!("{second}|probe 2: ")));
        let frames = with(&shown, "trials  ");
        assert!(frames.iter().any(|frame| frame.contains(second)), "{frames:?}");
        let streams = frames.iter().any(|frame| frame.contains("\ninsert  "));
        assert!(streams, "{frames:?}");
        let stands = frames.iter().any(|frame| frame.contains(objective));
        assert!(stands, "{frames:?}");
        assert!(!is_drawn(&shown.end), "{}", shown.end);
        assert!(shown.end.contains("\nprobe 2: "), "{}", shown.end);
    }
}

#[test]
fn nothing_is_drawn_in_a_pipe_or_on_a_terminal_that_cannot() {
    let place = Place::new();
    let second = format!("{RUN} 1s");
    let called = place.typed(&second);
    assert!(!is_drawn(&called.stderr) && !is_drawn(&called.stdout), "{called:?}");
    called.reports("\nsecond  phase");
    for variable in [("TERM", "dumb"), ("CI", "true")] {
        let shown = shown(&place, &second, &[variable], 100);
        assert!(shown.written.contains("\nsecond  phase"), "{}", shown.written);
        assert!(!shown.written.contains(['█', '░']), "{}", shown.written);
        assert_eq!(shown.frames, Vec::<String>::new(), "{variable:?}");
    }
    for quiet in ["-q", "--json"] {
        let shown = shown(&place, &format!("{second} {quiet}"), &[], 100);
        assert!(!is_drawn(&shown.written), "{}", shown.written);
    }
}

#[test]
fn without_colors_the_block_has_none_and_a_narrow_terminal_wraps_none_of_it() {
    let place = Place::new();
    for (flag, variable) in [("--no-color", ("A", "b")), ("", ("NO_COLOR", "1"))] {
        let shown = shown(&place, &format!("{RUN} 2s {flag}"), &[variable], 40);
        assert!(!shown.frames.is_empty() && !is_drawn(&shown.end), "{}", shown.end);
        let colors = shown.written.split('\u{1b}').skip(1);
        for sequence in colors {
            let end = sequence.find(|c: char| c.is_alphabetic()).unwrap();
            assert!(matches!(&sequence[end..=end], "A" | "J"), "{sequence}");
        }
        let frame = with(&shown, "measure  ").last().copied().unwrap();
        let drawn = frame.lines().skip_while(|line| !line.starts_with("measure  "));
        let drawn: Vec<&str> = drawn.collect();
        assert!(drawn[1].starts_with("stream") && drawn[2].starts_with("insert"), "{frame}");
    }
}

#[test]
fn an_interrupt_leaves_the_terminal_as_it_should_be() {
    let place = Place::new();
    let words = ["run", "cpu", "-d", "60s", "--warm-up", "0s"];
    let shown = call(&place, &words, &[], (100, " up to "));
    assert_eq!(shown.code, Some(130), "{}", shown.written);
    assert!(!is_drawn(&shown.end) && shown.end.ends_with('\n'), "{}", shown.end);
    assert!(
        shown.end.contains("\nmeasurement ") && shown.end.contains("interrupted"),
        "{}",
        shown.end
    );
    // The cursor was never hidden, so it need not be restored.
    assert!(!shown.written.contains("\u{1b}[?"), "{}", shown.written);
    assert!(shown.written.contains("^C"), "{}", shown.written);
}
