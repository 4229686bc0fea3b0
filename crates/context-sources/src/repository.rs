//! Context sources that are folders of files: local, or in a git repository.

use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_diagnostics::{Code, Exit, Failure, counted};
use ktx_project_store::{CheckoutError, Remote, failure_of};
use serde_json::Value;

use crate::snapshot::{FolderKind, Snapshot, Unit};
use crate::source::{
    Access, Contents, ContextSource, Kind, ReadRequest, Source, SourceContent, SourceContext,
};
use crate::{cube, dbt, lookml, metricflow};

pub(crate) struct Repository(pub(crate) FolderKind);

#[async_trait]
impl ContextSource for Repository {
    fn kind(&self) -> Kind {
        let (driver, product) = match self.0 {
            FolderKind::Dbt => (Driver::Dbt, "dbt"),
            FolderKind::MetricFlow => (Driver::MetricFlow, "MetricFlow"),
            FolderKind::LookMl => (Driver::LookMl, "LookML"),
            FolderKind::Cube => (Driver::Cube, "Cube"),
        };
        Kind {
            driver,
            product,
            contents: Contents::Facts,
            access: Access::Files,
        }
    }

    async fn read(
        &self,
        connection: &Connection,
        request: ReadRequest<'_>,
    ) -> Result<Vec<Source>, Failure> {
        let warehouse = request.context.target(connection, request.target)?;
        let material = read(self.0, connection, request)?;
        Ok(vec![material.into_source(connection, warehouse)])
    }

    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure> {
        let snapshot = RepositoryLocation::of(self.0, connection).snapshot(context)?;
        let units = units(self.0, &snapshot, looker_connection(connection).as_deref());
        Ok(format!(
            "{} of {} in {}",
            self.0.words(),
            counted(snapshot.files.len(), "file"),
            counted(units.len(), "unit")
        ))
    }
}

fn read(
    kind: FolderKind,
    connection: &Connection,
    request: ReadRequest<'_>,
) -> Result<SourceContent, Failure> {
    let place = RepositoryLocation::of(kind, connection);
    if place.text("source_dir").is_none() && place.repository().is_some() {
        (request.notify)(&format!("{}: fetching the repository", connection.id));
    }
    let snapshot = place.snapshot(request.context)?;
    let looker = looker_connection(connection);
    let (facts, definitions) = match kind {
        FolderKind::Dbt => (dbt::facts(&snapshot), dbt::definitions(&snapshot)),
        FolderKind::MetricFlow => (
            metricflow::facts(&snapshot),
            metricflow::definitions(&snapshot),
        ),
        FolderKind::LookMl => (
            lookml::facts(&snapshot, looker.as_deref()),
            lookml::definitions(&snapshot, looker.as_deref()),
        ),
        FolderKind::Cube => (cube::facts(&snapshot), cube::definitions(&snapshot)),
    };
    Ok(SourceContent {
        definitions,
        units: units(kind, &snapshot, looker.as_deref()),
        facts,
        documents: None,
        snapshot,
    })
}

fn units(kind: FolderKind, snapshot: &Snapshot, looker: Option<&str>) -> Vec<Unit> {
    match kind {
        FolderKind::Dbt => dbt::units(snapshot),
        FolderKind::MetricFlow => metricflow::units(snapshot),
        FolderKind::LookMl => lookml::units(snapshot, looker),
        FolderKind::Cube => cube::units(snapshot),
    }
}

fn looker_connection(connection: &Connection) -> Option<String> {
    let mappings = connection.fields.get("mappings")?;
    let name = mappings.get("expectedLookerConnectionName")?.as_str()?;
    Some(name.to_owned())
}

struct RepositoryLocation {
    kind: FolderKind,
    connection: Connection,
}

impl RepositoryLocation {
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

    fn snapshot(&self, context: SourceContext<'_>) -> Result<Snapshot, Failure> {
        let root = self.root(context)?;
        let read = match self.kind {
            FolderKind::Dbt => dbt::read(&root, &self.artifacts(context)),
            FolderKind::MetricFlow => metricflow::read(&root),
            FolderKind::LookMl => lookml::read(&root),
            FolderKind::Cube => cube::read(&root),
        };
        read.map_err(|error| {
            let failure = failure_of(Code::SourceUnreadable, &error).context(format!(
                "the {} of `{}` cannot be read",
                self.kind.words(),
                self.connection.id
            ));
            failure.with_hints(&error)
        })
    }

    /// A relative path counts from the project folder.
    fn artifacts(&self, context: SourceContext<'_>) -> dbt::ArtifactFiles {
        let file = |key: &str| {
            let named = self.text(key)?;
            Some((context.store.layout().root().join(&named), named))
        };
        dbt::ArtifactFiles {
            manifest: file("manifest"),
            catalog: file("catalog"),
        }
    }

    /// Returns the configured folder, or a copy of the repository's newest commit.
    fn root(&self, context: SourceContext<'_>) -> Result<PathBuf, Failure> {
        let id = &self.connection.id;
        let prefix = self.kind.prefix();
        let inside = self.text("path");
        let top = match (self.text("source_dir"), self.repository()) {
            (Some(folder), _) => context.store.layout().root().join(folder),
            (None, Some(url)) => {
                if inside.as_ref().is_some_and(|path| leaves(path)) {
                    return Err(Failure::new(
                        Code::InvalidPath,
                        format!("`connections.{id}.{prefix}path` leads out of the repository"),
                    ));
                }
                self.copy(url, context)?
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

    fn copy(&self, url: String, context: SourceContext<'_>) -> Result<PathBuf, Failure> {
        let token = format!("{}auth_token_ref", self.kind.prefix());
        let remote = Remote {
            url,
            branch: self.text("branch"),
            token: context.secret(&self.connection, &[&token])?,
        };
        let copied = context.store.checkout(&self.connection.id, &remote);
        copied.map_err(|error| {
            let exit = match &error {
                CheckoutError::Invalid { .. } => Exit::Config,
                CheckoutError::Fetch { .. } => Exit::Connection,
                CheckoutError::File(_) | CheckoutError::Git(_) => Exit::Failure,
            };
            let failure = failure_of(Code::SourceNotFetched, &error).ending(exit);
            failure.with_hints(&error)
        })
    }
}

fn leaves(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
