//! Writes the outer SELECT of an answer.

use ktx_sql::Dialect;

use super::{UNLIMITED, Writer};
use crate::names::query::Direction;
use crate::plan::{ColumnRole, SortKey};
use crate::sql::sql_text::identifier;

impl Writer<'_, '_> {
    pub(super) fn outer(&self, from: &str, measures: &[String], filters: &[String]) -> String {
        let dialect = self.dialect;
        let dimensions = self
            .planned
            .dimensions
            .iter()
            .zip(&self.inner.dimensions)
            .map(|(one, inner)| {
                format!(
                    "{} AS {}",
                    identifier(dialect, inner),
                    identifier(dialect, &one.name)
                )
            });
        let named = self
            .planned
            .measures
            .iter()
            .zip(measures)
            .map(|(one, sql)| format!("{sql} AS {}", identifier(dialect, &one.name)));
        let columns: Vec<String> = dimensions.chain(named).collect();
        let top = match dialect {
            Dialect::SqlServer if self.planned.limit != UNLIMITED => {
                format!("TOP {} ", self.planned.limit)
            }
            _ => String::new(),
        };
        let mut lines = vec![format!(
            "SELECT {top}{}\nFROM {}",
            columns.join(", "),
            identifier(dialect, from)
        )];
        if !filters.is_empty() {
            lines.push(format!("WHERE {}", filters.join(" AND ")));
        }
        let order = self.planned.order.iter();
        let keys: Vec<String> = order
            .map(|key| {
                let measure = self.planned.measures.iter().zip(measures);
                let measure = measure
                    .filter(|(one, _)| key.role == ColumnRole::Measure && one.name == key.name);
                let measure = measure.map(|(_, sql)| sql.as_str()).next();
                sort_key(dialect, key, measure)
            })
            .collect();
        if !keys.is_empty() {
            lines.push(format!("ORDER BY {}", keys.join(", ")));
        }
        if dialect != Dialect::SqlServer && self.planned.limit != UNLIMITED {
            lines.push(format!("LIMIT {}", self.planned.limit));
        }
        lines.join("\n")
    }
}

/// A measure sorts NULL last in every warehouse.
pub(super) fn sort_key(dialect: Dialect, key: &SortKey, measure: Option<&str>) -> String {
    let name = identifier(dialect, &key.name);
    let direction = match key.direction {
        Direction::Ascending => "",
        Direction::Descending => " DESC",
    };
    match (dialect, measure) {
        (_, None) => format!("{name}{direction}"),
        // These have no NULLS LAST, and a SQL Server expression cannot name a result column.
        (Dialect::MySql | Dialect::MariaDb | Dialect::SqlServer, Some(sql)) => {
            format!("CASE WHEN {sql} IS NULL THEN 1 ELSE 0 END, {name}{direction}")
        }
        (_, Some(_)) => format!("{name}{direction} NULLS LAST"),
    }
}
