//! Runs `MariaDB` in a temporary folder.
#![expect(
    clippy::disallowed_methods,
    reason = "the start file of a server that xtask owns"
)]

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use super::account::Account;
use super::server::{Launch, Server, free_port};
use crate::repository::Repository;
use crate::{environment, process};

const PASSWORD: &str = "ktx-test";

/// `mariadbd` is not on ordinary accounts' `PATH`.
pub(crate) fn program() -> Option<PathBuf> {
    environment::find_program("mariadbd", &[PathBuf::from("/usr/sbin")])
}

pub(crate) fn start(repository: &Repository, folder: &Path, account: &Account) -> Result<Server> {
    let program = program().context("`mariadbd` is not installed")?;
    let home = folder.join("mariadb");
    account.folder(&home)?;
    let (data, log) = (home.join("data"), folder.join("mariadb.log"));
    let mut make = account.command(repository, "mariadb-install-db");
    make.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ])
    .arg(format!("--datadir={}", data.display()))
    .current_dir(&home);
    process::logged(&mut make, &log)?;
    let first = folder.join("mariadb.sql");
    std::fs::write(&first, first_statements()).context("the start file cannot be written")?;
    let port = free_port()?;
    let mut serve = account.command(repository, &program);
    serve
        .args([
            "--no-defaults",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
        ])
        .args([
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=0",
            "--max-connections=200",
        ])
        .args([
            "--character-set-server=utf8mb4",
            "--default-time-zone=+00:00",
        ])
        .arg(format!("--port={port}"))
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--init-file={}", first.display()))
        .arg(format!("--socket={}", home.join("socket").display()))
        .arg(format!("--pid-file={}", home.join("pid").display()))
        .current_dir(&home);
    Server::start(
        &mut serve,
        Launch {
            name: "MariaDB",
            url: format!("mysql://root:{PASSWORD}@127.0.0.1:{port}/test"),
            signal: Signal::TERM,
            log,
            is_ready: &|| greets(port),
        },
    )
}

/// Creates an administrator and an empty database before the first connection.
fn first_statements() -> String {
    format!(
        "CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4;\n\
         CREATE USER IF NOT EXISTS 'root'@'127.0.0.1';\n\
         ALTER USER 'root'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"
    )
}

/// The server speaks first.
fn greets(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let limit = Duration::from_secs(1);
    let Ok(mut stream) = TcpStream::connect_timeout(&address, limit) else {
        return false;
    };
    stream.set_read_timeout(Some(limit)).is_ok() && stream.read_exact(&mut [0]).is_ok()
}
