//! The summary on a terminal: the answer first, then its judgments, in about twelve lines.
//!
//! Everything else is in the text report, which `-v` prints below the answer. Must not compute anything, or print text
//! from the target unescaped.

mod bounds;
mod compared;
mod fitted;
mod group;
mod growths;
mod judged;
mod layout;
mod lines;
mod run;
mod scale;
mod search;
mod sized;
#[cfg(test)]
mod tests;
mod tune;

pub use compared::compare_summary;
pub use fitted::{Summary, without_color};
pub use growths::growths_summary;
pub use layout::Ink;
pub use sized::size_summary;

use highwater_analysis::judge::measured_streams;
use highwater_model::display::foreign;
use highwater_model::record::{Question, RecordRef};
use highwater_next::next_command;

use crate::text::head::of_target;
use crate::text::text_at;
use layout::Line;
use lines::WORDS;

/// The summary of a record; `directory` is where it is stored, as the user would type it.
pub fn summary<'a>(record: impl Into<RecordRef<'a>>, directory: &str) -> Summary {
    let record = record.into();
    let run = &record.measured_run();
    let measured = measured_streams(run);
    let (answer, mut about) = match record {
        RecordRef::Experiment(experiment) => match &experiment.question {
            Question::Search(search) => search::lines(search),
            Question::Tune(tune) => tune::lines(run, tune),
            Question::Group(group) => group::lines(run, group),
            Question::Scale(scale) => scale::lines(run, scale),
        },
        RecordRef::Run(_) | RecordRef::Imported(_) => run::lines(record, run, &measured),
    };
    about.push(Line::labeled("target", of_target(run)));
    if record.experiment().is_some() {
        about.extend(run::changed(record));
    }
    let next = next_command(record, &measured, directory);
    let end = [("record", Some(foreign(directory, WORDS))), ("next:", next)];
    about.extend(
        end.into_iter().filter_map(|(label, text)| Some(Line::Whole { label, text: text? })),
    );
    let most = if judged::all_good(record) { bounds::GOOD_MAX } else { bounds::BAD_MAX };
    let summary = Summary {
        answer,
        blocks: vec![judged::lines(record), about],
        details: text_at(record, directory),
    };
    bounds::within(summary, most)
}
