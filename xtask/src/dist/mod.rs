//! `cargo xtask dist`: what installs Highwater without a compiler, in `dist/`: archive, wheel, Debian package, image.
//!
//! maturin and zig build the program, so that it starts on systems whose C library is much older than the builder's.
//! Both come from PyPI, into the build directory. Equal commits give equal bytes: times are that of the commit, files are
//! in the order of their names, and no path of this machine is inside.

mod formats;
mod image;
mod inventory;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use self::inventory::Inventory;
use crate::process::{self, output, run};

/// What is made; all of it by default.
pub const KINDS: [&str; 4] = ["archive", "wheel", "deb", "image"];

/// The oldest C library with which the program starts, as a Python tag and as its version.
pub const FLOOR: (&str, &str) = ("manylinux2014", "2.17");

/// What is distributed, before it is packed.
pub struct Package {
    /// Version of the program.
    pub version: String,
    /// Machine, such as `x86_64`.
    pub machine: String,
    /// Seconds since 1970 of the commit: the time of every file.
    pub time: String,
    /// Files as below `/usr`.
    pub tree: PathBuf,
    /// Where results go.
    pub out: PathBuf,
}

/// Makes these kinds, from this program instead of a new build if there is one; returns the checksums.
pub fn make(kinds: &[&str], program: Option<&Path>) -> Result<String, String> {
    if let Some(other) = kinds.iter().find(|kind| !KINDS.contains(kind)) {
        return Err(format!("dist: no kind `{other}`; there are {}", KINDS.join(", ")));
    }
    let metadata = process::metadata()?;
    let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target"));
    let inventory = Inventory::new(&metadata)?;
    let package = Package {
        version: inventory.version.clone(),
        machine: std::env::consts::ARCH.to_owned(),
        time: commit_time()?,
        tree: target.join("dist/tree"),
        out: process::root().join("dist"),
    };
    fs::remove_dir_all(&package.tree).ok();
    if kinds.len() == KINDS.len() {
        fs::remove_dir_all(&package.out).ok();
    }
    fs::create_dir_all(&package.out).map_err(|error| error.to_string())?;
    inventory.write(&package)?;
    let built = match program {
        Some(program) => program.to_owned(),
        None => build(&package, &target)?,
    };
    package.fill(&built)?;
    if program.is_none() {
        check_program(&built)?;
        if !kinds.contains(&"wheel") {
            for name in results(&package.out)? {
                let file = package.out.join(name);
                if file.extension().is_some_and(|end| end == "whl") {
                    fs::remove_file(file).ok();
                }
            }
        }
    }
    let made = [
        ("archive", formats::archive as fn(&Package) -> Result<(), String>),
        ("deb", formats::debian),
        ("image", image::make),
    ];
    for (_, make) in made.iter().filter(|(kind, _)| kinds.contains(kind)) {
        make(&package)?;
    }
    checksums(&package.out)
}

/// Tries what is in `dist/` in trees without Rust.
pub fn check() -> Result<String, String> {
    trial::all(&process::root().join("dist"))
}

impl Package {
    /// The name of a result, without its end.
    pub fn name(&self) -> String {
        format!("highwater-{}-{}-linux", self.version, self.machine)
    }

    /// A file below the tree, in its directory.
    pub fn put(&self, path: &str, text: &str) -> Result<(), String> {
        put(&self.tree.join(path), text)
    }

    /// Adds the program, its pages, and its completions.
    fn fill(&self, built: &Path) -> Result<(), String> {
        let program = self.tree.join("bin/highwater");
        run(Command::new("install").args(["-D", "-m755"]).arg(built).arg(&program))?;
        let pages = self.tree.join("share/man/man1");
        run(Command::new(&program).arg("man").arg("--dir").arg(&pages))?;
        for (shell, place) in COMPLETIONS {
            let script = output(Command::new(&program).args(["completions", shell]))?;
            self.put(&format!("share/{place}"), &script)?;
        }
        Ok(())
    }
}

/// Shells, and where they look for completions below `share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/highwater"),
    ("zsh", "zsh/site-functions/_highwater"),
    ("fish", "fish/vendor_completions.d/highwater.fish"),
];

/// A file, in its directory.
pub fn put(path: &Path, text: &str) -> Result<(), String> {
    let written = fs::create_dir_all(path.parent().unwrap_or(path));
    let written = written.and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("dist: {}: {error}", path.display()))
}

/// The time of the commit, or the one that the environment sets, as reproducible builds do.
fn commit_time() -> Result<String, String> {
    if let Ok(time) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(time);
    }
    of_commit("%ct")
        .map_err(|error| format!("{error}; SOURCE_DATE_EPOCH sets the time of all files"))
}

/// What git prints about the commit in this format.
fn of_commit(format: &str) -> Result<String, String> {
    let mut git = Command::new("git");
    git.args(["log", "-1", &format!("--format={format}")]).current_dir(process::root());
    Ok(output(&mut git)?.trim().to_owned())
}

/// Builds program and wheel with maturin and zig; returns the program.
fn build(package: &Package, target: &Path) -> Result<PathBuf, String> {
    let tools = target.join("dist-tools");
    if !tools.join("bin/maturin").exists() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&tools);
        run(pip.args(TOOLS).env("PIP_ROOT_USER_ACTION", "ignore"))?;
    }
    let stage = target.join("dist/wheel");
    fs::remove_dir_all(&stage).ok();
    let manifest = process::root().join("crates/cli/Cargo.toml");
    let settings =
        include_str!("pyproject.toml").replace("@MANIFEST@", &manifest.display().to_string());
    put(&stage.join("pyproject.toml"), &settings)?;
    for name in ["LICENSE", inventory::NOTICES, inventory::SBOM] {
        let from = package.tree.join(DOCUMENTS).join(name);
        fs::copy(from, stage.join(name)).map_err(|error| format!("dist: {name}: {error}"))?;
    }
    let triple = format!("{}-unknown-linux-gnu", package.machine);
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.args(["build", "--release", "--locked", "--zig", "--target", &triple]);
    maturin.args(["--compatibility", FLOOR.0, "--out"]).arg(&package.out);
    maturin.current_dir(&stage).env("PYTHONPATH", &tools).env("SOURCE_DATE_EPOCH", &package.time);
    maturin.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    for (variable, flag, separator) in [
        ("CARGO_ENCODED_RUSTFLAGS", "--remap-path-prefix=", "\x1f"),
        ("CFLAGS", "-ffile-prefix-map=", " "),
    ] {
        let mapped =
            private_paths(target)?.into_iter().map(|(from, to)| format!("{flag}{from}={to}"));
        maturin.env(variable, mapped.collect::<Vec<_>>().join(separator));
    }
    // The output of this task is the sums alone.
    run(maturin.stdout(std::io::stderr()))?;
    Ok(target.join(triple).join("release/highwater"))
}

/// The tools, from PyPI.
const TOOLS: [&str; 2] = ["maturin==1.16.0", "ziglang==0.17.1"];
/// Directory of licenses and inventory, below the tree.
const DOCUMENTS: &str = "share/doc/highwater";

/// Paths of this machine that a compiler would write into the program, and what it writes instead.
fn private_paths(target: &Path) -> Result<[(String, &'static str); 4], String> {
    let home = |name: &str, place: &str| {
        std::env::var(name).unwrap_or_else(|_| {
            let home = std::env::var("HOME").unwrap_or_default();
            format!("{home}/{place}")
        })
    };
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    // The last one that matches wins.
    Ok([
        (sysroot.trim().to_owned(), "rust"),
        (home("CARGO_HOME", ".cargo"), "cargo"),
        (process::root().display().to_string(), "highwater"),
        (target.display().to_string(), "target"),
    ])
}

/// Fails if the program has paths of this machine, or needs a newer C library than the floor.
fn check_program(built: &Path) -> Result<(), String> {
    let bytes = fs::read(built).map_err(|error| format!("dist: {}: {error}", built.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let home = std::env::var("HOME").unwrap_or_default();
    let root = process::root().display().to_string();
    for path in [format!("{home}/"), format!("{root}/")].iter().filter(|path| path.len() > 1) {
        if let Some(at) = text.find(path.as_str()) {
            let found: String = text[at..].chars().take(120).collect();
            return Err(format!("dist: a path of this machine is in the program: {found:?}"));
        }
    }
    let numbers = |version: &str| -> Vec<u32> {
        version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    let needed = text.split("GLIBC_").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(0);
        numbers(&rest[..end])
    });
    match needed.max() {
        Some(newest) if newest > numbers(FLOOR.1) => {
            Err(format!("dist: the program needs glibc {newest:?}, above the floor of {}", FLOOR.1))
        }
        _ => Ok(()),
    }
}

/// Writes the SHA-256 of each result, and returns the list.
fn checksums(out: &Path) -> Result<String, String> {
    let mut names: Vec<String> = results(out)?;
    names.sort();
    let text = output(Command::new("sha256sum").args(&names).current_dir(out))?;
    put(&out.join(SUMS), &text)?;
    Ok(text)
}

const SUMS: &str = "SHA256SUMS";

/// Names of the results.
fn results(out: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(out).map_err(|error| format!("dist: {}: {error}", out.display()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| name != SUMS).collect())
}

/// The text of a value of cargo's metadata.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
