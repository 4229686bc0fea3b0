//! The shard of a table and its key there.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_vocabulary::{ConnectionId, TableRef};
use sha2::{Digest as _, Sha256};

pub fn shards_folder(connection: &ConnectionId) -> String {
    format!("semantic-layer/{connection}/_schema")
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub file: String,
    pub own_file: String,
    /// The bare name, or the qualified name if two tables of the shard share it.
    pub key: String,
    /// The key, or the qualified name if two shards share it.
    pub source: String,
}

pub fn place_all(dialect: Dialect, tables: &[&TableRef]) -> BTreeMap<TableRef, Placement> {
    let mut bare: BTreeMap<&str, usize> = BTreeMap::new();
    let mut in_shard: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let mut lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut lower_own: BTreeMap<String, usize> = BTreeMap::new();
    for table in tables {
        let key = shard_key(dialect, table);
        *bare.entry(&table.name).or_insert(0) += 1;
        *lower_own
            .entry(own(&key, &table.name).to_lowercase())
            .or_insert(0) += 1;
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
            let spellings = lower.get(&shard.to_lowercase()).map_or(0, Vec::len);
            let file = file_name(&shard, NameCollision::of(spellings));
            let alike = lower_own.get(&own(&shard, &table.name).to_lowercase());
            let own_collision = NameCollision::of(alike.copied().unwrap_or_default());
            let own_file = own_file_name(&shard, &table.name, own_collision);
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
            let placement = Placement {
                file,
                own_file,
                key,
                source,
            };
            ((*table).clone(), placement)
        })
        .collect()
}

/// Another table took its short name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedSource {
    pub before: String,
    pub now: String,
}

pub fn renamed<'t>(
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

/// Separates schema and table in a table's own file; schema shards never contain it.
const OWN: char = '+';

fn own(shard: &str, table: &str) -> String {
    format!("{shard}{OWN}{table}")
}

pub fn is_own_file(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or(path).contains(OWN)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NameCollision {
    None,
    ByCase,
}

impl NameCollision {
    const fn of(count: usize) -> Self {
        if count > 1 { Self::ByCase } else { Self::None }
    }
}

fn own_file_name(shard: &str, table: &str, collision: NameCollision) -> String {
    let whole = own(shard, table);
    let is_short = whole.len() <= 100;
    if is_short && collision == NameCollision::None && is_plain(shard) && is_plain(table) {
        return format!("{whole}.yaml");
    }
    let (slug, digits) = slug_and_digits(&whole);
    format!("{slug}{OWN}{digits}.yaml")
}

fn is_plain(name: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte);
    name.len() <= 100
        && !name.starts_with('.')
        && !name.is_empty()
        && name.bytes().all(is_safe)
        && !is_reserved(name)
}

/// Adds a hash if a file system could refuse the key.
fn file_name(shard: &str, collision: NameCollision) -> String {
    if is_plain(shard) && collision == NameCollision::None {
        return format!("{shard}.yaml");
    }
    let (slug, digits) = slug_and_digits(shard);
    format!("{slug}-{digits}.yaml")
}

fn slug_and_digits(text: &str) -> (String, String) {
    let slug: String = text
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
    let hash = Sha256::digest(text.as_bytes());
    let digits: String = hash
        .iter()
        .take(4)
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect();
    (slug, digits)
}

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
