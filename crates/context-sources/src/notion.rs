//! Notion: pages, databases and their rows, as Markdown. Nothing is written there.
//!
//! API version 2026-03-11.

mod blocks;
mod crawl;
mod id;
mod markdown;
mod page;
mod units;

use std::collections::BTreeSet;

use ktx_secrets::Secret;

use crate::rest::{Rest, RestError};
use crate::snapshot::Snapshot;

pub use crawl::read;
pub use id::PageId;
pub use units::units;

/// Where Notion's API is.
pub const API: &str = "https://api.notion.com";

/// The version of the API that this was written for.
const VERSION: &str = "2026-03-11";

/// Things to begin at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// Pages.
    pub pages: Vec<PageId>,
    /// Databases.
    pub databases: Vec<PageId>,
    /// Data sources: the tables of a database.
    pub data_sources: Vec<PageId>,
}

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Where to begin; none for everything that is shared with the integration.
    pub roots: Option<Roots>,
    /// As many pages are read at most; those that have not changed since they were read do not count.
    pub max_pages: usize,
    /// The files that an earlier run was made from: those that are not found again are looked for.
    pub earlier: BTreeSet<String>,
}

/// Texts of pages that were read before.
pub trait Shelf: Send + Sync {
    /// The text of a page as it was when it was last edited at this time.
    fn get(&self, id: &PageId, edited: &str) -> Option<Read>;

    /// Keeps the text of a page.
    fn put(&self, id: &PageId, edited: &str, read: &Read);
}

/// What stands on a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Read {
    /// The text, as Markdown.
    pub text: String,
    /// The pages below it.
    pub pages: Vec<PageId>,
    /// The databases below it.
    pub databases: Vec<PageId>,
    /// Why the text is not all of it.
    pub cut: Option<String>,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crawl {
    /// One file a page, or several for a long one.
    pub snapshot: Snapshot,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// A client with an integration's token.
///
/// # Errors
/// [`RestError`] when the address or the token cannot be used.
pub fn client(endpoint: &str, token: &Secret) -> Result<Rest, RestError> {
    let rest = Rest::new("Notion", endpoint)?.with_header("notion-version", VERSION);
    rest.with_secret("authorization", "Bearer ", token)
}

/// The name of the integration that the token belongs to, and of its workspace.
///
/// # Errors
/// [`RestError`].
pub async fn integration(rest: &Rest) -> Result<String, RestError> {
    let me = rest.get("/v1/users/me", &[]).await?;
    let text = |place: &str| me.pointer(place).and_then(serde_json::Value::as_str);
    let Some("user") = text("/object") else {
        return Err(rest.strange("something else than a user for `/v1/users/me`"));
    };
    let name = text("/name").unwrap_or("without a name");
    Ok(match text("/bot/workspace_name") {
        Some(workspace) => format!("Bot: {name} of the workspace {workspace}"),
        None => format!("Bot: {name}"),
    })
}
