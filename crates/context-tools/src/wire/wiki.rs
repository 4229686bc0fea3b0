//! `wiki_search`, `wiki_read` and `ktx wiki`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LaneItem;

/// What to look for in the wiki.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WikiSearchInput {
    /// Words to look for, in any language; two or more words in double quotes are a phrase.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["question", "q", "text", "search", "term", "keyword"]))]
    pub query: String,
    /// The most pages (10 when left out).
    #[schemars(range(min = 1, max = 50))]
    #[schemars(extend("x-aliases" = ["max_results", "top"]))]
    pub limit: Option<usize>,
}

/// The pages found, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WikiSearchOutput {
    /// The pages.
    pub results: Vec<WikiHit>,
    /// How many pages are listed.
    pub total_found: usize,
    /// Whether a higher `limit` gives more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// What could not be read, and therefore not be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WikiItem {
    /// The key that `wiki_read` takes.
    pub key: String,
    /// The file, relative to the project.
    pub path: String,
    /// `GLOBAL`, or `USER` for a private page.
    pub scope: String,
    /// One line about the page.
    pub summary: String,
}

/// One page that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WikiHit {
    /// The page.
    #[serde(flatten)]
    pub item: WikiItem,
    /// 1 for the best page, less for others.
    pub score: f64,
    /// `weak` when the page has only a small part of the query; left out when it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// How it was found: `lexical`, `token`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_reasons: Vec<String>,
    /// What each way of searching did; only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Vec<LaneItem>>,
}

/// Which page to read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WikiReadInput {
    /// The key of the page, such as `revenue-policy`; keys have no folders.
    #[schemars(length(min = 1))]
    #[schemars(extend("x-aliases" = ["page", "name", "id", "slug", "path"]))]
    pub key: String,
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WikiReadOutput {
    /// The key.
    pub key: String,
    /// `GLOBAL`, or `USER` for a private page.
    pub scope: String,
    /// One line about the page.
    pub summary: String,
    /// The Markdown of the page, without its front matter.
    pub content: String,
    /// Free tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Keys of related pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// Semantic sources, measures and columns that the page is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sl_refs: Vec<String>,
}
