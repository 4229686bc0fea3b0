//! Lists what a scan reads and omits per schema.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_vocabulary::TableRef;
use ktx_warehouse::{ListedSchema, SchemaReading, Scope};

pub(super) struct ListedRelation {
    pub(super) name: String,
    pub(super) parent: Option<TableRef>,
    pub(super) is_granted: bool,
}

#[derive(Default)]
pub(super) struct VisibleSchema {
    pub(super) is_granted: bool,
    pub(super) relations: Vec<ListedRelation>,
}

/// Lists empty schemas only if the scope names them. `login` is quoted.
pub(super) fn list(
    shown: BTreeMap<String, VisibleSchema>,
    scope: &Scope,
    login: &str,
) -> Vec<ListedSchema> {
    let is_named = |name: &str| scope.schemas.iter().any(|known| known == name);
    let is_wanted = |name: &str| scope.schemas.is_empty() || is_named(name);
    let read: Vec<String> = shown
        .iter()
        .filter(|(name, schema)| schema.is_granted && is_wanted(name))
        .map(|(name, _)| name.clone())
        .collect();
    let mut listed = Vec::new();
    for (name, schema) in shown {
        let mut entry = ListedSchema {
            name,
            tables: 0,
            not_granted: 0,
            not_listed: 0,
            reading: SchemaReading::Read,
        };
        for relation in &schema.relations {
            let place = TableRef::new(None, Some(&entry.name), &relation.name);
            if parent_is_read(relation.parent.as_ref(), scope, &read) {
                continue;
            }
            let count = if !scope.admits(&place) {
                &mut entry.not_listed
            } else if schema.is_granted && !relation.is_granted {
                &mut entry.not_granted
            } else {
                &mut entry.tables
            };
            *count += 1;
        }
        let is_empty = entry.tables + entry.not_granted + entry.not_listed == 0;
        if is_empty && !is_named(&entry.name) {
            continue;
        }
        let quoted = Dialect::Postgres.quote(&entry.name);
        if !is_wanted(&entry.name) {
            entry.reading = SchemaReading::NotNamed;
        } else if !schema.is_granted {
            let fix = format!("GRANT USAGE ON SCHEMA {quoted} TO {login}");
            entry.reading = SchemaReading::NotGranted { fix: vec![fix] };
        } else if entry.tables == 0 && entry.not_granted > 0 {
            let fix = format!("GRANT SELECT ON ALL TABLES IN SCHEMA {quoted} TO {login}");
            entry.reading = SchemaReading::NotGranted { fix: vec![fix] };
        }
        listed.push(entry);
    }
    listed
}

/// True if a scan reads the parent instead of the partition.
pub(super) fn parent_is_read(parent: Option<&TableRef>, scope: &Scope, read: &[String]) -> bool {
    let Some(parent) = parent else {
        return false;
    };
    let schema = parent.db.as_ref();
    schema.is_some_and(|schema| read.contains(schema)) && scope.admits(parent)
}

#[cfg(test)]
mod tests;
