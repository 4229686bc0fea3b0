//! Cached page texts with the time of their last edit.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::PageContent;
use super::id::PageId;
use crate::page_cache::PageCache;

/// Edit times have minute precision: a page edited within this many seconds may change again with
/// the same time, so it is not cached.
const FRESH: i64 = 120;

#[derive(Serialize, Deserialize)]
struct CachedPage {
    edited: String,
    read: PageContent,
}

pub(super) fn get(cache: &PageCache, id: &PageId, edited: &str) -> Option<PageContent> {
    let text = cache.get(&file(id))?;
    let cached: CachedPage = serde_json::from_str(&text).ok()?;
    (cached.edited == edited).then_some(cached.read)
}

pub(super) fn put(
    cache: &PageCache,
    id: &PageId,
    edited: &str,
    read: &PageContent,
    now: Timestamp,
) {
    let age = edited
        .parse::<Timestamp>()
        .map(|edited| now.duration_since(edited).as_secs());
    if age.is_ok_and(|age| age < FRESH) {
        return;
    }
    let cached = CachedPage {
        edited: edited.to_owned(),
        read: read.clone(),
    };
    let written = serde_json::to_value(cached).map(|cached| cached.to_string());
    if let Ok(text) = written {
        cache.put(&file(id), &text);
    }
}

fn file(id: &PageId) -> String {
    format!("{id}.json")
}
