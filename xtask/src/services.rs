//! What the tests need beside the workspace: two database servers on loopback, an MCP client, a
//! Python with DuckDB, two releases of `claude`. Tests learn of them by environment variables only.

mod account;
mod mariadb;
mod packages;
mod postgres;
mod server;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::repository::Repository;
use crate::{environment, process, terminal};

use account::Account;
use server::Server;

/// Something that a test may ask for; the order is that of every report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Postgres,
    MariaDb,
    McpSdk,
    Python,
    Claude142,
    ClaudeLatest,
}

impl Service {
    /// The name in `KTX_TEST_MISSING`; `test-support` knows the same names.
    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::McpSdk => "mcp-sdk",
            Self::Python => "python",
            Self::Claude142 => "claude-142",
            Self::ClaudeLatest => "claude-latest",
        }
    }

    /// The variable that holds the address or the path.
    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "KTX_TEST_POSTGRES_URL",
            Self::MariaDb => "KTX_TEST_MARIADB_URL",
            Self::McpSdk => "KTX_TEST_MCP_SDK",
            Self::Python => "KTX_TEST_PYTHON",
            Self::Claude142 => "KTX_TEST_CLAUDE_142",
            Self::ClaudeLatest => "KTX_TEST_CLAUDE_LATEST",
        }
    }
}

/// The state of one service: an address or path, or why there is none.
type State = std::result::Result<String, String>;

/// What could be installed; the servers are not running yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    states: BTreeMap<Service, State>,
}

/// Installs what is missing, where that is possible, into caches that the next run finds again.
pub(crate) fn prepare(repository: &Repository) -> Result<Prepared> {
    let cache = environment::variable("KTX_TEST_CACHE")
        .map_or_else(|| repository.target().join("ktx-test-cache"), PathBuf::from);
    std::fs::create_dir_all(&cache)
        .with_context(|| format!("`{}` cannot be made", cache.display()))?;
    let lock = cache.join("lock");
    let lock = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock)
        .with_context(|| format!("`{}` cannot be opened", lock.display()))?;
    // Two runs at once would fetch into the same folders; the lock goes with the handle.
    lock.lock().context("the cache cannot be locked")?;
    packages::install_missing(repository, &cache.join("apt.log"));
    let mut states = BTreeMap::new();
    for (service, state) in tools::all(repository, &cache) {
        states.insert(service, state.map_err(|error| format!("{error:#}")));
    }
    Ok(Prepared { states })
}

/// The running services. Whatever happens to the tests, the servers end with this value.
#[derive(Debug)]
pub(crate) struct Services {
    states: BTreeMap<Service, State>,
    servers: Vec<Server>,
    folder: TempDir,
}

impl Services {
    /// Starts the servers. Call it on the main thread: a server gets a signal when the thread that
    /// started it ends.
    pub(crate) fn start(repository: &Repository, prepared: Prepared) -> Result<Self> {
        server::remove_leftovers()?;
        let folder = server::folder()?;
        let mut services = Self {
            states: prepared.states,
            servers: Vec::new(),
            folder,
        };
        let postgres = Account::named(repository, "postgres", "INT")
            .and_then(|account| postgres::start(repository, services.folder.path(), &account));
        services.add(Service::Postgres, postgres);
        let mariadb = Account::named(repository, "mysql", "TERM")
            .and_then(|account| mariadb::start(repository, services.folder.path(), &account));
        services.add(Service::MariaDb, mariadb);
        Ok(services)
    }

    fn add(&mut self, service: Service, started: Result<Server>) {
        let state = match started {
            Ok(server) => {
                let url = server.url.clone();
                terminal::problem(&format!("up: {}: process {}", service.name(), server.id()));
                self.servers.push(server);
                Ok(url)
            }
            Err(error) => Err(format!("{error:#}")),
        };
        self.states.insert(service, state);
    }

    /// What the tests see.
    pub(crate) fn variables(&self) -> BTreeMap<&'static str, String> {
        variables(&self.states)
    }

    /// What is not there, with the reason, in fixed order.
    pub(crate) fn missing(&self) -> Vec<(&'static str, String)> {
        self.states
            .iter()
            .filter_map(|(service, state)| Some((service.name(), state.as_ref().err()?.clone())))
            .collect()
    }

    /// Shuts the servers down and removes their data.
    pub(crate) fn stop(self) -> Result<()> {
        for server in self.servers {
            server.stop()?;
        }
        self.folder
            .close()
            .context("the data folders of the servers cannot be removed")
    }
}

fn variables(states: &BTreeMap<Service, State>) -> BTreeMap<&'static str, String> {
    let mut variables: BTreeMap<&'static str, String> = states
        .iter()
        .filter_map(|(service, state)| Some((service.variable(), state.as_ref().ok()?.clone())))
        .collect();
    let missing: Vec<&str> = states
        .iter()
        .filter(|(_, state)| state.is_err())
        .map(|(service, _)| service.name())
        .collect();
    variables.insert("KTX_TEST_MISSING", missing.join(","));
    variables
}

/// Whether this process may install packages and change to other accounts.
fn is_root(repository: &Repository) -> bool {
    process::output(process::command(repository, "id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
