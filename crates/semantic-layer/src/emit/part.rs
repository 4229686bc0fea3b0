//! Writes one part: a SELECT over one home and its look-ups.

use std::collections::BTreeMap;

use ktx_sql::Dialect;
use ktx_sql::clickhouse_types;
use sqlparser::ast::Expr;

use super::Writer;
use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::granularity::Granularity;
use crate::model::resolved::Relation;
use crate::names::aggregates::{self, Call, all_of};
use crate::names::bound::{self, Printer};
use crate::names::{Names, presence};
use crate::plan::predicates::{Place, placed};
use crate::plan::weights::weighed;
use crate::plan::{Dimension, Part, PartKind, RowFilter, Sees};
use crate::sql::sql_text::{column_name, identifier, table_parts, truncate};

pub(super) struct Pieces {
    pub(super) dimensions: Vec<String>,
    pub(super) from: String,
    pub(super) filters: Vec<String>,
    pub(super) weight: Option<String>,
}

impl Writer<'_, '_> {
    pub(super) fn part(&mut self, part: &Part) -> Result<String, QueryError> {
        let aliases = self.aliases(part);
        self.keys = self.keys(part)?;
        let pieces = self.pieces(part, &aliases)?;
        match part.kind {
            PartKind::Groups => {
                let is_framed = !part.frame.is_plain();
                let by_period = is_framed.then(|| self.groups(part, &aliases, &pieces));
                let regrouped = by_period.and_then(|sql| self.regrouped(part, &sql));
                Ok(regrouped.unwrap_or_else(|| {
                    self.groups(part, &aliases, &self.frame(part.frame, pieces))
                }))
            }
            PartKind::Members | PartKind::Present => Ok(self.members(&pieces)),
            PartKind::Ranked => self.ranked(part, &aliases, &self.frame(part.frame, pieces)),
            PartKind::Snapshot => self.snapshot(part, &aliases, &self.frame(part.frame, pieces)),
        }
    }

    pub(super) fn aliases(&self, part: &Part) -> BTreeMap<NodeId, String> {
        let mut taken: Vec<String> = vec![self.inner.periods.table.clone()];
        let alias = |node: NodeId, taken: &mut Vec<String>| {
            let name = self.planned.names.node_name(node);
            let of_word = |letter: char| {
                if letter.is_alphanumeric() {
                    letter
                } else {
                    '_'
                }
            };
            let word: String = name.chars().map(of_word).collect();
            (node, crate::plan::unique(word.clone(), &word, taken))
        };
        let home = alias(part.home, &mut taken);
        taken.extend(self.kept_names(part.home));
        let looked_up = part.joins.iter().map(|edge| alias(edge.to, &mut taken));
        std::iter::once(home).chain(looked_up).collect()
    }

    /// ClickHouse resolves these to the home despite its alias.
    fn kept_names(&self, home: NodeId) -> Vec<String> {
        let source = self.planned.names.source(home).ok();
        match source.map(|source| &source.relation) {
            Some(Relation::Table(table)) if self.dialect == Dialect::ClickHouse => {
                let parts = table_parts(table);
                parts.iter().map(|part| part.to_lowercase()).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn print(&self, tree: &Expr, aliases: &BTreeMap<NodeId, String>) -> String {
        let printer = Printer {
            dialect: self.dialect,
            node: &|node| identifier(self.dialect, aliases.get(&node).map_or("", String::as_str)),
            atom: &|_| String::new(),
            mark: &|_| String::new(),
        };
        printer.print(&presence::resolved(tree, &self.keys))
    }

    /// Finds an expression per look-up that is never NULL in a found row.
    pub(super) fn keys(&self, part: &Part) -> Result<BTreeMap<NodeId, Expr>, QueryError> {
        let mut keys = BTreeMap::new();
        for edge in &part.joins {
            if let Some((_, to)) = edge.pairs.first() {
                let key = self.planned.names.own_column(edge.to, to)?;
                keys.insert(edge.to, presence::resolved(&key, &BTreeMap::new()));
            }
        }
        Ok(keys)
    }

    fn pieces(
        &mut self,
        part: &Part,
        aliases: &BTreeMap<NodeId, String>,
    ) -> Result<Pieces, QueryError> {
        let mut tables = self.tables(part, aliases)?;
        let mut weight = None;
        let bridge = match &part.bridge {
            None => None,
            Some(bridge) => {
                let written = self.bridge(part, bridge, aliases)?;
                tables.push(written.table);
                weight = written.weight;
                Some((bridge, written.alias))
            }
        };
        let column = |(at, one): (usize, &Dimension)| match &bridge {
            Some((bridge, alias)) if bridge.dimensions.contains(&at) => {
                format!("{alias}.{}", self.dimension_name(at))
            }
            _ if self.is_by_days(part.frame, at) => {
                let by_days = Dimension {
                    unit: Some(Granularity::Day),
                    ..one.clone()
                };
                self.dimension(&by_days, aliases)
            }
            _ => self.dimension(one, aliases),
        };
        let dimensions = self.planned.dimensions.iter().enumerate();
        let dimensions = dimensions.map(column).collect();
        let is_own = |(at, filter): &(usize, &RowFilter)| {
            let is_inner = part
                .bridge
                .as_ref()
                .is_some_and(|bridge| bridge.filters.contains(at));
            !is_inner && (part.frame.is_plain() || filter.sees == Sees::Rows)
        };
        let filters = self.planned.row_filters.iter().enumerate().filter(is_own);
        let filters = filters
            .map(|(_, filter)| self.condition(filter, aliases))
            .collect();
        Ok(Pieces {
            dimensions,
            from: tables.join("\n"),
            filters,
            weight,
        })
    }

    pub(super) fn tables(
        &mut self,
        part: &Part,
        aliases: &BTreeMap<NodeId, String>,
    ) -> Result<Vec<String>, QueryError> {
        let names = self.planned.names;
        let mut used = self.used_columns(part);
        let mut conditions: Vec<(NodeId, String)> = Vec::new();
        for edge in &part.joins {
            let mut on: Vec<Expr> = Vec::new();
            for (from, to) in &edge.pairs {
                let left = names.own_column(edge.from, from)?;
                let right = names.own_column(edge.to, to)?;
                let right = presence::resolved(&right, &BTreeMap::new());
                used.extend(bound::columns(&left));
                used.extend(bound::columns(&right));
                on.push(Expr::BinaryOp {
                    left: Box::new(left),
                    op: sqlparser::ast::BinaryOperator::Eq,
                    right: Box::new(right),
                });
            }
            let on: Vec<String> = on
                .iter()
                .map(|tree| self.print(&placed(tree, Place::Condition, names), aliases))
                .collect();
            if on.is_empty() {
                let message = format!(
                    "the join to `{}` has no condition",
                    names.node_name(edge.to)
                );
                return Err(QueryError::new(ErrorKind::InvalidJoinCondition, message));
            }
            conditions.push((edge.to, on.join(" AND ")));
        }
        let alias =
            |node: NodeId| identifier(self.dialect, aliases.get(&node).map_or("", String::as_str));
        let home_alias = alias(part.home);
        let joined: Vec<String> = conditions.iter().map(|(node, _)| alias(*node)).collect();
        let mut tables = vec![format!("{} AS {home_alias}", self.relation(part.home)?)];
        for ((node, on), alias) in conditions.iter().zip(&joined) {
            let relation = self.looked_up(part.home, *node, &used)?;
            tables.push(format!("LEFT JOIN {relation} AS {alias} ON {on}"));
        }
        Ok(tables)
    }

    pub(super) fn condition(
        &self,
        filter: &RowFilter,
        aliases: &BTreeMap<NodeId, String>,
    ) -> String {
        let tree = placed(&filter.tree, Place::Condition, self.planned.names);
        format!("({})", self.print(&tree, aliases))
    }

    pub(super) fn dimension_name(&self, at: usize) -> String {
        let name = self.inner.dimensions.get(at);
        identifier(self.dialect, name.map_or("", String::as_str))
    }

    fn used_columns(&self, part: &Part) -> Vec<(NodeId, String)> {
        let mut used: Vec<(NodeId, String)> = Vec::new();
        for dimension in &self.planned.dimensions {
            used.extend(bound::columns(&dimension.tree));
        }
        for filter in &self.planned.row_filters {
            used.extend(bound::columns(&filter.tree));
        }
        for bridge in self
            .planned
            .parts
            .iter()
            .filter_map(|part| part.bridge.as_ref())
        {
            used.extend(bridge.weight.iter().flat_map(bound::columns));
        }
        for atom in part
            .atoms
            .iter()
            .filter_map(|at| self.planned.atoms.get(*at))
        {
            for tree in atom.trees() {
                used.extend(bound::columns(&tree));
            }
        }
        used
    }

    /// ClickHouse fills unmatched rows with zeros and empty texts unless nullable.
    fn looked_up(
        &mut self,
        home: NodeId,
        node: NodeId,
        used: &[(NodeId, String)],
    ) -> Result<String, QueryError> {
        let relation = self.relation(node)?;
        if self.dialect != Dialect::ClickHouse {
            return Ok(relation);
        }
        let mut columns: Vec<&str> = used
            .iter()
            .filter(|(of, _)| *of == node)
            .map(|(_, column)| column.as_str())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let names = self.planned.names;
        let source = names.source(node)?;
        for name in &columns {
            let native = source
                .column(name)
                .and_then(|(_, one)| one.native_type.as_deref());
            if let Some(native) = native.filter(|native| clickhouse_types::takes_no_null(native)) {
                let column = format!("{}.{name}", names.node_name(node));
                return Err(never_null(&column, native, (home, node), names));
            }
        }
        let inner = identifier(self.dialect, "looked_up");
        let columns: Vec<String> = columns
            .into_iter()
            .map(|column| column_name(self.dialect, column))
            .map(|column| format!("toNullable({inner}.{column}) AS {column}"))
            .collect();
        Ok(format!(
            "(SELECT {} FROM {relation} AS {inner})",
            columns.join(", ")
        ))
    }

    pub(super) fn dimension(
        &self,
        dimension: &Dimension,
        aliases: &BTreeMap<NodeId, String>,
    ) -> String {
        let tree = placed(&dimension.tree, Place::Value, self.planned.names);
        let sql = self.print(&tree, aliases);
        match dimension.unit {
            Some(unit) => {
                let native = dimension.native_type.as_deref();
                self.period_value(truncate(self.dialect, &sql, unit, native))
            }
            // GROUP BY reads a bare constant as a position.
            None if bound::columns(&dimension.tree).is_empty() => format!("COALESCE({sql}, {sql})"),
            None => sql,
        }
    }

    pub(super) fn dimension_columns(&self, pieces: &Pieces) -> Vec<String> {
        let named = pieces.dimensions.iter().zip(&self.inner.dimensions);
        named
            .map(|(sql, name)| format!("{sql} AS {}", identifier(self.dialect, name)))
            .collect()
    }

    pub(super) fn atom_name(&self, at: usize) -> String {
        identifier(
            self.dialect,
            self.inner.atoms.get(at).map_or("", String::as_str),
        )
    }

    fn groups(&self, part: &Part, aliases: &BTreeMap<NodeId, String>, pieces: &Pieces) -> String {
        let names = self.planned.names;
        let mut columns = self.dimension_columns(pieces);
        for at in &part.atoms {
            let Some(atom) = self.planned.atoms.get(*at) else {
                continue;
            };
            let filters: Vec<Expr> = atom
                .filters
                .iter()
                .map(|filter| placed(filter, Place::Condition, names))
                .collect();
            let filter = (!filters.is_empty()).then(|| all_of(&filters));
            let call = match &atom.call {
                Call::Function(function) => {
                    match placed(&Expr::Function(function.clone()), Place::Value, names) {
                        Expr::Function(function) => Call::Function(function),
                        _ => atom.call.clone(),
                    }
                }
                call => call.clone(),
            };
            let print = |tree: &Expr| self.print(tree, aliases);
            let kind = atom.ranked_type(names);
            let call = match &pieces.weight {
                Some(weight) => weighed(&call, weight),
                None => call,
            };
            let mut sql = aggregates::sql(&call, filter.as_ref(), self.dialect, kind, &print);
            if pieces.weight.is_some() && aggregates::is_count(&atom.call) {
                sql = format!("COALESCE({sql}, 0)");
            }
            columns.push(format!("{sql} AS {}", self.atom_name(*at)));
        }
        columns.extend(self.mark_column());
        [
            format!("SELECT {}\nFROM {}", columns.join(", "), pieces.from),
            where_clause(&pieces.filters),
            group_clause(&pieces.dimensions),
        ]
        .concat()
    }

    fn members(&self, pieces: &Pieces) -> String {
        let columns = self.dimension_columns(pieces).join(", ");
        [
            format!("SELECT DISTINCT {columns}\nFROM {}", pieces.from),
            where_clause(&pieces.filters),
        ]
        .concat()
    }

    /// A row's weight is 1 minus its distance from the position.
    fn ranked(
        &self,
        part: &Part,
        aliases: &BTreeMap<NodeId, String>,
        pieces: &Pieces,
    ) -> Result<String, QueryError> {
        let names = self.planned.names;
        let at = part.atoms.first().copied().unwrap_or_default();
        let Some(atom) = self.planned.atoms.get(at) else {
            return Err(QueryError::new(
                ErrorKind::InvalidQuery,
                "a percentile part has no percentile",
            ));
        };
        let Call::Percentile { value, fraction } = &atom.call else {
            return Err(QueryError::new(
                ErrorKind::InvalidQuery,
                "a percentile part has no percentile",
            ));
        };
        let filters: Vec<Expr> = atom
            .filters
            .iter()
            .map(|filter| placed(filter, Place::Condition, names))
            .collect();
        let filter = (!filters.is_empty()).then(|| all_of(&filters));
        let value = aggregates::filtered(&placed(value, Place::Value, names), filter.as_ref());
        let [ranked, distance, inner, outer] = [
            "ranked_value",
            "ranked_distance",
            "ranked_rows",
            "ranked_places",
        ]
        .map(|name| identifier(self.dialect, name));
        let mut columns = self.dimension_columns(pieces);
        columns.push(format!("{} AS {ranked}", self.print(&value, aliases)));
        let rows = [
            format!("SELECT {}\nFROM {}", columns.join(", "), pieces.from),
            where_clause(&pieces.filters),
        ]
        .concat();
        let keys: Vec<String> = self
            .inner
            .dimensions
            .iter()
            .map(|name| identifier(self.dialect, name))
            .collect();
        let by = if keys.is_empty() {
            String::new()
        } else {
            format!("PARTITION BY {}", keys.join(", "))
        };
        let space = if by.is_empty() { "" } else { " " };
        let place = format!(
            "ROW_NUMBER() OVER ({by}{space}ORDER BY CASE WHEN {ranked} IS NULL THEN 1 ELSE 0 END, {ranked})"
        );
        let count = format!("COUNT({ranked}) OVER ({by})");
        let listed = |more: &str| {
            keys.iter()
                .map(String::as_str)
                .chain(std::iter::once(more))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let places = format!(
            "SELECT {}, {place} - 1 - {fraction} * ({count} - 1) AS {distance}\nFROM (\n{rows}\n) AS {inner}",
            listed(&ranked)
        );
        let weighed = format!(
            "SUM(CASE WHEN ABS({distance}) < 1 THEN {ranked} * (1 - ABS({distance})) END) AS {}",
            self.atom_name(at)
        );
        let values = std::iter::once(weighed).chain(self.mark_column());
        let columns = listed(&values.collect::<Vec<_>>().join(", "));
        Ok([
            format!("SELECT {columns}\nFROM (\n{places}\n) AS {outer}"),
            group_clause(&keys),
        ]
        .concat())
    }
}

fn never_null(
    column: &str,
    native: &str,
    (home, node): (NodeId, NodeId),
    names: Names<'_>,
) -> QueryError {
    let message = format!(
        "`{column}` is `{native}`, which takes no NULL in ClickHouse and so cannot be looked up from `{}`; ask for it \
         together with measures of `{}` alone, or make a `sql` source with a text or a number of it",
        names.node_name(home),
        names.node_name(node)
    );
    QueryError::new(ErrorKind::InvalidQuery, message).about(column)
}

pub(super) fn where_clause(filters: &[String]) -> String {
    if filters.is_empty() {
        String::new()
    } else {
        format!("\nWHERE {}", filters.join(" AND "))
    }
}

pub(super) fn group_clause(keys: &[String]) -> String {
    if keys.is_empty() {
        String::new()
    } else {
        format!("\nGROUP BY {}", keys.join(", "))
    }
}
