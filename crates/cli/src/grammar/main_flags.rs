//! The flags that `--help` shows of commands that have many; `--help-all` shows the rest. Must not hold what a
//! flag means.

use super::command::CommandSpec;

/// By command, those that most people need, separated by blanks. A command that is not here shows all its flags.
pub(super) const MAIN: &[(&str, &str)] = &[
    (
        "run",
        "sessions rate stream duration warm-up file set batch drop p99 errors audit repeat out \
         json",
    ),
    ("load", "sessions rate rows file set batch drop audit out json"),
    (
        "find",
        "stream sessions start max tolerance budget resume quick dry-run file set drop p99 out \
         json",
    ),
    ("tune", "over by budget resume quick dry-run sessions rate file set drop p99 out json"),
    (
        "scale",
        "nodes each cluster until price budget resume quick dry-run sessions duration set drop \
         p99 out",
    ),
    (
        "size",
        "from assume nodes extrapolate p99 confidence headroom growth months tolerate-failures \
         replicas price retention json html",
    ),
];

/// Whether `--help` leaves flags of this command out.
pub(super) fn has_more(command: &CommandSpec) -> bool {
    of(command).is_some()
}

/// Whether `--help` shows this flag of the command.
pub(super) fn is_shown(command: &CommandSpec, flag: &str) -> bool {
    of(command).is_none_or(|shown| shown.split(' ').any(|name| name == flag))
}

fn of(command: &CommandSpec) -> Option<&'static str> {
    let mut all = MAIN.iter();
    let (_, shown) = all.find(|(name, _)| *name == command.name)?;
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ALL;

    #[test]
    fn what_help_shows_first_are_flags_of_the_command_and_about_fifteen() {
        for (name, shown) in MAIN {
            let command = ALL.iter().find(|command| command.name == *name).unwrap();
            for flag in shown.split(' ') {
                let exists = command.all_flags().any(|own| own.name == flag);
                assert!(exists, "{name} has no --{flag}");
            }
            let number = shown.split(' ').count();
            assert!((10..=15).contains(&number), "{name}: {number}");
        }
    }

    #[test]
    fn a_command_with_more_flags_than_a_screen_has_lines_shows_the_main_ones() {
        for command in ALL {
            let many = command.all_flags().count() > 15;
            assert_eq!(many, has_more(command), "{}", command.name);
        }
    }
}
