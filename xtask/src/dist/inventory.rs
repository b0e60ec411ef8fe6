//! What the program is made of: the licenses of all crates in it, and a bill of materials (CycloneDX).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{DOCUMENTS, Package, text};
use crate::process;

/// The licenses of the crates in the program.
pub(super) const NOTICES: &str = "LICENSES-OF-DEPENDENCIES.txt";
/// The bill of materials.
pub(super) const SBOM: &str = "highwater.cdx.json";

/// The program and the crates in it.
pub(super) struct Inventory {
    /// Version of the program.
    pub(super) version: String,
    crates: Vec<Value>,
    /// For each crate, by ID, those that it uses.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// SHA-256 of the packages, by name and version.
    checksums: BTreeMap<(String, String), String>,
}

impl Inventory {
    /// The crates that cargo's metadata links into the program.
    pub(super) fn new(metadata: &Value) -> Result<Self, String> {
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let packages = list(&metadata["packages"]);
        let is_program = |package: &&Value| text(package, "name") == "highwater";
        let program =
            packages.iter().find(is_program).ok_or("dist: there is no package highwater")?;
        let mut links = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let is_linked =
                |of: &&Value| list(&of["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let deps = list(&node["deps"]);
            let linked = deps.iter().filter(is_linked).map(|of| text(of, "pkg").to_owned());
            links.insert(text(&node, "id").to_owned(), linked.collect::<BTreeSet<String>>());
        }
        let mut uses = BTreeMap::new();
        let mut open = vec![text(program, "id").to_owned()];
        while let Some(id) = open.pop() {
            // Taken, so that each crate is visited once.
            if let Some(linked) = links.remove(&id) {
                open.extend(linked.iter().cloned());
                uses.insert(id, linked);
            }
        }
        let mut crates = packages.clone();
        crates.retain(|package| uses.contains_key(text(package, "id")));
        crates.sort_by_key(|package| (named(package), text(package, "version").to_owned()));
        let lock = fs::read_to_string(process::root().join("Cargo.lock"));
        let lock: toml::Table = lock
            .ok()
            .and_then(|lock| lock.parse().ok())
            .ok_or("dist: Cargo.lock cannot be read")?;
        let of_lock = lock.get("package").and_then(toml::Value::as_array);
        let field = |of: &toml::Value, name: &str| Some(of.get(name)?.as_str()?.to_owned());
        let checksums = of_lock.into_iter().flatten().filter_map(|of| {
            Some(((field(of, "name")?, field(of, "version")?), field(of, "checksum")?))
        });
        let version = text(program, "version").to_owned();
        Ok(Self { version, crates, uses, checksums: checksums.collect() })
    }

    /// Writes both lists, and the program's own license.
    pub(super) fn write(&self, package: &Package) -> Result<(), String> {
        let own = include_str!("../../../LICENSE");
        package.put(&format!("{DOCUMENTS}/LICENSE"), own)?;
        package.put(&format!("{DOCUMENTS}/{NOTICES}"), &self.notices(own)?)?;
        let sbom = serde_json::to_string_pretty(&self.sbom()).unwrap_or_default();
        package.put(&format!("{DOCUMENTS}/{SBOM}"), &(sbom + "\n"))
    }

    /// Each license text once, with the crates that have it.
    fn notices(&self, apache: &str) -> Result<String, String> {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for of in self.crates.iter().filter(|of| !of["source"].is_null()) {
            let (name, terms) =
                (format!("{} {}", named(of), text(of, "version")), text(of, "license"));
            let mut own = license_files(of);
            if own.is_empty() {
                // Some packages only name their terms.
                if !terms.split([' ', '/', '(', ')']).any(|term| term == "Apache-2.0") {
                    return Err(format!("dist: {name} ({terms}) has no license file"));
                }
                own.push(apache.to_owned());
            }
            for text in own {
                texts.entry(text.trim().to_owned()).or_default().push(format!("{name} ({terms})"));
            }
        }
        let rule = "=".repeat(80);
        let parts = texts.iter().map(|(text, names)| {
            format!("{rule}\n{}\n{}\n\n{text}\n\n", names.join("\n"), "-".repeat(80))
        });
        Ok(format!(
            "Highwater contains these crates, the Rust standard library (MIT OR Apache-2.0), and SQLite \
             (public domain).\n\n{}",
            parts.collect::<String>()
        ))
    }

    fn sbom(&self) -> Value {
        let by_id: BTreeMap<&str, String> =
            self.crates.iter().map(|of| (text(of, "id"), purl(of))).collect();
        let component = |of: &Value| {
            let mut component = json!({
                "type": "library",
                "bom-ref": purl(of),
                "name": named(of),
                "version": text(of, "version"),
                "purl": purl(of),
                "licenses": [{ "expression": text(of, "license").replace('/', " OR ") }],
            });
            if let Some(sum) = self.checksums.get(&(named(of), text(of, "version").to_owned())) {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
            }
            component
        };
        let is_program = |of: &&Value| named(of) == "highwater";
        let mut program = self.crates.iter().find(is_program).map(component).unwrap_or_default();
        program["type"] = json!("application");
        let libraries = self.crates.iter().filter(|of| !is_program(of)).map(component);
        // In the order of these names; IDs have the builder's paths.
        let dependencies: BTreeMap<_, BTreeSet<_>> = self
            .uses
            .iter()
            .map(|(id, uses)| {
                let uses = uses.iter().filter_map(|id| by_id.get(id.as_str()));
                (by_id.get(id.as_str()), uses.collect())
            })
            .collect();
        let dependencies =
            dependencies.iter().map(|(of, uses)| json!({ "ref": of, "dependsOn": uses }));
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": program },
            "components": libraries.collect::<Vec<_>>(),
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    }
}

fn named(of: &Value) -> String {
    text(of, "name").to_owned()
}

fn purl(of: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(of, "name"), text(of, "version").replace('+', "%2B"))
}

/// The texts of the licenses that a package carries.
fn license_files(of: &Value) -> Vec<String> {
    const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
    let directory = Path::new(text(of, "manifest_path")).parent();
    let entries = directory.and_then(|directory| fs::read_dir(directory).ok());
    let mut files: Vec<_> = entries.into_iter().flatten().flatten().map(|of| of.path()).collect();
    files.sort();
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        file.is_file() && NAMES.iter().any(|begin| name.starts_with(begin))
    });
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inventory of a program with one crate that is linked and one that only builds it, without files of theirs.
    fn inventory(terms: &str) -> Inventory {
        let package = |name: &str, source: Value| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": terms, "source": source,
                    "manifest_path": "/nowhere/at/all/Cargo.toml" })
        };
        let uses = json!([
            { "pkg": "linked", "dep_kinds": [{ "kind": "build" }, { "kind": null }] },
            { "pkg": "building", "dep_kinds": [{ "kind": "build" }] },
        ]);
        let registry = json!("registry");
        Inventory::new(&json!({
            "packages": [
                package("highwater", Value::Null),
                package("linked", registry.clone()),
                package("building", registry),
            ],
            "resolve": { "nodes": [
                { "id": "highwater", "deps": uses },
                { "id": "linked", "deps": [{ "pkg": "highwater", "dep_kinds": [{ "kind": null }] }] },
                { "id": "building", "deps": [] },
            ] },
        }))
        .unwrap()
    }

    #[test]
    fn a_crate_without_a_license_file_has_the_text_that_its_terms_name_or_stops_the_packing() {
        let notices = inventory("MIT OR Apache-2.0").notices("the text\n").unwrap();
        assert!(notices.contains("linked 1.0.0 (MIT OR Apache-2.0)\n"), "{notices}");
        assert!(notices.contains("\n\nthe text\n"), "{notices}");
        assert!(!notices.contains("building"), "it is not in the program: {notices}");
        let error = inventory("MPL-2.0").notices("the text").unwrap_err();
        assert_eq!(error, "dist: linked 1.0.0 (MPL-2.0) has no license file");
    }

    #[test]
    fn the_bill_of_materials_has_the_program_what_is_linked_and_who_uses_what() {
        let sbom = inventory("MIT/Apache-2.0").sbom();
        assert_eq!(sbom["metadata"]["component"]["purl"], "pkg:cargo/highwater@1.0.0");
        let components = sbom["components"].as_array().unwrap();
        assert_eq!(components.len(), 1);
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let uses =
            json!({ "ref": "pkg:cargo/highwater@1.0.0", "dependsOn": ["pkg:cargo/linked@1.0.0"] });
        assert_eq!(sbom["dependencies"][0], uses);
    }
}
