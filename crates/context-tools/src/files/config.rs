//! `ktx.yaml`: connections and what runs their statements.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ktx_config::{Connection, FILE_NAME, parse_bytes};
use ktx_diagnostics::{Code, Failure, Severity};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use super::stamp::{is_absent, unreadable};
use super::{Cached, Inner, OpenConnection, lock};
use crate::context::Runner;

impl Inner {
    pub(super) fn connections(&self) -> Result<Vec<Connection>, Failure> {
        let path = self.layout.config();
        let now = self.stamp(&path)?.unwrap_or_default();
        let mut cached = lock(&self.config);
        if let Some(known) = cached.as_ref().filter(|known| known.stamp == now) {
            return known.value.clone();
        }
        let value = read(&path);
        let answer = value.clone();
        *cached = Some(Cached { stamp: now, value });
        answer
    }

    pub(super) fn dialect(&self, id: &ConnectionId) -> Result<Dialect, Failure> {
        let connections = self.connections()?;
        let connection = connections.iter().find(|connection| connection.id == *id);
        let dialect = connection.and_then(|found| self.parts.warehouses.dialect(found.driver));
        Ok(dialect.unwrap_or(Dialect::Postgres))
    }

    /// Reused while the settings stay the same.
    pub(super) fn runner(&self, connection: &Connection) -> Result<Runner, Failure> {
        let warehouses = &self.parts.warehouses;
        if !warehouses.supports(connection.driver) {
            return Ok(Runner::CompileOnly {
                reason: format!("this ktx cannot connect to `{}` yet", connection.driver),
            });
        }
        let mut runners = lock(&self.runners);
        if let Some(open) = runners.get(&connection.id)
            && open.settings == *connection
        {
            return Ok(Runner::Ready(Arc::clone(&open.connector)));
        }
        let connector = warehouses.open(connection)?;
        let open = OpenConnection {
            settings: connection.clone(),
            connector: Arc::clone(&connector),
        };
        runners.insert(connection.id.clone(), open);
        Ok(Runner::Ready(connector))
    }
}

fn read(path: &Path) -> Result<Vec<Connection>, Failure> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(&error) => {
            return Err(
                Failure::new(Code::MissingProject, "there is no `ktx.yaml` here")
                    .hint("run `ktx setup`, or name the project with `--project-dir`"),
            );
        }
        Err(error) => return Err(unreadable(path, &error)),
    };
    let parsed = parse_bytes(&bytes, FILE_NAME);
    if let Some(project) = parsed.project {
        return Ok(project.connections.into_values().collect());
    }
    let first = parsed
        .diagnostics
        .iter()
        .find(|found| found.severity == Severity::Error);
    Err(first.map_or_else(
        || Failure::new(Code::InvalidConfig, "`ktx.yaml` cannot be used"),
        Failure::from,
    ))
}
