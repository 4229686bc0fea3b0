//! Tables as the last scan saw them, with what the semantic layer knows.

use std::collections::BTreeMap;

use ktx_diagnostics::nearest;
use ktx_semantic_layer::{Catalog, Origin, Relationship, Source};
use ktx_vocabulary::TableRef;

use crate::context::{ProjectContext, warehouse_of};
use crate::failure::{Failure, MAX_CANDIDATES};
use crate::scans::{Places, ScanSnapshot, ScannedTable};
use crate::wire::{
    ColumnItem, EntityDetails, EntityDetailsInput, EntityDetailsOutput, EntityError,
    EntityErrorCode, EntityFound, EntityMissing, EntityRequest, ForeignKeyItem, JoinItem,
    SnapshotItem, TableName, TablePlace,
};

/// Values that are shown of one column.
const VALUES_SHOWN: usize = 10;

/// Describes tables of one warehouse, in the order of asking.
pub async fn entity_details(
    context: &dyn ProjectContext,
    input: &EntityDetailsInput,
) -> Result<EntityDetailsOutput, Failure> {
    let connection = warehouse_of(context, Some(&input.connection_id)).await?;
    let snapshot = context.snapshot(&connection.id).await?;
    let catalog = context.catalog(&connection.id).await?;
    let places = snapshot
        .as_deref()
        .map(ScanSnapshot::places)
        .unwrap_or_default();
    let results = input.entities.iter().map(|request| {
        let found = match snapshot.as_deref() {
            Some(snapshot) => Details {
                connection: &input.connection_id,
                snapshot,
                places: &places,
                catalog: &catalog,
            }
            .of(request)
            .map(|found| EntityDetails::Found(Box::new(found))),
            None => Err(EntityError {
                code: EntityErrorCode::ScanMissing,
                message: format!(
                    "`{id}` was never scanned; run `ktx ingest {id}`",
                    id = input.connection_id
                ),
                candidates: Vec::new(),
            }),
        };
        found.unwrap_or_else(|error| {
            EntityDetails::Missing(Box::new(EntityMissing {
                ok: false,
                connection_id: input.connection_id.clone(),
                table: request.table.clone(),
                snapshot: snapshot.as_deref().map(snapshot_item),
                error,
            }))
        })
    });
    let results = results.collect();
    let warnings = snapshot
        .as_deref()
        .map(|snapshot| snapshot.problems.clone());
    Ok(EntityDetailsOutput {
        results,
        warnings: warnings.unwrap_or_default(),
    })
}

struct Details<'a> {
    connection: &'a str,
    snapshot: &'a ScanSnapshot,
    places: &'a Places<'a>,
    catalog: &'a Catalog,
}

impl Details<'_> {
    fn of(&self, request: &EntityRequest) -> Result<EntityFound, EntityError> {
        let table = self.table(&request.table)?;
        let source = self.source(&table.table);
        let columns = self.columns(table, source, request.columns.as_deref())?;
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
        match self.places.named(&text) {
            [only] => Ok(only),
            [] => Err(EntityError {
                code: EntityErrorCode::TableNotFound,
                message: format!(
                    "there is no table `{text}` in the last scan; find tables with `discover_data`"
                ),
                candidates: near_tables(&text, tables),
            }),
            several => Err(EntityError {
                code: EntityErrorCode::AmbiguousTable,
                message: format!(
                    "{} tables are called `{text}`; give the full name",
                    several.len()
                ),
                candidates: several
                    .iter()
                    .take(MAX_CANDIDATES)
                    .map(|table| table.table.to_string())
                    .collect(),
            }),
        }
    }

    /// The source that reads a table: the scanned one before others.
    fn source(&self, table: &TableRef) -> Option<&Source> {
        let reading = |source: &&Source| {
            self.places
                .read_by(source)
                .is_some_and(|read| read.table == *table)
        };
        let scanned = |source: &&Source| source.origin != Origin::Standalone;
        let sources = self.catalog.sources();
        let mut first = sources.iter().filter(scanned).filter(reading);
        first.next().or_else(|| sources.iter().find(reading))
    }

    fn columns(
        &self,
        table: &ScannedTable,
        source: Option<&Source>,
        wanted: Option<&[String]>,
    ) -> Result<Vec<ColumnItem>, EntityError> {
        let names = || table.columns.iter().map(|column| column.name.as_str());
        let mut chosen = Vec::new();
        match wanted {
            None | Some([]) => chosen.extend(&table.columns),
            Some(wanted) => {
                for name in wanted {
                    let same = |other: &str| other == name || other.eq_ignore_ascii_case(name);
                    let found = table.columns.iter().find(|column| same(&column.name));
                    chosen.push(found.ok_or_else(|| {
                        EntityError {
                            code: EntityErrorCode::ColumnNotFound,
                            message: format!("`{}` has no column `{name}`", table.table),
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
            let values = self.snapshot.values(&table.table, &column.name);
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

/// Tables with a near full or bare name, at most ten.
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
