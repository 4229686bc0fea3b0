//! The plan of a run: its warehouses and context sources, and where it needs a model.

use ktx_config::{Connection, DriverKind, Project};
use ktx_context_sources::{Contents, ContextSource, KINDS, kind_of};
use ktx_context_tools::{Reader, find_warehouse};
use ktx_diagnostics::{Code, Failure};
use ktx_vocabulary::{ConnectionId, ModelRole};

/// Used for the probe, for descriptions and units, and for the reconciliation.
pub const ROLES: [ModelRole; 3] = [
    ModelRole::Default,
    ModelRole::CandidateExtraction,
    ModelRole::Reconcile,
];

const ROLES_OF_DOCUMENTS: [ModelRole; 5] = [
    ModelRole::Default,
    ModelRole::CandidateExtraction,
    ModelRole::Reconcile,
    ModelRole::Triage,
    ModelRole::Curator,
];

#[derive(Debug, Clone, PartialEq)]
pub struct Plan<'a> {
    /// By id. Warehouses come first: units describe their tables.
    pub warehouses: Vec<&'a Connection>,
    pub sources: Vec<&'a Connection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelNeed {
    Always,
    BeyondFacts,
    Nothing,
}

impl<'a> Plan<'a> {
    /// Plans a run for the connection with this id, or for all of them.
    pub fn new(id: Option<&str>, config: &'a Project) -> Result<Self, Failure> {
        if let Some(id) = id {
            let named = config.connection(id);
            let source = named.filter(|found| found.driver.kind() == DriverKind::ContextSource);
            if let Some(source) = source {
                return Ok(Self {
                    warehouses: Vec::new(),
                    sources: vec![source],
                });
            }
            ConnectionId::parse(id)?;
            return Ok(Self {
                warehouses: vec![warehouse(Some(id), config)?],
                sources: Vec::new(),
            });
        }
        let mut sources: Vec<&Connection> = config.context_sources().collect();
        sources.sort_by(|left, right| left.id.cmp(&right.id));
        let mut warehouses: Vec<&Connection> = config.warehouses().collect();
        warehouses.sort_by(|left, right| left.id.cmp(&right.id));
        if warehouses.is_empty() && sources.is_empty() {
            warehouses.push(warehouse(None, config)?);
        }
        Ok(Self {
            warehouses,
            sources,
        })
    }

    /// Fails if no source has facts.
    pub fn facts_only(mut self) -> Result<Self, Failure> {
        self.warehouses.clear();
        self.sources
            .retain(|source| contents(source) == Some(Contents::Facts));
        if self.sources.is_empty() {
            return Err(Failure::new(
                Code::ConnectionRequired,
                "none of the requested context sources has facts",
            )
            .hint(format!(
                "name a {} connection of ktx.yaml",
                products_with_facts()
            )));
        }
        Ok(self)
    }

    /// Documents have no facts without a model.
    pub fn need(&self) -> ModelNeed {
        if self
            .contents()
            .any(|contents| contents != Contents::Documents)
        {
            ModelNeed::BeyondFacts
        } else {
            ModelNeed::Always
        }
    }

    pub fn roles(&self) -> &'static [ModelRole] {
        let is_document = |contents| contents == Contents::Documents;
        if self.contents().any(is_document) {
            &ROLES_OF_DOCUMENTS
        } else {
            &ROLES
        }
    }

    fn contents(&self) -> impl Iterator<Item = Contents> {
        self.sources.iter().filter_map(|source| contents(source))
    }
}

fn warehouse<'a>(id: Option<&str>, config: &'a Project) -> Result<&'a Connection, Failure> {
    find_warehouse(config.connections.values(), id, Reader::Person)
}

fn contents(source: &Connection) -> Option<Contents> {
    kind_of(source).map(|kind| kind.kind().contents)
}

fn products_with_facts() -> String {
    let kinds = KINDS.into_iter().map(ContextSource::kind);
    let kinds = kinds.filter(|kind| kind.contents == Contents::Facts);
    let products: Vec<&str> = kinds.map(|kind| kind.product).collect();
    match products.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => products.concat(),
    }
}

#[cfg(test)]
mod tests;
