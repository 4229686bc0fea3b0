//! Functions and casts that read tables without naming them.

use std::ops::ControlFlow;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, SetExpr, Statement, TableFactor, Visitor,
};

use crate::refusal::{Refusal, refuse};

/// These look into the catalog, or read a table by name.
const LOOKS_INTO: &[&str] = &[
    "pg_",
    "dict",
    "joinget",
    "has_",
    "to_reg",
    "obj_desc",
    "col_",
    "shobj",
    "object",
    "stats_date",
    "getmergetree",
    "getvariable",
    "duckdb_",
    "pragma_",
    "index",
    "type_",
    "sys.",
    "information_schema",
    "show",
    "storage_info",
    "table_",
    "metadata_info",
    "currval",
    "lastval",
    "regionhierarchy",
    "schema_",
    "database_list",
    "file",
    "fulltext",
    "query",
    "sql_",
    "db_",
    "sqlite_offset",
    "vector_search",
    "appends",
    "gap_fill",
    "range_sessionize",
    "feature",
    "ml.",
    "predict",
];

const HARMLESS: &[&str] = &[
    "pg_typeof",
    "indexof",
    "indexofassumesorted",
    "object_agg",
    "object_construct",
];

const TABLE_FUNCTIONS: &[&str] = &[
    "unnest",
    "generate_series",
    "generateseries",
    "generate_subscripts",
    "range",
    "numbers",
    "sequence",
    "json_each",
    "json_each_text",
    "json_tree",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_tree",
    "json_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
    "json_object_keys",
    "jsonb_object_keys",
    "json_to_recordset",
    "jsonb_to_recordset",
    "regexp_split_to_table",
    "regexp_matches",
    "string_to_table",
    "string_split",
    "openjson",
    "flatten",
    "split_to_table",
    "strtok_split_to_table",
    "generator",
    "explode",
    "explode_outer",
    "posexplode",
];

pub(super) fn check(statement: &Statement, dialect: Dialect) -> Result<(), Refusal> {
    match ktx_sql::visit(statement, &mut Calls { dialect }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

struct Calls {
    dialect: Dialect,
}

fn lowered(name: &ObjectName) -> String {
    let parts = name.0.iter().map(|part| match part.as_ident() {
        Some(ident) => ident.value.to_lowercase(),
        None => part.to_string().to_lowercase(),
    });
    let name = parts.collect::<Vec<_>>().join(".");
    name.strip_prefix("pg_catalog.")
        .map_or(name.clone(), str::to_owned)
}

fn not_for_a_client(name: &str) -> Result<(), Refusal> {
    refuse(
        Code::FunctionNotAllowed,
        format!("the function `{name}` can read more than the tables of this client"),
    )
}

fn table(name: &ObjectName) -> Result<(), Refusal> {
    let name = lowered(name);
    if TABLE_FUNCTIONS.contains(&name.as_str()) {
        return Ok(());
    }
    refuse(
        Code::TableFunctionNotAllowed,
        format!("the table function `{name}` can read more than the tables of this client"),
    )
}

fn factor(factor: &TableFactor) -> Result<(), Refusal> {
    match factor {
        TableFactor::Table { args: None, .. }
        | TableFactor::Derived { .. }
        | TableFactor::UNNEST { .. }
        | TableFactor::JsonTable { .. }
        | TableFactor::OpenJsonTable { .. }
        | TableFactor::NestedJoin { .. }
        | TableFactor::Pivot { .. }
        | TableFactor::Unpivot { .. } => Ok(()),
        TableFactor::Table {
            name,
            args: Some(_),
            ..
        }
        | TableFactor::Function { name, .. } => table(name),
        TableFactor::TableFunction {
            expr: Expr::Function(function),
            ..
        } => table(&function.name),
        _ => refuse(
            Code::UnknownClause,
            "a part of `FROM` is too unusual for a client with a policy",
        ),
    }
}

fn expr(expr: &Expr, dialect: Dialect) -> Result<(), Refusal> {
    match expr {
        Expr::Function(function) => {
            let name = lowered(&function.name);
            let reaches = LOOKS_INTO.iter().any(|start| name.starts_with(start));
            if reaches && !HARMLESS.contains(&name.as_str()) {
                return not_for_a_client(&name);
            }
            Ok(())
        }
        Expr::Cast { data_type, .. } => {
            let kind = data_type.to_string().to_lowercase();
            let kind = kind.rsplit('.').next().unwrap_or_default();
            if kind.starts_with("reg") {
                return not_for_a_client(kind);
            }
            Ok(())
        }
        Expr::TypedString(typed) => {
            let kind = typed.data_type.to_string().to_lowercase();
            if kind.starts_with("reg") {
                return not_for_a_client(&kind);
            }
            Ok(())
        }
        Expr::Prefixed { .. } => refuse(
            Code::UnknownClause,
            "a word before an expression is too unusual for a client with a policy",
        ),
        Expr::BinaryOp {
            op: BinaryOperator::Custom(words),
            right,
            ..
        } if words.to_uppercase().ends_with("IN") => set(right),
        Expr::InList { list, .. } if dialect == Dialect::ClickHouse => match list.as_slice() {
            [only] => set(only),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Here a name is a table.
fn set(set: &Expr) -> Result<(), Refusal> {
    match set {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Nested(_) | Expr::Function(_) => {
            refuse(
                Code::TableNotAllowed,
                "write `IN (SELECT …)`: `IN` with a name is not open to a client with a policy",
            )
        }
        _ => Ok(()),
    }
}

fn body(body: &SetExpr) -> Result<(), Refusal> {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => Ok(()),
        SetExpr::SetOperation { left, right, .. } => {
            self::body(left)?;
            self::body(right)
        }
        _ => refuse(
            Code::UnknownClause,
            "write `SELECT * FROM` in place of `TABLE`",
        ),
    }
}

fn flow(result: Result<(), Refusal>) -> ControlFlow<Refusal> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(refusal),
    }
}

impl Visitor for Calls {
    type Break = Refusal;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Refusal> {
        flow(body(&query.body))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Refusal> {
        flow(self::factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Refusal> {
        flow(self::expr(expr, self.dialect))
    }
}
