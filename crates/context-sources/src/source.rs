//! The trait of context source kinds, and the result of a reading.

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

#[derive(Debug)]
pub struct Source {
    pub id: ConnectionId,
    /// The warehouse whose semantic sources may be written.
    pub warehouse: Option<(ConnectionId, Dialect)>,
    pub snapshot: Arc<Snapshot>,
    pub units: Vec<Unit>,
    pub facts: Facts,
    pub definitions: Definitions,
    pub has_facts: bool,
    /// Set for documents, which are triaged first.
    pub documents: Option<PageQuota>,
    /// The prefix of its unit keys, if other units of the connection belong to another warehouse.
    pub scope: Option<String>,
}

/// Maximum number of wiki pages that one run may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageQuota {
    pub creates: usize,
    pub updates: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    Facts,
    /// Documents, which are triaged and curated.
    Documents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Files,
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub driver: Driver,
    pub product: &'static str,
    pub contents: Contents,
    pub access: Access,
}

pub type WarehouseLookup<'a> = dyn Fn(&str) -> Result<(ConnectionId, Dialect), Failure> + Sync + 'a;

#[derive(Clone, Copy)]
pub struct SourceContext<'a> {
    pub config: &'a Project,
    pub store: &'a Store,
    pub secrets: &'a (dyn SecretSource + Sync),
    pub warehouse: &'a WarehouseLookup<'a>,
}

impl std::fmt::Debug for SourceContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SourceContext");
        shown.field("store", self.store).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
pub struct ReadRequest<'a> {
    pub context: SourceContext<'a>,
    pub target: Option<&'a str>,
    /// Files of earlier runs. Kinds with [`Access::Server`] look up missing ones.
    pub earlier: &'a BTreeSet<String>,
    pub now: Timestamp,
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

#[async_trait]
pub trait ContextSource: Sync {
    fn kind(&self) -> Kind;

    /// Reads a source, once for each of its warehouses. A kind with [`Access::Files`] never waits
    /// for a runtime. Errors contain the next step.
    async fn read(
        &self,
        connection: &Connection,
        request: ReadRequest<'_>,
    ) -> Result<Vec<Source>, Failure>;

    /// Tests whether a source can be read, and describes it in one line.
    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure>;
}

pub(crate) struct SourceContent {
    pub(crate) snapshot: Snapshot,
    pub(crate) units: Vec<Unit>,
    pub(crate) facts: Facts,
    pub(crate) definitions: Definitions,
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

    /// Returns the named warehouse, else the one of setup, else the only one.
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
