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

pub const API: &str = "https://api.notion.com";

const VERSION: &str = "2026-03-11";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    pub pages: Vec<PageId>,
    pub databases: Vec<PageId>,
    /// Data sources: the tables of a database.
    pub data_sources: Vec<PageId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotionScope {
    /// `None` for everything shared with the integration.
    pub roots: Option<Roots>,
    /// Maximum pages to read. Unchanged pages from the cache do not count.
    pub max_pages: usize,
    /// Files of an earlier run. The crawl looks up missing ones.
    pub earlier: BTreeSet<String>,
    /// The start of the run: the next run reads pages edited shortly before again.
    pub now: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PageContent {
    pub text: String,
    pub pages: Vec<PageId>,
    pub databases: Vec<PageId>,
    pub cut: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotionCrawl {
    pub snapshot: Snapshot,
    pub warnings: Vec<String>,
}

pub fn client(endpoint: &str, token: &Secret) -> Result<Rest, RestError> {
    let rest = Rest::new("Notion", endpoint)?.with_header("notion-version", VERSION);
    rest.with_secret("authorization", "Bearer ", token)
}

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
