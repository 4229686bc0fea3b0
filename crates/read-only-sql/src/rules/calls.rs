//! Calls: functions, table functions, table hints.

use std::collections::BTreeSet;

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, SelectItem,
    SetExpr, Statement, TableAlias, TableFunctionArgs,
};

use super::fields;
use crate::functions::{CallSite, is_allowed, is_denied};
use crate::patches::{
    APPROXIMATE_NAME, PIVOT, PIVOT_GROUP, PLAIN_NAME, ROWS_FROM, SAFE_NAME, SCALAR_TABLE, SETS,
};
use crate::refusal::{Refusal, refuse};
use crate::user_functions::{FunctionName, NamePart};

pub(super) fn check(function: &Function, dialect: Dialect) -> Result<(), Refusal> {
    if dialect == Dialect::ClickHouse {
        check_function_argument(function)?;
    }
    let name = function.name.to_string().to_lowercase();
    let takes_none =
        matches!(dialect, Dialect::MySql | Dialect::MariaDb) && name == "last_insert_id";
    if takes_none && has_arguments(&function.args) {
        return refuse(
            Code::FunctionNotAllowed,
            "`last_insert_id` with an argument sets a value",
        );
    }
    // Last, because a connection can allow an unknown function.
    check_name(&function.name, dialect, CallSite::Expression)
}

/// ClickHouse: `WITH (x -> …) AS f`. A built-in name with effects keeps its meaning elsewhere.
pub(super) fn named_lambdas(statement: &Statement, dialect: Dialect) -> BTreeSet<String> {
    let Statement::Query(query) = statement else {
        return BTreeSet::new();
    };
    let tables = query.with.as_ref().map(|with| with.cte_tables.as_slice());
    let scalars = tables
        .unwrap_or_default()
        .iter()
        .filter(|table| table.alias.name.value == SCALAR_TABLE);
    scalars
        .filter_map(|table| match table.query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.as_slice() {
                [SelectItem::ExprWithAlias { expr, alias }] if is_lambda(expr) => {
                    Some(alias.value.clone())
                }
                _ => None,
            },
            _ => None,
        })
        .filter(|name| dialect == Dialect::ClickHouse && !has_effects(&name.to_lowercase()))
        .collect()
}

fn is_lambda(expr: &Expr) -> bool {
    match expr {
        Expr::Lambda(_) => true,
        Expr::Nested(inner) => is_lambda(inner),
        _ => false,
    }
}

/// ClickHouse only.
fn has_effects(name: &str) -> bool {
    const EFFECTS: &str = "aigenerate addresstoline addresstolinewithinlines addresstosymbol buildid \
        catboostevaluate demangle file filesystemavailable filesystemcapacity filesystemunreserved \
        generateserialid getclienthttpheader getmacro getoskernelversion getserverport \
        getserversetting hascolumnintable logtrace modelevaluate reversednsquery showcertificate \
        sleep sleepeachrow structuretocapnprotoschema structuretoprotobufschema tid transactionid \
        transactionlatestsnapshot transactionoldestsnapshot zookeepersessionuptime";
    EFFECTS
        .split_ascii_whitespace()
        .any(|effect| effect == name)
}

/// ClickHouse: `arrayMap(f, list)` calls `f`.
fn check_function_argument(function: &Function) -> Result<(), Refusal> {
    let caller = function.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &function.args else {
        return Ok(());
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(first)), _, ..] = list.args.as_slice() else {
        return Ok(());
    };
    let takes_functions = ["array", "map"]
        .iter()
        .any(|family| caller.starts_with(family));
    match identifier_of(first) {
        Some(name) if takes_functions && has_effects(&name.to_lowercase()) => refuse(
            Code::FunctionNotAllowed,
            format!("the function `{name}` is not known to only read"),
        ),
        _ => Ok(()),
    }
}

fn identifier_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => Some(&name.value),
        Expr::Nested(inner) => identifier_of(inner),
        _ => None,
    }
}

pub(super) fn is_one_of(function: &Function, lambdas: &BTreeSet<String>) -> bool {
    match function.name.0.as_slice() {
        [part] => part
            .as_ident()
            .is_some_and(|name| lambdas.contains(&name.value)),
        _ => false,
    }
}

/// SQL Server: brackets after the alias of a table are old-style hints.
pub(super) fn check_alias(alias: Option<&TableAlias>, dialect: Dialect) -> Result<(), Refusal> {
    let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let harmless = columns.iter().all(|column| {
        column.data_type.is_none() && is_harmless_hint(&Expr::Identifier(column.name.clone()))
    });
    if dialect == Dialect::SqlServer && !harmless {
        return refuse(
            Code::Locking,
            "only table hints that take no locks are allowed",
        );
    }
    Ok(())
}

fn has_arguments(arguments: &FunctionArguments) -> bool {
    match arguments {
        FunctionArguments::None => false,
        FunctionArguments::Subquery(_) => true,
        FunctionArguments::List(list) => !list.args.is_empty(),
    }
}

pub(super) fn check_name(
    name: &ObjectName,
    dialect: Dialect,
    site: CallSite,
) -> Result<(), Refusal> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        match part.as_ident() {
            Some(ident) => parts.push(ident.value.to_lowercase()),
            None => {
                return refuse(
                    Code::DynamicName,
                    format!("the function `{name}` is computed"),
                );
            }
        }
    }
    let allowed = match parts.as_slice() {
        [own] => {
            is_own(own, dialect)
                || is_quantifier(name)
                || is_allowed(strip_mark(own), dialect, site)
                || is_method(own, dialect, site)
        }
        [qualifier, own] => {
            is_allowed(&format!("{qualifier}.{own}"), dialect, site)
                || is_built_in_schema(qualifier, dialect) && is_allowed(own, dialect, site)
                || is_method(own, dialect, site)
        }
        // Functions of the information schema of a named database.
        [_, schema, own] if dialect == Dialect::Snowflake => {
            is_allowed(&format!("{schema}.{own}"), dialect, site)
        }
        [.., own] => is_method(own, dialect, site),
        [] => false,
    };
    if allowed {
        return Ok(());
    }
    let (code, what) = match site {
        CallSite::Expression => (Code::FunctionNotAllowed, "function"),
        CallSite::Table => (Code::TableFunctionNotAllowed, "table function"),
    };
    if has_known_effects(&parts, dialect) {
        return refuse(
            code,
            format!("the {what} `{name}` does more than read, and no setting allows it"),
        );
    }
    Err(Refusal {
        code,
        reason: format!(
            "the {what} `{}` is not known to only read",
            strip_marks(name)
        ),
        unknown_functions: vec![function_name(name)],
    })
}

fn has_known_effects(parts: &[String], dialect: Dialect) -> bool {
    let own = parts.last().map_or("", |own| strip_mark(own));
    is_denied(parts, dialect)
        || match dialect {
            Dialect::ClickHouse => has_effects(own),
            Dialect::Postgres | Dialect::Redshift => fields::is_call(own),
            _ => false,
        }
}

fn strip_marks(name: &ObjectName) -> ObjectName {
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    ObjectName::from(
        parts
            .map(|ident| Ident {
                value: strip_mark(&ident.value).to_owned(),
                ..ident.clone()
            })
            .collect::<Vec<_>>(),
    )
}

fn function_name(name: &ObjectName) -> FunctionName {
    let name = strip_marks(name);
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts = parts.map(|ident| NamePart {
        text: ident.value.clone(),
        quoted: ident.quote_style.is_some(),
    });
    FunctionName::new(parts.collect())
}

/// The words in `LIKE ALL (…)` are reserved, so unquoted they are never a call.
fn is_quantifier(name: &ObjectName) -> bool {
    let [part] = name.0.as_slice() else {
        return false;
    };
    part.as_ident().is_some_and(|ident| {
        ident.quote_style.is_none()
            && ["all", "any", "some"]
                .iter()
                .any(|word| ident.value.eq_ignore_ascii_case(word))
    })
}

fn is_own(name: &str, dialect: Dialect) -> bool {
    if SETS.iter().any(|(set, _)| *set == name) {
        return true;
    }
    match dialect {
        Dialect::DuckDb => matches!(name, PIVOT | PIVOT_GROUP),
        Dialect::Postgres => name == ROWS_FROM,
        _ => false,
    }
}

fn strip_mark(name: &str) -> &str {
    [APPROXIMATE_NAME, SAFE_NAME, PLAIN_NAME]
        .into_iter()
        .find_map(|mark| name.strip_prefix(mark))
        .unwrap_or(name)
}

fn is_built_in_schema(schema: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Postgres | Dialect::Redshift | Dialect::DuckDb => {
            matches!(schema, "pg_catalog" | "information_schema")
        }
        Dialect::BigQuery => schema == "safe",
        Dialect::Databricks => schema == "builtin",
        _ => false,
    }
}

/// XML, hierarchies and spatial values.
const TSQL_METHODS: &[&str] = &[
    "value",
    "query",
    "exist",
    "tostring",
    "lat",
    "long",
    "point",
    "parse",
    "getroot",
    "geomfromgml",
    "getancestor",
    "getdescendant",
    "getlevel",
    "isdescendantof",
    "getreparentedvalue",
    "makevalid",
    "reduce",
    "filter",
    "instanceof",
    "asgml",
    "astextzm",
    "bufferwithtolerance",
    "hasm",
    "hasz",
];

fn is_spatial(own: &str) -> bool {
    const METHODS: &str = "area asbinary astext boundary buffer centroid contains convexhull \
        crosses curven curvetoline difference dimension disjoint distance endpoint envelope equals \
        exteriorring geomcollfromtext geometryn geometrytype geomfromtext geomfromwkb \
        interiorringn intersection intersects isclosed isempty isring issimple isvalid length \
        linefromtext linefromwkb mlinefromtext mpointfromtext mpolyfromtext numcurves \
        numgeometries numinteriorring numpoints overlaps pointfromtext pointfromwkb pointn \
        pointonsurface polyfromtext polyfromwkb relate srid startpoint symdifference touches \
        union within x y";
    own.strip_prefix("st")
        .is_some_and(|name| METHODS.split_whitespace().any(|method| method == name))
}

fn is_method(own: &str, dialect: Dialect, site: CallSite) -> bool {
    match dialect {
        Dialect::SqlServer => match site {
            CallSite::Expression => {
                let own = own
                    .split_once("::")
                    .filter(|(of, _)| matches!(*of, "geography" | "geometry" | "hierarchyid"))
                    .map_or(own, |(_, method)| method);
                TSQL_METHODS.contains(&own) || is_spatial(own)
            }
            CallSite::Table => own == "nodes",
        },
        // `name.upper()` is `upper(name)`.
        Dialect::DuckDb => site == CallSite::Expression && is_allowed(own, dialect, site),
        _ => false,
    }
}

/// SQL Server: `t (NOLOCK)`.
pub(super) fn are_hints(args: &TableFunctionArgs, dialect: Dialect) -> bool {
    dialect == Dialect::SqlServer
        && args.settings.is_none()
        && !args.args.is_empty()
        && args.args.iter().all(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => is_harmless_hint(expr),
            _ => false,
        })
}

pub(super) fn check_hints(hints: &[Expr], dialect: Dialect) -> Result<(), Refusal> {
    if hints.is_empty() {
        return Ok(());
    }
    if dialect != Dialect::SqlServer || !hints.iter().all(is_harmless_hint) {
        return refuse(
            Code::Locking,
            "only table hints that take no locks are allowed",
        );
    }
    Ok(())
}

fn is_harmless_hint(hint: &Expr) -> bool {
    let name = match hint {
        Expr::Identifier(name) => name.value.to_ascii_lowercase(),
        Expr::Function(function) => function.name.to_string().to_ascii_lowercase(),
        Expr::BinaryOp { left, .. } => left.to_string().to_ascii_lowercase(),
        _ => return false,
    };
    matches!(
        name.as_str(),
        "nolock"
            | "readuncommitted"
            | "readcommitted"
            | "readpast"
            | "noexpand"
            | "forceseek"
            | "forcescan"
            | "nowait"
            | "index"
    )
}
