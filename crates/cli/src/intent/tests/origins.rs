//! Sources of settings: restrictions of the working directory's file, the user's file, and the environment.

use highwater_model::user_error::UserError;

use super::*;
use crate::exit::render;
use crate::grammar::Reach;

/// Result of `run` with one settings file.
fn with_file(kind: FileKind, text: &str) -> Result<Layers, UserError> {
    let file = ConfigFile { kind, name: "a.toml".to_owned(), text: text.to_owned() };
    let words = ["highwater", "run"].map(str::to_owned);
    match grammar::parse(commands::ALL, &words)? {
        Request::Command(command, words) => gather(command, commands::ALL, words, &[], &[file]),
        other => panic!("not a command: {other:?}"),
    }
}

#[track_caller]
fn refused(kind: FileKind, text: &str, why: &str) {
    let failure = with_file(kind, text).unwrap_err();
    let rendered = render(&failure);
    assert_eq!(failure.exit_code(), crate::exit::USAGE);
    assert!(rendered.contains(why), "{text}: {rendered}");
    assert!(rendered.contains("--> a.toml:"), "{text}: {rendered}");
}

/// A value for each kind of setting, as TOML.
fn sample(name: &str) -> String {
    let value = if name == "with" { "location=s3://elsewhere" } else { "x" };
    format!("{name} = '{value}'")
}

#[test]
fn whatever_reaches_beyond_its_directory_is_refused_in_the_working_directorys_file() {
    let settings = commands::ALL.iter().flat_map(|command| {
        let settings = command.settings();
        settings.filter_map(|name| Some((command.name, name, command.reach(name)?)))
    });
    for (command, name, reach) in settings {
        let text = format!("[{command}]\n{}", sample(name));
        match reach {
            Reach::Behavior => drop(with_file(FileKind::Directory, &text).unwrap()),
            Reach::File => {
                drop(with_file(FileKind::Directory, &text).unwrap());
                for beyond in ["/tmp/x", "../x", "a/../../x"] {
                    let text = format!("[{command}]\n{name} = '{beyond}'");
                    refused(FileKind::Directory, &text, "outside of this directory");
                }
            }
            Reach::Outside => refused(FileKind::Directory, &text, "reaches beyond"),
            Reach::Shell => refused(FileKind::Directory, &text, "runs commands"),
            Reach::Settings => refused(FileKind::Directory, &text, "a file of settings"),
        }
    }
}

#[test]
fn a_weight_is_no_part_of_a_path_and_an_axis_may_be_a_setting_of_tables() {
    refused(FileKind::Directory, "file = ['/x.sql@2']", "outside of this");
    assert!(with_file(FileKind::Directory, "file = ['a.sql@2', './b.sql']").is_ok());
    assert!(with_file(FileKind::Directory, "over = ['batch=1,2']").is_ok());
    refused(FileKind::Directory, "over = ['with.engine=File(CSV)']", "reaches beyond");
    assert!(with_file(FileKind::Directory, "over = ['with.fillfactor=70,90']").is_ok());
    // Words and numbers name neither a file nor a server.
    assert!(with_file(FileKind::Directory, "with = ['fillfactor=70', 'codec=best_1']").is_ok());
    for named in ["data directory=/srv", "connection=mysql://h/d", "path='x'"] {
        let text = format!("with = [\"{named}\"]");
        refused(FileKind::Directory, &text, "reaches beyond");
    }
}

#[test]
fn the_users_file_names_targets_and_no_commands_and_a_named_file_names_both() {
    for text in ["target = 'sim:'", "otlp = 'http://h'", "out = '/srv/runs'", "file = '/a.toml'"] {
        refused(FileKind::Directory, text, "not taken from the working directory's file");
        for kind in [FileKind::User, FileKind::Named] {
            assert!(with_file(kind, text).is_ok(), "{text}");
        }
    }
    for text in ["variant = ['a=true']", "cluster = 'lab.toml'"] {
        refused(FileKind::Directory, text, "runs commands");
        refused(FileKind::User, text, "runs commands");
        assert!(with_file(FileKind::Named, text).is_ok(), "{text}");
    }
    refused(FileKind::Named, "config = 'b.toml'", "a file of settings");
}

#[test]
fn the_environment_gives_no_commands_and_no_file_of_settings() {
    for (name, why) in [
        ("HIGHWATER_VARIANT", "runs commands"),
        ("HIGHWATER_CLUSTER", "runs commands"),
        ("HIGHWATER_CONFIG", "a file of settings"),
    ] {
        let failure =
            resolve(&Sources { words: "run", environment: &[(name, "a=true")], file: "" });
        let rendered = render(&failure.unwrap_err());
        assert!(rendered.contains(name) && rendered.contains(why), "{rendered}");
    }
}

#[test]
fn the_working_directorys_file_is_named_while_it_decides_something() {
    let file = |words: &str, file: &str| {
        let sources = Sources { words, environment: &[], file };
        layers(&sources).unwrap().1.directory_file().map(str::to_owned)
    };
    let own = Some("highwater.toml".to_owned());
    assert_eq!(file("run", "[run]\nbatch = 9"), own);
    assert_eq!(file("run|--seed|1", "seed = 2\nbatch = 9"), own);
    assert_eq!(file("run|--batch|1", "batch = 9"), None, "the command line decides");
    assert_eq!(file("run", "[find]\nbatch = 9"), None, "another command's");
    assert_eq!(file("run", ""), None);
}
