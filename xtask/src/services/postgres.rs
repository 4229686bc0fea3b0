//! Runs `PostgreSQL` in a temporary folder.
#![expect(
    clippy::disallowed_methods,
    reason = "the password file of a server that xtask owns"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use super::account::Account;
use super::server::{Launch, Server, free_port};
use crate::repository::{Repository, read_folder};
use crate::{environment, process};

const USER: &str = "ktx_admin";
const PASSWORD: &str = "ktx-test";

/// Debian's folder of releases.
const RELEASES: &str = "/usr/lib/postgresql";

pub(crate) fn programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = read_folder(Path::new(RELEASES)).unwrap_or_default();
    folders.sort_by_key(|path| std::cmp::Reverse(release(path)));
    let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.join("bin")).collect();
    environment::find_program("initdb", &folders)?
        .parent()
        .map(Path::to_owned)
}

fn release(path: &Path) -> u32 {
    crate::repository::file_name(path)
        .parse()
        .unwrap_or_default()
}

pub(crate) fn start(repository: &Repository, folder: &Path, account: &Account) -> Result<Server> {
    let programs = programs().context("`initdb` is not installed")?;
    let home = folder.join("postgres");
    account.folder(&home)?;
    let (data, log) = (home.join("data"), folder.join("postgres.log"));
    let password = folder.join("postgres.password");
    std::fs::write(&password, PASSWORD).context("the password file cannot be written")?;
    let mut make = account.command(repository, programs.join("initdb"));
    make.args([
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--auth=scram-sha-256",
    ])
    .args(["--username", USER, "--pgdata"])
    .arg(&data)
    .arg(format!("--pwfile={}", password.display()))
    .current_dir(&home);
    process::logged(&mut make, &log)?;
    let port = free_port()?;
    let mut serve = account.command(repository, programs.join("postgres"));
    serve.arg("-D").arg(&data).current_dir(&home);
    for setting in settings(port) {
        serve.args(["-c", &setting]);
    }
    let status = data.join("postmaster.pid");
    Server::start(
        &mut serve,
        Launch {
            name: "PostgreSQL",
            url: format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"),
            // Fast shutdown ends open sessions.
            signal: Signal::INT,
            log,
            is_ready: &|| is_ready(&std::fs::read_to_string(&status).unwrap_or_default()),
        },
    )
}

/// Durability is off: the data need not survive a crash.
fn settings(port: u16) -> [String; 9] {
    [
        format!("port={port}"),
        "listen_addresses=127.0.0.1".to_owned(),
        "unix_socket_directories=".to_owned(),
        "fsync=off".to_owned(),
        "shared_preload_libraries=pg_stat_statements".to_owned(),
        "synchronous_commit=off".to_owned(),
        "full_page_writes=off".to_owned(),
        "max_connections=200".to_owned(),
        "timezone=UTC".to_owned(),
    ]
}

/// Line eight of `postmaster.pid` is the state, as `pg_ctl` reads it.
pub(crate) fn is_ready(status: &str) -> bool {
    status
        .lines()
        .nth(7)
        .is_some_and(|state| state.trim() == "ready")
}
