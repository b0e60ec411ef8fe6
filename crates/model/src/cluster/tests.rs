//! What a cluster file means, and the errors in a wrong one.

use insta::assert_snapshot;

use super::*;
use crate::units::Nanos;

const NODE: &str = r#"
format = 1
name = "lab"
nodes = 3

[node]
command = ["server", "--port", "{port.http}", "--peers", "{peers.http}"]
url = "db://{host}:{port.http}"

[node.ports]
http = 0

[node.ready]
sql = "SELECT 1"
answer = "1"

[node.quota]
cpu = 0.5
memory = "1GiB"
begins = "warm-up"
"#;

const COMMANDS: &str = r#"
format = 1
name = "cloud"

[commands]
up = "terraform apply -var nodes={nodes}"
urls = "terraform output -raw urls"
down = "terraform destroy"
"#;

fn node(text: &str) -> NodeFile {
    match parse(text).unwrap().provider {
        Provider::Processes(node) => *node,
        Provider::Commands(_) => panic!("commands"),
    }
}

#[test]
fn omitted_fields_have_defaults() {
    let spec = node(NODE);
    assert_eq!(spec.host, "127.0.0.1");
    assert_eq!(spec.ready.within.0, Nanos::from_secs(60));
    assert_eq!(spec.stop.signal, StopSignal::Term);
    assert_eq!(spec.start, StartOrder::Together);
    let quota = spec.quota.unwrap();
    assert_eq!((quota.cpu, quota.memory), (Some(0.5), Some(Size(1 << 30))));
    assert_eq!(quota.begins, QuotaStart::WarmUp);
    let commands = parse(COMMANDS).unwrap();
    assert_eq!((commands.nodes, commands.rows), (1, Rows::Divided));
    let copies = COMMANDS.replacen("[commands]", "rows = \"everywhere\"\n[commands]", 1);
    assert_eq!(parse(&copies).unwrap().rows, Rows::Everywhere);
    let Provider::Commands(commands) = commands.provider else {
        panic!("no commands");
    };
    assert_eq!(commands.within.0, Nanos::from_secs(1_800));
}

#[test]
fn a_cluster_file_is_known_by_its_sections() {
    assert!(is_cluster_file(NODE));
    assert!(is_cluster_file(COMMANDS));
    assert!(!is_cluster_file("format = 1\n[ops.insert]\n"));
    assert!(!is_cluster_file("[node"));
}

#[test]
fn placeholders_are_filled_and_other_braces_stay() {
    let fill = |text: &str| expand(text, |name| Some(format!("<{name}>")));
    for (text, expected) in [
        ("{node} {port.http}", "<node> <port.http>"),
        ("${HOME} ${home}", "${HOME} ${home}"),
        ("awk '{ print }' {{.ID}} a{3} {a,b} {}", "awk '{ print }' {{.ID}} a{3} {a,b} {}"),
        ("{\"a\":{node}}", "{\"a\":<node>}"),
        ("{{node}", "{<node>"),
        ("{node", "{node"),
    ] {
        assert_eq!(fill(text).unwrap(), expected);
    }
    let unknown = expand("{x}", |_| None).unwrap_err();
    assert_eq!(unknown.to_string(), "unknown placeholder `{x}`");
}

/// All errors of a file after one change, with their lines and hints.
fn wrong(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    let errors = parse(&text.replacen(from, to, 1)).unwrap_err();
    let lines = errors.iter().map(|error| {
        let hint = error.hint.as_deref().unwrap_or("");
        let (line, column) = error.position();
        format!("{line}:{column} {} | {hint}\n", error.message)
    });
    lines.collect()
}

#[test]
fn an_error_has_its_place_and_a_hint() {
    let both = format!("{NODE}\n[commands]\nup = 'a'\nurls = 'b'\ndown = 'c'\n");
    let cases = [
        (NODE, "{peers.http}\"]", "{peers.htp}\"]"),
        (NODE, "\"{port.http}\", ", "\"{prot.http}\", "),
        (NODE, "format = 1", "format = 2"),
        (NODE, "name = \"lab\"", "name = \"../lab\""),
        (NODE, "nodes = 3", "nodes = 0"),
        (NODE, "sql = \"SELECT 1\"\n", ""),
        (NODE, "sql =", "log = \"up\"\nsql ="),
        (NODE, "sql = \"SELECT 1\"\nanswer = \"1\"", "http = \"https://h\""),
        (NODE, "cpu = 0.5", "cpu = 0.0"),
        (NODE, "cpu = 0.5", ""),
        (NODE, "memory = \"1GiB\"", "memory = \"1 parsec\""),
        (NODE, "url = ", "files = { \"../x\" = \"\" }\nurl = "),
        (NODE, "http = 0", "HTTP = 0"),
        (NODE, "[node.ready]", "[node.raedy]"),
        (NODE, "command = [", "command = [] #"),
        (COMMANDS, "{nodes}", "{node}"),
        (COMMANDS, "\"terraform destroy\"", "\" \""),
        (COMMANDS, "[commands]", "[command]"),
        (COMMANDS, "[commands]\n", ""),
        (&both, "lab", "lab"),
    ];
    let shown = cases
        .map(|(text, from, to)| format!("{}\n{}\n", to.replace('\n', " "), wrong(text, from, to)));
    assert_snapshot!(shown.concat());
}

#[test]
fn the_schema_names_every_section() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let parts = &schema["properties"];
    for part in ["format", "name", "nodes", "rows", "node", "commands", "restore"] {
        assert!(parts.get(part).is_some(), "{part}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
