//! `highwater tables`: lists the tables that Highwater created on a target, and drops the named ones. Must not
//! contain SQL, or the rules about dropping tables.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::table_registry::{Holder, Lease};
use highwater_driver::{LeaseAction, RegistryEntry, Target};
use highwater_model::display::{count, duration};
use highwater_model::units::Seed;
use highwater_model::user_error::UserError;
use highwater_report::part_line;
use highwater_runner::holders::holder_of;
use highwater_runner::leases::drop_tables;

use super::check::{fact, table};
use crate::grammar::flags::{CONFIG, NO_COLOR, OUTPUT};
use crate::grammar::{CommandSpec, Positional, flag};
use crate::intent::resolve::{as_values, targets};
use crate::layers::{Layers, Origin};
use crate::{exit, prepare, terminal};

/// `highwater tables`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "tables",
    summary: "List the tables that Highwater created on a target, and drop them",
    usage: "[TARGET]...",
    positionals: &[Positional {
        name: "TARGET",
        help: "Database URLs, one per host [default: $HIGHWATER_TARGET]",
        setting: Some("target"),
        repeats: true,
    }],
    flags: &[
        (
            "Tables",
            &[
                flag(
                    "--drop <NAME>...",
                    "Drop table NAME with its rows, unless a run holds it. Dropping the last one \
                     also drops the tables of Highwater's table registry",
                ),
                flag("--yes", "Drop without asking"),
            ],
        ),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: None,
    examples: "  highwater tables $URL
      the tables, their rows, and the runs that hold them
  highwater tables $URL --drop cpu --drop mem
      drop two of them, after a confirmation",
    run: tables,
};

/// Lists the tables, or drops the named ones.
fn tables(layers: &Layers) -> Result<u8, UserError> {
    let words: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
    let given = as_values("target", &words);
    let given = if given.is_empty() { layers.list("target") } else { &given };
    let urls = targets(layers, given)?;
    // In other commands it is a switch.
    let named = layers.list("drop").iter().filter(|name| name.origin == Origin::CommandLine);
    let named: Vec<String> = named.map(|name| name.text.clone()).collect();
    let asks = !layers.switch("yes")?;
    if !named.is_empty() && asks && !terminal::is_interactive() {
        let message = "--drop asks first, and there is no terminal to ask on";
        return Err(UserError::usage(message).with_hint("add --yes to drop without a question"));
    }
    let options = prepare::options("highwater tables", None, Seed(0));
    let text = prepare::opened(urls, &options, |target| {
        let done = RealTimeline::block_on(RealClock::start(), |timeline| {
            listed_or_dropped(Arc::clone(target), timeline, &named, asks)
        });
        done.map_err(|error| UserError::usage(format!("cannot wait for the target: {error}")))
    })?;
    terminal::data(&text).map(|()| exit::SUCCESS)
}

async fn listed_or_dropped(
    target: Arc<dyn Target>,
    timeline: Rc<RealTimeline>,
    named: &[String],
    asks: bool,
) -> Result<String, UserError> {
    let mut admin = target.administer(timeline.clone()).await?;
    let admin = admin.as_mut();
    let entries = admin.listed_tables(&[]).await?;
    if let Some(other) = named.iter().find(|name| entries.iter().all(|of| of.name != **name)) {
        let names: Vec<&str> = entries.iter().map(|of| of.name.as_str()).collect();
        let hint = match &names[..] {
            [] => "it created none there".to_owned(),
            names => format!("it created {}", names.join(", ")),
        };
        let message = format!("Highwater created no table `{other}` there");
        return Err(UserError::usage(message).with_hint(hint));
    }
    if entries.is_empty() {
        return Ok("Highwater created no tables there\n".to_owned());
    }
    if named.is_empty() {
        let leases = admin.leases(LeaseAction::Read).await?;
        let facts = entries.iter().map(|of| fact(&of.name, described(of, &leases)));
        return Ok(table(&facts.collect::<Vec<_>>()));
    }
    let names = named.join(", ");
    if asks && !terminal::is_confirmed(&format!("Drop {names} with all rows?")) {
        return Ok("nothing was dropped\n".to_owned());
    }
    let watching = |held| terminal::note(&format!("{}\n", part_line(&held)));
    drop_tables(admin, named, timeline.as_ref(), watching).await?;
    Ok(format!("dropped {names}\n"))
}

/// The rows of a table, and its holder.
fn described(entry: &RegistryEntry, leases: &[Lease]) -> String {
    let rows = match entry.rows {
        Some(rows) if !entry.writing => format!("{} rows", count(rows)),
        _ => "rows not counted".to_owned(),
    };
    let is_of_it = |lease: &&Lease| lease.table.eq_ignore_ascii_case(&entry.name);
    let (gone, held): (Vec<&Lease>, Vec<&Lease>) =
        leases.iter().filter(is_of_it).partition(|lease| holder_of(lease) == Holder::Gone);
    let held: Vec<String> = held
        .into_iter()
        .map(|lease| {
            format!(
                "in use by {}, process {}, for {}, last heartbeat {} ago",
                lease.owner.name,
                lease.owner.process,
                duration(lease.held.0),
                duration(lease.silent.0)
            )
        })
        .collect();
    // A run that ended took its lease back; one that was killed left it.
    let last = gone.into_iter().min_by_key(|lease| lease.silent).map(|lease| {
        format!(
            "free, last used {} ago by {}, process {}, which ended without a word",
            duration(lease.silent.0),
            lease.owner.name,
            lease.owner.process
        )
    });
    let held = match (held.as_slice(), last) {
        ([], last) => last.unwrap_or_else(|| "free".to_owned()),
        _ => held.join("; "),
    };
    let workload: String = entry.fingerprint.chars().take(12).collect();
    format!("{rows}, workload {workload}, seed {}; {held}", entry.seed)
}
