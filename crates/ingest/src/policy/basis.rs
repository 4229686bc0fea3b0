//! The basis of a source's measures: its rows, computed columns, joins and segments.

use std::collections::{BTreeMap, BTreeSet};

use ktx_semantic_layer::Relationship;
use ktx_semantic_layer::authored::{Authored, Column, Meta, OverlayJoin, Segment};

use super::authored;

/// Excludes descriptions.
#[derive(Debug, Default)]
struct Basis {
    rows: BTreeSet<String>,
    columns: BTreeSet<String>,
    parts: BTreeMap<String, String>,
}

/// Returns whether the basis changes or loses a part; additions change no number.
pub fn changes_basis(path: &str, before: &[u8], after: &[u8]) -> bool {
    let Some(before) = basis(path, before) else {
        return false;
    };
    let after = basis(path, after).unwrap_or_default();
    let mut parts = before.parts.iter();
    let is_other = |(name, part): (&String, &String)| after.parts.get(name) != Some(part);
    let mut columns = before.columns.iter();
    before.rows != after.rows
        || parts.any(is_other)
        || columns.any(|name| after.parts.contains_key(name))
}

fn basis(path: &str, bytes: &[u8]) -> Option<Basis> {
    let mut basis = Basis::default();
    match authored(path, bytes)? {
        Authored::Standalone(source) => {
            basis.row("table", source.table.as_ref());
            basis.row("sql", source.sql.as_ref());
            basis.row("columns of", source.inherits_columns_from.as_ref());
            basis.row("grain", Some(&source.grain.join(", ")));
            basis.time(source.default_time_dimension.as_ref());
            basis.columns(&source.columns);
            let joins = source.joins.into_iter().map(OverlayJoin::from);
            joins.for_each(|join| basis.join(&join));
            basis.segments(&source.segments);
        }
        Authored::Overlay(overlay) | Authored::Import(overlay) => {
            let grain = overlay.grain.map(|grain| grain.join(", "));
            basis.row("grain", grain.as_ref());
            for join in &overlay.disable_joins {
                basis.row("no join", Some(join));
            }
            basis.time(overlay.default_time_dimension.as_ref());
            basis.columns(&overlay.columns);
            overlay.joins.iter().for_each(|join| basis.join(join));
            basis.segments(&overlay.segments);
        }
        Authored::Manifest(_) => return None,
    }
    Some(basis)
}

impl Basis {
    fn row(&mut self, what: &str, value: Option<&String>) {
        self.rows
            .extend(value.map(|value| format!("{what} {value}")));
    }

    fn time(&mut self, time: Option<&Meta>) {
        let text = time.and_then(|time| serde_yaml::to_string(time).ok());
        self.parts
            .extend(text.map(|text| ("time".to_owned(), text)));
    }

    fn columns(&mut self, columns: &[Column]) {
        for column in columns {
            let name = format!("column {}", column.name.to_lowercase());
            match &column.expr {
                Some(expr) => {
                    self.parts.insert(name, expr.clone());
                }
                None => {
                    self.columns.insert(name);
                }
            }
        }
    }

    fn join(&mut self, join: &OverlayJoin) {
        if join.exclude == Some(true) {
            self.row("no join", Some(&join.to));
            return;
        }
        let name = format!(
            "join {} {} {}",
            join.to,
            join.alias.as_deref().unwrap_or_default(),
            join.on.as_deref().unwrap_or_default()
        );
        let relationship = join.relationship.map(Relationship::name);
        let weight = join.weight.as_deref().unwrap_or_default();
        let text = format!("{} {weight}", relationship.unwrap_or_default());
        self.parts.insert(name, text);
    }

    fn segments(&mut self, segments: &[Segment]) {
        for Segment { name, expr, .. } in segments {
            let name = format!("segment {}", name.to_lowercase());
            self.parts.insert(name, expr.clone());
        }
    }
}
