//! Overlays that omit what the scan already knows.

use serde::Serialize;

use super::{Fate, Losses};
use ktx_semantic_layer::authored::{
    Column, ColumnOverride, Descriptions, Join, ManifestEntry, Measure, Meta, Segment, Standalone,
};
use ktx_semantic_layer::{Catalog, ScannedTable};
use ktx_semantic_layer::{Source, column_type};

#[derive(Debug, Serialize)]
pub(super) struct Additions {
    name: String,
    descriptions: Option<Descriptions>,
    grain: Option<Vec<String>>,
    columns: Vec<Column>,
    column_overrides: Vec<ColumnOverride>,
    joins: Vec<Join>,
    measures: Vec<Measure>,
    segments: Vec<Segment>,
    default_time_dimension: Option<Meta>,
    usage: Option<Meta>,
}

pub(super) fn scanned<'a>(into: &'a Catalog, name: &str) -> Option<&'a ScannedTable> {
    into.scanned_table(name).filter(|table| table.name == name)
}

/// `known` is the existing source over the table.
pub(super) fn on(
    source: Standalone,
    entry: &ManifestEntry,
    known: Option<&Source>,
    losses: &mut Losses,
) -> Additions {
    let name = source.name;
    let keys: Vec<&String> = entry
        .columns
        .iter()
        .filter(|column| column.pk)
        .map(|column| &column.name)
        .collect();
    let is_scanned_grain = source.grain.iter().collect::<Vec<_>>() == keys;
    let (computed, plain): (Vec<Column>, Vec<Column>) = source
        .columns
        .into_iter()
        .partition(|column| column.expr.is_some());
    let mut overrides = Vec::new();
    for column in plain {
        let scanned = entry
            .columns
            .iter()
            .find(|scanned| scanned.name.eq_ignore_ascii_case(&column.name));
        let Some(scanned) = scanned else {
            losses.add(
                format!("{name}.{}", column.name),
                "field",
                Fate::Dropped,
                "the scanned table has no such column",
            );
            continue;
        };
        // The scan has the columns that only expressions mention.
        let Some(declared) = column.kind else {
            continue;
        };
        let kind = column_type(&scanned.kind);
        if declared != kind {
            losses.add(
                format!("{name}.{}", column.name),
                "type",
                Fate::Dropped,
                format!("the type stays `{}`, as scanned", kind.name()),
            );
        }
        let texts = column
            .descriptions
            .filter(|texts| Some(texts) != scanned.descriptions.as_ref());
        let role = column
            .role
            .filter(|_| kind != ktx_semantic_layer::authored::ColumnType::Time);
        if texts.is_some() || column.visibility.is_some() || role.is_some() {
            overrides.push(ColumnOverride {
                name: scanned.name.clone(),
                role,
                visibility: column.visibility,
                descriptions: texts,
                constraints: None,
                enum_values: None,
                tests: None,
            });
        }
    }
    let joins = source
        .joins
        .into_iter()
        .filter(|join| !is_scanned(join, entry, known))
        .collect();
    Additions {
        descriptions: source
            .descriptions
            .filter(|texts| Some(texts) != entry.descriptions.as_ref()),
        grain: (!is_scanned_grain && !source.grain.is_empty()).then_some(source.grain),
        columns: computed,
        column_overrides: overrides,
        joins,
        measures: source.measures,
        segments: source.segments,
        default_time_dimension: source.default_time_dimension,
        usage: source.usage,
        name,
    }
}

/// Ignores the spelling of the condition.
fn is_scanned(join: &Join, entry: &ManifestEntry, known: Option<&Source>) -> bool {
    let in_shard = |on: &str| entry.joins.iter().any(|other| other.on == on);
    let mut scanned = known
        .into_iter()
        .flat_map(|source| &source.joins)
        .filter(|other| other.to == join.to && in_shard(&other.on));
    join.alias.is_none()
        && scanned.any(|other| {
            let pairs = other
                .pairs
                .iter()
                .map(|(own, target)| format!("{own} = {}.{target}", other.to));
            let mut wanted: Vec<String> = pairs.collect();
            let mut written: Vec<String> = join
                .on
                .split(" AND ")
                .map(|pair| pair.replace(['"', '`', '[', ']'], ""))
                .collect();
            wanted.sort();
            written.sort();
            wanted == written
        })
}
