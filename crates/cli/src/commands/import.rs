//! `highwater import`: stores another tool's output as a record.
//!
//! It reads files line by line. Must not interpret a line; that is the core's job.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use highwater_report as report;
use highwater_report::import::{self, Format, HEAD, Import, ImportError, LONGEST_LINE, Stamp};
use highwater_runner::store::RunDirectory;

use crate::exit;
use crate::failure::{Failure, Place};
use crate::settings::ImportSettings;
use crate::terminal;

use super::run;

/// Makes a record of the files of one run. Highwater does not judge it, so the exit code is 0.
pub fn import(settings: &ImportSettings) -> Result<u8, Failure> {
    let mut import: Option<Import> = None;
    let mut files = Vec::new();
    for name in &settings.files {
        let path = Path::new(name);
        let mut file = File::open(path).map_err(|error| unreadable(name, &error))?;
        let format = format_of(name, &mut file, settings.tool.as_deref())?;
        let import = import.get_or_insert_with(|| Import::new(format));
        let whole_file = |wrong| failure(&wrong, None);
        import.unit(settings.unit);
        import.begin(format).map_err(whole_file)?;
        lines(name, file, import)?;
        let base = path.file_name().unwrap_or_default().to_string_lossy();
        files.push([base.into_owned(), format.about().to_owned()]);
    }
    let Some(import) = import else {
        return Err(Failure::usage("import needs a file"));
    };
    let imported = import.end().map_err(|wrong| failure(&wrong, None))?;
    let plan = import::plan(&imported);
    let id = run::id("", &plan.workload.name, &plan.hash());
    let directory = RunDirectory::create(&settings.out, &id, &plan)?;
    let stamp = Stamp {
        id: directory.id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        files,
        labels: settings.labels.clone(),
    };
    let record = import::record(&imported, plan, &stamp);
    directory.write_record(&record)?;
    let place = directory.path().display().to_string();
    terminal::data(&report::text_at(&record, &place))?;
    Ok(exit::SUCCESS)
}

/// Detects the format from the start of the file.
fn format_of(name: &str, file: &mut File, tool: Option<&str>) -> Result<Format, Failure> {
    let mut head = Vec::new();
    let most = u64::try_from(HEAD).unwrap_or(u64::MAX);
    let read = Read::by_ref(file).take(most).read_to_end(&mut head);
    read.and_then(|_| file.seek(SeekFrom::Start(0)))
        .map_err(|error| unreadable(name, &error))?;
    let head = String::from_utf8_lossy(&head);
    import::recognize(&head, tool)
        .map_err(|wrong| Failure::usage(format!("{name}: {}", wrong.message)).with_hint(wrong.hint))
}

/// Passes on each line; fails at one that is longer than any format has.
fn lines(name: &str, file: File, import: &mut Import) -> Result<(), Failure> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let most = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
    for number in 1.. {
        line.clear();
        let read = Read::by_ref(&mut reader)
            .take(most)
            .read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(name, &error))? == 0 {
            break;
        }
        let place =
            |text: &str, wrong: &ImportError| Place::of_line(name, number, text, &wrong.span);
        if line.len() == LONGEST_LINE {
            let message = format!("{name}:{number}: a line of more than {LONGEST_LINE} bytes");
            return Err(Failure::usage(message).with_hint("no known output has such a line"));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        import
            .line(text)
            .map_err(|wrong| failure(&wrong, Some(place(text, &wrong))))?;
    }
    Ok(())
}

fn failure(wrong: &ImportError, place: Option<Place>) -> Failure {
    Failure::usage(&wrong.message)
        .at(place)
        .with_hint(&wrong.hint)
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {name}: {error}"))
}
