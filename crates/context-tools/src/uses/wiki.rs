//! Lists, finds and reads wiki pages.

use std::sync::Arc;

use ktx_diagnostics::{Code, Failure, Hints as _, excerpt, nearest, shortened};
use ktx_search::{Kind, Query};
use ktx_wiki::{Page, parse_key};

use crate::context::{ProjectContext, search_one};
use crate::limits::check_text;
use crate::wire::{
    LaneItem, Payload, WikiHit, WikiItem, WikiReadInput, WikiReadOutput, WikiSearchInput,
    WikiSearchOutput,
};

use super::{hits, shown_confidence};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    Shown,
    /// A model has no use for the lanes.
    Hidden,
}

/// Returns the visible pages, ordered by key.
pub async fn list_wiki(context: &dyn ProjectContext) -> Result<Vec<WikiItem>, Failure> {
    let paths = context.page_paths().await?;
    let pages = context.pages(&paths).await?;
    let items = pages.iter().map(|page| WikiItem {
        key: page.key().to_string(),
        path: page.path.to_string(),
        scope: page.scope().as_str().to_owned(),
        summary: page.summary().to_owned(),
    });
    Ok(items.collect())
}

pub async fn search_wiki(
    context: &dyn ProjectContext,
    input: &WikiSearchInput,
    lanes: Lanes,
) -> Result<WikiSearchOutput, Failure> {
    check_text("query", &input.query)?;
    let limit = hits(input.limit);
    let query = Query::new(&input.query, limit + 1).of_kinds(&[Kind::Wiki]);
    let outcome = search_one(context, query).await?;
    let reports: Vec<LaneItem> = outcome.lanes.iter().map(LaneItem::from).collect();
    let has_more = (outcome.hits.len() > limit).then_some(true);
    let results: Vec<WikiHit> = outcome
        .hits
        .into_iter()
        .take(limit)
        .map(|hit| {
            // Another version of the index may have written the payload.
            let payload: Payload = serde_json::from_str(&hit.payload).unwrap_or_default();
            WikiHit {
                item: WikiItem {
                    key: hit.id,
                    path: payload.path.unwrap_or_default(),
                    scope: if hit.owner.is_some() {
                        "USER"
                    } else {
                        "GLOBAL"
                    }
                    .to_owned(),
                    summary: hit.summary.unwrap_or_default(),
                },
                score: hit.score,
                confidence: shown_confidence(hit.confidence),
                match_reasons: hit
                    .lanes
                    .iter()
                    .map(|lane| lane.as_str().to_owned())
                    .collect(),
                lanes: (lanes == Lanes::Shown).then(|| reports.clone()),
            }
        })
        .collect();
    Ok(WikiSearchOutput {
        total_found: results.len(),
        has_more,
        results,
        warnings: outcome.warnings,
    })
}

/// Returns the user's own page, else the global one.
pub async fn wiki_page(context: &dyn ProjectContext, key: &str) -> Result<Arc<Page>, Failure> {
    check_text("key", key)?;
    let parsed = parse_key(key);
    let paths = context.page_paths().await?;
    let wanted = parsed.as_ref().map_or(key, |key| key.as_str());
    let path = paths.iter().find(|path| path.key.as_str() == wanted);
    if let Some(path) = path
        && let Some(page) = context.pages(std::slice::from_ref(path)).await?.pop()
    {
        return Ok(page);
    }
    if let Err(error) = parsed {
        let failure = Failure::new(Code::InvalidWikiKey, shortened(&error.to_string()));
        return Err(error
            .hints()
            .into_iter()
            .fold(failure, |failure, hint| failure.hint(hint.as_str())));
    }
    let near = nearest(key, paths.iter().map(|path| path.key.as_str()));
    let failure = Failure::new(
        Code::PageNotFound,
        format!("there is no wiki page `{}`", excerpt(key)),
    );
    Err(if near.is_empty() {
        failure.hint(format!(
            "find pages with {}",
            context.reader().wiki_search()
        ))
    } else {
        failure.try_one_of(near)
    })
}

pub async fn read_wiki(
    context: &dyn ProjectContext,
    input: &WikiReadInput,
) -> Result<WikiReadOutput, Failure> {
    let page = wiki_page(context, &input.key).await?;
    let front = &page.front_matter;
    Ok(WikiReadOutput {
        key: page.key().to_string(),
        scope: page.scope().as_str().to_owned(),
        summary: page.summary().to_owned(),
        content: page.body().to_owned(),
        tags: front.tags.clone(),
        refs: front.refs.clone(),
        sl_refs: front.sl_refs.clone(),
    })
}
