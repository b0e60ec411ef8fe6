//! The archive, and the package for Debian and its descendants.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{COMPLETIONS, DOCUMENTS, FLOOR, Package, of_commit, put};
use crate::process::{output, run};

/// Packs a directory: sorted, with the time of the commit, as root's files.
pub(super) fn tar(
    package: &Package,
    directory: &Path,
    to: &Path,
    more: &[&str],
) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=gnu", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", package.time)).args(more);
    run(tar.arg("-C").arg(directory).arg("-f").arg(to).arg("."))
}

/// Compresses a file without its name and time; it gets the end `.gz`.
pub(super) fn gzip(file: &Path) -> Result<(), String> {
    run(Command::new("gzip").args(["-n", "-9", "-f"]).arg(file))
}

/// The archive: its content belongs below `/usr/local`, or any other prefix.
pub(super) fn archive(package: &Package) -> Result<(), String> {
    let to = package.out.join(format!("{}.tar", package.name()));
    let inside = format!("--transform=s,^\\.,{},", package.name());
    tar(package, &package.tree, &to, &["-c", "--owner=0", "--group=0", &inside])?;
    gzip(&to)
}

/// The Debian package.
pub(super) fn debian(package: &Package) -> Result<(), String> {
    let root = package.tree.with_file_name("deb");
    fs::remove_dir_all(&root).ok();
    let usr = root.join("usr");
    fs::create_dir_all(&usr).map_err(|error| error.to_string())?;
    run(Command::new("cp")
        .args(["-r", "--no-preserve=timestamps"])
        .arg(package.tree.join("."))
        .arg(&usr))?;
    // Debian's zsh looks elsewhere.
    let zsh = COMPLETIONS[1].1;
    let script = usr.join("share").join(zsh);
    let text = fs::read_to_string(&script).map_err(|error| format!("dist: {zsh}: {error}"))?;
    put(&usr.join("share/zsh/vendor-completions/_highwater"), &text)?;
    fs::remove_dir_all(usr.join("share/zsh/site-functions")).ok();
    let documents = usr.join(DOCUMENTS);
    fs::remove_file(documents.join("LICENSE")).ok();
    put(&documents.join("copyright"), COPYRIGHT)?;
    put(&usr.join("share/lintian/overrides/highwater"), OVERRIDES)?;
    // An export of the repository has no commits.
    let maintainer =
        of_commit("%cN <%cE>").unwrap_or_else(|_| "Highwater <root@localhost>".to_owned());
    let date =
        output(Command::new("date").args(["-u", "-R", "-d", &format!("@{}", package.time)]))?;
    let version = &package.version;
    let changes = documents.join("changelog");
    put(
        &changes,
        &format!(
            "highwater ({version}) unstable; urgency=medium\n\n  * Built from the repository, whose CHANGELOG.md \
             lists the changes.\n\n -- {maintainer}  {date}"
        ),
    )?;
    gzip(&changes)?;
    let pages = fs::read_dir(usr.join("share/man/man1")).map_err(|error| error.to_string())?;
    pages.flatten().try_for_each(|page| gzip(&page.path()))?;
    let size = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&usr))?;
    let size = size.split_whitespace().next().unwrap_or("0").to_owned();
    let (architecture, floor) = (debian_architecture(package), FLOOR.1);
    put(
        &root.join("DEBIAN/control"),
        &format!(
            "Package: highwater\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
             Installed-Size: {size}\nDepends: libc6 (>= {floor})\nSection: database\nPriority: optional\n\
             Description: load-test a SQL database and get a number you can defend\n {DESCRIPTION}\n"
        ),
    )?;
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(&root))?;
    let to = package.out.join(format!("highwater_{version}_{architecture}.deb"));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "-Zxz", "-b"]).arg(&root).arg(to);
    run(pack.env("SOURCE_DATE_EPOCH", &package.time).stdout(std::process::Stdio::null()))
}

/// What Debian and container images call the machine.
pub(super) fn debian_architecture(package: &Package) -> &str {
    match package.machine.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

const DESCRIPTION: &str = "\
Highwater sends a planned load to a SQL database, measures latency from the
 intended time of each operation, and compares afterwards what the database
 holds with what it acknowledged.";

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: highwater

Files: *
Copyright: the authors of Highwater
License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
Comment: the licenses of the crates in the program are in
 LICENSES-OF-DEPENDENCIES.txt, next to this file.
";

const OVERRIDES: &str = "\
# SQLite is part of the program, which measures with a known version of it.
highwater: embedded-library *
# Nothing is published from which a bug could have been closed.
highwater: initial-upload-closes-no-bugs *
";
