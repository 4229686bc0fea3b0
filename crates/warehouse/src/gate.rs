//! The static read-only gate: which SQL may reach a warehouse at all.
//!
//! A text passes when it is one query of its dialect whose every part is known to only read: no
//! writing node at any depth, no lock, no variable, no file, stage or remote table, and no function
//! outside the dialect's list. What passes is printed again from the parsed tree; the printed text
//! is read back, and has to give the same tree.

mod functions;
mod grammar;
mod lexis;
mod limit;
mod literals;
mod names;
mod patches;
mod rules;
mod tables;
mod tidy;
pub mod wire;

use std::collections::BTreeSet;

use ktx_diagnostics::Code;
use ktx_diagnostics::shortened;
use sqlparser::ast::Statement;

use self::patches::Patched;
use crate::{AllowedFunctions, Dialect, FunctionName};

/// One statement that the gate has allowed: the canonical text of its parsed tree, never the text
/// that came in. Only [`admit`] and [`check`] make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOnlySql {
    text: String,
    dialect: Dialect,
    tables: BTreeSet<String>,
    allowed: AllowedFunctions,
}

impl ReadOnlySql {
    /// The SQL to send.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The dialect that it was parsed and printed in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The tables that it reads, by their dotted names without quotes. Common table expressions and table functions
    /// are not among them.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// The same query, returning at most `rows` rows: a limit is added to the tree. A query that has
    /// a limit of its own, or a form that takes none, stays as it is, so a caller has to stop
    /// reading by itself as well.
    #[must_use]
    pub fn with_row_limit(&self, rows: u64) -> Self {
        // A query that cannot take the limit is still a good query.
        run(&self.text, self.dialect, &self.allowed, Some(rows)).unwrap_or_else(|_| self.clone())
    }
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// Which rule refused it.
    pub code: Code,
    /// What was refused and why.
    pub reason: String,
    /// The functions that the gate does not know, if nothing else speaks against the statement: a connection that allows
    /// them could run it.
    pub unknown_functions: Vec<FunctionName>,
}

impl Refusal {
    /// How the owner of the project lets the statement pass, when that is possible.
    pub fn permission(&self) -> Option<String> {
        if self.unknown_functions.is_empty() {
            return None;
        }
        let names: Vec<String> = self
            .unknown_functions
            .iter()
            .map(ToString::to_string)
            .collect();
        Some(format!(
            "if it only reads, allow it in ktx.yaml: `allowed_functions: [{}]` in the connection",
            names.join(", ")
        ))
    }
}

/// The longest text that is looked at, in bytes: a list of 80,000 numbers fits. The check takes time and
/// memory in proportion to the text: at most 0.9 s and 140 MB here, measured without optimizations.
pub const MAX_BYTES: usize = 1 << 20;

/// Stack of the thread that parses: enough for the deepest tree that [`grammar`] lets through.
const STACK_BYTES: usize = 256 << 20;

/// Parses `sql` in `dialect`, refuses everything that could write, and re-prints what is left.
pub fn check(sql: &str, dialect: Dialect) -> Result<ReadOnlySql, Refusal> {
    admit(sql, dialect, &AllowedFunctions::default())
}

/// As [`check`], for a connection that allows more functions than the gate knows.
pub fn admit(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
) -> Result<ReadOnlySql, Refusal> {
    run(sql, dialect, allowed, None)
}

/// Whether a query of the dialect may call this function, in an expression or as a table. A session that judges calls by
/// itself asks here, so that it takes what [`check`] lets through.
pub fn lists_function(name: &str, dialect: Dialect) -> bool {
    let name = name.to_lowercase();
    [functions::Place::Expression, functions::Place::Table]
        .into_iter()
        .any(|place| functions::is_allowed(&name, dialect, place))
}

/// Runs the whole check on a thread whose stack fits the deepest tree.
fn run(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<ReadOnlySql, Refusal> {
    if sql.len() > MAX_BYTES {
        return refuse(
            Code::TooLarge,
            format!(
                "the SQL has {} bytes; the limit is {MAX_BYTES} bytes",
                sql.len()
            ),
        );
    }
    let done = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || checked(sql, dialect, allowed, limit))
            .map(std::thread::ScopedJoinHandle::join)
    });
    match done {
        Ok(Ok(outcome)) => outcome.map_err(|refusal| Refusal {
            reason: shortened(&refusal.reason).into_owned(),
            ..refusal
        }),
        Ok(Err(_)) => refuse(Code::Internal, "the check of the query failed"),
        Err(error) => refuse(
            Code::Internal,
            format!("the check could not start: {error}"),
        ),
    }
}

fn checked(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<ReadOnlySql, Refusal> {
    let (first, text) = parse_and_print(sql, dialect, allowed, limit)?;
    // Here, because the stack of the caller may be too small for the tree.
    let tables = tables::tables_of(&first);
    if text == sql && limit.is_none() {
        return Ok(ReadOnlySql {
            text,
            dialect,
            tables,
            allowed: allowed.clone(),
        });
    }
    let (second, again) = parse_and_print(&text, dialect, allowed, None)?;
    if first != second || text != again {
        return refuse(
            Code::Unprintable,
            "the query does not read back as it was printed",
        );
    }
    Ok(ReadOnlySql {
        text,
        dialect,
        tables,
        allowed: allowed.clone(),
    })
}

/// One pass: the checked tree, and the text that stands for it.
fn parse_and_print(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<(Statement, String), Refusal> {
    let normal = literals::normalise(sql, dialect)?;
    let own_words = |refusal: Refusal| match refusal.code {
        Code::ParseError => {
            let located = grammar::located(&normal.text, dialect, &refusal.reason);
            let reason = located.as_deref().unwrap_or(&refusal.reason);
            Refusal {
                reason: normal.told(reason, sql, dialect),
                ..refusal
            }
        }
        _ => refusal,
    };
    let tokens = grammar::tokens(&normal.text, dialect).map_err(own_words)?;
    let mut patched = Patched::new(tokens, dialect)?;
    let mut statement = grammar::parse(patched.take_tokens(), dialect).map_err(own_words)?;
    rules::check(&statement, dialect, allowed).map_err(|refusal| Refusal {
        reason: normal.spelled(&refusal.reason),
        ..refusal
    })?;
    tidy::tidy(&mut statement, dialect)?;
    if let Some(rows) = limit
        && patched.takes_limit()
    {
        limit::add(&mut statement, rows, dialect);
    }
    let printed = patched.undo(&statement.to_string(), dialect)?;
    let text = normal.restore(&printed, dialect)?;
    Ok((statement, text))
}

fn refuse<T>(code: Code, reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        code,
        reason: reason.into(),
        unknown_functions: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
