//! The kinds of context sources: how each is read and tested.

mod files;
mod looker;
mod metabase;
mod notion;
pub(crate) mod target;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use ktx_config::{Connection, Driver};
use ktx_context_sources::{
    Definitions, Facts, FolderKind, PageCache, RestError, RestErrorKind, Snapshot, Unit, split_long,
};
use ktx_diagnostics::{Code, Exit, Failure};
use ktx_ingest::{LONGEST_UNIT, Source, known_files};
use ktx_memory::Quota;
use ktx_secrets::{Secret, SecretRef};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{ConnectionCheck, RoleCheck};
use tokio_util::future::FutureExt as _;

use crate::compose;
use crate::invocation::CommandContext;
use crate::invocation::{Invocation, OpenProject, ProjectSecrets};
use crate::report::{Outcome, Report as _};
use crate::scanning::state_failure;

/// The part of a source about one warehouse.
struct Material {
    snapshot: Snapshot,
    units: Vec<Unit>,
    facts: Facts,
    definitions: Definitions,
    /// The page quota of one run, if its units are documents.
    documents: Option<Quota>,
}

impl Material {
    fn into_source(
        mut self,
        connection: &Connection,
        warehouse: Option<(ConnectionId, Dialect)>,
    ) -> Source {
        let units = split_long(&mut self.snapshot, self.units, LONGEST_UNIT);
        Source {
            id: connection.id.clone(),
            warehouse,
            snapshot: Arc::new(self.snapshot),
            units,
            facts: self.facts,
            definitions: self.definitions,
            has_facts: self.documents.is_none(),
            documents: self.documents,
            scope: None,
        }
    }
}

/// What a kind of context sources says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Facts about tables, which need no model, and units.
    Facts,
    /// Units alone.
    Units,
    /// Documents, which are triaged and curated.
    Documents,
}

/// Where the sources of a kind are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// A folder, or a copy of a repository.
    Files,
    /// A server, with a key.
    Server,
}

/// A kind of context sources: how it is read and tested.
pub(crate) trait ContextSource: Sync {
    fn driver(&self) -> Driver;

    /// Returns the display name of the product.
    fn product(&self) -> &'static str;

    fn contents(&self) -> Contents;

    fn access(&self) -> Access;

    /// Reads a source: once for each of its warehouses. `target` is the warehouse that the user has
    /// named. Uses no model.
    fn read(
        &self,
        connection: &Connection,
        target: Option<&str>,
        context: CommandContext<'_>,
    ) -> Outcome<Vec<Source>>;

    /// Tests whether a source can be read, and describes it.
    fn test(
        &self,
        connection: &Connection,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<String>;
}

/// The kinds of context sources. A new kind is a module and a row.
pub(crate) const KINDS: [&dyn ContextSource; 6] = [
    &files::Folder(FolderKind::Dbt),
    &files::Folder(FolderKind::MetricFlow),
    &files::Folder(FolderKind::LookMl),
    &looker::Looker,
    &metabase::Metabase,
    &notion::Notion,
];

/// Returns the kind of a context source.
fn kind_of(connection: &Connection) -> Outcome<&'static dyn ContextSource> {
    let mut kinds = KINDS.into_iter();
    let kind = kinds.find(|kind| kind.driver() == connection.driver);
    kind.ok_or_else(|| {
        Failure::internal(format!(
            "`{}` is a {} connection, which is not a context source",
            connection.id, connection.driver
        ))
    })
}

/// Returns what a context source says; `None` if the connection is not one.
pub(crate) fn contents(connection: &Connection) -> Option<Contents> {
    kind_of(connection).ok().map(ContextSource::contents)
}

/// Reads a source: once for each of its warehouses. Uses no model.
pub(crate) fn read(
    connection: &Connection,
    target: Option<&str>,
    context: CommandContext<'_>,
) -> Outcome<Vec<Source>> {
    kind_of(connection)?.read(connection, target, context)
}

/// Tests whether a source can be read, and describes it.
pub(crate) fn tested(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<ConnectionCheck> {
    let kind = kind_of(connection)?;
    let begun = Instant::now();
    Ok(ConnectionCheck {
        server: kind.test(connection, invocation, project)?,
        latency: begun.elapsed(),
        role: match kind.access() {
            Access::Files => RoleCheck::ReadOnly,
            Access::Server => RoleCheck::Unknown {
                reason: "the server does not tell what the key may do; ktx only reads".to_owned(),
            },
        },
    })
}

/// Returns the secret that the first of these fields refers to.
fn secret(
    connection: &Connection,
    fields: &[&str],
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<Secret>> {
    let secrets = ProjectSecrets::new(&invocation.environment, &project.dir);
    let named = fields
        .iter()
        .find_map(|field| Some((field, connection.text(&[field])?)));
    let Some((field, reference)) = named else {
        return Ok(None);
    };
    let resolved = SecretRef::parse(&reference).resolve(&secrets);
    resolved.map(Some).map_err(|error| {
        Failure::from_error(Code::SourceAuth, &error)
            .context(format!(
                "`connections.{}.{field}` has no value",
                connection.id
            ))
            .hint("set it in the shell that runs ktx, or use a `file:` reference")
    })
}

/// Returns the answers of a server that earlier runs have stored.
fn cache(connection: &Connection, project: &OpenProject) -> PageCache {
    let cache = project.store.layout().cache();
    let kind = cache.join(connection.driver.as_str());
    PageCache::new(kind.join(connection.id.as_str()))
}

/// Returns the files of a connection that earlier runs have read.
fn earlier(connection: &Connection, project: &OpenProject) -> Outcome<BTreeSet<String>> {
    let state = project.store.state();
    let state = state.map_err(|error| state_failure(&error))?;
    known_files(&state, &connection.id).map_err(|error| state_failure(&error))
}

/// Reads a server until it is done or interrupted.
fn fetched<T>(
    connection: &Connection,
    read: impl Future<Output = Result<T, RestError>>,
    hint: impl Fn(&RestError) -> Option<String>,
) -> Outcome<T> {
    compose::block_on(|cancel| async move {
        match read.with_cancellation_token(&cancel).await {
            Some(read) => read.map_err(|error| unreachable(connection, &error, hint(&error))),
            None => Err(Failure::new(Code::Cancelled, "cancelled")),
        }
    })
}

/// Returns the failure of an unreadable server, with the hint of its kind or the default ones.
fn unreachable(connection: &Connection, error: &RestError, hint: Option<String>) -> Failure {
    let exit = match error.kind {
        RestErrorKind::Config => Exit::Config,
        _ => Exit::Connection,
    };
    let failure = Failure::from_error(Code::SourceUnreachable, error)
        .ending(exit)
        .context(format!("`{}` cannot be read", connection.id));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure.with_hints(error),
    }
}

#[cfg(test)]
mod tests;
