//! Where a project's prices come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::{PriceTable, PriceTableError};

/// Read on demand.
#[derive(Debug, Clone, Default)]
pub struct PriceSource {
    /// The project's own table; the built-in one if absent.
    pub file: Option<PathBuf>,
    /// By model id; see [`PriceTable::with_own`].
    pub own: BTreeMap<String, Map<String, Value>>,
}

impl PriceSource {
    /// No other table replaces an unreadable file.
    pub fn read(&self) -> Result<PriceTable, PriceTableError> {
        let table = match &self.file {
            Some(file) => read_file(file)?,
            None => PriceTable::built_in()?,
        };
        let own = self.own.iter();
        table.with_own(own.map(|(model, price)| (model.as_str(), Value::Object(price.clone()))))
    }
}

fn read_file(file: &Path) -> Result<PriceTable, PriceTableError> {
    match std::fs::read_to_string(file) {
        Ok(text) => PriceTable::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => PriceTable::built_in(),
        Err(error) => Err(PriceTableError::Unopened(error)),
    }
}
