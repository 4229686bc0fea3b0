//! Metabase: questions, models and metrics with the SQL that they stand for. Nothing is run or written there.

mod card;
mod read;
mod sql;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use ktx_secrets::Secret;
use serde_json::Value;

use crate::rest::{Rest, RestError};

pub use read::{Crawl, read};
pub use units::units;

/// Which cards are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    /// All of them.
    #[default]
    All,
    /// Those that are selected.
    Only,
    /// All but those that are selected.
    Except,
}

/// What is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The databases of the server whose cards are read, by id.
    pub databases: BTreeSet<u64>,
    /// What the selection means.
    pub mode: Mode,
    /// Collections that are selected, with everything below them.
    pub collections: BTreeSet<u64>,
    /// Cards that are selected.
    pub cards: BTreeSet<u64>,
    /// The files that an earlier run was made from: those that are not found again are looked for.
    pub earlier: BTreeSet<String>,
}

/// The SQL that queries were compiled to.
pub trait Shelf: Send + Sync {
    /// What a query was compiled to the last time that the server did.
    fn get(&self, query: &Value) -> Option<String>;

    /// Keeps what a query was compiled to.
    fn put(&self, query: &Value, sql: &str);
}

/// A database of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its id.
    pub id: u64,
    /// What people call it.
    pub name: String,
    /// What kind it is, such as `postgres`.
    pub engine: String,
}

/// A client with an API key. The address may be that of the server or of its API.
///
/// # Errors
/// [`RestError`] when the address or the key cannot be used.
pub fn client(address: &str, key: &Secret) -> Result<Rest, RestError> {
    let address = address.trim().trim_end_matches('/');
    let server = address.strip_suffix("/api").unwrap_or(address);
    Rest::new("Metabase", server)?.with_secret("x-api-key", "", key)
}

/// The databases of the server, by id.
///
/// # Errors
/// [`RestError`].
pub async fn databases(rest: &Rest) -> Result<BTreeMap<u64, Database>, RestError> {
    let answer = rest.get("/api/database", &[]).await?;
    // Older servers answer with the list itself.
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
