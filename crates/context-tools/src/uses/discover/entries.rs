//! Turns hits into references, one for each thing.

use ktx_search::Hit;
use ktx_semantic_layer::{ColumnType, Source, SuggestedItem, Visibility, suggest};
use ktx_vocabulary::TableRef;

use crate::scans::{RowsRead, Shown, ValueRange};
use crate::uses::shown_confidence;
use crate::uses::suggested::source_facts;
use crate::wire::{DiscoverKind, DiscoverRef, Payload, TablePlace};

use super::ConnectionData;
use super::quantities::rows_of;

const SNIPPET_LETTERS: usize = 200;

/// A date is the beginning of a time.
const DAY_LETTERS: usize = 10;

struct Place<'a> {
    known: &'a ConnectionData,
    shown: Option<Shown<'a>>,
}

/// Best first. A table merges into its source, a column into its dimension.
pub(super) fn entries(found: Vec<(Hit, f64)>, known: &[ConnectionData]) -> Vec<DiscoverRef> {
    let places = places(known);
    let mut refs: Vec<(String, DiscoverRef)> = Vec::new();
    for (hit, score) in found {
        let place = places
            .iter()
            .find(|place| Some(place.known.id.as_str()) == hit.connection.as_deref());
        // Another version of the index may have written the payload.
        let payload: Payload = serde_json::from_str(&hit.payload).unwrap_or_default();
        let name = thing(&hit, &payload, place);
        let entry = reference(&hit, &payload, score);
        let known = refs.iter_mut().find(|(other, _)| *other == name);
        if let Some((_, better)) = known {
            merge(better, entry);
        } else {
            refs.push((name, entry));
        }
    }
    refs.into_iter().map(|(_, entry)| entry).collect()
}

fn places(known: &[ConnectionData]) -> Vec<Place<'_>> {
    let places = known.iter().map(|known| {
        let snapshot = known.snapshot.as_deref();
        Place {
            known,
            shown: snapshot.map(|snapshot| Shown::of(&known.catalog, snapshot)),
        }
    });
    places.collect()
}

pub(super) fn add_ranges(refs: &mut [DiscoverRef], known: &[ConnectionData]) {
    let places = places(known);
    for entry in refs {
        let place = places
            .iter()
            .find(|place| Some(place.known.id.as_str()) == entry.connection_id.as_deref());
        entry.data_range = place.and_then(|place| data_range(entry, place));
    }
}

fn merge(better: &mut DiscoverRef, mut other: DiscoverRef) {
    let is_semantic = matches!(
        other.kind,
        DiscoverKind::SlSource | DiscoverKind::SlDimension
    );
    if is_semantic {
        std::mem::swap(better, &mut other);
        better.score = other.score;
    }
    better.table_ref = better.table_ref.take().or(other.table_ref);
    better.column_name = better.column_name.take().or(other.column_name);
    better.summary = better.summary.take().or(other.summary);
}

/// Equal for a column and its dimension, and for a table and its source.
fn thing(hit: &Hit, payload: &Payload, place: Option<&Place<'_>>) -> String {
    let connection = hit.connection.as_deref().unwrap_or_default();
    let kind = DiscoverKind::of(hit.kind);
    let semantic = |name: &str| format!("{connection} semantic {name}");
    match kind {
        DiscoverKind::SlSource | DiscoverKind::SlDimension => return semantic(&hit.id),
        DiscoverKind::Table | DiscoverKind::Column => {}
        DiscoverKind::Wiki | DiscoverKind::SlMeasure => {
            return format!("{connection} {kind:?} {}", hit.id);
        }
    }
    let source = place.and_then(|place| place.shown.as_ref()?.source(payload.table.as_ref()?));
    match (source, &payload.column) {
        (Some(source), None) => semantic(&source.name),
        (Some(source), Some(column)) => match dimension(source, column) {
            Some(name) => semantic(&format!("{}.{name}", source.name)),
            None => format!("{connection} {kind:?} {}", hit.id),
        },
        (None, _) => format!("{connection} {kind:?} {}", hit.id),
    }
}

fn dimension<'a>(source: &'a Source, column: &str) -> Option<&'a str> {
    let mut public = source
        .columns
        .iter()
        .filter(|one| one.visibility == Visibility::Public && one.expr.is_none());
    let found = public.find(|one| one.name.eq_ignore_ascii_case(column));
    found.map(|one| one.name.as_str())
}

fn reference(hit: &Hit, payload: &Payload, score: f64) -> DiscoverRef {
    DiscoverRef {
        kind: DiscoverKind::of(hit.kind),
        id: hit.id.clone(),
        suggested: None,
        score,
        confidence: shown_confidence(hit.confidence),
        summary: hit.summary.clone(),
        snippet: hit.snippet.as_deref().map(plain_snippet),
        matched_on: hit.matched_on.as_str().to_owned(),
        connection_id: hit.connection.clone(),
        table_ref: payload.table.as_ref().map(TablePlace::from),
        column_name: payload.column.clone(),
        data_range: None,
    }
}

/// A measure has its source's range.
fn data_range(entry: &DiscoverRef, place: &Place<'_>) -> Option<String> {
    let shown = place.shown.as_ref()?;
    let catalog = &place.known.catalog;
    let (name, column) = match entry.kind {
        DiscoverKind::SlSource => (entry.id.as_str(), None),
        DiscoverKind::SlMeasure if entry.suggested == Some(true) => (rows_of(&entry.id)?, None),
        DiscoverKind::SlMeasure => (entry.id.split('.').next()?, None),
        DiscoverKind::SlDimension => {
            let (source, column) = entry.id.split_once('.')?;
            (source, Some(column))
        }
        DiscoverKind::Table | DiscoverKind::Column => {
            let table = TableRef::from(entry.table_ref.as_ref()?);
            (
                shown.source(&table)?.name.as_str(),
                entry.column_name.as_deref(),
            )
        }
        DiscoverKind::Wiki => return None,
    };
    let source = catalog.source(name)?;
    let table = &shown.places().read_by(source)?.table;
    let column = match column {
        Some(column) => source
            .columns
            .iter()
            .find(|one| one.name == column && one.kind == ColumnType::Time)
            .map(|one| one.name.clone())?,
        None => time_column(source, place)?,
    };
    range_text(&column, table, shown)
}

fn time_column(source: &Source, place: &Place<'_>) -> Option<String> {
    let catalog = &place.known.catalog;
    let facts = source_facts(source, catalog, place.known.snapshot.as_deref());
    let suggested = suggest(&facts).into_iter().find_map(|one| match one.item {
        SuggestedItem::TimeDimension { name } => Some(name),
        _ => None,
    });
    let mut times = source
        .columns
        .iter()
        .filter(|column| column.kind == ColumnType::Time);
    suggested.or_else(|| times.next().map(|column| column.name.clone()))
}

fn range_text(column: &str, table: &TableRef, shown: &Shown<'_>) -> Option<String> {
    let ValueRange {
        least,
        greatest,
        rows,
    } = shown.range(table, column)?;
    let day = |text: &str| text.chars().take(DAY_LETTERS).collect::<String>();
    let range = format!("{column} from {} to {}", day(least), day(greatest));
    Some(match rows {
        RowsRead::All => range,
        RowsRead::Sample => format!("{range} in a sample"),
    })
}

fn plain_snippet(snippet: &str) -> String {
    let plain = snippet.replace("<mark>", "").replace("</mark>", "");
    if plain.chars().count() <= SNIPPET_LETTERS {
        return plain;
    }
    let cut: String = plain.chars().take(SNIPPET_LETTERS - 1).collect();
    format!("{cut}…")
}
