//! Writes an aggregate over the rows of one moment in each group.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::Writer;
use super::part::{Pieces, group_clause, where_clause};
use super::periods::is_first;
use crate::catalog::graph::NodeId;
use crate::model::error::{ErrorKind, QueryError};
use crate::model::formula::Moment;
use crate::names::aggregates::{self, Call, all_of};
use crate::plan::atoms::Atom;
use crate::plan::predicates::{Place, placed};
use crate::plan::{Part, SnapshotTrees};
use crate::sql::build::digit;
use crate::sql::expression::raw;
use crate::sql::sql_text::identifier;

impl Writer<'_, '_> {
    pub(super) fn snapshot(
        &self,
        part: &Part,
        aliases: &BTreeMap<NodeId, String>,
        pieces: &Pieces,
    ) -> Result<String, QueryError> {
        let at = part.atoms.first().copied().unwrap_or_default();
        let atom = self.planned.atoms.get(at);
        let Some((atom, snapshot)) = atom.and_then(|atom| Some((atom, atom.snapshot.as_ref()?)))
        else {
            let message = "a snapshot part has no snapshot";
            return Err(QueryError::new(ErrorKind::InvalidQuery, message));
        };
        let groups: Vec<String> = self
            .inner
            .dimensions
            .iter()
            .map(|name| identifier(self.dialect, name))
            .collect();
        let rows = self.snapshot_rows(atom, snapshot, aliases, pieces);
        let places = places(&groups, snapshot, &rows);
        let print = |tree: &Expr| self.print(tree, aliases);
        let first = is_first("snapshot_place");
        let call = over_values(&atom.call);
        let kind = atom.ranked_type(self.planned.names);
        let value = aggregates::sql(&call, Some(&first), self.dialect, kind, &print);
        let mut columns = groups.clone();
        columns.push(format!("{value} AS {}", self.atom_name(at)));
        columns.extend(self.mark_column());
        Ok([
            format!(
                "SELECT {}\nFROM (\n{places}\n) AS snapshot_places",
                columns.join(", ")
            ),
            group_clause(&groups),
        ]
        .concat())
    }

    /// A row that the aggregate ignores, or without a known moment, has no value.
    fn snapshot_rows(
        &self,
        atom: &Atom,
        snapshot: &SnapshotTrees,
        aliases: &BTreeMap<NodeId, String>,
        pieces: &Pieces,
    ) -> String {
        let names = self.planned.names;
        let value_of = |tree: &Expr| placed(tree, Place::Value, names);
        let moment = value_of(&snapshot.moment);
        let filters = atom.filters.iter();
        let filters = filters.map(|filter| placed(filter, Place::Condition, names));
        let mut conditions: Vec<Expr> = filters.collect();
        conditions.push(Expr::IsNotNull(Box::new(moment.clone())));
        let value = match &atom.call {
            Call::Function(function) => aggregates::arguments(function)
                .first()
                .map_or_else(|| digit("1"), |value| value_of(value)),
            Call::Rows | Call::Percentile { .. } => digit("1"),
        };
        let value = aggregates::filtered(&value, Some(&all_of(&conditions)));
        let mut columns = self.dimension_columns(pieces);
        for (tree, name) in [(&value, "snapshot_value"), (&moment, "snapshot_moment")] {
            columns.push(format!("{} AS {name}", self.print(tree, aliases)));
        }
        for (number, tree) in snapshot.per.iter().enumerate() {
            let tree = self.print(&value_of(tree), aliases);
            columns.push(format!("{tree} AS {}", key(number)));
        }
        [
            format!("SELECT {}\nFROM {}", columns.join(", "), pieces.from),
            where_clause(&pieces.filters),
        ]
        .concat()
    }
}

fn key(number: usize) -> String {
    format!("snapshot_key_{}", number + 1)
}

fn places(groups: &[String], snapshot: &SnapshotTrees, rows: &str) -> String {
    let keys = (0..snapshot.per.len()).map(key);
    let keys: Vec<String> = groups.iter().cloned().chain(keys).collect();
    let by = if keys.is_empty() {
        String::new()
    } else {
        format!("PARTITION BY {} ", keys.join(", "))
    };
    let direction = match snapshot.at {
        Moment::First => "",
        Moment::Last => " DESC",
    };
    let place = format!(
        "RANK() OVER ({by}ORDER BY CASE WHEN snapshot_value IS NULL THEN 1 ELSE 0 END, snapshot_moment{direction}) AS snapshot_place"
    );
    let own = ["snapshot_value".to_owned(), place];
    let columns: Vec<String> = groups.iter().cloned().chain(own).collect();
    format!(
        "SELECT {}\nFROM (\n{rows}\n) AS snapshot_rows",
        columns.join(", ")
    )
}

fn over_values(call: &Call) -> Call {
    let value = raw("snapshot_value");
    match call {
        Call::Function(function) => {
            let mut function: Function = function.clone();
            if let FunctionArguments::List(list) = &mut function.args {
                list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(value))];
            }
            Call::Function(function)
        }
        Call::Rows | Call::Percentile { .. } => match crate::sql::build::call("COUNT", vec![value])
        {
            Expr::Function(function) => Call::Function(function),
            _ => Call::Rows,
        },
    }
}
