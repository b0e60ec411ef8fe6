//! The rule that files of a crate must not use each other in a circle, nor folders.
//!
//! A file uses another one if it names an item of it: in a `use`, or in a path such as `crate::a::f`. A re-exported
//! name (`pub use x::Y`) counts as a use of the file that defines it, so a parent that only declares and re-exports is
//! part of no circle. Code that is only compiled for tests does not count.

mod modules;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::modules::{Import, Module, modules};
use crate::tidy::finding::Finding;
use crate::tidy::tree::{Tree, directory_of};

/// Maximum length of a chain of imports, because imports can be circular themselves.
const LONGEST_WAY: usize = 24;

/// Uses between files, each with the used names and the line of the first.
type Uses = BTreeMap<String, BTreeMap<String, Names>>;

/// Names that one file uses of another.
#[derive(Debug, Default, Clone)]
struct Names {
    names: BTreeSet<String>,
    line: usize,
}

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A module itself.
    Module(usize),
    /// An item that this module defines.
    ItemOf(usize),
}

/// Files, or sibling folders, that use each other in a circle.
pub(super) fn no_circles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in roots(tree) {
        let modules = modules(tree, &root);
        let uses = file_uses(&modules);
        let groups = circles(&uses);
        findings.extend(groups.iter().map(|files| found(&uses, files, "files")));
        findings.extend(folder_circles(&uses, directory_of(&root)));
    }
    findings
}

/// The roots of every crate's library and program.
fn roots(tree: &Tree) -> Vec<String> {
    tree.paths()
        .filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"))
        .filter(|path| {
            let package = path.rsplit_once("src/").map_or("", |(package, _)| package);
            tree.text(&format!("{package}Cargo.toml")).is_some()
        })
        .map(str::to_owned)
        .collect()
}

/// The uses between the files of one crate.
fn file_uses(modules: &[Module]) -> Uses {
    let mut uses = Uses::new();
    for (id, module) in modules.iter().enumerate() {
        let mut add = |places: &[Place], name: &str, line: usize| {
            for place in places {
                if let Place::ItemOf(target) = place
                    && modules[*target].file != module.file
                {
                    let names = uses
                        .entry(module.file.clone())
                        .or_default()
                        .entry(modules[*target].file.clone())
                        .or_default();
                    if names.names.is_empty() {
                        names.line = line;
                    }
                    names.names.insert(name.to_owned());
                }
            }
        };
        for import in &module.imports {
            if import.glob {
                let places = resolve(modules, id, &import.path, Scope::Outside, 0);
                for place in places {
                    let foreign = |word: &str| !module.items.contains(word);
                    for (word, line) in module.words.iter().filter(|(word, _)| foreign(word)) {
                        let found = match place {
                            Place::Module(from) if from != id => named(modules, from, word, 0),
                            _ => Vec::new(),
                        };
                        add(&found, word, *line);
                    }
                }
            } else if let Some(last) = import.path.last()
                && !passes_on(import, module)
            {
                let places = resolve(modules, id, &import.path, Scope::Outside, 0);
                add(&places, last, import.line);
            }
        }
        for path in &module.paths {
            // The item may be followed by its own names, such as variants.
            for (end, segment) in path.segments.iter().enumerate() {
                let places = resolve(modules, id, &path.segments[..=end], Scope::Inside, 0);
                if places.iter().all(|place| matches!(place, Place::ItemOf(_))) {
                    add(&places, segment, path.line);
                    break;
                }
            }
        }
    }
    uses
}

/// Whether a module re-exports a name without using it itself.
fn passes_on(import: &Import, module: &Module) -> bool {
    let name = import.name.as_ref();
    import.re_export && !name.is_some_and(|name| module.words.contains_key(name))
}

/// Whether names imported inside functions count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Inside,
    Outside,
}

/// Everything that `path`, written in module `from`, can refer to. `way` counts the imports that were followed before.
fn resolve(
    modules: &[Module],
    from: usize,
    path: &[String],
    scope: Scope,
    way: usize,
) -> Vec<Place> {
    let Some((first, mut rest)) = path.split_first() else {
        return Vec::new();
    };
    let above = |of: usize| -> Vec<Place> {
        let parent = modules[of].parent;
        parent.map(Place::Module).into_iter().collect()
    };
    let mut places = match first.as_str() {
        "crate" => vec![Place::Module(0)],
        "self" => vec![Place::Module(from)],
        "super" => above(from),
        name => {
            let mut places = named(modules, from, name, way);
            if places.is_empty() && scope == Scope::Inside {
                places = brought_in(modules, from, name, false, way);
            }
            places
        }
    };
    while let Some((segment, further)) = rest.split_first() {
        // A module and a function may have the same name.
        if places.iter().any(|place| matches!(place, Place::Module(_))) {
            places.retain(|place| matches!(place, Place::Module(_)));
        }
        places = places
            .into_iter()
            .flat_map(|place| match place {
                // An item's own names, such as variants, belong to its module.
                Place::ItemOf(_) => vec![place],
                Place::Module(module) if segment == "super" => above(module),
                Place::Module(module) => {
                    let found = named(modules, module, segment, way);
                    // A macro may define a name that is not found.
                    if found.is_empty() { vec![Place::ItemOf(module)] } else { found }
                }
            })
            .collect();
        rest = further;
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// The meaning of `name` in a module: its own item or child, or otherwise its import.
fn named(modules: &[Module], module: usize, name: &str, way: usize) -> Vec<Place> {
    let here = &modules[module];
    let mut places = Vec::new();
    if here.items.contains(name) {
        places.push(Place::ItemOf(module));
    }
    places.extend(here.children.get(name).copied().map(Place::Module));
    if places.is_empty() {
        places = brought_in(modules, module, name, true, way);
    }
    places
}

/// The targets of a module's imports of `name`: those of the module itself, or of its functions.
fn brought_in(
    modules: &[Module],
    module: usize,
    name: &str,
    at_top: bool,
    way: usize,
) -> Vec<Place> {
    if way >= LONGEST_WAY {
        return Vec::new();
    }
    let imports = || modules[module].imports.iter().filter(|import| import.at_top == at_top);
    let mut places: Vec<Place> = imports()
        // `use name;` of another crate would refer to itself.
        .filter(|import| import.name.as_deref() == Some(name) && import.path != [name])
        .flat_map(|import| resolve(modules, module, &import.path, Scope::Outside, way + 1))
        .collect();
    if places.is_empty() {
        for import in imports().filter(|import| import.glob) {
            for place in resolve(modules, module, &import.path, Scope::Outside, way + 1) {
                if let Place::Module(from) = place
                    && from != module
                {
                    places.extend(named(modules, from, name, way + 1));
                }
            }
        }
    }
    places
}

/// Groups of more than one node in which each node reaches every other.
fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|from| (from, reach(uses, from))).collect();
    let mut done: BTreeSet<&String> = BTreeSet::new();
    let mut groups = Vec::new();
    for (from, there) in &reached {
        if !there.contains(from) || !done.insert(from) {
            continue;
        }
        let group: BTreeSet<String> = there
            .iter()
            .filter(|to| reached.get(**to).is_some_and(|back| back.contains(from)))
            .map(|to| (*to).clone())
            .collect();
        done.extend(there.iter().filter(|to| group.contains(**to)));
        groups.push(group);
    }
    groups
}

/// Everything that `from` uses, directly or through others.
fn reach<'a>(uses: &'a Uses, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for next in uses.get(node).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Circles between folders with the same parent. Sibling files can be part of the path, too.
fn folder_circles(uses: &Uses, root: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut parents: BTreeSet<&str> = BTreeSet::new();
    for file in uses.keys() {
        let mut directory = file.as_str();
        while let Some((parent, _)) = directory.rsplit_once('/')
            && parent.len() >= root.len()
        {
            parents.insert(parent);
            directory = parent;
        }
    }
    for parent in parents {
        let mut between = Uses::new();
        for (from, targets) in uses {
            for (to, names) in targets {
                if let (Some(a), Some(b)) = (part(from, parent), part(to, parent))
                    && a != b
                {
                    let merged = between.entry(a).or_default().entry(b).or_default();
                    let file = to.rsplit('/').next().unwrap_or_default();
                    let through = names.names.iter().map(|name| format!("{file} {name}"));
                    merged.names.extend(through);
                }
            }
        }
        findings.extend(
            circles(&between)
                .iter()
                .filter(|group| group.iter().filter(|node| node.ends_with('/')).count() > 1)
                .map(|group| found(&between, group, "folders")),
        );
    }
    findings
}

/// The folder or file below `parent` that contains `file`; absent for the parent's own module.
fn part(file: &str, parent: &str) -> Option<String> {
    let inside = file.strip_prefix(parent)?.strip_prefix('/')?;
    match inside.split_once('/') {
        Some((folder, _)) => Some(format!("{parent}/{folder}/")),
        None if matches!(inside, "mod.rs" | "lib.rs" | "main.rs") => None,
        None => Some(file.to_owned()),
    }
}

fn found(uses: &Uses, group: &BTreeSet<String>, what: &str) -> Finding {
    let mut lines = Vec::new();
    let mut first_line = 1;
    for (from, targets) in uses.iter().filter(|(from, _)| group.contains(*from)) {
        for (to, names) in targets.iter().filter(|(to, _)| group.contains(*to)) {
            if lines.is_empty() {
                first_line = names.line.max(1);
            }
            let taken: Vec<&str> = names.names.iter().map(String::as_str).collect();
            lines.push(format!("\n    {from} uses {to} ({})", taken.join(", ")));
        }
    }
    let path = group.first().map_or("", String::as_str);
    Finding::at(
        path,
        first_line,
        format!("{} {what} use each other{}\n  ", group.len(), lines.concat()),
        "move what both need to a file of its own, below both",
    )
}
