//! Context sources that are folders of files: local, or in a git repository.

use std::path::{Component, Path, PathBuf};

use ktx_config::{Connection, Driver};
use ktx_context_sources::{FolderKind, Snapshot, Unit, dbt, lookml, metricflow};
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_ingest::Source;
use ktx_project_store::{CheckoutError, Remote};
use serde_json::Value;

use super::{Access, Contents, ContextSource, Material, secret, target};
use crate::invocation::CommandContext;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};

/// A folder of files of one kind.
pub(super) struct Folder(pub(super) FolderKind);

impl ContextSource for Folder {
    fn driver(&self) -> Driver {
        match self.0 {
            FolderKind::Dbt => Driver::Dbt,
            FolderKind::MetricFlow => Driver::MetricFlow,
            FolderKind::LookMl => Driver::LookMl,
        }
    }

    fn product(&self) -> &'static str {
        match self.0 {
            FolderKind::Dbt => "dbt",
            FolderKind::MetricFlow => "MetricFlow",
            FolderKind::LookMl => "LookML",
        }
    }

    fn contents(&self) -> Contents {
        Contents::Facts
    }

    fn access(&self) -> Access {
        Access::Files
    }

    fn read(
        &self,
        connection: &Connection,
        target: Option<&str>,
        context: CommandContext<'_>,
    ) -> Outcome<Vec<Source>> {
        let warehouse = target::of_source(connection, target, context.project)?;
        Ok(vec![
            read(self.0, connection, context)?.into_source(connection, warehouse),
        ])
    }

    fn test(
        &self,
        connection: &Connection,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<String> {
        test(self.0, connection, invocation, project)
    }
}

fn read(
    kind: FolderKind,
    connection: &Connection,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Material> {
    let place = Place::of(kind, connection);
    let is_here = place.text("source_dir").is_some();
    if !is_here && place.repository().is_some() && printer.mode != Mode::Json {
        printer.note(&format!("{}: fetching the repository", connection.id));
    }
    let snapshot = place.snapshot(invocation, project)?;
    let looker = looker_connection(connection);
    let facts = match kind {
        FolderKind::Dbt => dbt::facts(&snapshot),
        FolderKind::MetricFlow => metricflow::facts(&snapshot),
        FolderKind::LookMl => lookml::facts(&snapshot, looker.as_deref()),
    };
    let definitions = match kind {
        FolderKind::Dbt => dbt::definitions(&snapshot),
        FolderKind::MetricFlow => metricflow::definitions(&snapshot),
        FolderKind::LookMl => lookml::definitions(&snapshot, looker.as_deref()),
    };
    Ok(Material {
        definitions,
        units: units(kind, &snapshot, looker.as_deref()),
        facts,
        documents: None,
        snapshot,
    })
}

fn test(
    kind: FolderKind,
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<String> {
    let snapshot = Place::of(kind, connection).snapshot(invocation, project)?;
    let units = units(kind, &snapshot, looker_connection(connection).as_deref());
    Ok(format!(
        "{} of {} in {}",
        kind.words(),
        counted(snapshot.files.len(), "file"),
        counted(units.len(), "unit")
    ))
}

fn units(kind: FolderKind, snapshot: &Snapshot, looker: Option<&str>) -> Vec<Unit> {
    match kind {
        FolderKind::Dbt => dbt::units(snapshot),
        FolderKind::MetricFlow => metricflow::units(snapshot),
        FolderKind::LookMl => lookml::units(snapshot, looker),
    }
}

fn looker_connection(connection: &Connection) -> Option<String> {
    let mappings = connection.fields.get("mappings")?;
    let name = mappings.get("expectedLookerConnectionName")?.as_str()?;
    Some(name.to_owned())
}

struct Place {
    kind: FolderKind,
    /// The connection with the full names of its settings, including the prefix of those in a
    /// nested object.
    connection: Connection,
}

impl Place {
    fn of(kind: FolderKind, connection: &Connection) -> Self {
        let mut connection = connection.clone();
        let object = kind.prefix().trim_end_matches('.');
        if let Some(Value::Object(inner)) = connection.fields.get(object) {
            let named = inner.iter();
            let named = named.map(|(key, value)| (format!("{object}.{key}"), value.clone()));
            connection.fields = named.collect();
        }
        Self { kind, connection }
    }

    fn text(&self, key: &str) -> Option<String> {
        let name = format!("{}{key}", self.kind.prefix());
        self.connection.text(&[&name])
    }

    fn repository(&self) -> Option<String> {
        self.connection.text(&self.kind.repository_keys())
    }

    fn snapshot(&self, invocation: &Invocation, project: &OpenProject) -> Outcome<Snapshot> {
        let root = self.root(invocation, project)?;
        let read = match self.kind {
            FolderKind::Dbt => dbt::read(&root),
            FolderKind::MetricFlow => metricflow::read(&root),
            FolderKind::LookMl => lookml::read(&root),
        };
        read.map_err(|error| {
            let failure = Failure::from_error(Code::SourceUnreadable, &error).context(format!(
                "the {} of `{}` cannot be read",
                self.kind.words(),
                self.connection.id
            ));
            failure.with_hints(&error)
        })
    }

    /// Returns the folder of the files: the configured one, or a copy of the newest commit of its
    /// repository.
    fn root(&self, invocation: &Invocation, project: &OpenProject) -> Outcome<PathBuf> {
        let id = &self.connection.id;
        let prefix = self.kind.prefix();
        let inside = self.text("path");
        let top = match (self.text("source_dir"), self.repository()) {
            (Some(folder), _) => project.dir.join(folder),
            (None, Some(url)) => {
                if inside.as_ref().is_some_and(|path| leaves(path)) {
                    return Err(Failure::new(
                        Code::InvalidPath,
                        format!("`connections.{id}.{prefix}path` leads out of the repository"),
                    ));
                }
                self.copy(url, invocation, project)?
            }
            (None, None) => {
                let [repository, _] = self.kind.repository_keys();
                return Err(Failure::new(
                    Code::NoSource,
                    format!("`connections.{id}` names neither `{prefix}source_dir` nor `{repository}`"),
                )
                .ending(Exit::Config)
                .hint(format!(
                    "set `{prefix}source_dir` to the folder of a {}, or `{repository}` to its repository",
                    self.kind.words()
                )));
            }
        };
        let root = match inside {
            Some(inside) => top.join(inside),
            None => top,
        };
        Ok(root.components().collect())
    }

    fn copy(
        &self,
        url: String,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<PathBuf> {
        let token = format!("{}auth_token_ref", self.kind.prefix());
        let remote = Remote {
            url,
            branch: self.text("branch"),
            token: secret(&self.connection, &[&token], invocation, project)?,
        };
        let copied = project.store.checkout(&self.connection.id, &remote);
        copied.map_err(|error| {
            let exit = match &error {
                CheckoutError::Invalid { .. } => Exit::Config,
                CheckoutError::Fetch { .. } => Exit::Connection,
                CheckoutError::File(_) | CheckoutError::Git(_) => Exit::Failure,
            };
            let failure = Failure::from_error(Code::SourceNotFetched, &error).ending(exit);
            failure.with_hints(&error)
        })
    }
}

fn leaves(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
