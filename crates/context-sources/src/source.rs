//! A kind of context sources, and what one reading of a source gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use ktx_config::{Connection, Driver, Project};
use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{Store, failure_of};
use ktx_secrets::{Secret, SecretRef, SecretSource};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::definitions::Definitions;
use crate::facts::Facts;
use crate::grouping::split_long;
use crate::snapshot::{Snapshot, Unit};

/// Maximum length of a unit's own files in characters.
pub const LONGEST_UNIT: usize = 200_000;

/// The part of a context source about one warehouse.
#[derive(Debug)]
pub struct Source {
    pub id: ConnectionId,
    /// The warehouse whose semantic sources may be written.
    pub warehouse: Option<(ConnectionId, Dialect)>,
    pub snapshot: Arc<Snapshot>,
    /// The units that a model reads one by one.
    pub units: Vec<Unit>,
    /// What its metadata says about tables.
    pub facts: Facts,
    /// What it computes over tables.
    pub definitions: Definitions,
    /// Whether sources of this kind have facts without a model.
    pub has_facts: bool,
    /// The page quota of one run, if its units are documents, which are triaged first.
    pub documents: Option<PageQuota>,
    /// The prefix of its unit keys, if other units of the connection belong to another warehouse.
    pub scope: Option<String>,
}

/// Maximum number of wiki pages that one run may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageQuota {
    /// Pages that do not exist yet.
    pub creates: usize,
    /// Pages that exist already.
    pub updates: usize,
}

/// What a kind of context sources says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Facts about tables, which need no model, and units.
    Facts,
    /// Documents, which are triaged and curated.
    Documents,
}

/// Where the sources of a kind are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A folder, or a copy of a repository.
    Files,
    /// A server, with a key.
    Server,
}

/// What distinguishes a kind of context sources for its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The driver of its connections.
    pub driver: Driver,
    /// The display name of the product.
    pub product: &'static str,
    /// What its sources say.
    pub contents: Contents,
    /// Where they are read from.
    pub access: Access,
}

/// Finds a warehouse of the project by its id.
pub type WarehouseLookup<'a> = dyn Fn(&str) -> Result<(ConnectionId, Dialect), Failure> + Sync + 'a;

/// What every kind needs in order to read a source.
#[derive(Clone, Copy)]
pub struct SourceContext<'a> {
    pub config: &'a Project,
    /// The project: its folder, its caches, copies of repositories.
    pub store: &'a Store,
    /// Resolves the references of a connection to keys.
    pub secrets: &'a (dyn SecretSource + Sync),
    /// Finds a warehouse of the project and its dialect.
    pub warehouse: &'a WarehouseLookup<'a>,
}

impl std::fmt::Debug for SourceContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SourceContext");
        shown.field("store", self.store).finish_non_exhaustive()
    }
}

/// One reading of a source.
#[derive(Clone, Copy)]
pub struct ReadRequest<'a> {
    pub context: SourceContext<'a>,
    /// The warehouse that the user has named.
    pub target: Option<&'a str>,
    /// The files that earlier runs have read. The kinds with [`Access::Server`] look for those that
    /// the server no longer lists.
    pub earlier: &'a BTreeSet<String>,
    /// The start of the run.
    pub now: Timestamp,
    /// Shows a line about what takes long.
    pub notify: &'a (dyn Fn(&str) + Sync),
}

impl std::fmt::Debug for ReadRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadRequest")
            .field("context", &self.context)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// A kind of context sources: how a source is read and tested.
#[async_trait]
pub trait ContextSource: Sync {
    /// Returns what distinguishes this kind.
    fn kind(&self) -> Kind;

    /// Reads a source: once for each of its warehouses. Uses no model. A kind with
    /// [`Access::Files`] never waits for a runtime.
    ///
    /// # Errors
    ///
    /// Why the source cannot be read, with the next step.
    async fn read(
        &self,
        connection: &Connection,
        request: ReadRequest<'_>,
    ) -> Result<Vec<Source>, Failure>;

    /// Tests whether a source can be read, and describes it in one line.
    ///
    /// # Errors
    ///
    /// Why the source cannot be read, with the next step.
    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure>;
}

/// What a kind whose sources are about one warehouse has read.
pub(crate) struct SourceContent {
    pub(crate) snapshot: Snapshot,
    pub(crate) units: Vec<Unit>,
    pub(crate) facts: Facts,
    pub(crate) definitions: Definitions,
    /// The page quota of one run, if its units are documents.
    pub(crate) documents: Option<PageQuota>,
}

impl SourceContent {
    pub(crate) fn into_source(
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

impl SourceContext<'_> {
    /// Returns the secret that the first of these fields refers to.
    pub(crate) fn secret(
        &self,
        connection: &Connection,
        fields: &[&str],
    ) -> Result<Option<Secret>, Failure> {
        let named = fields
            .iter()
            .find_map(|field| Some((field, connection.text(&[field])?)));
        let Some((field, reference)) = named else {
            return Ok(None);
        };
        let resolved = SecretRef::parse(&reference).resolve(self.secrets);
        resolved.map(Some).map_err(|error| {
            failure_of(Code::SourceAuth, &error)
                .context(format!(
                    "`connections.{}.{field}` has no value",
                    connection.id
                ))
                .hint("set it in the shell that runs ktx, or use a `file:` reference")
        })
    }

    /// Returns the warehouse whose sources may be written if a source is about one: the named one,
    /// else the one of setup, else the only one.
    pub(crate) fn target(
        &self,
        connection: &Connection,
        target: Option<&str>,
    ) -> Result<Option<(ConnectionId, Dialect)>, Failure> {
        if let Some(target) = target {
            return (self.warehouse)(target).map(Some);
        }
        let warehouses = self.config.warehouses();
        let mut warehouses: Vec<&str> = warehouses.map(|found| found.id.as_str()).collect();
        let of_setup = self.config.setup_databases.as_deref().unwrap_or_default();
        let is_of_setup = |id: &&str| of_setup.iter().any(|known| known == id);
        if warehouses.iter().any(is_of_setup) {
            warehouses.retain(is_of_setup);
        }
        match warehouses.as_slice() {
            [] => Ok(None),
            [only] => (self.warehouse)(only).map(Some),
            several => Err(Failure::new(
                Code::ConnectionRequired,
                format!(
                    "`{}` can be about several warehouses: {}",
                    connection.id,
                    several.join(", ")
                ),
            )
            .hint(format!(
                "name one: `ktx ingest {} --connection-id {}`",
                connection.id,
                several.first().unwrap_or(&"<id>")
            ))),
        }
    }
}
