//! Reads Looker (API 4.0): explores with their fields and joins, and dashboards and looks with
//! their queries. Never runs a query and never writes. Skips what changes with every view: view
//! counts, favorites, times, people.

mod content;
mod definitions;
mod explore;
mod facts;
mod folders;
mod item;
mod read;
mod source;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use ktx_secrets::Secret;
use serde_json::Value;

use crate::rest::{Rest, RestError, RestErrorKind};
use crate::snapshot::Snapshot;

use content::LookerContent;
use explore::Explore;
use item::Item;

pub use definitions::definitions;
pub use facts::facts;
pub use read::read;
pub(crate) use source::Looker;
pub use units::{scope, units};

const API: &str = "/api/4.0";

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookerScope {
    /// The Looker connections that belong to warehouses, by name.
    pub connections: BTreeSet<String>,
    /// The files of an earlier run. Files that the crawl does not find again are looked up one by
    /// one.
    pub earlier: BTreeSet<String>,
}

/// The result of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookerCrawl {
    /// One file for each dashboard and look, and one or more for each explore.
    pub snapshot: Snapshot,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    explores: BTreeMap<Item, Explore>,
    contents: BTreeMap<Item, LookerContent>,
}

/// Creates a client that logs in with an API key. `address` is the URL of the server or of its API;
/// an explicit port is kept.
///
/// # Errors
///
/// [`RestError`] if the address cannot be used.
pub fn client(address: &str, id: &Secret, secret: &Secret) -> Result<Rest, RestError> {
    let address = address.trim().trim_end_matches('/');
    let server = address.strip_suffix(API).unwrap_or(address);
    let server = server.strip_suffix("/api").unwrap_or(server);
    let rest = Rest::new("Looker", &format!("{}{API}", server.trim_end_matches('/')))?;
    Ok(rest.with_login("/login", &[("client_id", id), ("client_secret", secret)]))
}

/// Returns the name of the user that the key belongs to.
///
/// # Errors
///
/// [`RestError`].
pub async fn user(rest: &Rest) -> Result<String, RestError> {
    let user = rest
        .get("/user", &[("fields", "id,display_name,email")])
        .await?;
    let text = |field: &str| text_field(&user, field).filter(|text| !text.is_empty());
    if text("id").is_none() {
        return Err(rest.strange("something other than a user for `/user`"));
    }
    let name = text("display_name").or_else(|| text("email"));
    Ok(name.unwrap_or_else(|| "without a name".to_owned()))
}

/// Returns the database connections of the server with their dialects, if known. Falls back to the
/// connections that models name, because a key that can read models may lack the permission to list
/// connections.
///
/// # Errors
///
/// [`RestError`].
pub async fn connections(rest: &Rest) -> Result<BTreeMap<String, Option<String>>, RestError> {
    let fields = [("fields", "name,dialect_name")];
    match rest.get("/connections", &fields).await {
        Ok(answer) => {
            let all = list(rest, &answer, "/connections")?.iter();
            let named =
                all.filter_map(|found| Some((name(found)?, text_field(found, "dialect_name"))));
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

fn list<'a>(rest: &Rest, answer: &'a Value, path: &str) -> Result<&'a [Value], RestError> {
    let list = answer.as_array().map(Vec::as_slice);
    list.ok_or_else(|| rest.strange(&format!("no list for `{path}`")))
}

fn name(value: &Value) -> Option<String> {
    let name = value.get("name")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the trimmed text of a field, or the digits of a number; `None` if it is empty.
fn text_field(value: &Value, field: &str) -> Option<String> {
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

fn all<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    let list = value.get(field).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    let texts = all(value, field).filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
