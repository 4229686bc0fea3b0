//! Assembles the rows of catalog queries into a snapshot.

use std::collections::BTreeMap;

use ktx_vocabulary::TableRef;
use ktx_warehouse::{Column, ForeignKey, ScanWarning, SchemaSnapshot, Table, TableKind};

/// A snapshot under construction. Ignores rows of unknown tables, so catalog queries need not
/// repeat the scope.
#[derive(Debug, Default)]
pub(crate) struct SnapshotAssembly {
    tables: BTreeMap<TableRef, Table>,
    warnings: Vec<ScanWarning>,
}

#[derive(Debug)]
pub(crate) struct ForeignKeyColumn {
    pub(crate) constraint: String,
    pub(crate) from: String,
    pub(crate) to_table: TableRef,
    pub(crate) to: String,
}

impl SnapshotAssembly {
    pub(crate) fn table(
        &mut self,
        place: TableRef,
        kind: TableKind,
        comment: Option<String>,
        estimated_rows: Option<u64>,
    ) {
        let table = Table {
            table: place.clone(),
            kind,
            comment: non_blank(comment),
            estimated_rows,
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
        };
        self.tables.insert(place, table);
    }

    pub(crate) fn has(&self, place: &TableRef) -> bool {
        self.tables.contains_key(place)
    }

    pub(crate) fn column(&mut self, place: &TableRef, column: Column) {
        if let Some(table) = self.tables.get_mut(place) {
            let comment = non_blank(column.comment);
            table.columns.push(Column { comment, ..column });
        }
    }

    pub(crate) fn key(&mut self, place: &TableRef, column: &str) {
        if let Some(table) = self.tables.get_mut(place) {
            table.primary_key.push(column.to_owned());
        }
    }

    /// The columns of one constraint must be consecutive.
    pub(crate) fn link(&mut self, place: &TableRef, link: ForeignKeyColumn) {
        let Some(table) = self.tables.get_mut(place) else {
            return;
        };
        match table.foreign_keys.last_mut() {
            Some(key)
                if key.constraint_name.as_deref() == Some(link.constraint.as_str())
                    && key.to_table == link.to_table =>
            {
                key.from_columns.push(link.from);
                key.to_columns.push(link.to);
            }
            _ => table.foreign_keys.push(ForeignKey {
                constraint_name: Some(link.constraint),
                from_columns: vec![link.from],
                to_table: link.to_table,
                to_columns: vec![link.to],
            }),
        }
    }

    pub(crate) fn warn(&mut self, code: &str, table: Option<&TableRef>, message: String) {
        self.warnings.push(ScanWarning {
            code: code.to_owned(),
            message,
            table: table.map(ToString::to_string),
            column: None,
            recoverable: true,
        });
    }

    pub(crate) fn finish(self, mut schemas: Vec<String>) -> SchemaSnapshot {
        schemas.sort();
        let mut tables: Vec<Table> = self.tables.into_values().collect();
        for table in &mut tables {
            for column in &mut table.columns {
                column.primary_key = table.primary_key.contains(&column.name);
            }
        }
        SchemaSnapshot {
            schemas,
            listing: Vec::new(),
            tables,
            warnings: self.warnings,
        }
    }
}

fn non_blank(comment: Option<String>) -> Option<String> {
    comment.filter(|text| !text.trim().is_empty())
}
