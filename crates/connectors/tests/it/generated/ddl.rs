//! DDL of generated schemas.

use ktx_vocabulary::TableRef;

use super::draft::RelationForm;
use super::model::{CatalogModel, Relation, Server};

pub(super) fn statements<S: Server>(model: &CatalogModel) -> Vec<String> {
    let mut statements = S::prepare();
    for relation in &model.relations {
        statements.push(match &relation.base {
            Some((base, columns)) => view::<S>(relation, base, columns),
            None => table::<S>(relation),
        });
        if let Some(first) = relation.table.columns.first() {
            let (place, name) = (place::<S>(&relation.table.table), S::quote(&first.name));
            let row = format!("INSERT INTO {place} ({name}) VALUES (NULL)");
            statements.extend((0..relation.rows).map(|_| row.clone()));
        }
        statements.extend(S::finish(relation));
    }
    statements
}

pub(super) fn place<S: Server>(table: &TableRef) -> String {
    let parts: Vec<String> = table.parts().map(S::quote).collect();
    parts.join(".")
}

fn list<S: Server>(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| S::quote(name)).collect();
    names.join(", ")
}

fn table<S: Server>(relation: &Relation) -> String {
    let table = &relation.table;
    let mut parts = Vec::new();
    for (column, (declared, required, default)) in table.columns.iter().zip(&relation.declared) {
        let required = if *required { " NOT NULL" } else { "" };
        let default = default.map(|value| format!(" DEFAULT {value}"));
        parts.push(format!(
            "{} {declared}{required}{}{}",
            S::quote(&column.name),
            default.unwrap_or_default(),
            S::column_tail(column)
        ));
    }
    if !table.primary_key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", list::<S>(&table.primary_key)));
    }
    if !relation.unique.is_empty() {
        parts.push(format!("UNIQUE ({})", list::<S>(&relation.unique)));
    }
    for key in &table.foreign_keys {
        let name = key.constraint_name.as_deref();
        let name = name.map(|name| format!("CONSTRAINT {} ", S::quote(name)));
        parts.push(format!(
            "{}FOREIGN KEY ({}) REFERENCES {} ({})",
            name.unwrap_or_default(),
            list::<S>(&key.from_columns),
            place::<S>(&key.to_table),
            list::<S>(&key.to_columns)
        ));
    }
    format!(
        "CREATE TABLE {} ({}){}",
        place::<S>(&table.table),
        parts.join(", "),
        S::table_tail(relation)
    )
}

fn view<S: Server>(relation: &Relation, base: &TableRef, columns: &[String]) -> String {
    let kind = match relation.form {
        RelationForm::Materialized => "MATERIALIZED VIEW",
        _ => "VIEW",
    };
    let names = relation.table.columns.iter().map(|column| &column.name);
    let columns: Vec<String> = columns
        .iter()
        .zip(names)
        .map(|(from, to)| format!("{} AS {}", S::quote(from), S::quote(to)))
        .collect();
    format!(
        "CREATE {kind} {}{} AS SELECT {} FROM {}",
        place::<S>(&relation.table.table),
        S::table_tail(relation),
        columns.join(", "),
        place::<S>(base)
    )
}
