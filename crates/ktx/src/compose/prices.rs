//! The price table of a project, and the cost of its backend's models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::{SourceSystem, TokenUsage};
use ktx_usage_ledger::{Cost, PriceTable, PriceTableError, price};
use ktx_vocabulary::Backend;
use serde_json::{Map, Value};

use crate::report::{Outcome, Report as _};
use crate::session::Opened;

pub(crate) fn price_file(opened: &Opened) -> PathBuf {
    opened.store.layout().state().join("llm-pricing.json")
}

/// The origin of a project's prices. Read on demand.
#[derive(Debug, Clone, Default)]
pub(super) struct PriceSource {
    /// The project's own table; by default the built-in one.
    file: Option<PathBuf>,
    /// `llm.pricing`.
    own: BTreeMap<String, Map<String, Value>>,
}

impl PriceSource {
    pub(super) fn of(opened: &Opened) -> Self {
        Self {
            file: Some(price_file(opened)),
            own: opened.config.llm.pricing.clone(),
        }
    }

    #[cfg(test)]
    pub(super) fn in_file(file: PathBuf) -> Self {
        Self {
            file: Some(file),
            own: BTreeMap::new(),
        }
    }

    pub(super) fn read(&self) -> Result<PriceTable, PriceTableError> {
        let table = match &self.file {
            Some(file) => read_file(file)?,
            None => PriceTable::built_in()?,
        };
        let own = self.own.iter();
        table.with_own(own.map(|(model, price)| (model.as_str(), Value::Object(price.clone()))))
    }
}

/// Reads the table in this file; the built-in one if there is no such file.
fn read_file(file: &Path) -> Result<PriceTable, PriceTableError> {
    match std::fs::read_to_string(file) {
        Ok(text) => PriceTable::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => PriceTable::built_in(),
        Err(error) => Err(PriceTableError::Unopened(error)),
    }
}

pub(crate) fn prices(opened: &Opened) -> Outcome<PriceTable> {
    PriceSource::of(opened).read().map_err(|error| {
        let failure = Failure::from_error(Code::PriceTable, &error);
        if let PriceTableError::Own { .. } = error {
            return failure
                .context("`llm.pricing` in ktx.yaml cannot be used")
                .hint("give `input` and `output` in US dollars per million tokens, and `cache_read`, `cache_write_5m`, `cache_write_1h` where they differ");
        }
        let file = price_file(opened);
        failure
            .context(format!("`{}` cannot be used", file.display()))
            .hint("import the table again: `ktx llm pricing --help`")
            .hint("or delete the file: the table that comes with ktx holds then")
    })
}

/// Returns the system that counts the tokens of a backend.
fn source(backend: Backend) -> Option<SourceSystem> {
    match backend {
        Backend::None => None,
        Backend::ClaudeCode => Some(SourceSystem::LocalSession),
        Backend::Http(provider) => Some(SourceSystem::Provider(provider)),
    }
}

/// Returns the list price of usage by a model of a backend, as in the ledger: aliases resolve to
/// their model.
pub(crate) fn list_price(
    (backend, location): (Backend, Option<&str>),
    model: &str,
    usage: &TokenUsage,
    at: &str,
    table: &PriceTable,
) -> Option<Cost> {
    let id = super::http::model_facts(backend, model).id;
    price(source(backend)?, &id, location, usage, at, table)
}

#[cfg(test)]
mod tests;
