//! Writes the groups of rows that belong to several: a table of the home's keys and the groups of each, without
//! repetition, which is joined to the home.

use std::collections::BTreeMap;

use super::Writer;
use super::part::where_clause;
use crate::catalog::graph::NodeId;
use crate::model::error::QueryError;
use crate::plan::{Bridge, Part, PartKind, unique};
use crate::sql::sql_text::identifier;

/// The groups of each row of a home, as a table to join.
pub(super) struct WrittenBridge {
    pub(super) table: String,
    pub(super) alias: String,
}

impl Writer<'_, '_> {
    /// Writes the groups of each row of the home, one row for each group.
    pub(super) fn bridge(
        &mut self,
        part: &Part,
        bridge: &Bridge,
        outer: &BTreeMap<NodeId, String>,
    ) -> Result<WrittenBridge, QueryError> {
        let inner = Part {
            kind: PartKind::Members,
            atoms: Vec::new(),
            joins: bridge.joins.clone(),
            bridge: None,
            ..part.clone()
        };
        let aliases = self.aliases(&inner);
        let keys = self.keys(&inner)?;
        let outer_keys = std::mem::replace(&mut self.keys, keys);
        let tables = self.tables(&inner, &aliases)?;
        let mut columns: Vec<String> = Vec::new();
        let mut conditions: Vec<String> = Vec::new();
        let alias = self.fresh("groups");
        for name in &bridge.key {
            let tree = self.planned.names.own_column(part.home, name)?;
            let key = self.fresh("key");
            columns.push(format!("{} AS {key}", self.print(&tree, &aliases)));
            conditions.push(format!("{} = {alias}.{key}", self.print(&tree, outer)));
        }
        for at in &bridge.dimensions {
            if let Some(dimension) = self.planned.dimensions.get(*at) {
                let sql = self.dimension(dimension, &aliases);
                columns.push(format!("{sql} AS {}", self.dimension_name(*at)));
            }
        }
        let filters = bridge
            .filters
            .iter()
            .filter_map(|at| self.planned.row_filters.get(*at));
        let filters: Vec<String> = filters
            .map(|filter| self.condition(filter, &aliases))
            .collect();
        self.keys = outer_keys;
        // A row without a key has no groups; a filter must drop it.
        let join = if filters.is_empty() {
            "LEFT JOIN"
        } else {
            "JOIN"
        };
        Ok(WrittenBridge {
            table: format!(
                "{join} (\nSELECT DISTINCT {}\nFROM {}{}\n) AS {alias} ON {}",
                columns.join(", "),
                tables.join("\n"),
                where_clause(&filters),
                conditions.join(" AND ")
            ),
            alias,
        })
    }

    /// Returns a name that nothing in the SQL has.
    fn fresh(&mut self, wanted: &str) -> String {
        let name = unique(wanted.to_owned(), wanted, &mut self.inner.taken);
        identifier(self.dialect, &name)
    }
}
