//! Suggests measures of a source, in the syntax of `sl_query`.

use std::collections::BTreeMap;

use ktx_semantic_layer::{Catalog, Declared, Source, SourceFacts, SuggestedItem, suggest};

use crate::scans::ScanSnapshot;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SuggestedMeasure {
    pub(crate) name: String,
    pub(crate) expr: String,
    pub(crate) reason: String,
}

pub fn source_facts<'a>(
    source: &'a Source,
    catalog: &Catalog,
    snapshot: Option<&ScanSnapshot>,
) -> SourceFacts<'a> {
    let composed = catalog.composed(&source.name);
    let declared = composed.and_then(|composed| composed.source.default_time_dimension.as_ref());
    let mut values = BTreeMap::new();
    if let Some(snapshot) = snapshot
        && let Some(scanned) = snapshot.table_of(source)
    {
        for column in &source.columns {
            let seen = snapshot.values(&scanned.table, &column.name);
            values.insert(column.name.clone(), seen.to_vec());
        }
    }
    SourceFacts {
        source,
        time_dimension: match declared {
            Some(_) => Declared::Yes,
            None => Declared::No,
        },
        values,
    }
}

pub(crate) fn suggested_measures(
    source: &Source,
    catalog: &Catalog,
    snapshot: Option<&ScanSnapshot>,
) -> Vec<SuggestedMeasure> {
    let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_';
    if !source.name.chars().all(is_plain) {
        return Vec::new();
    }
    let suggestions = suggest(&source_facts(source, catalog, snapshot));
    let measures = suggestions.into_iter().filter_map(|one| match one.item {
        SuggestedItem::Measure { name, expr } => Some(SuggestedMeasure {
            name,
            // Each suggestion aggregates one plain column, or the rows.
            expr: expr.replace('(', &format!("({}.", source.name)),
            reason: one.reason,
        }),
        _ => None,
    });
    measures.collect()
}
