//! Checks new connections with the connector.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ktx_config::{Connection, Driver};
use ktx_diagnostics::{Exit, Failure};
use ktx_secrets::{Secret, SecretSource};

use super::StoredSecret;
use crate::compose;
use crate::connections::references::check_references;
use crate::invocation::{Invocation, OpenProject, ProjectSecrets};
use crate::report::Outcome;

/// Valid as a name, port and password.
const STAND_IN: &str = "1";

struct PendingSecrets<'a> {
    project: ProjectSecrets<'a>,
    files: BTreeMap<PathBuf, &'a Secret>,
    otherwise: MissingValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingValue {
    Missing,
    StandIn,
}

impl SecretSource for PendingSecrets<'_> {
    fn env(&self, name: &str) -> Option<String> {
        let value = self
            .project
            .env(name)
            .filter(|value| !value.trim().is_empty());
        match self.otherwise {
            MissingValue::Missing => value,
            MissingValue::StandIn => value.or_else(|| Some(STAND_IN.to_owned())),
        }
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        if let Some(secret) = self.files.get(path) {
            return Ok(secret.expose().to_owned());
        }
        match (self.project.read(path), self.otherwise) {
            (Err(_), MissingValue::StandIn) => Ok(STAND_IN.to_owned()),
            (read, _) => read,
        }
    }

    fn home(&self) -> Option<PathBuf> {
        self.project.home()
    }

    fn base(&self) -> PathBuf {
        self.project.base()
    }
}

/// Accepts missing values. Passes if a missing value could affect the others.
pub(super) fn settings(
    connection: &Connection,
    secrets: &[StoredSecret],
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<()> {
    if !compose::supports(connection.driver) {
        return Ok(());
    }
    let folder = project.dir.join(".ktx/secrets");
    let mut source = PendingSecrets {
        project: invocation.secrets(&project.dir),
        files: secrets
            .iter()
            .map(|kept| (folder.join(&kept.name), &kept.secret))
            .collect(),
        otherwise: MissingValue::Missing,
    };
    let decisive = check_references(connection, &source)
        .into_iter()
        .any(|check| {
            let plain = ["host", "port", "database", "username", "user", "password"];
            check.problem.is_some() && !plain.contains(&check.reference.field.as_str())
        });
    if decisive || has_outside_login(connection) {
        return Ok(());
    }
    source.otherwise = MissingValue::StandIn;
    compose::open_connector(connection, &source, compose::unix_seconds(invocation.now))
        .map(drop)
        .map_err(|error| Failure {
            exit: Exit::Usage,
            ..Failure::from(error)
        })
}

/// True if Google's tools provide the login, perhaps later.
fn has_outside_login(connection: &Connection) -> bool {
    let credentials = connection.text(&["credentials"]);
    connection.driver == Driver::BigQuery
        && connection.text(&["credentials_json"]).is_none()
        && matches!(credentials.as_deref(), None | Some("adc"))
}
