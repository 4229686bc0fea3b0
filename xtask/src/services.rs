//! External programs for tests, which find them through environment variables. Heavy services start
//! only on request.

mod account;
mod bigquery;
mod clickhouse;
mod mariadb;
mod packages;
mod postgres;
mod server;
mod snowflake;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::repository::Repository;
use crate::{environment, process, terminal};

use account::Account;
use server::Server;

/// In report order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    Postgres,
    MariaDb,
    ClickHouse,
    BigQuery,
    Snowflake,
    DuckDb,
    McpSdk,
    McpConformance,
    Python,
    PythonNewest,
    Strace,
    ClaudeTooOld,
    Claude2076,
    ClaudeOldest,
    Claude142,
    ClaudeNewestTested,
    ClaudeLatest,
    Browser,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    Usual,
    Heavy,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::ClickHouse => "clickhouse",
            Self::BigQuery => "bigquery",
            Self::Snowflake => "snowflake",
            Self::DuckDb => "duckdb",
            Self::McpSdk => "mcp-sdk",
            Self::McpConformance => "mcp-conformance",
            Self::Python => "python",
            Self::PythonNewest => "python-newest",
            Self::Strace => "strace",
            Self::ClaudeTooOld => "claude-too-old",
            Self::Claude2076 => "claude-2-0-76",
            Self::ClaudeOldest => "claude-oldest",
            Self::Claude142 => "claude-142",
            Self::ClaudeNewestTested => "claude-newest-tested",
            Self::ClaudeLatest => "claude-latest",
            Self::Browser => "browser",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "KTX_TEST_POSTGRES_URL",
            Self::MariaDb => "KTX_TEST_MARIADB_URL",
            Self::ClickHouse => "KTX_TEST_CLICKHOUSE_URL",
            Self::BigQuery => "KTX_TEST_BIGQUERY_URL",
            Self::Snowflake => "KTX_TEST_SNOWFLAKE_URL",
            Self::DuckDb => "KTX_TEST_DUCKDB",
            Self::McpSdk => "KTX_TEST_MCP_SDK",
            Self::McpConformance => "KTX_TEST_MCP_CONFORMANCE",
            Self::Python => "KTX_TEST_PYTHON",
            Self::PythonNewest => "KTX_TEST_PYTHON_NEWEST",
            Self::Strace => "KTX_TEST_STRACE",
            Self::ClaudeTooOld => "KTX_TEST_CLAUDE_TOO_OLD",
            Self::Claude2076 => "KTX_TEST_CLAUDE_2_0_76",
            Self::ClaudeOldest => "KTX_TEST_CLAUDE_OLDEST",
            Self::Claude142 => "KTX_TEST_CLAUDE_142",
            Self::ClaudeNewestTested => "KTX_TEST_CLAUDE_NEWEST_TESTED",
            Self::ClaudeLatest => "KTX_TEST_CLAUDE_LATEST",
            Self::Browser => "KTX_TEST_BROWSER",
        }
    }
}

type ServiceState = std::result::Result<String, ServiceAbsence>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServiceAbsence {
    Failed(String),
    NotAsked,
}

impl From<anyhow::Error> for ServiceAbsence {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(format!("{error:#}"))
    }
}

/// Servers are not running yet.
#[derive(Debug)]
pub(crate) struct Installation {
    states: BTreeMap<Service, ServiceState>,
    engines: [(Service, StartFunction, ServiceState); 3],
}

type StartFunction = fn(&Repository, &Path, &str) -> Result<Server>;

/// Installs missing programs into reused caches.
pub(crate) fn prepare(repository: &Repository, load: Load) -> Result<Installation> {
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
    // Concurrent runs share these folders; dropping the handle unlocks.
    lock.lock().context("the cache cannot be locked")?;
    packages::install_missing(repository, &cache.join("apt.log"));
    let mut states = BTreeMap::new();
    for (service, state) in tools::all(repository, &cache) {
        states.insert(service, state.map_err(ServiceAbsence::from));
    }
    let engine = |fetch: fn(&Repository, &Path) -> Result<String>| match load {
        Load::Usual => Err(ServiceAbsence::NotAsked),
        Load::Heavy => fetch(repository, &cache).map_err(ServiceAbsence::from),
    };
    states.insert(Service::ClaudeLatest, engine(tools::claude_latest));
    states.insert(Service::Browser, engine(tools::browser));
    let engines: [(Service, StartFunction, ServiceState); 3] = [
        (
            Service::ClickHouse,
            clickhouse::start,
            engine(tools::clickhouse_engine),
        ),
        (
            Service::BigQuery,
            bigquery::start,
            engine(tools::bigquery_emulator),
        ),
        (
            Service::Snowflake,
            snowflake::start,
            engine(tools::snowflake_engine),
        ),
    ];
    Ok(Installation { states, engines })
}

impl Installation {
    pub(crate) fn place(&self, service: Service) -> Option<&str> {
        self.states.get(&service)?.as_deref().ok()
    }
}

#[derive(Debug)]
pub(crate) struct Services {
    states: BTreeMap<Service, ServiceState>,
    servers: Vec<Server>,
    folder: TempDir,
}

impl Services {
    /// Call on the main thread: servers receive a signal when the starting thread ends.
    pub(crate) fn start(repository: &Repository, prepared: Installation) -> Result<Self> {
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
        for (service, start, engine) in prepared.engines {
            match engine {
                Ok(python) => {
                    let server = start(repository, services.folder.path(), &python);
                    services.add(service, server);
                }
                Err(absence) => {
                    services.states.insert(service, Err(absence));
                }
            }
        }
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
            Err(error) => Err(error.into()),
        };
        self.states.insert(service, state);
    }

    pub(crate) fn variables(&self) -> BTreeMap<&'static str, String> {
        variables(&self.states)
    }

    pub(crate) fn missing(&self) -> Vec<(&'static str, String)> {
        let reason = |state: &ServiceState| match state {
            Err(ServiceAbsence::Failed(reason)) => Some(reason.clone()),
            Ok(_) | Err(ServiceAbsence::NotAsked) => None,
        };
        self.states
            .iter()
            .filter_map(|(service, state)| Some((service.name(), reason(state)?)))
            .collect()
    }

    pub(crate) fn not_asked(&self) -> Vec<&'static str> {
        names(&self.states, &|absence| {
            *absence == ServiceAbsence::NotAsked
        })
    }

    pub(crate) fn stop(self) -> Result<()> {
        for server in self.servers {
            server.stop()?;
        }
        self.folder
            .close()
            .context("the data folders of the servers cannot be removed")
    }
}

/// A server for measurements, which ends on drop.
#[derive(Debug)]
pub(crate) struct Postgres {
    // Drops before the folder.
    server: Server,
    _folder: TempDir,
}

impl Postgres {
    /// Call on the main thread.
    pub(crate) fn start(repository: &Repository) -> Result<Self> {
        server::remove_leftovers()?;
        let folder = server::folder()?;
        let account = Account::named(repository, "postgres", "INT")?;
        let server = postgres::start(repository, folder.path(), &account)?;
        Ok(Self {
            server,
            _folder: folder,
        })
    }

    /// Administrator's URL of the empty database `postgres`.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    pub(crate) fn client(&self, repository: &Repository) -> Result<Command> {
        let programs = postgres::programs().context("`psql` is not installed")?;
        let mut command = process::command(repository, programs.join("psql"));
        command.args([
            "--no-psqlrc",
            "--quiet",
            "-v",
            "ON_ERROR_STOP=1",
            self.url(),
        ]);
        Ok(command)
    }
}

fn variables(states: &BTreeMap<Service, ServiceState>) -> BTreeMap<&'static str, String> {
    let mut variables: BTreeMap<&'static str, String> = states
        .iter()
        .filter_map(|(service, state)| Some((service.variable(), state.as_ref().ok()?.clone())))
        .collect();
    let missing = names(states, &|absence| *absence != ServiceAbsence::NotAsked);
    let not_asked = names(states, &|absence| *absence == ServiceAbsence::NotAsked);
    variables.insert("KTX_TEST_MISSING", missing.join(","));
    variables.insert("KTX_TEST_NOT_ASKED", not_asked.join(","));
    variables
}

fn names(
    states: &BTreeMap<Service, ServiceState>,
    is_such: &dyn Fn(&ServiceAbsence) -> bool,
) -> Vec<&'static str> {
    states
        .iter()
        .filter(|(_, state)| state.as_ref().err().is_some_and(is_such))
        .map(|(service, _)| service.name())
        .collect()
}

/// Root can install packages and change accounts.
fn is_root(repository: &Repository) -> bool {
    process::output(process::command(repository, "id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}
