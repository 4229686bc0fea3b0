//! Judges functions by PostgreSQL's catalog.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ktx_read_only_sql::FunctionName;
use ktx_warehouse::{FunctionVerdict, WarehouseError};
use tokio::time::Instant;
use tokio_postgres::Row;

use super::session::PostgresSession;

/// A function can be replaced by one that writes.
const FRESH_TIME: Duration = Duration::from_mins(1);

/// Functions of a name in a schema or the search path, which always contains `pg_catalog`. Before
/// version 11, another column has the kind.
const FUNCTIONS: &str =
    "SELECT n.nspname::text, p.oid::pg_catalog.regprocedure::text, p.provolatile::text,
    p.prosecdef, l.lanname::text,
    COALESCE(pg_catalog.to_jsonb(p) ->> 'prokind',
        CASE pg_catalog.to_jsonb(p) ->> 'proisagg' WHEN 'true' THEN 'a' ELSE 'f' END)
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE p.proname::text = $1
  AND CASE WHEN $2::text IS NULL THEN n.nspname = ANY (pg_catalog.current_schemas(true))
      ELSE n.nspname::text = $2 END
ORDER BY 1, 2";

#[derive(Debug, Default)]
pub(super) struct RecentVerdicts(Mutex<BTreeMap<FunctionName, (FunctionVerdict, Instant)>>);

impl RecentVerdicts {
    pub(super) fn all(&self, names: &[FunctionName]) -> Option<Vec<FunctionVerdict>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names
            .iter()
            .map(|name| {
                let (verdict, since) = known.get(name)?;
                (since.elapsed() < FRESH_TIME).then(|| verdict.clone())
            })
            .collect()
    }

    pub(super) fn keep(&self, names: &[FunctionName], verdicts: &[FunctionVerdict]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (_, since)| since.elapsed() < FRESH_TIME);
        let now = Instant::now();
        for (name, verdict) in names.iter().zip(verdicts) {
            known.insert(name.clone(), (verdict.clone(), now));
        }
    }
}

pub(super) async fn judge(
    session: &PostgresSession,
    names: &[FunctionName],
) -> Result<Vec<FunctionVerdict>, WarehouseError> {
    let mut verdicts = Vec::with_capacity(names.len());
    for name in names {
        let parts = name.lower_case_parts();
        let (schema, own) = match parts.as_slice() {
            [own] => (None, own),
            [schema, own] => (Some(schema), own),
            _ => {
                verdicts.push(FunctionVerdict::NotFound);
                continue;
            }
        };
        let rows = session.rows(FUNCTIONS, &[own, &schema]).await?;
        let functions = rows
            .iter()
            .map(|row| read(row).map_err(|error| session.failed(&error)))
            .collect::<Result<Vec<DatabaseFunction>, WarehouseError>>()?;
        verdicts.push(verdict(&functions));
    }
    Ok(verdicts)
}

#[derive(Debug, Clone)]
pub(super) struct DatabaseFunction {
    schema: String,
    /// Such as `tax(numeric)`.
    signature: String,
    volatility: String,
    security_definer: bool,
    language: String,
    kind: String,
}

fn read(row: &Row) -> Result<DatabaseFunction, tokio_postgres::Error> {
    Ok(DatabaseFunction {
        schema: row.try_get(0)?,
        signature: row.try_get(1)?,
        volatility: row.try_get(2)?,
        security_definer: row.try_get(3)?,
        language: row.try_get(4)?,
        kind: row.try_get(5)?,
    })
}

/// All overloads must be read-only, because argument types decide which one a call means.
fn verdict(functions: &[DatabaseFunction]) -> FunctionVerdict {
    if functions.is_empty() {
        return FunctionVerdict::NotFound;
    }
    match functions.iter().find_map(objection) {
        Some(because) => FunctionVerdict::MayWrite { because },
        None => FunctionVerdict::Reads,
    }
}

/// PostgreSQL keeps non-volatile SQL and PL/pgSQL functions from writing; for other languages the
/// label is only a promise.
fn objection(function: &DatabaseFunction) -> Option<String> {
    let name = &function.signature;
    if matches!(
        function.schema.as_str(),
        "pg_catalog" | "information_schema"
    ) {
        return Some(format!("`{name}` is a function of the server itself"));
    }
    if function.kind != "f" {
        let kind = match function.kind.as_str() {
            "a" => "an aggregate",
            "w" => "a window function",
            _ => "a procedure",
        };
        return Some(format!(
            "`{name}` is {kind}, whose volatility PostgreSQL does not record"
        ));
    }
    if function.security_definer {
        return Some(format!(
            "`{name}` is SECURITY DEFINER and runs with the rights of its owner"
        ));
    }
    if !matches!(function.volatility.as_str(), "i" | "s") {
        return Some(format!("`{name}` is VOLATILE"));
    }
    if !matches!(function.language.as_str(), "sql" | "plpgsql") {
        return Some(format!(
            "`{name}` is written in `{}`, where PostgreSQL does not enforce the volatility",
            function.language
        ));
    }
    None
}

#[cfg(test)]
mod tests;
