//! Installs missing system packages as root with `apt-get`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{is_root, mariadb, postgres};
use crate::repository::Repository;
use crate::{environment, process, terminal};

struct PackageNeed {
    package: &'static str,
    is_met: fn(&Repository) -> bool,
}

/// Ordered: some `nodejs` builds include `npm` and conflict with that package.
const NEEDS: [PackageNeed; 7] = [
    PackageNeed {
        package: "postgresql",
        is_met: |_| postgres::programs().is_some(),
    },
    PackageNeed {
        package: "mariadb-server",
        is_met: |_| mariadb::program().is_some() && has("mariadb-install-db"),
    },
    PackageNeed {
        package: "strace",
        is_met: |_| has("strace"),
    },
    PackageNeed {
        package: "nodejs",
        is_met: |_| has("node"),
    },
    PackageNeed {
        package: "npm",
        is_met: |_| has("npm"),
    },
    PackageNeed {
        package: "python3",
        is_met: |_| has("python3"),
    },
    PackageNeed {
        package: "python3-venv",
        is_met: python_makes_environments,
    },
];

/// Prints failures; services then report what they miss.
pub(crate) fn install_missing(repository: &Repository, log: &Path) {
    let missing = NEEDS.iter().any(|need| !(need.is_met)(repository));
    if !missing || !is_root(repository) || !has("apt-get") {
        return;
    }
    terminal::problem(&format!(
        "updating the list of packages (log: `{}`)",
        log.display()
    ));
    report(apt_get(repository, &["update"], log));
    for need in &NEEDS {
        if !(need.is_met)(repository) {
            terminal::problem(&format!("installing {}", need.package));
            let install = ["install", "-y", "--no-install-recommends", need.package];
            report(apt_get(repository, &install, log));
        }
    }
}

/// For packages that usual runs do not need.
pub(crate) fn install(repository: &Repository, package: &str, log: &Path) -> Result<()> {
    ensure!(
        is_root(repository) && has("apt-get"),
        "install the package `{package}`: only root can do so here"
    );
    terminal::problem(&format!("installing {package}"));
    apt_get(repository, &["update"], log)?;
    let install = ["install", "-y", "--no-install-recommends", package];
    apt_get(repository, &install, log)
}

fn apt_get(repository: &Repository, arguments: &[&str], log: &Path) -> Result<()> {
    let mut command = process::command(repository, "apt-get");
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::logged(&mut command, log)
}

fn report(outcome: Result<()>) {
    if let Err(error) = outcome {
        terminal::problem(&format!("error: {error:#}"));
    }
}

fn has(program: &str) -> bool {
    environment::find_program(program, &[]).is_some()
}

fn python_makes_environments(repository: &Repository) -> bool {
    let mut command = process::command(repository, "python3");
    process::output(command.args(["-c", "import venv, ensurepip"])).is_ok()
}
