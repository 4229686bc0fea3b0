//! The price table and model costs.

use std::path::PathBuf;

use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{SourceSystem, TokenUsage};
use ktx_usage_ledger::{Cost, PriceSource, PriceTable, PriceTableError, price};
use ktx_vocabulary::Backend;

use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

pub(crate) fn price_file(project: &OpenProject) -> PathBuf {
    project.store.layout().state().join("llm-pricing.json")
}

pub(super) fn price_source(project: &OpenProject) -> PriceSource {
    PriceSource {
        file: Some(price_file(project)),
        own: project.config.llm.pricing.clone(),
    }
}

pub(crate) fn prices(project: &OpenProject) -> Outcome<PriceTable> {
    price_source(project).read().map_err(|error| {
        let failure = Failure::from_error(Code::PriceTable, &error);
        if let PriceTableError::Own { .. } = error {
            return failure
                .context("`llm.pricing` in ktx.yaml cannot be used")
                .hint("give `input` and `output` in US dollars per million tokens, and `cache_read`, `cache_write_5m`, `cache_write_1h` where they differ");
        }
        let file = price_file(project);
        failure
            .context(format!("`{}` cannot be used", file.display()))
            .hint("import the table again: `ktx llm pricing --help`")
            .hint("or delete the file: ktx then uses its built-in table")
    })
}

fn source(backend: Backend) -> Option<SourceSystem> {
    match backend {
        Backend::None => None,
        Backend::ClaudeCode => Some(SourceSystem::LocalSession),
        Backend::Http(provider) => Some(SourceSystem::Provider(provider)),
    }
}

/// Where a model runs, which decides its price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackendLocation<'a> {
    pub backend: Backend,
    /// Only for backends with regional prices.
    pub location: Option<&'a str>,
}

/// Resolves aliases, as the ledger does.
pub(crate) fn list_price(
    place: BackendLocation<'_>,
    model: &str,
    usage: &TokenUsage,
    at: &str,
    table: &PriceTable,
) -> Option<Cost> {
    let id = super::http::model_facts(place.backend, model).id;
    price(
        source(place.backend)?,
        &id,
        place.location,
        usage,
        at,
        table,
    )
}

#[cfg(test)]
mod tests;
