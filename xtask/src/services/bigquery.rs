//! Runs a BigQuery emulator.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::Signal;

use super::server::{Launch, Server, free_port};
use crate::process;
use crate::repository::Repository;

/// Keeps data in memory.
pub(crate) fn start(repository: &Repository, folder: &Path, python: &str) -> Result<Server> {
    let programs = Path::new(python)
        .parent()
        .context("Python has no parent folder")?;
    let home = programs.with_file_name("home");
    let (port, other_port) = (free_port()?, free_port()?);
    let mut serve = process::command(repository, programs.join("bqemulator"));
    serve
        .args(["start", "--ephemeral", "--project", "demo"])
        .args(["--rest-port", &port.to_string()])
        .args(["--grpc-port", &other_port.to_string()])
        .args(["--log-level", "error"])
        .env("HOME", &home)
        .current_dir(folder);
    Server::start(
        &mut serve,
        Launch {
            name: "BigQuery",
            url: format!("http://127.0.0.1:{port}"),
            signal: Signal::INT,
            log: folder.join("bigquery.log"),
            is_ready: &|| accepts(port),
        },
    )
}

fn accepts(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}
