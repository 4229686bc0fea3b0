//! How a filter on rows goes into an aggregate: as its clause, or by making what it aggregates NULL on
//! the rows that are left out.

use ktx_warehouse::Dialect;
use sqlparser::ast::{Function, FunctionArgumentClause, FunctionArguments};

use super::{CONTAINERS, is_in, name_of};
use crate::{ErrorKind, QueryError};

/// What of a call a filter on rows goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// So many of its arguments: rows where they are NULL are passed over.
    Arguments(usize),
    /// What its values are ordered by, which are the values that it aggregates.
    Order,
    /// `FILTER (WHERE …)` behind it.
    Clause,
    /// Nothing: there is no such clause, and a NULL would be an answer like any other.
    Nothing,
}

/// What an aggregate does with a row whose first argument is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// It passes over the row.
    PassedOver,
    /// It passes over the row if one of its arguments is NULL.
    AnyPassedOver,
    /// It takes the first argument from a row that the second one chooses, unless that is NULL.
    SecondChooses,
    /// It may answer with the NULL.
    MayBeAnswered,
    /// The NULL is one of the values, or a key that must not be.
    Kept,
}

/// Aggregates by what they do with NULLs; those that stand nowhere pass over them.
const RULES: [(&str, Nulls); 4] = [
    (
        " corr count count_big count_distinct covar_pop covar_samp regr_avgx regr_avgy regr_count \
regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy ",
        Nulls::AnyPassedOver,
    ),
    (
        " arg_max arg_min argmax argmin max_by min_by ",
        Nulls::SecondChooses,
    ),
    (" any_value arbitrary ", Nulls::MayBeAnswered),
    (
        " approx_top_count approx_top_k array_agg first first_value histogram json_agg json_arrayagg \
json_group_array json_group_object json_object_agg json_objectagg jsonb_agg jsonb_object_agg last last_value \
list map_agg multimap_agg object_agg ",
        Nulls::Kept,
    ),
];

/// Whether the warehouse has `FILTER (WHERE …)`.
const fn has_clause(dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres
        | Dialect::DuckDb
        | Dialect::Sqlite
        | Dialect::Trino
        | Dialect::Databricks
        | Dialect::ClickHouse => true,
        Dialect::Redshift
        | Dialect::MySql
        | Dialect::MariaDb
        | Dialect::SqlServer
        | Dialect::Snowflake
        | Dialect::BigQuery => false,
    }
}

/// What a filter on rows goes into.
pub(super) fn way(call: &Function, dialect: Dialect) -> Way {
    let name = name_of(call);
    let clause = if has_clause(dialect) {
        Way::Clause
    } else {
        Way::Nothing
    };
    let is_container = dialect == Dialect::ClickHouse && is_in(CONTAINERS, &name);
    if is_container || has_limit(call) {
        return clause;
    }
    if !call.within_group.is_empty() {
        return match name.as_str() {
            "percentile_cont" | "percentile_disc" | "mode" => Way::Order,
            "listagg" | "string_agg" | "group_concat" | "xmlagg" => Way::Arguments(1),
            "array_agg" if dialect == Dialect::Snowflake => Way::Arguments(1),
            _ => clause,
        };
    }
    let rule = RULES.iter().find(|(names, _)| is_in(names, &name));
    let nulls = rule.map_or(Nulls::PassedOver, |(_, nulls)| *nulls);
    match (nulls, dialect) {
        (Nulls::PassedOver, _) => Way::Arguments(1),
        (Nulls::AnyPassedOver, _) => Way::Arguments(usize::MAX),
        (Nulls::SecondChooses, Dialect::ClickHouse) => Way::Arguments(2),
        (Nulls::SecondChooses, _) if has_clause(dialect) => Way::Clause,
        (Nulls::SecondChooses, _) => Way::Arguments(2),
        (Nulls::MayBeAnswered, Dialect::BigQuery | Dialect::ClickHouse) => Way::Arguments(1),
        (Nulls::Kept, Dialect::ClickHouse) if name.ends_with("_value") => Way::Arguments(1),
        // Macros over texts there, which take no clause: one passes over rows without a name, one does not.
        (Nulls::Kept, Dialect::DuckDb) if name == "json_group_object" => Way::Arguments(1),
        (Nulls::Kept, Dialect::DuckDb) if name == "json_group_array" => Way::Nothing,
        // Arrays and objects have no NULLs there.
        (Nulls::Kept, Dialect::Snowflake) if name == "array_agg" => Way::Arguments(1),
        (Nulls::Kept, Dialect::Snowflake) if name == "object_agg" => Way::Arguments(2),
        (Nulls::MayBeAnswered | Nulls::Kept, _) => clause,
    }
}

/// Whether a call takes so many values only, of which a NULL may be one.
fn has_limit(call: &Function) -> bool {
    let is_limit =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::Limit(_));
    matches!(&call.args, FunctionArguments::List(list) if list.clauses.iter().any(is_limit))
}

/// Refuses to filter an aggregate where the warehouse has no way to.
pub(crate) fn check(call: &Function, dialect: Dialect) -> Result<(), QueryError> {
    if way(call, dialect) != Way::Nothing {
        return Ok(());
    }
    let name = name_of(call);
    let message = format!(
        "`{name}` over some of the rows only cannot be said to {dialect}: it takes no `FILTER` there and does not pass over NULLs"
    );
    let instead: &[&str] = match name.as_str() {
        "any_value" | "arbitrary" => &["max", "min"],
        "first" | "first_value" | "last" | "last_value" => &["min_by", "max_by"],
        "json_group_array" => &["list"],
        _ => &[],
    };
    Err(QueryError::new(ErrorKind::InvalidQuery, message)
        .about(name)
        .suggest(instead.iter().copied()))
}
