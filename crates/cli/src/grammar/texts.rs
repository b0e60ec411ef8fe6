//! The end of the help texts that no command has for itself alone: where settings come from, and
//! notes.

use super::command::CommandSpec;

/// Below the list of commands.
pub(super) const TOP: &str = "\
Examples:
  highwater demo                                   search, growth, and sizing in one demo
  highwater run                                    as fast as an embedded database goes, 20 s
  highwater run cpu $URL --rate 50k --p99 50ms     a gate: exit code 1 if it is missed
  highwater find cpu $URL --p99 100ms              the highest rate with p99 ≤ 100 ms
  highwater show                                   the latest run again
  highwater size 1M --from highwater-runs          the cluster for a million rows per second

`highwater run --help` shows the main flags of a command, `--help-all` all of them.";

/// Where else settings come from.
pub(super) const SETTINGS: &str = "\
Numbers take k, M, and G; durations ns, us, ms, s, m, and h, also combined (1h30m).

Precedence: command line, then HIGHWATER_* variables, then the file of --config, highwater.toml \
in the working directory, and ~/.config/highwater/config.toml. A variable is HIGHWATER_ and the \
flag's name (HIGHWATER_RATE=50k, HIGHWATER_WARM_UP=5s); lists are separated by spaces, in \
HIGHWATER_TARGET also by commas. Keys of a file are the long flag names, at the top for all \
commands, or in a table named after one command. highwater.toml names no target, sink, or \
command.

Highwater removes a password in a target URL from the process title at startup. Passwords from a \
prompt or the environment never appear there.";

/// The end of a short help: where the rest is.
pub(super) fn more(command: &CommandSpec) -> String {
    let hidden = if command.main_flags.is_some() { "all flags, " } else { "" };
    format!(
        "`highwater {} --help-all` shows {hidden}settings from the environment and file, and exit codes.",
        command.name
    )
}
