//! Merges a scan into the existing shards and keeps what others wrote.

use std::collections::{BTreeMap, BTreeSet};

use ktx_manifest::place;
use ktx_manifest::{Change as ShardChange, change, parse};
use ktx_manifest::{Placement, place_all, shards_folder};
use ktx_project_store::{Change, ProjectPath};
use ktx_relationships::links::link::Link;
use ktx_relationships::profile::table::TableProfile;
use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, DimensionType, ScanWarning, Table};
use serde_yaml::{Mapping, Value};

use crate::describe::TableDescription;
use crate::history::usage::Usage;
use crate::manifest::joins::{
    FoundJoin, Join, JoinSource, PreviousJoin, ReadTables, collapsed, forbidden, joins_of,
    merged_joins, simple_pairs,
};
use crate::manifest::seats::Seats;
use crate::manifest::usage::usage;
use crate::manifest::warnings::{not_edited, unreadable};
use crate::ports::ProjectFiles;
use crate::request::{ScanError, ScanRequest};
use crate::wire::TableArtifact;

pub(crate) struct ManifestInput<'a> {
    pub(crate) request: &'a ScanRequest,
    pub(crate) tables: &'a [Table],
    pub(crate) known: &'a BTreeMap<TableRef, TableArtifact>,
    /// Tables that can still exist; their entries stay.
    pub(crate) unread: &'a BTreeSet<String>,
    pub(crate) links: &'a [Link],
    pub(crate) profiles: Option<&'a BTreeMap<TableRef, TableProfile>>,
    pub(crate) descriptions: &'a BTreeMap<TableRef, TableDescription>,
    /// Tables without an entry keep their usage.
    pub(crate) usage: &'a Usage,
}

#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) shards: Vec<String>,
    pub(crate) changes: Vec<Change>,
    pub(crate) warnings: Vec<ScanWarning>,
}

pub(crate) fn compose(input: &ManifestInput<'_>) -> Result<Manifest, ScanError> {
    let dialect = input.request.connector.dialect();
    let places = place_all(
        dialect,
        &input
            .tables
            .iter()
            .map(|table| &table.table)
            .filter(|table| place::is_usable(&table.name))
            .collect::<Vec<_>>(),
    );
    let folder = shards_folder(&input.request.connection);
    let shards = shards(input.request.files.as_ref(), &folder)?;
    let seats = Seats::new((&shards, &folder), &places, input.known);
    let mut manifest = Manifest::default();
    let mut by_file: BTreeMap<String, Vec<&Table>> = BTreeMap::new();
    for table in input.tables {
        if let Some(path) = seats.path(&table.table) {
            by_file.entry(path.clone()).or_default().push(table);
        } else {
            manifest.warnings.push(unusable(&table.table));
        }
    }
    for path in shards.keys() {
        by_file.entry(path.clone()).or_default();
    }
    let tables = input.tables.iter().map(|table| (&table.table, table));
    let tables = tables.collect();
    let read = ReadTables {
        tables: &tables,
        profiles: input.profiles,
    };
    let merger = Merger {
        input,
        joins: joins_of(dialect, input.links, &places, read),
        forbidden: forbidden(dialect, input.links, &places),
        columns: columns_by_source(input.tables, &places),
        places: &places,
        seats: &seats,
    };
    for (path, tables) in by_file {
        let bytes = shards.get(&path).map(Vec::as_slice);
        merger.shard(bytes, &path, &tables, &mut manifest)?;
    }
    Ok(manifest)
}

fn shards(files: &dyn ProjectFiles, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, ScanError> {
    let mut shards = BTreeMap::new();
    for path in files.list(folder).map_err(ScanError::file(folder))? {
        let is_yaml = matches!(path.rsplit_once('.'), Some((_, "yaml" | "yml")));
        let rest = path.strip_prefix(folder).unwrap_or_default();
        if is_yaml && rest.matches('/').count() == 1 {
            let bytes = files.read(&path).map_err(ScanError::file(&path))?;
            shards.insert(path, bytes.unwrap_or_default());
        }
    }
    Ok(shards)
}

fn columns_by_source<'a>(
    tables: &'a [Table],
    places: &'a BTreeMap<TableRef, Placement>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let named = |table: &'a Table| {
        let columns: BTreeSet<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        places
            .get(&table.table)
            .map(|place| (place.source.as_str(), columns))
    };
    tables.iter().filter_map(named).collect()
}

struct Merger<'a> {
    input: &'a ManifestInput<'a>,
    joins: BTreeMap<TableRef, Vec<FoundJoin>>,
    forbidden: BTreeSet<(TableRef, String)>,
    columns: BTreeMap<&'a str, BTreeSet<&'a str>>,
    places: &'a BTreeMap<TableRef, Placement>,
    seats: &'a Seats,
}

impl Merger<'_> {
    fn shard(
        &self,
        bytes: Option<&[u8]>,
        path: &str,
        tables: &[&Table],
        manifest: &mut Manifest,
    ) -> Result<(), ScanError> {
        let standing = match bytes.map(read) {
            None => None,
            Some(Ok(standing)) => Some(standing),
            Some(Err(reason)) => {
                manifest.shards.push(path.to_owned());
                manifest.warnings.push(unreadable(path, &reason));
                return Ok(());
            }
        };
        let value = standing.as_ref().map(|(_, value)| value);
        let merged = self.merged(value, tables, &mut manifest.warnings);
        let standing = standing.as_ref().map(|(text, value)| (*text, value));
        match change(standing, &merged) {
            Ok(ShardChange::Absent) => return Ok(()),
            Ok(ShardChange::Gone) => {
                manifest
                    .changes
                    .push(Change::delete(ProjectPath::parse(path)?));
                return Ok(());
            }
            Ok(ShardChange::Same) => {}
            Ok(ShardChange::Text(text)) => manifest
                .changes
                .push(Change::write(ProjectPath::parse(path)?, text)),
            Err(obstacle) => manifest.warnings.push(not_edited(path, &obstacle)),
        }
        manifest.shards.push(path.to_owned());
        Ok(())
    }

    fn is_unread(&self, place: &str) -> bool {
        let unread = self.input.unread;
        unread.contains(place) || unread.contains(&place::spoken(place))
    }

    fn merged(
        &self,
        standing: Option<&Mapping>,
        tables: &[&Table],
        warnings: &mut Vec<ScanWarning>,
    ) -> Mapping {
        let empty = Mapping::new();
        let old = standing
            .and_then(|map| map.get("tables"))
            .and_then(Value::as_mapping)
            .unwrap_or(&empty);
        let mut entries: BTreeMap<String, Value> = BTreeMap::new();
        let mut by_place: BTreeMap<&str, &Value> = BTreeMap::new();
        for (key, value) in old {
            let place = value
                .get("table")
                .and_then(Value::as_str)
                .unwrap_or_default();
            by_place.entry(place).or_insert(value);
            if let Some(key) = key.as_str().filter(|_| self.is_unread(place)) {
                entries.insert(key.to_owned(), value.clone());
            }
        }
        for table in tables {
            let Some(place) = self.places.get(&table.table) else {
                continue;
            };
            // Older versions did not quote names.
            let (full, plain) = (place::written(&table.table), table.table.to_string());
            let means = |text: &Value| {
                text.as_str()
                    .is_some_and(|text| text == full || text == plain)
            };
            let is_it = |entry: &&Value| entry.get("table").is_none_or(means);
            let known = old.get(place.key.as_str()).filter(is_it);
            let moved = || {
                let plain = || by_place.get(plain.as_str());
                by_place.get(full.as_str()).or_else(plain).copied()
            };
            let known = known.or_else(moved).and_then(Value::as_mapping);
            let entry = self.entry(table, known, warnings);
            entries.insert(place.key.clone(), Value::Mapping(entry));
        }
        let mut document = standing.cloned().unwrap_or_default();
        let tables: Mapping = entries
            .into_iter()
            .map(|(key, value)| (Value::String(key), value))
            .collect();
        document.insert("tables".into(), Value::Mapping(tables));
        document
    }

    fn entry(
        &self,
        table: &Table,
        known: Option<&Mapping>,
        warnings: &mut Vec<ScanWarning>,
    ) -> Mapping {
        let described = self.input.descriptions.get(&table.table);
        let old = |key: &str| known.and_then(|map| map.get(key));
        let mut entry = Mapping::new();
        entry.insert("table".into(), place::written(&table.table).into());
        let ai = described.and_then(|described| described.table.as_deref());
        insert_descriptions(
            &mut entry,
            old("descriptions"),
            table.comment.as_deref(),
            ai,
        );
        let seen = self.input.usage.get(&table.table);
        if let Some(usage) = usage(old("usage"), seen, self.input.request.now) {
            entry.insert("usage".into(), usage);
        }
        let columns = table.columns.iter().map(|column| {
            let standing = old("columns")
                .and_then(Value::as_sequence)
                .into_iter()
                .flatten();
            let known = standing
                .filter_map(Value::as_mapping)
                .find(|map| map.get("name").and_then(Value::as_str) == Some(column.name.as_str()));
            let ai = described
                .and_then(|described| described.columns.get(&column.name))
                .map(String::as_str);
            Value::Mapping(column_entry(
                column,
                self.type_of(table, column, known),
                known,
                ai,
            ))
        });
        entry.insert("columns".into(), Value::Sequence(columns.collect()));
        let joins = merged_joins(old("joins"), &self.found(&table.table), |join| {
            if !self.is_kept(table, join) {
                return false;
            }
            let refuted = self.refuted(table, join);
            if let Some(column) = &refuted {
                warnings.push(no_key_any_more(&table.table.to_string(), join.on, column));
            }
            refuted.is_none()
        });
        if !joins.is_empty() {
            entry.insert("joins".into(), Value::Sequence(joins));
        }
        for (key, value) in known.into_iter().flatten() {
            let owned = ["descriptions", "joins"].iter().any(|own| key == own);
            if !owned && !entry.contains_key(key) {
                entry.insert(key.clone(), value.clone());
            }
        }
        entry
    }

    /// SQLite has no type for times: texts that are all times are times, also in later scans that
    /// read no values.
    fn type_of(&self, table: &Table, column: &Column, known: Option<&Mapping>) -> &'static str {
        let written = match column.dimension_type {
            DimensionType::Time => "time",
            DimensionType::String => "string",
            DimensionType::Number => "number",
            DimensionType::Boolean => "boolean",
        };
        let is_sqlite = self.input.request.connector.dialect() == Dialect::Sqlite;
        if !is_sqlite || column.dimension_type != DimensionType::String {
            return written;
        }
        let profiles = self.input.profiles;
        let profile = profiles
            .and_then(|profiles| profiles.get(&table.table))
            .and_then(|profile| profile.column(&column.name));
        let known = known.and_then(|map| map.get("type")?.as_str());
        match profile {
            Some(profile) if profile.holds_times => "time",
            None if known == Some("time") => "time",
            _ => written,
        }
    }

    fn found(&self, table: &TableRef) -> Vec<Join> {
        let Some(own) = self.places.get(table) else {
            return Vec::new();
        };
        let found = self.joins.get(table).into_iter().flatten();
        let here = found.filter(|found| {
            let far = self.places.get(&found.far);
            far.is_some_and(|far| self.seats.holds((table, own), found, far))
        });
        here.map(|found| found.join.clone()).collect()
    }

    /// Returns false if a table or column is gone or a person rejected the join.
    fn is_kept(&self, table: &Table, join: &PreviousJoin<'_>) -> bool {
        let Some(target) = self.columns.get(join.to) else {
            return false;
        };
        let text = collapsed(join.on);
        if join.source == JoinSource::Inferred
            && self.forbidden.contains(&(table.table.clone(), text))
        {
            return false;
        }
        let Some(pairs) = simple_pairs(join.on) else {
            return true;
        };
        let own = |name: &str| table.columns.iter().any(|column| column.name == name);
        pairs.iter().all(|(left, right)| {
            (own(left) && target.contains(right.as_str()))
                || (own(right) && target.contains(left.as_str()))
        })
    }

    /// Returns the key column whose values repeat: sums over the join would be too large.
    fn refuted(&self, table: &Table, join: &PreviousJoin<'_>) -> Option<String> {
        if join.source != JoinSource::Inferred {
            return None;
        }
        let pairs = simple_pairs(join.on)?;
        let [(left, right)] = pairs.as_slice() else {
            return None;
        };
        let target = self.columns.get(join.to)?;
        let straight = table.columns.iter().any(|column| column.name == *left)
            && target.contains(right.as_str());
        let (own, other) = if straight {
            (left, right)
        } else {
            (right, left)
        };
        let far = || {
            let is_it = |(_, place): &(&TableRef, &Placement)| place.source == join.to;
            self.places.iter().find(is_it).map(|(table, _)| table)
        };
        let (one_here, one_there) = match join.relationship {
            "many_to_one" => (false, true),
            "one_to_many" => (true, false),
            "one_to_one" => (true, true),
            _ => (false, false),
        };
        if one_here && self.repeats(&table.table, own) {
            return Some(format!("{}.{own}", table.table));
        }
        let far = far().filter(|_| one_there)?;
        self.repeats(far, other).then(|| format!("{far}.{other}"))
    }

    /// Allows for dirty data.
    fn repeats(&self, table: &TableRef, column: &str) -> bool {
        let profiles = self.input.profiles;
        profiles
            .and_then(|profiles| profiles.get(table))
            .and_then(|profile| profile.column(column))
            .is_some_and(|column| column.values > 0 && column.uniqueness() < KEY)
    }
}

/// Same minimum as in discovery.
const KEY: f64 = 0.98;

fn no_key_any_more(table: &str, on: &str, column: &str) -> ScanWarning {
    ScanWarning {
        code: "join_no_longer_holds".to_owned(),
        message: format!(
            "the inferred join `{on}` was removed: the values of `{column}` repeat; \
             write it with `source: manual` to keep it"
        ),
        table: Some(table.to_owned()),
        column: None,
        recoverable: true,
    }
}

fn column_entry(
    column: &Column,
    kind: &'static str,
    known: Option<&Mapping>,
    ai: Option<&str>,
) -> Mapping {
    let mut entry = Mapping::new();
    entry.insert("name".into(), column.name.clone().into());
    entry.insert("type".into(), kind.into());
    if column.primary_key {
        entry.insert("pk".into(), true.into());
    }
    if !column.nullable {
        entry.insert("nullable".into(), false.into());
    }
    insert_descriptions(
        &mut entry,
        known.and_then(|map| map.get("descriptions")),
        column.comment.as_deref(),
        ai,
    );
    for (key, value) in known.into_iter().flatten() {
        let owned = ["pk", "nullable", "descriptions"]
            .iter()
            .any(|own| key == own);
        if !owned && !entry.contains_key(key) {
            entry.insert(key.clone(), value.clone());
        }
    }
    entry
}

/// `db` and `ai` belong to the scan. Keeps the old `ai` if there is no new one.
fn insert_descriptions(
    entry: &mut Mapping,
    known: Option<&Value>,
    db: Option<&str>,
    ai: Option<&str>,
) {
    let known = known.and_then(Value::as_mapping);
    let mut descriptions = Mapping::new();
    if let Some(text) = db.filter(|text| !text.trim().is_empty()) {
        descriptions.insert("db".into(), text.into());
    }
    let old = known.and_then(|map| map.get("ai")).cloned();
    if let Some(text) = ai.map(Value::from).or(old) {
        descriptions.insert("ai".into(), text);
    }
    for (key, value) in known.into_iter().flatten() {
        if key != "db" && !descriptions.contains_key(key) {
            descriptions.insert(key.clone(), value.clone());
        }
    }
    if !descriptions.is_empty() {
        entry.insert("descriptions".into(), Value::Mapping(descriptions));
    }
}

fn read(bytes: &[u8]) -> Result<(&str, Mapping), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    Ok((text, parse(text)?))
}

/// No query can name the table.
fn unusable(table: &TableRef) -> ScanWarning {
    ScanWarning {
        code: "name_unusable".to_owned(),
        message: format!(
            "the table `{}` has no source: no query can name it; make a view of it with another name",
            table.to_string().escape_debug()
        ),
        table: Some(table.to_string()),
        column: None,
        recoverable: true,
    }
}
