//! How a row filter is applied to an aggregate.

use ktx_sql::Dialect;
use sqlparser::ast::{Function, FunctionArgumentClause, FunctionArguments};

use super::{CONTAINERS, is_in, name_of};
use crate::model::error::{ErrorKind, QueryError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The aggregate ignores rows where these first arguments are NULL.
    Arguments(usize),
    /// The aggregated values are in the `WITHIN GROUP` order.
    Order,
    Clause,
    /// No such clause exists, and a NULL could become part of the result.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nulls {
    PassedOver,
    /// Ignores the row if any argument is NULL.
    AnyPassedOver,
    /// Returns the first argument of the row that the second one selects, unless NULL.
    SecondChooses,
    /// May return the NULL.
    MayBeAnswered,
    /// Collects the NULL as a value, or fails on it as a key.
    Kept,
}

/// Aggregates that are not listed ignore NULLs.
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
        // In DuckDB both are text macros, which take no clause. `json_group_object` ignores rows
        // without a name; `json_group_array` does not.
        (Nulls::Kept, Dialect::DuckDb) if name == "json_group_object" => Way::Arguments(1),
        (Nulls::Kept, Dialect::DuckDb) if name == "json_group_array" => Way::Nothing,
        // Snowflake arrays and objects omit NULLs.
        (Nulls::Kept, Dialect::Snowflake) if name == "array_agg" => Way::Arguments(1),
        (Nulls::Kept, Dialect::Snowflake) if name == "object_agg" => Way::Arguments(2),
        (Nulls::MayBeAnswered | Nulls::Kept, _) => clause,
    }
}

/// A limited number of values can include a NULL.
fn has_limit(call: &Function) -> bool {
    let is_limit =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::Limit(_));
    matches!(&call.args, FunctionArguments::List(list) if list.clauses.iter().any(is_limit))
}

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
