//! Reads Metabase: questions, models and metrics with their SQL. Never runs a query and never
//! writes.

mod card;
mod definitions;
mod mbql;
mod read;
mod source;
mod sql;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use ktx_secrets::Secret;
use serde_json::Value;

use crate::rest::{Rest, RestError};

pub use definitions::definitions;
pub use read::{MetabaseCrawl, read};
pub(crate) use source::Metabase;
pub use units::units;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    All,
    Only,
    Except,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetabaseScope {
    pub databases: BTreeSet<u64>,
    pub mode: Mode,
    pub collections: BTreeSet<u64>,
    pub cards: BTreeSet<u64>,
    /// Files of an earlier run. The crawl looks up missing ones.
    pub earlier: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    pub id: u64,
    pub name: String,
    pub engine: String,
}

/// Creates a client. `address` is the URL of the server or of its API.
pub fn client(address: &str, key: &Secret) -> Result<Rest, RestError> {
    let address = address.trim().trim_end_matches('/');
    let server = address.strip_suffix("/api").unwrap_or(address);
    Rest::new("Metabase", server)?.with_secret("x-api-key", "", key)
}

pub async fn databases(rest: &Rest) -> Result<BTreeMap<u64, Database>, RestError> {
    let answer = rest.get("/api/database", &[]).await?;
    // Older servers return the bare list.
    let list = answer.get("data").unwrap_or(&answer).as_array();
    let list = list.ok_or_else(|| rest.strange("no list of databases"))?;
    let database = |value: &Value| {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let id = value.get("id")?.as_u64()?;
        Some((
            id,
            Database {
                id,
                name: text("name")?.to_owned(),
                engine: text("engine").unwrap_or("unknown").to_owned(),
            },
        ))
    };
    Ok(list.iter().filter_map(database).collect())
}
