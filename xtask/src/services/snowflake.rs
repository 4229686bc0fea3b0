//! Runs a front end of Snowflake's SQL API on an emulator.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use super::server::{Launch, Server, free_port};
use crate::process;
use crate::repository::Repository;

const FRONT: &str = "fixtures/services/snowflake_front.py";
const SETUP: &str = "fixtures/services/snowflake.sql";
const PUBLIC_KEY: &str = "fixtures/connectors/keys/throwaway-rsa-public.pem";

/// Keeps data in memory.
pub(crate) fn start(repository: &Repository, folder: &Path, python: &str) -> Result<Server> {
    let port = free_port()?;
    let mut serve = process::command(repository, python);
    serve
        .args(["-W", "ignore"])
        .arg(repository.root().join(FRONT))
        .args(["--port", &port.to_string()])
        .arg("--public-key")
        .arg(repository.root().join(PUBLIC_KEY))
        .args(["--account", "MYORG-ACCT", "--user", "KTX"])
        .args(["--database", "SHOP", "--setup"])
        .arg(repository.root().join(SETUP))
        .current_dir(folder);
    Server::start(
        &mut serve,
        Launch {
            name: "Snowflake",
            url: format!("http://127.0.0.1:{port}"),
            signal: Signal::TERM,
            log: folder.join("snowflake.log"),
            is_ready: &|| accepts(port),
        },
    )
}

/// Listens only after the database is filled.
fn accepts(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}
