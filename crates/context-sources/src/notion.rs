//! Reads Notion (API version 2026-03-11): pages, databases and their rows, as Markdown. Never
//! writes.

mod blocks;
mod cached;
mod crawl;
mod id;
mod markdown;
mod page;
mod source;
mod units;

use std::collections::BTreeSet;

use jiff::Timestamp;
use ktx_secrets::Secret;

use crate::rest::{Rest, RestError};
use crate::snapshot::Snapshot;

pub use crawl::read;
pub use id::PageId;
pub(crate) use source::Notion;
pub use units::units;

/// URL of Notion's API.
pub const API: &str = "https://api.notion.com";

/// The API version that this code was written for.
const VERSION: &str = "2026-03-11";

/// The starting points of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    pub pages: Vec<PageId>,
    pub databases: Vec<PageId>,
    /// Data sources: the tables of a database.
    pub data_sources: Vec<PageId>,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotionScope {
    /// Where to start; `None` for everything shared with the integration.
    pub roots: Option<Roots>,
    /// Maximum pages to read. Unchanged pages from the cache do not count.
    pub max_pages: usize,
    /// The files of an earlier run. Pages that the crawl does not find again are looked up one by
    /// one.
    pub earlier: BTreeSet<String>,
    /// The start of the run: a page edited shortly before is read again by the next run.
    pub now: Timestamp,
}

/// The content of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageContent {
    /// The text as Markdown.
    pub text: String,
    /// The child pages.
    pub pages: Vec<PageId>,
    /// The child databases.
    pub databases: Vec<PageId>,
    /// Why the text is incomplete; `None` if it is complete.
    pub cut: Option<String>,
}

/// The result of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotionCrawl {
    /// One file per page, or several for a long one.
    pub snapshot: Snapshot,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Creates a client with an integration token.
///
/// # Errors
///
/// [`RestError`] if the address or the token cannot be used.
pub fn client(endpoint: &str, token: &Secret) -> Result<Rest, RestError> {
    let rest = Rest::new("Notion", endpoint)?.with_header("notion-version", VERSION);
    rest.with_secret("authorization", "Bearer ", token)
}

/// Returns the name of the integration that the token belongs to, and of its workspace.
///
/// # Errors
///
/// [`RestError`].
pub async fn integration(rest: &Rest) -> Result<String, RestError> {
    let me = rest.get("/v1/users/me", &[]).await?;
    let text = |place: &str| me.pointer(place).and_then(serde_json::Value::as_str);
    let Some("user") = text("/object") else {
        return Err(rest.strange("something other than a user for `/v1/users/me`"));
    };
    let name = text("/name").unwrap_or("without a name");
    Ok(match text("/bot/workspace_name") {
        Some(workspace) => format!("Bot: {name} of the workspace {workspace}"),
        None => format!("Bot: {name}"),
    })
}
