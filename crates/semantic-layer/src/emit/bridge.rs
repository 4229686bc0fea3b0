//! Writes the groups of rows that belong to several, as a table to join.

use std::collections::BTreeMap;

use sqlparser::ast::Expr;

use super::Writer;
use super::part::{group_clause, where_clause};
use crate::catalog::graph::NodeId;
use crate::model::error::QueryError;
use crate::plan::predicates::{Place, placed};
use crate::plan::{Bridge, Part, PartKind, unique};
use crate::sql::sql_text::identifier;

pub(super) struct WrittenBridge {
    pub(super) table: String,
    pub(super) alias: String,
    /// The part of a row that belongs to each group, as SQL.
    pub(super) weight: Option<String>,
}

impl Writer<'_, '_> {
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
        let mut groups: Vec<String> = Vec::new();
        let mut conditions: Vec<String> = Vec::new();
        let alias = self.fresh("groups");
        for name in &bridge.key {
            let tree = self.planned.names.own_column(part.home, name)?;
            let key = self.fresh("key");
            groups.push(self.print(&tree, &aliases));
            columns.push(format!("{} AS {key}", self.print(&tree, &aliases)));
            conditions.push(format!("{} = {alias}.{key}", self.print(&tree, outer)));
        }
        for at in &bridge.dimensions {
            if let Some(dimension) = self.planned.dimensions.get(*at) {
                let sql = self.dimension(dimension, &aliases);
                columns.push(format!("{sql} AS {}", self.dimension_name(*at)));
                groups.push(sql);
            }
        }
        let mut weight = None;
        if let Some(tree) = &bridge.weight {
            let own = self.fresh("weight");
            columns.push(format!("{} AS {own}", self.sum_of(tree, bridge, &aliases)));
            // A row without groups is whole.
            weight = Some(format!("COALESCE({alias}.{own}, 1)"));
        }
        let filters = bridge
            .filters
            .iter()
            .filter_map(|at| self.planned.row_filters.get(*at));
        let filters: Vec<String> = filters
            .map(|filter| self.condition(filter, &aliases))
            .collect();
        self.keys = outer_keys;
        // A row without a key has no groups.
        let join = if filters.is_empty() {
            "LEFT JOIN"
        } else {
            "JOIN"
        };
        Ok(WrittenBridge {
            table: format!(
                "{join} (\nSELECT {}{}\nFROM {}{}{}\n) AS {alias} ON {}",
                if weight.is_some() { "" } else { "DISTINCT " },
                columns.join(", "),
                tables.join("\n"),
                where_clause(&filters),
                if weight.is_some() {
                    group_clause(&groups)
                } else {
                    String::new()
                },
                conditions.join(" AND ")
            ),
            alias,
            weight,
        })
    }

    /// Without a row of the bridge, the weight is 1; without a value there, 0.
    fn sum_of(&self, weight: &Expr, bridge: &Bridge, aliases: &BTreeMap<NodeId, String>) -> String {
        let weight = self.print(&placed(weight, Place::Value, self.planned.names), aliases);
        let mut multiplying = bridge.joins.iter();
        let into = multiplying.find(|edge| !edge.relationship.is_safe());
        match into.and_then(|edge| self.keys.get(&edge.to)) {
            Some(key) => {
                let key = self.print(key, aliases);
                format!("SUM(CASE WHEN {key} IS NULL THEN 1 ELSE COALESCE({weight}, 0) END)")
            }
            None => format!("SUM(COALESCE({weight}, 0))"),
        }
    }

    fn fresh(&mut self, wanted: &str) -> String {
        let name = unique(wanted.to_owned(), wanted, &mut self.inner.taken);
        identifier(self.dialect, &name)
    }
}
