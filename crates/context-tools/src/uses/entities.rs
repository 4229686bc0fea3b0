//! Describes scanned tables with facts of the semantic layer.

use std::collections::BTreeMap;

use ktx_config::Connection;
use ktx_diagnostics::{Failure, MAX_CANDIDATES, excerpt, nearest};
use ktx_semantic_layer::{Catalog, Relationship, Source};
use ktx_vocabulary::TableRef;

use crate::choice::{Candidates, Match, candidates, choose};
use crate::context::ProjectContext;
use crate::limits::check_text;
use crate::scans::{ScanSnapshot, ScannedTable, Shown};
use crate::wire::{
    ColumnItem, EntityDetails, EntityDetailsInput, EntityDetailsOutput, EntityError,
    EntityErrorCode, EntityFound, EntityInput, EntityMissing, ForeignKeyItem, JoinItem,
    SnapshotItem, TableName, TablePlace,
};

const VALUES_SHOWN: usize = 10;

/// In the order of the request.
pub async fn entity_details(
    context: &dyn ProjectContext,
    input: &EntityDetailsInput,
) -> Result<EntityDetailsOutput, Failure> {
    check_names(input)?;
    let connection = warehouse_for(context, input).await?;
    let id = connection.id.as_str();
    let snapshot = context.snapshot(&connection.id).await?;
    let catalog = context.catalog(&connection.id).await?;
    let details = snapshot.as_deref().map(|snapshot| Details {
        connection: id,
        snapshot,
        catalog: &catalog,
        shown: Shown::of(&catalog, snapshot),
    });
    let mut warnings = snapshot
        .as_deref()
        .map(|snapshot| snapshot.problems.clone())
        .unwrap_or_default();
    let mut results = Vec::with_capacity(input.entities.len());
    for request in &input.entities {
        let found = match &details {
            Some(details) => details.of(request, &mut warnings),
            None => Err(never_scanned(id)),
        };
        results.push(match found {
            Ok(found) => EntityDetails::Found(Box::new(found)),
            Err(error) => EntityDetails::Missing(Box::new(EntityMissing {
                ok: false,
                connection_id: id.to_owned(),
                table: request.table(),
                snapshot: snapshot.as_deref().map(snapshot_item),
                error,
            })),
        });
    }
    Ok(EntityDetailsOutput { results, warnings })
}

fn check_names(input: &EntityDetailsInput) -> Result<(), Failure> {
    for entity in &input.entities {
        match entity.table() {
            TableName::Text(text) => check_text("table", &text)?,
            TableName::Place(place) => {
                let outer = [&place.catalog, &place.db].into_iter().flatten();
                for part in outer.chain([&place.name]) {
                    check_text("table", part)?;
                }
            }
        }
        for column in entity.columns() {
            check_text("columns", column)?;
        }
    }
    Ok(())
}

/// The named or only warehouse, or the only one that scanned every table.
async fn warehouse_for(
    context: &dyn ProjectContext,
    input: &EntityDetailsInput,
) -> Result<Connection, Failure> {
    let several = match candidates(context, input.connection_id.as_deref()).await? {
        Candidates::One(connection) => return Ok(connection),
        Candidates::Several(several) => several,
    };
    let mut matches = Vec::with_capacity(several.len());
    for connection in several {
        let found = match context.snapshot(&connection.id).await {
            Ok(Some(snapshot)) => {
                let catalog = context.catalog(&connection.id).await?;
                let details = Details {
                    connection: connection.id.as_str(),
                    snapshot: &snapshot,
                    catalog: &catalog,
                    shown: Shown::of(&catalog, &snapshot),
                };
                details.tables_of(input)
            }
            Ok(None) => Match::Missing("it was never scanned".to_owned()),
            Err(failure) => Match::Unreadable(failure.message),
        };
        matches.push((connection, found));
    }
    choose(matches, context.reader())
}

fn never_scanned(id: &str) -> EntityError {
    EntityError {
        code: EntityErrorCode::ScanMissing,
        message: format!("`{id}` was never scanned; run `ktx scan {id}`"),
        candidates: Vec::new(),
    }
}

struct Details<'a> {
    connection: &'a str,
    snapshot: &'a ScanSnapshot,
    catalog: &'a Catalog,
    shown: Shown<'a>,
}

impl Details<'_> {
    fn tables_of(&self, input: &EntityDetailsInput) -> Match {
        for entity in &input.entities {
            match self.table(&entity.table()) {
                Err(error) if error.code == EntityErrorCode::TableUnreadable => {
                    return Match::Unreadable(error.message);
                }
                Err(error) if error.code == EntityErrorCode::TableNotFound => {
                    let near = error.candidates.first();
                    let near = near.map(|near| format!(", try `{near}`"));
                    return Match::Missing(error.message + &near.unwrap_or_default());
                }
                // An ambiguous name exists.
                Ok(_) | Err(_) => {}
            }
        }
        Match::Complete
    }

    fn of(
        &self,
        request: &EntityInput,
        warnings: &mut Vec<String>,
    ) -> Result<EntityFound, EntityError> {
        let table = self.table(&request.table())?;
        let source = self.shown.source(&table.table);
        if self.shown.withholds(&table.table) {
            warnings.push(format!(
                "no values of `{}` are shown: a source file that may hide some of its columns cannot be used; \
                 `ktx sl validate` says which",
                table.table
            ));
        }
        let columns = self.columns(table, source, request.columns())?;
        let foreign_keys = table.foreign_keys.iter().map(|key| ForeignKeyItem {
            from_column: key.from_column.clone(),
            to_catalog: key.to_table.catalog.clone(),
            to_db: key.to_table.db.clone(),
            to_table: key.to_table.name.clone(),
            to_column: key.to_column.clone(),
            constraint_name: key.constraint_name.clone(),
        });
        let joins = source
            .map(|source| source.joins.as_slice())
            .unwrap_or_default();
        Ok(EntityFound {
            ok: true,
            connection_id: self.connection.to_owned(),
            table_ref: TablePlace::from(&table.table),
            display: table.table.to_string(),
            kind: table.kind,
            comment: table.comment.clone(),
            estimated_rows: table.estimated_rows,
            columns,
            hidden_columns: table.columns.len() - self.shown.columns(table).count(),
            foreign_keys: foreign_keys.collect(),
            snapshot: snapshot_item(self.snapshot),
            source_name: source.map(|source| source.name.clone()),
            descriptions: source.map_or_else(BTreeMap::new, |source| source.descriptions.clone()),
            joins: joins
                .iter()
                .map(|join| JoinItem {
                    to: join.to.clone(),
                    on: join.on.clone(),
                    relationship: relationship(join.relationship).to_owned(),
                    alias: join.alias.clone(),
                    path: source.and_then(|source| self.catalog.join_name(&source.name, join)),
                })
                .collect(),
        })
    }

    fn table(&self, wanted: &TableName) -> Result<&ScannedTable, EntityError> {
        let tables = &self.snapshot.tables;
        let text = match wanted {
            TableName::Place(place) => {
                let place = TableRef {
                    catalog: place.catalog.clone(),
                    db: place.db.clone(),
                    name: place.name.clone(),
                };
                if let Some(found) = self.snapshot.table(&place) {
                    return Ok(found);
                }
                place.to_string()
            }
            TableName::Text(text) => text.trim().to_owned(),
        };
        if let Some(found) = tables.iter().find(|table| table.table.to_string() == text) {
            return Ok(found);
        }
        match self.shown.places().named(&text) {
            [only] => Ok(only),
            [] if self.snapshot.unread_tables > 0 => Err(EntityError {
                code: EntityErrorCode::TableUnreadable,
                message: format!(
                    "no table `{}` could be read from the last scan, and {} of its tables could not be read \
                     at all, see `warnings`; run `ktx scan {}`",
                    excerpt(&text),
                    self.snapshot.unread_tables,
                    self.connection
                ),
                candidates: near_tables(&text, tables),
            }),
            [] => Err(EntityError {
                code: EntityErrorCode::TableNotFound,
                message: format!(
                    "there is no table `{}` in the last scan; find tables with `discover_data`",
                    excerpt(&text)
                ),
                candidates: near_tables(&text, tables),
            }),
            several => Err(EntityError {
                code: EntityErrorCode::AmbiguousTable,
                message: format!(
                    "{} tables are called `{}`; give the full name",
                    several.len(),
                    excerpt(&text)
                ),
                candidates: several
                    .iter()
                    .take(MAX_CANDIDATES)
                    .map(|table| table.table.to_string())
                    .collect(),
            }),
        }
    }

    fn columns(
        &self,
        table: &ScannedTable,
        source: Option<&Source>,
        wanted: &[String],
    ) -> Result<Vec<ColumnItem>, EntityError> {
        let shown: Vec<_> = self.shown.columns(table).collect();
        let names = || shown.iter().map(|column| column.name.as_str());
        let mut chosen = Vec::new();
        match wanted {
            [] => chosen.extend(shown.iter().copied()),
            wanted => {
                for name in wanted {
                    let same = |other: &str| other == name || other.eq_ignore_ascii_case(name);
                    let found = shown.iter().find(|column| same(&column.name));
                    let is_there = table.columns.iter().any(|column| same(&column.name));
                    chosen.push(*found.ok_or_else(|| {
                        if is_there {
                            return hidden_column(table, name);
                        }
                        EntityError {
                            code: EntityErrorCode::ColumnNotFound,
                            message: format!("`{}` has no column `{}`", table.table, excerpt(name)),
                            candidates: nearest(name, names())
                                .into_iter()
                                .map(str::to_owned)
                                .collect(),
                        }
                    })?);
                }
            }
        }
        let items = chosen.into_iter().map(|column| {
            let described = source.and_then(|source| source.column(&column.name));
            let values = self.shown.values(&table.table, &column.name);
            ColumnItem {
                name: column.name.clone(),
                native_type: column.native_type.clone(),
                normalized_type: column.normalized_type.clone(),
                dimension_type: column.dimension_type,
                nullable: column.nullable,
                primary_key: column.primary_key,
                comment: column.comment.clone(),
                description: described.and_then(|(_, column)| column.description.clone()),
                sample_values: values.iter().take(VALUES_SHOWN).cloned().collect(),
            }
        });
        Ok(items.collect())
    }
}

fn hidden_column(table: &ScannedTable, name: &str) -> EntityError {
    EntityError {
        code: EntityErrorCode::ColumnHidden,
        message: format!(
            "column `{name}` of `{}` is hidden by the semantic layer",
            table.table
        ),
        candidates: Vec::new(),
    }
}

fn near_tables(wanted: &str, tables: &[ScannedTable]) -> Vec<String> {
    let bare = wanted.rsplit('.').next().unwrap_or(wanted);
    let displays: Vec<String> = tables.iter().map(|table| table.table.to_string()).collect();
    let mut found: Vec<String> = nearest(wanted, displays.iter().map(String::as_str))
        .into_iter()
        .map(str::to_owned)
        .collect();
    let names = nearest(bare, tables.iter().map(|table| table.table.name.as_str()));
    for name in names {
        let of_name = tables.iter().filter(|table| table.table.name == name);
        for display in of_name.map(|table| table.table.to_string()) {
            if !found.contains(&display) {
                found.push(display);
            }
        }
    }
    found.truncate(MAX_CANDIDATES);
    found
}

fn snapshot_item(snapshot: &ScanSnapshot) -> SnapshotItem {
    SnapshotItem {
        sync_id: snapshot.sync_id.clone(),
        extracted_at: snapshot.extracted_at.clone(),
        scan_run_id: snapshot.run_id.clone(),
    }
}

const fn relationship(relationship: Relationship) -> &'static str {
    match relationship {
        Relationship::ManyToOne => "many_to_one",
        Relationship::OneToMany => "one_to_many",
        Relationship::OneToOne => "one_to_one",
    }
}
