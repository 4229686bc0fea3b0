//! Reads Looker (API 4.0): explores, dashboards and looks. Never runs a query, never writes, and
//! skips what changes with every view, such as view counts.

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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookerScope {
    pub connections: BTreeSet<String>,
    /// Files of an earlier run. The crawl looks up missing ones.
    pub earlier: BTreeSet<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LookerCrawl {
    pub snapshot: Snapshot,
    pub warnings: Vec<String>,
    explores: BTreeMap<Item, Explore>,
    contents: BTreeMap<Item, LookerContent>,
}

/// Creates a client. `address` is the URL of the server or of its API; an explicit port is kept.
pub fn client(address: &str, id: &Secret, secret: &Secret) -> Result<Rest, RestError> {
    let address = address.trim().trim_end_matches('/');
    let server = address.strip_suffix(API).unwrap_or(address);
    let server = server.strip_suffix("/api").unwrap_or(server);
    let rest = Rest::new("Looker", &format!("{}{API}", server.trim_end_matches('/')))?;
    Ok(rest.with_login("/login", &[("client_id", id), ("client_secret", secret)]))
}

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

/// Returns the connections with their dialects, if known. A key that may not list connections gets
/// those that models name.
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

/// Trims the text and accepts numbers; `None` if it is empty.
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
