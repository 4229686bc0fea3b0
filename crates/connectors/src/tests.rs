//! Shared test connections, secrets and result formatting.

pub(crate) mod effects;
pub(crate) mod reprint;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{Connector, WarehouseError};
use serde_json::Value;

#[derive(Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) files: BTreeMap<PathBuf, String>,
    pub(crate) base: PathBuf,
}

impl SecretSource for Secrets {
    fn env(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        self.files
            .get(path)
            .cloned()
            .ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from("/srv/home"))
    }

    fn base(&self) -> PathBuf {
        self.base.clone()
    }
}

pub(crate) fn connection(driver: Driver, fields: Value) -> Connection {
    let Value::Object(fields) = fields else {
        panic!("fields are an object")
    };
    Connection {
        id: ConnectionId::parse("warehouse").unwrap(),
        driver,
        fields,
    }
}

pub(crate) fn open(driver: Driver, fields: Value) -> Result<Arc<dyn Connector>, WarehouseError> {
    crate::open(&connection(driver, fields), &Secrets::default(), 0)
}

pub(crate) fn lines(error: &WarehouseError) -> String {
    let hint = error.hint.as_deref().unwrap_or("-");
    format!("{}\n{}\n{hint}", error.kind.code(), error.message)
}
