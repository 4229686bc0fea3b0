//! Measures that found pages name.

use std::collections::BTreeSet;

use ktx_diagnostics::Failure;
use ktx_search::{Hit, Kind};
use ktx_wiki::{Page, PagePath, ReferenceTarget, SlReference};

use crate::context::ProjectContext;
use crate::wire::{DiscoverKind, DiscoverRef, Payload};

use super::ConnectionData;

const MOST_PAGES: usize = 3;

const MOST_OF_A_PAGE: usize = 3;

pub(super) fn best_pages(found: &[(Hit, f64)]) -> Vec<PagePath> {
    let pages = found.iter().filter(|(hit, _)| hit.kind == Kind::Wiki);
    let paths = pages.filter_map(|(hit, _)| {
        let payload: Payload = serde_json::from_str(&hit.payload).ok()?;
        PagePath::parse(&payload.path?).ok()
    });
    paths.take(MOST_PAGES).collect()
}

pub(super) struct WithNamed {
    pub(super) refs: Vec<DiscoverRef>,
    pub(super) named: BTreeSet<String>,
}

/// The measures follow their pages.
pub(super) async fn with_named(
    context: &dyn ProjectContext,
    paths: &[PagePath],
    refs: Vec<DiscoverRef>,
    known: &[ConnectionData],
) -> Result<WithNamed, Failure> {
    let pages = context.pages(paths).await?;
    let is_known = |refs: &[DiscoverRef], id: &str| refs.iter().any(|entry| entry.id == id);
    let mut all: Vec<DiscoverRef> = Vec::with_capacity(refs.len());
    let mut named = BTreeSet::new();
    for entry in &refs {
        all.push(entry.clone());
        if entry.kind != DiscoverKind::Wiki {
            continue;
        }
        let Some(page) = pages.iter().find(|page| page.key().as_str() == entry.id) else {
            continue;
        };
        let mut taken = 0;
        for name in names(page) {
            let Some(measure) = measure(&name, entry, known) else {
                continue;
            };
            if taken < MOST_OF_A_PAGE
                && !is_known(&refs, &measure.id)
                && named.insert(measure.id.clone())
            {
                all.push(measure);
                taken += 1;
            }
        }
    }
    Ok(WithNamed { refs: all, named })
}

fn names(page: &Page) -> Vec<SlReference> {
    let in_text = page.code_references().into_iter();
    let in_text = in_text.filter_map(|reference| match reference.target {
        ReferenceTarget::Dotted { source, entity } => Some(SlReference {
            connection: reference.connection,
            source,
            entity: Some(entity),
        }),
        ReferenceTarget::Source(_) | ReferenceTarget::Table(_) => None,
    });
    let in_front = page.front_matter.sl_refs.iter();
    in_text
        .chain(in_front.map(|text| SlReference::parse(text)))
        .collect()
}

fn measure(
    name: &SlReference,
    page: &DiscoverRef,
    known: &[ConnectionData],
) -> Option<DiscoverRef> {
    let entity = name.entity.as_deref()?;
    let is_asked = |known: &&ConnectionData| {
        let asked = name.connection.as_deref();
        asked.is_none_or(|asked| asked == known.id.as_str())
    };
    known.iter().filter(is_asked).find_map(|known| {
        let source = known.catalog.source(&name.source)?;
        let measure = source.measures.iter().find(|one| one.name == entity)?;
        let said = measure.description.as_deref().unwrap_or_default();
        let named = format!("named by the page `{}`", page.id);
        Some(DiscoverRef {
            kind: DiscoverKind::SlMeasure,
            id: format!("{}.{}", source.name, measure.name),
            suggested: None,
            score: page.score,
            confidence: page.confidence.clone(),
            summary: Some(match said.trim_end_matches('.') {
                "" => named,
                said => format!("{said}; {named}"),
            }),
            snippet: None,
            matched_on: page.matched_on.clone(),
            connection_id: Some(known.id.to_string()),
            table_ref: None,
            column_name: None,
            data_range: None,
        })
    })
}
