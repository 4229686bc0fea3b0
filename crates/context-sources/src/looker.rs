//! Looker: explores with their fields and joins, dashboards and looks with what they ask. Nothing is run or
//! written there. What changes with every look at it (views, favourites, times, persons) is not read.
//!
//! API 4.0.

mod content;
mod explore;
mod facts;
mod folders;
mod item;
mod read;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use ktx_secrets::Secret;
use serde_json::Value;

use crate::rest::{Rest, RestError, RestErrorKind};
use crate::snapshot::Snapshot;

use content::Content;
use explore::Explore;
use item::Item;

pub use facts::facts;
pub use read::read;
pub use units::{scope, units};

/// Where the API begins, below the address of the server.
const API: &str = "/api/4.0";

/// What is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The connections of Looker that are about warehouses, by name.
    pub connections: BTreeSet<String>,
    /// The files that an earlier run was made from: those that are not found again are looked for.
    pub earlier: BTreeSet<String>,
}

/// What was read before, for when something cannot be looked at.
pub trait Shelf: Send + Sync {
    /// What a thing was the last time that it was read.
    fn get(&self, item: &str) -> Option<Value>;

    /// Keeps what a thing is.
    fn put(&self, item: &str, read: &Value);
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crawl {
    /// A file for each explore, or several for a long one, for each dashboard and each look.
    pub snapshot: Snapshot,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The explores that files were made of.
    explores: BTreeMap<Item, Explore>,
    /// The dashboards and looks that files were made of.
    contents: BTreeMap<Item, Content>,
}

/// A client that logs in with an API key. The address may be that of the server or of its API; a port stays as
/// it is written.
///
/// # Errors
/// [`RestError`] when the address cannot be used.
pub fn client(address: &str, id: &Secret, secret: &Secret) -> Result<Rest, RestError> {
    let address = address.trim().trim_end_matches('/');
    let server = address.strip_suffix(API).unwrap_or(address);
    let server = server.strip_suffix("/api").unwrap_or(server);
    let rest = Rest::new("Looker", &format!("{}{API}", server.trim_end_matches('/')))?;
    Ok(rest.with_login("/login", &[("client_id", id), ("client_secret", secret)]))
}

/// The name of the user that the key belongs to.
///
/// # Errors
/// [`RestError`].
pub async fn user(rest: &Rest) -> Result<String, RestError> {
    let user = rest
        .get("/user", &[("fields", "id,display_name,email")])
        .await?;
    let text = |field: &str| said(&user, field).filter(|text| !text.is_empty());
    if text("id").is_none() {
        return Err(rest.strange("something else than a user for `/user`"));
    }
    let name = text("display_name").or_else(|| text("email"));
    Ok(name.unwrap_or_else(|| "without a name".to_owned()))
}

/// The connections of the server to databases, with their dialects where they are known: those that it lists,
/// else those that models name. Not everybody who may read models may list connections.
///
/// # Errors
/// [`RestError`].
pub async fn connections(rest: &Rest) -> Result<BTreeMap<String, Option<String>>, RestError> {
    let fields = [("fields", "name,dialect_name")];
    match rest.get("/connections", &fields).await {
        Ok(answer) => {
            let all = list(rest, &answer, "/connections")?.iter();
            let named = all.filter_map(|found| Some((name(found)?, said(found, "dialect_name"))));
            Ok(named.collect())
        }
        Err(error)
            if matches!(
                error.kind,
                RestErrorKind::Forbidden | RestErrorKind::NotFound
            ) =>
        {
            let models = read::models(rest).await?;
            let named = models.into_iter().flat_map(|model| model.connections);
            Ok(named.map(|name| (name, None)).collect())
        }
        Err(error) => Err(error),
    }
}

/// A list that the API answers with.
fn list<'a>(rest: &Rest, answer: &'a Value, path: &str) -> Result<&'a [Value], RestError> {
    let list = answer.as_array().map(Vec::as_slice);
    list.ok_or_else(|| rest.strange(&format!("no list for `{path}`")))
}

fn name(value: &Value) -> Option<String> {
    let name = value.get("name")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// The text of a field without space around it; of a number its digits; none when it is empty.
fn said(value: &Value, field: &str) -> Option<String> {
    match value.get(field)? {
        Value::String(text) => {
            let text = text.trim().replace("\r\n", "\n");
            (!text.is_empty()).then_some(text)
        }
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn is_so(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool) == Some(true)
}

/// The items of a list field.
fn all<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    let list = value.get(field).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// The texts of a list field, in their order.
fn texts(value: &Value, field: &str) -> Vec<String> {
    let texts = all(value, field).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
