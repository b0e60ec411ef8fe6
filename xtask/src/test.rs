//! `cargo xtask test`: installs the programs that tests need, then runs every test.
//!
//! These programs are listed in `highwater_testing::programs`. Plain `cargo test` skips the tests whose programs are
//! missing; here and in CI, that is a failure.

use std::process::Command;

use highwater_testing::programs::{self, Program, REQUIRE_ALL};

use crate::process;

/// With this setting, Debian's package of PostgreSQL creates no cluster and starts no service.
const NO_CLUSTER: &str = "create_main_cluster = false";
/// The directory of this setting.
const CLUSTER_SETTINGS: &str = "/etc/postgresql-common";

/// Debian's switch for all services: if it exists, installed services are not started.
const NO_SERVICES: &str = "/usr/sbin/policy-rc.d";

/// Packages that enable services, and the names of these services.
const SERVICES: [(&str, &str); 3] = [
    ("mariadb-server", "mariadb"),
    ("clickhouse-server", "clickhouse-server clickhouse"),
    ("pgbouncer", "pgbouncer"),
];

/// Installs the missing programs and runs the tests, with these additional arguments to `cargo test`.
pub fn run(arguments: &[&str]) -> Result<String, String> {
    let missing: Vec<&Program> =
        programs::ALL.iter().copied().filter(|program| program.path().is_none()).collect();
    if !missing.is_empty() {
        let has = |command: &str| programs::in_path(command).is_some();
        if !has("apt-get") || !(is_root() || has("sudo")) {
            return Err(instructions(&missing));
        }
        install(&missing)?;
    }
    let mut tests = process::cargo(&["test", "--workspace"]);
    process::run(tests.args(arguments).env(REQUIRE_ALL, "1"))?;
    Ok("test: all tests passed; none was left out".to_owned())
}

/// Manual installation commands, and the command for tests without these programs.
fn instructions(missing: &[&Program]) -> String {
    let mut lines = vec!["test: these programs are missing, install them first:".to_owned()];
    for program in missing {
        lines.push(format!(
            "  {:<12}Debian: {:<12}needed for {}",
            program.name, program.package, program.tests
        ));
    }
    lines.push("`cargo test --workspace` runs the tests that do not need them".to_owned());
    lines.join("\n")
}

fn install(missing: &[&Program]) -> Result<(), String> {
    let packages: Vec<&str> = missing.iter().map(|program| program.package).collect();
    if packages.contains(&programs::POSTGRESQL.package) {
        // The tests start their own servers, in private directories.
        let script = format!(
            "mkdir -p {CLUSTER_SETTINGS} && \
             echo '{NO_CLUSTER}' >> {CLUSTER_SETTINGS}/createcluster.conf"
        );
        process::run(as_root("sh").args(["-c", &script]))?;
    }
    process::run(as_root("apt-get").args(["update", "-q"]))?;
    // A database's service is started neither now nor at boot; an existing switch is kept.
    let disabling = SERVICES.map(|(package, services)| {
        format!(
            "case \" $* \" in *\" {package} \"*) systemctl disable -q {services} 2>/dev/null || true ;; esac; "
        )
    });
    let script = format!(
        "ours=; if [ ! -e {NO_SERVICES} ]; then ours=1; \
         printf '#!/bin/sh\\nexit 101\\n' > {NO_SERVICES}; chmod 755 {NO_SERVICES}; fi; \
         DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
         -o Dpkg::Options::=--force-confold \"$@\"; status=$?; \
         [ -z \"$ours\" ] || rm -f {NO_SERVICES}; \
         {disabling}exit $status",
        disabling = disabling.concat()
    );
    process::run(as_root("sh").args(["-c", &script, "install"]).args(packages))?;
    match missing.iter().find(|program| program.path().is_none()) {
        None => Ok(()),
        Some(program) => {
            Err(format!("test: {} is installed, but its programs were not found", program.package))
        }
    }
}

/// A command as root: with `sudo`, if this user is another one.
pub fn as_root(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.arg(program);
    command
}

fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_to_install_is_named_with_its_package_and_tests() {
        let text = instructions(programs::ALL);
        for program in programs::ALL {
            assert!(text.contains(program.name), "{text}");
            assert!(text.contains(program.package), "{text}");
            assert!(text.contains(program.tests), "{text}");
        }
        assert!(text.contains("cargo test --workspace"), "{text}");
    }
}
