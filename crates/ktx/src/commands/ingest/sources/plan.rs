//! The plan of an ingestion: the connections, warehouses apart from context sources.

use ktx_config::{Connection, DriverKind};
use ktx_context_sources::{Contents, ContextSource, KINDS};
use ktx_diagnostics::{Code, Failure};

use crate::connections;
use crate::ingesting::Need;
use crate::invocation::OpenProject;
use crate::report::Outcome;
use crate::sources::contents;

pub(in crate::commands::ingest) struct Wanted<'a> {
    pub(in crate::commands::ingest) warehouses: Vec<&'a Connection>,
    pub(in crate::commands::ingest) sources: Vec<&'a Connection>,
}

impl Wanted<'_> {
    /// Returns the context sources with facts, without the warehouses.
    pub(in crate::commands::ingest) fn with_facts(mut self) -> Outcome<Self> {
        self.warehouses.clear();
        self.sources
            .retain(|source| contents(source) == Some(Contents::Facts));
        if self.sources.is_empty() {
            return Err(Failure::new(
                Code::ConnectionRequired,
                "no context source with facts was asked for",
            )
            .hint(format!(
                "name a {} connection of ktx.yaml",
                products_with_facts()
            )));
        }
        Ok(self)
    }

    /// Returns what its connections need a model for. Documents have no facts without one.
    pub(in crate::commands::ingest) fn need(&self) -> Need {
        if self
            .contents()
            .any(|contents| contents != Contents::Documents)
        {
            Need::BeyondFacts
        } else {
            Need::Always
        }
    }

    /// Returns whether it includes documents, which are triaged and curated.
    pub(in crate::commands::ingest) fn has_documents(&self) -> bool {
        self.contents()
            .any(|contents| contents == Contents::Documents)
    }

    fn contents(&self) -> impl Iterator<Item = Contents> {
        self.sources.iter().filter_map(|source| contents(source))
    }
}

/// Lists the products whose context sources have facts.
fn products_with_facts() -> String {
    let kinds = KINDS.into_iter();
    let kinds = kinds.map(ContextSource::kind);
    let kinds = kinds.filter(|kind| kind.contents == Contents::Facts);
    let products: Vec<&str> = kinds.map(|kind| kind.product).collect();
    match products.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => products.concat(),
    }
}

/// Returns the connection with this id, or all of them: warehouses first, each kind by id.
pub(in crate::commands::ingest) fn wanted<'a>(
    id: Option<&str>,
    project: &'a OpenProject,
) -> Outcome<Wanted<'a>> {
    let named = id.and_then(|id| project.config.connection(id));
    if let Some(source) = named.filter(|found| found.driver.kind() == DriverKind::ContextSource) {
        return Ok(Wanted {
            warehouses: Vec::new(),
            sources: vec![source],
        });
    }
    if id.is_some() {
        return Ok(Wanted {
            warehouses: connections::targets(project, id)?,
            sources: Vec::new(),
        });
    }
    let mut sources: Vec<&Connection> = project.config.context_sources().collect();
    sources.sort_by(|left, right| left.id.cmp(&right.id));
    let has_warehouse = project.config.warehouses().next().is_some();
    let warehouses = if has_warehouse || sources.is_empty() {
        connections::targets(project, None)?
    } else {
        Vec::new()
    };
    Ok(Wanted {
        warehouses,
        sources,
    })
}
