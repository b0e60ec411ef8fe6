//! `cargo xtask dist --check`: installs each result in a tree that has neither Rust nor anything else of this machine but a
//! C library, and runs the program there.
//!
//! Needs root for `chroot`; tools that only look at results (lintian, zsh, fish) may be missing, and are then named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::image::{USER, VOLUME, libraries};
use super::{COMPLETIONS, FLOOR, put, results};
use crate::process::{self, output, run};
use crate::test::as_root;

/// The run in each tree.
const RUN: [&str; 7] = ["run", "-d", "5s", "--warm-up", "1s", "-q", "-o"];

/// Where programs of this machine are, without any in a home directory.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Tries all results in a directory.
pub(super) fn all(out: &Path) -> Result<String, String> {
    let place = std::env::temp_dir().join(format!("highwater-dist-{}", std::process::id()));
    let tried = results(out).and_then(|names| {
        let mut lines = Vec::new();
        for name in names {
            let file = out.join(&name);
            let (tree, end) = (place.join(&name), name.rsplit('.').next().unwrap_or_default());
            fs::create_dir_all(&tree).map_err(|error| format!("dist: {error}"))?;
            let notes = match end {
                "gz" => archive(&file, &tree),
                "deb" => debian(&file, &tree),
                "whl" => wheel(&file, &tree),
                "tar" => image(&file, &tree),
                _ => continue,
            };
            let notes = notes.map_err(|error| format!("{name}: {error}"))?;
            lines.push(format!("{name}: installed and ran{notes}"));
        }
        if lines.is_empty() { Err("dist: there is nothing to try".to_owned()) } else { Ok(lines) }
    });
    run(as_root("rm").arg("-rf").arg(&place))?;
    tried.map(|lines| lines.join("\n"))
}

/// The archive, below `/usr/local`; its pages and completions are read on this machine.
fn archive(file: &Path, tree: &Path) -> Result<String, String> {
    let local = tree.join("usr/local");
    fs::create_dir_all(&local).map_err(|error| error.to_string())?;
    run(Command::new("tar").args(["--strip-components=1", "-xf"]).arg(file).arg("-C").arg(&local))?;
    library(&local.join("bin/highwater"), tree)?;
    runs_in(tree, "/usr/local/bin/highwater")?;
    pages(&local.join("share/man/man1"))?;
    completions(&local.join("share"))
}

/// The package, by a package manager that knows nothing but a C library of the oldest version that is allowed.
fn debian(file: &Path, tree: &Path) -> Result<String, String> {
    let status = format!(
        "Package: libc6\nStatus: install ok installed\nArchitecture: {}\nVersion: {}\nMaintainer: x\nDescription: x\n",
        output(Command::new("dpkg").arg("--print-architecture"))?.trim(),
        FLOOR.1
    );
    put(&tree.join("var/lib/dpkg/status"), &status)?;
    put(&tree.join("var/lib/dpkg/info/libc6.list"), "")?;
    for directory in ["updates", "triggers"] {
        fs::create_dir_all(tree.join("var/lib/dpkg").join(directory)).map_err(|e| e.to_string())?;
    }
    let dpkg = |action: &str, what: &Path| {
        let mut dpkg = as_root("dpkg");
        // Nothing in the tree is executed by the package manager.
        dpkg.arg("--force-script-chrootless").arg(format!("--root={}", tree.display()));
        output(dpkg.args([action]).arg(what)).map(drop)
    };
    dpkg("-i", file)?;
    library(&tree.join("usr/bin/highwater"), tree)?;
    runs_in(tree, "/usr/bin/highwater")?;
    dpkg("-r", Path::new("highwater"))?;
    if tree.join("usr/bin/highwater").exists() {
        return Err("the program is still there after the package was removed".to_owned());
    }
    if missing("lintian") {
        return Ok("; lintian is not installed".to_owned());
    }
    run(Command::new("lintian").args(["--allow-root", "--fail-on", "error"]).arg(file))?;
    Ok("; lintian has no errors".to_owned())
}

/// The wheel, in a new environment of a Python without network, where Rust's directories are hidden.
fn wheel(file: &Path, tree: &Path) -> Result<String, String> {
    let environment = tree.join("environment");
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/pip"));
    run(pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"]).arg(file))?;
    let program = environment.join("bin/highwater");
    let mut hidden = as_root("unshare");
    hidden.args(["--mount", "sh", "-c", HIDE, "sh"]);
    for (variable, place) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let home = PathBuf::from(std::env::var("HOME").unwrap_or_default());
        hidden.arg(std::env::var(variable).map_or_else(|_| home.join(place), PathBuf::from));
    }
    hidden.arg(&program).args(RUN).arg(tree.join("runs"));
    valid(|| hidden.output().map_err(|error| error.to_string()))?;
    Ok(String::new())
}

/// Hides two directories from a command, and runs it without this environment's variables.
const HIDE: &str = "for place in \"$1\" \"$2\"; do [ ! -d \"$place\" ] || mount -t tmpfs none \"$place\"; done; \
                    shift 2; ! env -i PATH=/usr/bin:/bin cargo --version 2>/dev/null || exit 99; \
                    exec env -i PATH=/usr/bin:/bin \"$@\"";

/// The image, as its user, who may write to the volume only.
fn image(file: &Path, tree: &Path) -> Result<String, String> {
    let (layout, root) = (tree.join("layout"), tree.join("root"));
    for directory in [&layout, &root] {
        fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    }
    run(Command::new("tar").arg("-xf").arg(file).arg("-C").arg(&layout))?;
    let manifest = fs::read_to_string(layout.join("manifest.json")).map_err(|e| e.to_string())?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).map_err(|e| e.to_string())?;
    let layer = layout.join(manifest[0]["Layers"][0].as_str().unwrap_or_default());
    run(as_root("tar").args(["--same-owner", "-xpf"]).arg(layer).arg("-C").arg(&root))?;
    let within = |out: &str| {
        let mut inside = as_root("unshare");
        inside.arg(format!("--root={}", root.display())).arg(format!("--wd=/{VOLUME}"));
        inside.args(["--setuid", USER, "--setgid", USER, "--", "/usr/bin/highwater"]);
        inside.args(RUN).arg(out).env_clear().env("PATH", SYSTEM).env("HOME", format!("/{VOLUME}"));
        inside.output().map_err(|error| error.to_string())
    };
    valid(|| within("highwater-runs"))?;
    let mut find = as_root("find");
    find.arg(&root).args(["-path"]).arg(root.join(VOLUME)).args(["-prune", "-o", "("]);
    find.args(["-perm", "-o=w", "-not", "-type", "l", "-o", "-uid", USER, "-o", "-gid", USER, ")"]);
    let writable = output(find.arg("-print"))?;
    if !writable.trim().is_empty() {
        return Err(format!("the user can write to {writable}"));
    }
    let refused = within("/runs")?;
    if refused.status.code() != Some(2) {
        return Err(format!("a run outside the volume is not refused: {refused:?}"));
    }
    Ok(String::new())
}

/// Copies the C library that the program needs.
fn library(program: &Path, tree: &Path) -> Result<(), String> {
    for file in libraries(program)? {
        let place = tree.join(file.strip_prefix("/").unwrap_or(&file));
        run(Command::new("install").args(["-D", "-m755"]).arg(&file).arg(place))?;
    }
    Ok(())
}

/// Runs the program in a tree that has nothing else.
fn runs_in(tree: &Path, program: &str) -> Result<(), String> {
    let mut inside = as_root("chroot");
    inside.arg(tree).arg(program).args(RUN).arg("/runs").env_clear().env("PATH", SYSTEM);
    valid(|| inside.output().map_err(|error| error.to_string()))
}

/// Runs until a run is valid and its data is clean, at most three times: exit code 3 is a verdict on the machine, which
/// others may be using for some seconds.
fn valid(mut attempt: impl FnMut() -> Result<Output, String>) -> Result<(), String> {
    let mut run = attempt()?;
    for _ in 0..2 {
        if run.status.code() == Some(3) {
            run = attempt()?;
        }
    }
    let said = String::from_utf8_lossy(&run.stdout);
    let is_clean = said.lines().any(|line| {
        line.strip_prefix("data").is_some_and(|rest| rest.trim_start().starts_with("clean"))
    });
    if run.status.success() && is_clean {
        return Ok(());
    }
    Err(format!("{}: {said}{}", run.status, String::from_utf8_lossy(&run.stderr)))
}

/// Renders each page.
fn pages(directory: &Path) -> Result<(), String> {
    let mut pages: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|page| page.path()).collect();
    pages.sort();
    let program = directory.with_file_name("man1").join("highwater.1");
    if !pages.contains(&program) || pages.len() < 2 {
        return Err(format!("only {} manual pages", pages.len()));
    }
    for page in pages {
        let mut man = Command::new("man");
        man.args(["--warnings", "-l"]).arg(&page).env("MANPAGER", "cat").env("LC_ALL", "C.UTF-8");
        let rendered = man.output().map_err(|error| format!("man: {error}"))?;
        if !rendered.status.success() || !rendered.stderr.is_empty() || rendered.stdout.len() < 200
        {
            let said = String::from_utf8_lossy(&rendered.stderr);
            return Err(format!("man -l {}: {}: {said}", page.display(), rendered.status));
        }
    }
    Ok(())
}

/// What a shell does to load completions from a file, and to show that it knows the program.
const LOADED: [(&str, &str, &str); 3] = [
    ("bash", "source \"$1\" && complete -p highwater", "_highwater"),
    (
        "zsh",
        "fpath=(\"${1:h}\" $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[highwater]",
        "_highwater",
    ),
    ("fish", "source $argv[1]; complete -C 'highwater cle'", "clean"),
];

/// Loads the completions in each shell.
fn completions(share: &Path) -> Result<String, String> {
    let mut notes = String::new();
    for ((shell, place), (_, script, expected)) in COMPLETIONS.into_iter().zip(LOADED) {
        if missing(shell) {
            notes.push_str(&format!("; {shell} is not installed"));
            continue;
        }
        let mut loads = Command::new(shell);
        loads.args(["-c", script]);
        // The others take the word after the script as their own name.
        loads.args((shell != "fish").then_some(shell)).arg(share.join(place));
        let said = output(&mut loads)?;
        if !said.contains(expected) {
            return Err(format!("{shell} does not load the completions: {said}"));
        }
    }
    Ok(notes)
}

fn missing(program: &str) -> bool {
    process::output(Command::new("sh").args(["-c", "command -v \"$1\"", "sh", program])).is_err()
}
