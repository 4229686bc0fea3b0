//! Crawls from the list of cards to a file for each. A card that cannot be read is reported, not
//! treated as deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::card::{Card, card_of, one_line};
use super::definitions::Fields;
use super::sql::{Library, references};
use super::{MetabaseScope, Mode};
use crate::page_cache::{PageCache, file_name};
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::snapshot::{LeftOut, Snapshot};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetabaseCrawl {
    pub snapshot: Snapshot,
    pub warnings: Vec<String>,
    pub(super) collections: BTreeMap<u64, Option<u64>>,
    pub(super) places: BTreeMap<Option<u64>, String>,
    pub(super) references: BTreeMap<u64, BTreeSet<u64>>,
    pub(super) cards: BTreeMap<u64, Card>,
    pub(super) fields: BTreeMap<u64, Fields>,
    pub(super) unlisted: BTreeSet<u64>,
}

#[derive(Default)]
struct Collection {
    place: String,
    line: Vec<u64>,
    is_personal: bool,
}

/// Reads the cards in the scope. Skips personal collections, unless one is selected.
pub async fn read(
    rest: &Rest,
    scope: &MetabaseScope,
    cache: &PageCache,
) -> Result<MetabaseCrawl, RestError> {
    let tree = rest.get("/api/collection/tree", &[]).await?;
    let mut collections = BTreeMap::new();
    collect(&tree, &Collection::default(), &mut collections);
    let listed = rest.get("/api/card", &[("f", "all")]).await?;
    let listed = listed
        .as_array()
        .ok_or_else(|| rest.strange("no list of cards"))?;
    let mut cards: BTreeMap<u64, Card> = BTreeMap::new();
    let mut strange = 0;
    for value in listed {
        match Card::parse(value) {
            Some(card) if card.is_archived => {}
            Some(card) => {
                cards.insert(card.id, card);
            }
            None => strange += 1,
        }
    }
    let wanted: Vec<&Card> = cards
        .values()
        .filter(|card| scope.databases.contains(&card.database))
        .filter(|card| is_selected(card, scope, &collections))
        .collect();
    let is_hidden = |card: &&Card| {
        let is_unknown = |id: &u64| !collections.contains_key(id);
        scope.databases.contains(&card.database) && card.collection.as_ref().is_some_and(is_unknown)
    };
    let hidden = cards.values().filter(is_hidden).count();
    let mut crawl = MetabaseCrawl {
        places: collections
            .iter()
            .map(|(id, collection)| (Some(*id), collection.place.clone()))
            .collect(),
        ..MetabaseCrawl::default()
    };
    for (count, what) in [
        (
            strange,
            "are not questions, models or metrics that this version knows",
        ),
        (hidden, "are in collections that the key does not see"),
    ] {
        if count > 0 {
            crawl
                .warnings
                .push(format!("{count} cards {what}: they were not read"));
        }
    }
    let library = library(rest, cache, &cards, &wanted, &mut crawl).await?;
    fields(rest, &wanted, &mut crawl).await?;
    for card in wanted {
        let place = crawl.places.get(&card.collection);
        let place = place.map_or("Our analytics", String::as_str);
        let sql = library.resolved(card.id);
        if let Some(problem) = &sql.problem {
            let warning = format!("the SQL of card {} (`{}`): {problem}", card.id, card.name);
            crawl.warnings.push(warning);
        }
        let text = card.file(place, &sql);
        crawl.snapshot.files.insert(card.path(), text);
        crawl.collections.insert(card.id, card.collection);
        let template = library
            .cards
            .get(&card.id)
            .and_then(|sql| sql.as_ref().ok());
        let mut refers = template.map(|sql| references(sql)).unwrap_or_default();
        refers.extend(card.sources());
        crawl.references.insert(card.id, refers);
        crawl.cards.insert(card.id, card.clone());
    }
    look_for(rest, scope, &cards, &mut crawl).await?;
    Ok(crawl)
}

async fn fields(rest: &Rest, wanted: &[&Card], crawl: &mut MetabaseCrawl) -> Result<(), RestError> {
    for (database, tables) in tables(wanted) {
        let path = format!("/api/database/{database}/metadata");
        match rest.get(&path, &[("include_hidden", "true")]).await {
            Ok(answer) => {
                let fields = Fields::parse(&answer);
                // A key without the permission gets the table without its columns, or not at all.
                let unlisted = tables
                    .into_iter()
                    .filter(|table| !fields.has_columns(*table));
                for table in unlisted {
                    crawl.unlisted.insert(database);
                    crawl.warnings.push(format!(
                        "the server lists no columns of the table {table} of the database {database}, or not for this key: \
                         what an earlier run imported stays"
                    ));
                }
                crawl.fields.insert(database, fields);
            }
            Err(error) if error.is_about_one() => {
                crawl.unlisted.insert(database);
                crawl.warnings.push(format!(
                    "the columns of the database {database} were not read, what an earlier run imported stays: {error}"
                ));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn tables(wanted: &[&Card]) -> BTreeMap<u64, BTreeSet<u64>> {
    let by_id: BTreeMap<u64, &Card> = wanted.iter().map(|card| (card.id, *card)).collect();
    let is_defining = |card: &&&Card| {
        ["metric", "model"].contains(&card.kind.as_str()) && card.only_stage().is_ok()
    };
    let mut open: Vec<&Card> = wanted.iter().filter(is_defining).copied().collect();
    let mut seen: BTreeSet<u64> = open.iter().map(|card| card.id).collect();
    let mut tables: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    while let Some(card) = open.pop() {
        let own = tables.entry(card.database).or_default();
        let stage = card.only_stage().ok();
        let table = stage.and_then(|stage| stage.get("source-table")?.as_u64());
        own.extend(table);
        for id in card.sources() {
            if let Some(below) = by_id.get(&id)
                && seen.insert(id)
            {
                open.push(below);
            }
        }
    }
    tables
}

fn collect(tree: &Value, parent: &Collection, all: &mut BTreeMap<u64, Collection>) {
    for value in tree.as_array().into_iter().flatten() {
        // The id of the root collection is the string `root`.
        let Some(id) = value.get("id").and_then(Value::as_u64) else {
            continue;
        };
        let name = value.get("name").and_then(Value::as_str).unwrap_or("?");
        let name = one_line(name);
        let place = if parent.place.is_empty() {
            name
        } else {
            format!("{} / {name}", parent.place)
        };
        let is_own = |field: &str| value.get(field).is_some_and(|owner| !owner.is_null());
        let is_personal = parent.is_personal
            || is_own("personal_owner_id")
            || value.get("is_personal").and_then(Value::as_bool) == Some(true);
        let collection = Collection {
            place,
            line: [parent.line.as_slice(), &[id]].concat(),
            is_personal,
        };
        if let Some(children) = value.get("children") {
            collect(children, &collection, all);
        }
        all.insert(id, collection);
    }
}

fn is_selected(
    card: &Card,
    scope: &MetabaseScope,
    collections: &BTreeMap<u64, Collection>,
) -> bool {
    let collection = card.collection.and_then(|id| collections.get(&id));
    let is_within = collection.is_some_and(|found| {
        let mut line = found.line.iter();
        line.any(|id| scope.collections.contains(id))
    });
    let is_named = is_within || scope.cards.contains(&card.id);
    // The server may hide personal collections but list their cards.
    let is_personal = match card.collection {
        None => false,
        Some(_) => collection.is_none_or(|found| found.is_personal),
    };
    match scope.mode {
        Mode::Only => is_named,
        Mode::All => !is_personal,
        Mode::Except => !is_named && !is_personal,
    }
}

async fn library(
    rest: &Rest,
    cache: &PageCache,
    cards: &BTreeMap<u64, Card>,
    wanted: &[&Card],
    crawl: &mut MetabaseCrawl,
) -> Result<Library, RestError> {
    let mut library = Library::default();
    match rest.get("/api/native-query-snippet", &[]).await {
        Ok(snippets) => {
            for snippet in snippets.as_array().into_iter().flatten() {
                let text = |field: &str| snippet.get(field).and_then(Value::as_str);
                if let (Some(name), Some(content)) = (text("name"), text("content")) {
                    library.snippets.insert(name.to_owned(), content.to_owned());
                }
            }
        }
        // A key that can read cards may lack the permission to read snippets.
        Err(error) if error.is_about_one() => crawl
            .warnings
            .push(format!("snippets were not read: {error}")),
        Err(error) => return Err(error),
    }
    let mut left: Vec<u64> = wanted.iter().map(|card| card.id).collect();
    while let Some(id) = left.pop() {
        if library.cards.contains_key(&id) {
            continue;
        }
        let other = match cards.get(&id) {
            Some(_) => None,
            None => elsewhere(rest, id).await?,
        };
        let Some(card) = cards.get(&id).or(other.as_ref()) else {
            continue;
        };
        let sql = match card.written_sql() {
            Some(sql) => Ok(sql.to_owned()),
            None => compiled(rest, cache, card).await?,
        };
        if let Ok(sql) = &sql {
            left.extend(references(sql));
            if sql.contains("snippet:") {
                let snippets = library.snippets.values();
                left.extend(snippets.flat_map(|snippet| references(snippet)));
            }
        }
        library.cards.insert(id, sql);
    }
    Ok(library)
}

async fn elsewhere(rest: &Rest, id: u64) -> Result<Option<Card>, RestError> {
    match rest.get(&format!("/api/card/{id}"), &[]).await {
        Ok(card) => Ok(Card::parse(&card)),
        Err(error) if error.is_about_one() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the SQL that the server compiles without running it, or the cached SQL.
async fn compiled(
    rest: &Rest,
    cache: &PageCache,
    card: &Card,
) -> Result<Result<String, String>, RestError> {
    let file = file_name(&card.query.to_string(), "sql");
    let mut query = card.query.clone();
    if let Some(query) = query.as_object_mut() {
        query.insert("pretty".to_owned(), json!(true));
    }
    let answer = match rest.post("/api/dataset/native", &query).await {
        Ok(answer) => answer,
        Err(error) if error.is_about_one() => {
            return Ok(cache.get(&file).ok_or(error.message));
        }
        Err(error) => return Err(error),
    };
    let sql = answer.get("query").and_then(Value::as_str);
    if let Some(sql) = sql {
        cache.put(&file, sql);
    }
    Ok(sql.map_or_else(
        || Err("its database has no SQL".to_owned()),
        |sql| Ok(sql.to_owned()),
    ))
}

/// A missing card counts as deleted only if the server says so.
async fn look_for(
    rest: &Rest,
    scope: &MetabaseScope,
    cards: &BTreeMap<u64, Card>,
    crawl: &mut MetabaseCrawl,
) -> Result<(), RestError> {
    for file in &scope.earlier {
        if crawl.snapshot.files.contains_key(file) {
            continue;
        }
        let Some((database, id)) = card_of(file) else {
            continue;
        };
        let reason = if !scope.databases.contains(&database) {
            format!("the database {database} is not read any more")
        } else if let Some(card) = cards.get(&id) {
            match card.database {
                same if same == database => "it is not selected any more".to_owned(),
                other if crawl.collections.contains_key(&id) && other != database => continue,
                other => format!("it belongs to the database {other} now"),
            }
        } else {
            match rest.get(&format!("/api/card/{id}"), &[]).await {
                Ok(card) if card.get("archived").and_then(Value::as_bool) == Some(true) => continue,
                Ok(_) => "it was not listed".to_owned(),
                Err(error) if error.kind == RestErrorKind::NotFound => continue,
                Err(error) if error.is_about_one() => error.message,
                Err(error) => return Err(error),
            }
        };
        crawl.snapshot.left_out.push(LeftOut {
            path: file.clone(),
            reason,
        });
    }
    Ok(())
}
