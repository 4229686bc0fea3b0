//! Opens connections and runs statements.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ktx_config::{Connection, Driver};
use ktx_secrets::SecretSource;
use ktx_vocabulary::ConnectionId;
use ktx_warehouse::{Caps, Connector, QueryResult, WarehouseError, collect};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// 2024-02-29 10:00 UTC.
pub(crate) const UNIX_NOW: u64 = 1_709_200_800;

pub(crate) struct TestProject {
    pub(crate) base: PathBuf,
    pub(crate) database: String,
}

impl SecretSource for TestProject {
    fn env(&self, name: &str) -> Option<String> {
        (name == "DATABASE").then(|| self.database.clone())
    }

    fn read(&self, path: &Path) -> std::io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn home(&self) -> Option<PathBuf> {
        Some(self.base.join("home"))
    }

    fn base(&self) -> PathBuf {
        self.base.clone()
    }
}

pub(crate) fn connection(driver: Driver, fields: Value) -> Connection {
    let Value::Object(fields) = fields else {
        panic!("the fields are an object")
    };
    let id = ConnectionId::parse("warehouse").expect("a good id");
    Connection { id, driver, fields }
}

pub(crate) fn open(driver: Driver, fields: Value) -> Arc<dyn Connector> {
    let project = TestProject {
        base: PathBuf::from("/"),
        database: String::new(),
    };
    ktx_connectors::open(&connection(driver, fields), &project, UNIX_NOW).expect("good settings")
}

pub(crate) fn open_failing(driver: Driver, fields: Value) -> WarehouseError {
    let project = TestProject {
        base: PathBuf::from("/"),
        database: String::new(),
    };
    ktx_connectors::open(&connection(driver, fields), &project, UNIX_NOW).expect_err("bad settings")
}

pub(crate) async fn query_with(
    connector: &dyn Connector,
    sql: &str,
    caps: &Caps,
) -> Result<QueryResult, WarehouseError> {
    let checked = ktx_read_only_sql::check(sql, connector.dialect())
        .expect("the gate lets the statement through");
    collect(connector, &checked, caps, &CancellationToken::new()).await
}

pub(crate) async fn query(connector: &dyn Connector, sql: &str) -> QueryResult {
    query_with(connector, sql, &Caps::default())
        .await
        .expect("the statement runs")
}
