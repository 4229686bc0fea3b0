//! Lists, finds and reads semantic sources.

use std::collections::BTreeSet;
use std::sync::Arc;

use ktx_diagnostics::{Code, Failure, excerpt};
use ktx_search::{Kind, Lane, Query};
use ktx_semantic_layer::{Catalog, Source, Visibility};
use ktx_vocabulary::ConnectionId;

use crate::context::{Need, ProjectContext, connection_of, search_one};
use crate::limits::check_text;
use crate::reader::Reader;
use crate::scans::Shown;
use crate::wire::{DictionaryHit, LaneItem, Payload, ReadSourceOutput, SourceHit, SourceList};

const VALUES_SHOWN: usize = 5;

const MOST: usize = 1000;

pub async fn list_sources(
    context: &dyn ProjectContext,
    connection: Option<&str>,
) -> Result<SourceList, Failure> {
    let mut list = SourceList {
        items: Vec::new(),
        diagnostics: Vec::new(),
    };
    for id in ids(context, connection).await? {
        let listing = context.listing(&id).await?;
        list.items.extend(listing.items);
        list.diagnostics.extend(listing.diagnostics);
    }
    Ok(list)
}

pub async fn list_measures(context: &dyn ProjectContext) -> Result<Vec<String>, Failure> {
    let mut names = BTreeSet::new();
    for (_, catalog) in catalogs(context, None, None).await? {
        for source in catalog.sources() {
            let measures = source.measures.iter();
            names.extend(measures.map(|measure| format!("{}.{}", source.name, measure.name)));
        }
    }
    Ok(names.into_iter().collect())
}

/// Finds sources; `limit` 0 means all. Also returns what is unreadable, and so cannot be found.
pub async fn search_sources(
    context: &dyn ProjectContext,
    query: &str,
    connection: Option<&str>,
    limit: usize,
) -> Result<(Vec<SourceHit>, Vec<String>), Failure> {
    check_text("query", query)?;
    let only = match connection {
        Some(text) => Some(folder_of(context, text).await?),
        None => None,
    };
    let limit = if limit == 0 { MOST } else { limit };
    let request = Query::new(query, limit)
        .of_kinds(&[Kind::SemanticSource])
        .in_connection(only.as_ref());
    let outcome = search_one(context, request).await?;
    let lanes: Vec<LaneItem> = outcome.lanes.iter().map(LaneItem::from).collect();
    let mut found = Vec::new();
    for hit in outcome.hits {
        let payload: Payload = serde_json::from_str(&hit.payload)
            .map_err(|error| Failure::internal(format!("`{}`: {error}", hit.id)))?;
        let Some(item) = payload.source else { continue };
        found.push(SourceHit {
            item,
            score: hit.score,
            snippet: hit.snippet,
            match_reasons: hit
                .lanes
                .iter()
                .map(|lane| lane.as_str().to_owned())
                .collect(),
            dictionary_matches: Vec::new(),
            lanes: lanes.clone(),
        });
    }
    add_values(context, &mut found, query).await?;
    Ok((found, outcome.warnings))
}

/// Returns the YAML of a source. Without a connection, the name must be unique.
pub async fn read_source(
    context: &dyn ProjectContext,
    connection: Option<&str>,
    name: &str,
) -> Result<ReadSourceOutput, Failure> {
    check_text("sourceName", name)?;
    let catalogs = catalogs(context, connection, Some(name)).await?;
    let holds = |catalog: &Catalog| catalog.list().iter().any(|summary| summary.name == name);
    let holders: Vec<&(ConnectionId, Arc<Catalog>)> = catalogs
        .iter()
        .filter(|(_, catalog)| holds(catalog))
        .collect();
    let catalog = match (holders.as_slice(), catalogs.as_slice()) {
        ([(_, catalog)], _) | ([], [(_, catalog)]) => catalog,
        ([], _) => {
            let names: Vec<String> = catalogs
                .iter()
                .flat_map(|(_, catalog)| catalog.list())
                .map(|summary| summary.name)
                .collect();
            let near = ktx_diagnostics::nearest(name, names.iter().map(String::as_str));
            let message = format!("unknown source `{}`", excerpt(name));
            return Err(Failure::new(Code::UnknownSource, message).try_one_of(near));
        }
        (several, _) => {
            let message = format!(
                "`{name}` is in {} connections: say which one",
                several.len()
            );
            return Err(Failure::new(Code::ConnectionRequired, message)
                .try_one_of(several.iter().map(|(id, _)| id.as_str())));
        }
    };
    Ok(ReadSourceOutput {
        source_name: name.to_owned(),
        yaml: catalog.read(name)?,
    })
}

async fn catalogs(
    context: &dyn ProjectContext,
    connection: Option<&str>,
    name: Option<&str>,
) -> Result<Vec<(ConnectionId, Arc<Catalog>)>, Failure> {
    let mut found = Vec::new();
    for id in ids(context, connection).await? {
        let catalog = match (context.reader(), name) {
            (Reader::Person, Some(name)) => {
                context.catalog_for(&id, Need::Text(name.to_owned())).await
            }
            _ => context.catalog(&id).await,
        };
        match catalog {
            Ok(catalog) => found.push((id, catalog)),
            // The listing reports it; the other connections have their sources.
            Err(failure) if connection.is_none() && failure.code == Code::OutsideProject => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}

async fn ids(
    context: &dyn ProjectContext,
    connection: Option<&str>,
) -> Result<Vec<ConnectionId>, Failure> {
    match connection {
        None => context.source_folders().await,
        Some(text) => Ok(vec![folder_of(context, text).await?]),
    }
}

async fn folder_of(context: &dyn ProjectContext, text: &str) -> Result<ConnectionId, Failure> {
    let folders = context.source_folders().await?;
    match folders.into_iter().find(|id| id.as_str() == text) {
        Some(id) => Ok(id),
        None => Ok(connection_of(context, text).await?.id),
    }
}

async fn add_values(
    context: &dyn ProjectContext,
    found: &mut [SourceHit],
    query: &str,
) -> Result<(), Failure> {
    let by_value = |hit: &SourceHit| {
        let dictionary = Lane::Dictionary.as_str();
        hit.match_reasons.iter().any(|reason| reason == dictionary)
    };
    let ids: BTreeSet<String> = found
        .iter()
        .filter(|hit| by_value(hit))
        .map(|hit| hit.item.connection_id.clone())
        .collect();
    let words = words(query);
    for id in ids {
        let connection = ConnectionId::parse(&id)?;
        let catalog = context.catalog(&connection).await?;
        let Some(snapshot) = context.snapshot(&connection).await? else {
            continue;
        };
        let shown = Shown::of(&catalog, &snapshot);
        let its = |hit: &&mut SourceHit| by_value(hit) && hit.item.connection_id == id;
        for hit in found.iter_mut().filter(its) {
            if let Some(source) = catalog.source(&hit.item.name) {
                hit.dictionary_matches = matching_values(&shown, source, &words);
            }
        }
    }
    Ok(())
}

fn words(query: &str) -> Vec<String> {
    query
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.chars().count() > 1)
        .map(str::to_lowercase)
        .collect()
}

fn matching_values(shown: &Shown<'_>, source: &Source, words: &[String]) -> Vec<DictionaryHit> {
    let Some(table) = shown.places().read_by(source) else {
        return Vec::new();
    };
    let public = source.columns.iter();
    let public = public.filter(|column| column.visibility == Visibility::Public);
    let matching = public.filter_map(|column| {
        let values: Vec<String> = shown
            .values(&table.table, &column.name)
            .iter()
            .filter(|value| {
                let value = value.to_lowercase();
                words.iter().any(|word| value.contains(word))
            })
            .take(VALUES_SHOWN)
            .cloned()
            .collect();
        (!values.is_empty()).then(|| DictionaryHit {
            column: column.name.clone(),
            values,
        })
    });
    matching.collect()
}
