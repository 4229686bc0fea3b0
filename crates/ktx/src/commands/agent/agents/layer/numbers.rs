//! Previews the effect of a change on measures.

use std::sync::Arc;

use async_trait::async_trait;
use ktx_config::Connection;
use ktx_context_tools::{AuditEntry, ProjectContext, Reader, Runner, ScanSnapshot, context_tools};
use ktx_diagnostics::Failure;
use ktx_search::{Query, SearchOutcome};
use ktx_semantic_layer::Catalog;
use ktx_tool_descriptors::CallContext;
use ktx_vocabulary::ConnectionId;
use ktx_wiki::{Page, PagePath};
use serde_json::{Value, json};

use super::Drafted;

const MOST: usize = 5;

/// Returns a line for each added, removed or changed measure.
pub(super) async fn changed(drafted: &Drafted) -> Vec<String> {
    let (Some(warehouse), Some(new)) = (&drafted.warehouse, drafted.workspace.catalog()) else {
        return Vec::new();
    };
    let Ok(old) = drafted.context.catalog(warehouse).await else {
        return Vec::new();
    };
    let names = differing(&old, &new);
    let new: Arc<dyn ProjectContext> = Arc::new(WithCatalog {
        context: Arc::clone(&drafted.context),
        connection: warehouse.clone(),
        catalog: Arc::new(new),
    });
    let mut lines = Vec::new();
    for name in names.iter().take(MOST) {
        let before = number(&drafted.context, warehouse, name, &old).await;
        let after = match new.catalog(warehouse).await {
            Ok(catalog) => number(&new, warehouse, name, &catalog).await,
            Err(failure) => failure.message,
        };
        lines.push(format!("{name}: {before} → {after}"));
    }
    if names.len() > MOST {
        lines.push(format!("and {} further measures", names.len() - MOST));
    }
    lines
}

/// Returns `source.measure` of each difference.
fn differing(old: &Catalog, new: &Catalog) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let (before, after) = (measures(old), measures(new));
    for (name, definition) in before.iter().chain(&after) {
        let is_same = |others: &[(String, String)]| {
            others
                .iter()
                .any(|(other, same)| other == name && same == definition)
        };
        let is_kept = is_same(&before) && is_same(&after);
        if !is_kept && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn measures(catalog: &Catalog) -> Vec<(String, String)> {
    let sources = catalog.sources().iter();
    let measures = sources.flat_map(|source| {
        source.measures.iter().map(|measure| {
            let definition = format!("{measure:?}");
            (format!("{}.{}", source.name, measure.name), definition)
        })
    });
    measures.collect()
}

async fn number(
    context: &Arc<dyn ProjectContext>,
    warehouse: &ConnectionId,
    name: &str,
    catalog: &Catalog,
) -> String {
    if !measures(catalog).iter().any(|(known, _)| known == name) {
        return "no such measure".to_owned();
    }
    let asked = json!({ "connectionId": warehouse, "measures": [name] });
    let Ok(tools) = context_tools(context) else {
        return "not asked".to_owned();
    };
    let call = CallContext::detached("preview".to_owned());
    match tools.call("sl_query", asked, call).await {
        Ok(output) => {
            let rows = output
                .structured
                .as_ref()
                .and_then(|answer| answer.get("rows"));
            rows.and_then(|rows| first(rows.get(0)?))
                .unwrap_or_else(|| "no number".to_owned())
        }
        Err(error) => {
            let line = error.message.lines().next().unwrap_or_default();
            format!("not known ({line})")
        }
    }
}

fn first(row: &Value) -> Option<String> {
    let value = match row {
        Value::Array(values) => values.first()?,
        Value::Object(values) => values.values().next()?,
        other => other,
    };
    Some(match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

struct WithCatalog {
    context: Arc<dyn ProjectContext>,
    connection: ConnectionId,
    catalog: Arc<Catalog>,
}

#[async_trait]
impl ProjectContext for WithCatalog {
    fn reader(&self) -> Reader {
        self.context.reader()
    }

    async fn connections(&self) -> Result<Vec<Connection>, Failure> {
        self.context.connections().await
    }

    async fn source_folders(&self) -> Result<Vec<ConnectionId>, Failure> {
        self.context.source_folders().await
    }

    async fn runner(&self, connection: &Connection) -> Result<Runner, Failure> {
        self.context.runner(connection).await
    }

    async fn catalog(&self, connection: &ConnectionId) -> Result<Arc<Catalog>, Failure> {
        if *connection == self.connection {
            return Ok(Arc::clone(&self.catalog));
        }
        self.context.catalog(connection).await
    }

    async fn page_paths(&self) -> Result<Vec<PagePath>, Failure> {
        self.context.page_paths().await
    }

    async fn pages(&self, paths: &[PagePath]) -> Result<Vec<Arc<Page>>, Failure> {
        self.context.pages(paths).await
    }

    async fn snapshot(
        &self,
        connection: &ConnectionId,
    ) -> Result<Option<Arc<ScanSnapshot>>, Failure> {
        self.context.snapshot(connection).await
    }

    async fn search(&self, queries: Vec<Query>) -> Result<Vec<SearchOutcome>, Failure> {
        self.context.search(queries).await
    }

    fn audit(&self, entry: AuditEntry) {
        self.context.audit(entry);
    }
}
