//! Runs ClickHouse's engine with an HTTP front end.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use super::account::Account;
use super::server::{Launch, Server, free_port};
use crate::repository::Repository;

const FRONT: &str = "fixtures/services/clickhouse_front.py";
const USER: &str = "default";
const PASSWORD: &str = "ktx-test";

pub(crate) fn start(repository: &Repository, folder: &Path, python: &str) -> Result<Server> {
    let account = Account::present("TERM");
    let data = folder.join("clickhouse");
    account.folder(&data)?;
    let port = free_port()?;
    let mut serve = account.command(repository, python);
    serve
        .arg(repository.root().join(FRONT))
        .args(["--port", &port.to_string()])
        .args(["--user", USER, "--password", PASSWORD])
        .arg("--data")
        .arg(&data)
        .current_dir(&data);
    Server::start(
        &mut serve,
        Launch {
            name: "ClickHouse",
            url: format!("http://{USER}:{PASSWORD}@127.0.0.1:{port}/default"),
            signal: Signal::TERM,
            log: folder.join("clickhouse.log"),
            is_ready: &|| accepts(port),
        },
    )
}

/// Listens only after the engine has answered.
fn accepts(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}
