//! `highwater check` of a cluster file: prints its content. Must not start anything.

use highwater_model::cluster::{
    ClusterSpec, CommandLine, CommandsFile, Condition, NodeFile, Provider, QuotaFile, QuotaStart,
    StartOrder, StopSignal,
};
use highwater_model::display::{bytes, foreign, plain, span};

use super::facts::{Fact, fact, table};

/// Maximum characters of text from a file in a line.
const LONGEST: usize = 100;

/// A cluster file in lines.
pub(super) fn described(spec: &ClusterSpec) -> String {
    let nodes = match spec.nodes {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    let mut facts = vec![fact("cluster", format!("{} · {nodes}", spec.name))];
    if !spec.summary.is_empty() {
        facts.push(text("about", &spec.summary));
    }
    match &spec.provider {
        Provider::Processes(node) => facts.extend(of_node(node)),
        Provider::Commands(commands) => facts.extend(of_commands(commands)),
    }
    facts.extend(spec.restore.iter().map(|restore| text("restore", restore)));
    table(&facts)
}

fn of_node(node: &NodeFile) -> Vec<Fact> {
    let command = match &node.command {
        CommandLine::Words(words) => words.join(" "),
        CommandLine::Shell(text) => text.clone(),
    };
    let order = match node.start {
        StartOrder::Together => "started together",
        StartOrder::OneByOne => "started one by one",
    };
    let mut facts = vec![
        fact("node", format!("a process of this machine, {order}")),
        text("command", &command),
    ];
    if node.alone {
        facts.push(fact("alone", "each also starts without the others".to_owned()));
    }
    facts.extend(node.prepare.iter().map(|prepare| text("prepare", prepare)));
    facts.extend(node.files.keys().map(|path| text("file", path)));
    facts.extend(node.user.iter().map(|user| text("user", user)));
    let ports: Vec<String> = node
        .ports
        .iter()
        .map(|(name, port)| match port {
            0 => format!("{name} free"),
            port => format!("{name} {port}"),
        })
        .collect();
    if !ports.is_empty() {
        facts.push(fact("ports", ports.join(", ")));
    }
    facts.push(text("url", &node.url));
    facts.extend(node.metrics.iter().map(|url| text("metrics", url)));
    let within = span(node.ready.within.0.0);
    let ready = match &node.ready.condition() {
        Condition::Sql { sql, answer } => {
            let answer = answer.as_ref().map_or(String::new(), |answer| format!(" = {answer}"));
            format!("{sql}{answer}")
        }
        Condition::Http(address) => address.clone(),
        Condition::Log(words) => format!("`{words}` in the log"),
    };
    facts.push(text("ready", &format!("{ready}, within {within}")));
    let stop = match (&node.stop.command, node.stop.signal) {
        (Some(command), _) => command.as_str(),
        (None, StopSignal::Term) => "SIGTERM",
        (None, StopSignal::Int) => "SIGINT",
        (None, StopSignal::Quit) => "SIGQUIT",
    };
    let within = span(node.stop.within.0.0);
    facts.push(text("stop", &format!("{stop}, SIGKILL after {within}")));
    facts.extend(node.quota.iter().map(|quota| fact("quota", quota_words(quota))));
    facts
}

fn quota_words(quota: &QuotaFile) -> String {
    let begin = match quota.begins {
        QuotaStart::Start => "",
        QuotaStart::WarmUp => " after the warm-up",
    };
    let cpu = quota.cpu.map(|cores| format!("{} cores{begin}", plain(cores)));
    let memory = quota.memory.map(|memory| format!("{} of memory", bytes(memory.0)));
    let parts: Vec<String> = cpu.into_iter().chain(memory).collect();
    parts.join(", ")
}

fn of_commands(commands: &CommandsFile) -> Vec<Fact> {
    let all = [
        ("up", Some(&commands.up)),
        ("resize", commands.resize.as_ref()),
        ("ready", commands.ready.as_ref()),
        ("urls", Some(&commands.urls)),
        ("metrics", commands.metrics.as_ref()),
        ("down", Some(&commands.down)),
    ];
    let within = format!("your own commands, each within {}", span(commands.within.0.0));
    let given = all.into_iter().filter_map(|(name, command)| Some(text(name, command?)));
    std::iter::once(fact("nodes", within)).chain(given).collect()
}

fn text(name: &str, value: &str) -> Fact {
    fact(name, foreign(value, LONGEST))
}
