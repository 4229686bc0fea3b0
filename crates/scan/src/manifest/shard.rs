//! Which shard a table belongs to, and under which key it stands there.

use std::collections::BTreeMap;

use ktx_vocabulary::{ConnectionId, TableRef};
use ktx_warehouse::Dialect;
use sha2::{Digest as _, Sha256};

use crate::request::RenamedSource;

/// The folder of a connection's shards, relative to the project.
pub(crate) fn shards_folder(connection: &ConnectionId) -> String {
    format!("semantic-layer/{connection}/_schema")
}

/// The key of a table's shard: its schema, as each warehouse counts schemas.
fn shard_key(dialect: Dialect, table: &TableRef) -> String {
    let (catalog, db) = (table.catalog.as_deref(), table.db.as_deref());
    match dialect {
        Dialect::Snowflake => format!(
            "{}.{}",
            catalog.unwrap_or("default"),
            db.unwrap_or("public")
        ),
        Dialect::BigQuery | Dialect::MySql | Dialect::MariaDb | Dialect::ClickHouse => {
            db.or(catalog).unwrap_or("default").to_owned()
        }
        _ => db.unwrap_or("public").to_owned(),
    }
}

/// Where every table stands: file and key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The file name in the shards' folder.
    pub(crate) file: String,
    /// The key under `tables`: the bare name, or the full place where two tables of the shard share it.
    pub(crate) key: String,
    /// The name by which other tables refer to it: the key, or the full place where two shards share it.
    pub(crate) source: String,
}

/// Places all tables of a snapshot.
pub(crate) fn place_all(dialect: Dialect, tables: &[&TableRef]) -> BTreeMap<TableRef, Placement> {
    let mut bare: BTreeMap<&str, usize> = BTreeMap::new();
    let mut in_shard: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for table in tables {
        let key = shard_key(dialect, table);
        *bare.entry(&table.name).or_insert(0) += 1;
        let spellings = lower.entry(key.to_lowercase()).or_default();
        if !spellings.contains(&key) {
            spellings.push(key.clone());
        }
        *in_shard.entry((key, &table.name)).or_insert(0) += 1;
    }
    tables
        .iter()
        .map(|table| {
            let shard = shard_key(dialect, table);
            let several = lower
                .get(&shard.to_lowercase())
                .is_some_and(|spellings| spellings.len() > 1);
            let file = file_name(&shard, several);
            let shared = in_shard
                .get(&(shard, table.name.as_str()))
                .is_some_and(|count| *count > 1);
            let key = if shared {
                table.to_string()
            } else {
                table.name.clone()
            };
            let everywhere = bare
                .get(table.name.as_str())
                .is_some_and(|count| *count > 1);
            let source = if everywhere {
                table.to_string()
            } else {
                key.clone()
            };
            ((*table).clone(), Placement { file, key, source })
        })
        .collect()
}

/// The sources that give up their short name between two scans.
pub(crate) fn renamed<'t>(
    dialect: Dialect,
    before: impl Iterator<Item = &'t TableRef>,
    now: impl Iterator<Item = &'t TableRef>,
) -> Vec<RenamedSource> {
    let before = place_all(dialect, &before.collect::<Vec<_>>());
    let now = place_all(dialect, &now.collect::<Vec<_>>());
    let changed = before.into_iter().filter_map(|(table, known)| {
        let place = now.get(&table)?;
        (place.source != known.source).then(|| RenamedSource {
            before: known.source,
            now: place.source.clone(),
        })
    });
    changed.collect()
}

/// A file name that is the shard's key where every file system can hold it, else a near one with a hash.
/// `several`: other keys differ from this one in case only.
fn file_name(shard: &str, several: bool) -> String {
    let plain = shard.len() <= 100
        && !shard.starts_with('.')
        && shard
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte))
        && !is_reserved(shard);
    if plain && !several {
        return format!("{shard}.yaml");
    }
    let slug: String = shard
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let hash = Sha256::digest(shard.as_bytes());
    let digits: String = hash
        .iter()
        .take(4)
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect();
    format!("{slug}-{digits}.yaml")
}

/// Names that Windows keeps for devices.
fn is_reserved(name: &str) -> bool {
    let stem = name
        .split('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|digit: char| digit.is_ascii_digit()))
}
