//! Reads links that context sources state: `constraints.<writer>.references` in the shards.

use std::collections::BTreeMap;

use ktx_manifest::place;
use ktx_manifest::shards_folder;
use ktx_relationships::links::joins::Joins;
use ktx_warehouse::Table;
use serde_yaml::{Mapping, Value};

use crate::history::Catalog;
use crate::request::{ScanError, ScanRequest};

const REFERENCES: &str = "references";

/// Writing a shard reports it if it cannot be parsed.
pub(crate) fn read(
    request: &ScanRequest,
    tables: &[Table],
    joins: &mut Joins,
) -> Result<(), ScanError> {
    let folder = shards_folder(&request.connection);
    let files = request.files.as_ref();
    let catalog = Catalog::of(tables);
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, table) in tables.iter().enumerate() {
        places.insert(place::written(&table.table), at);
        places.entry(table.table.to_string()).or_insert(at);
    }
    for path in files.list(&folder).map_err(ScanError::file(&folder))? {
        let bytes = files.read(&path).map_err(ScanError::file(&path))?;
        let text = bytes.as_deref().map(str::from_utf8);
        // Most shards have no references.
        let Some(Ok(text)) = text.filter(|text| text.is_ok_and(|text| text.contains(REFERENCES)))
        else {
            continue;
        };
        let shard: Mapping = serde_yaml::from_str(text).unwrap_or_default();
        for (own, column, table, other) in stated(&shard) {
            let find = |table: &str, column: &str| catalog.column(*places.get(table)?, column);
            if let (Some(child), Some(parent)) = (find(own, column), find(table, other)) {
                joins.state(child, parent);
            }
        }
    }
    Ok(())
}

/// Yields table, column, referenced table, referenced column.
fn stated(shard: &Mapping) -> impl Iterator<Item = (&str, &str, &str, &str)> {
    let tables = shard.get("tables").and_then(Value::as_mapping);
    let entries = tables.into_iter().flatten().filter_map(|(key, entry)| {
        let entry = entry.as_mapping()?;
        let place = entry.get("table").unwrap_or(key).as_str()?;
        Some((place, entry.get("columns")?.as_sequence()?))
    });
    let columns = entries.flat_map(|(place, columns)| {
        let columns = columns.iter().filter_map(Value::as_mapping);
        columns.map(move |column| (place, column))
    });
    columns.flat_map(|(place, column)| {
        let name = column.get("name").and_then(Value::as_str);
        let writers = column.get("constraints").and_then(Value::as_mapping);
        let told = writers.into_iter().flatten().filter_map(|(_, told)| {
            let target = told.as_mapping()?.get(REFERENCES)?.as_mapping()?;
            let text = |key: &str| target.get(key).and_then(Value::as_str);
            Some((text("table")?, text("column")?))
        });
        told.filter_map(move |(table, other)| Some((place, name?, table, other)))
    })
}
