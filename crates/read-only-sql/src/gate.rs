//! The check of one statement: parse, judge, print, and read back.

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, shortened};
use ktx_sql::Dialect;
use sqlparser::ast::Statement;

use crate::patches::PatchedTokens;
use crate::refusal::{Refusal, refuse};
use crate::user_functions::AllowedFunctions;
use crate::{functions, grammar, limit, literals, rules, tables, tidy};

/// A statement that the gate has allowed: the canonical text of its parsed tree, never the original
/// text. Only [`check`] and [`check_allowing`] create one.
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

    /// Returns the dialect in which it was parsed and printed.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the tables that it reads, as dotted names without quotes, excluding common table
    /// expressions and table functions.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// Returns the same query with a limit of `rows` rows added to its tree. A query that has a
    /// limit, or a form that accepts none, stays unchanged, so callers must also stop reading on
    /// their own.
    #[must_use]
    pub fn with_row_limit(&self, rows: u64) -> Self {
        // A query that cannot take the limit is still allowed.
        check_on_thread(&self.text, self.dialect, &self.allowed, Some(rows))
            .unwrap_or_else(|_| self.clone())
    }
}

/// The longest text accepted, in bytes: a list of 80,000 numbers fits. Time and memory of the check
/// are proportional to the text: at most 0.9 s and 140 MB at this length, measured without
/// optimizations.
pub const MAX_BYTES: usize = 1 << 20;

/// Stack of the parser's thread: enough for the deepest tree that [`grammar`] accepts.
const STACK_BYTES: usize = 256 << 20;

/// Parses `sql` in `dialect`, refuses everything that could write, and prints the rest from its
/// tree.
pub fn check(sql: &str, dialect: Dialect) -> Result<ReadOnlySql, Refusal> {
    check_allowing(sql, dialect, &AllowedFunctions::default())
}

/// Like [`check`], for a connection that allows more functions than the gate knows.
pub fn check_allowing(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
) -> Result<ReadOnlySql, Refusal> {
    check_on_thread(sql, dialect, allowed, None)
}

/// Whether a query of the dialect may call this function, as an expression or as a table. Sessions
/// that judge calls themselves use this, so that they accept what [`check`] allows.
pub fn lists_function(name: &str, dialect: Dialect) -> bool {
    let name = name.to_lowercase();
    [functions::CallSite::Expression, functions::CallSite::Table]
        .into_iter()
        .any(|site| functions::is_allowed(&name, dialect, site))
}

/// Runs the whole check on a thread whose stack fits the deepest tree.
fn check_on_thread(
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
            .spawn_scoped(scope, || check_and_read_back(sql, dialect, allowed, limit))
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

fn check_and_read_back(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<ReadOnlySql, Refusal> {
    let (first, text) = parse_and_print(sql, dialect, allowed, limit)?;
    // On this thread, because the caller's stack may be too small for the tree.
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

/// Runs one pass and returns the checked tree with its printed text.
fn parse_and_print(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<(Statement, String), Refusal> {
    let normalized = literals::normalize(sql, dialect)?;
    let own_words = |refusal: Refusal| match refusal.code {
        Code::ParseError => {
            let located = grammar::located(&normalized.text, dialect, &refusal.reason);
            let reason = located.as_deref().unwrap_or(&refusal.reason);
            Refusal {
                reason: normalized.translate_error(reason, sql, dialect),
                ..refusal
            }
        }
        _ => refusal,
    };
    let tokens = grammar::tokens(&normalized.text, dialect).map_err(own_words)?;
    let mut patched = PatchedTokens::new(tokens, dialect)?;
    let mut statement = grammar::parse(patched.take_tokens(), dialect).map_err(own_words)?;
    rules::check(&statement, dialect, allowed).map_err(|refusal| Refusal {
        reason: normalized.fill_literals(&refusal.reason),
        ..refusal
    })?;
    tidy::tidy(&mut statement, dialect)?;
    if let Some(rows) = limit
        && patched.takes_limit()
    {
        limit::add(&mut statement, rows, dialect);
    }
    let printed = patched.undo(&statement.to_string(), dialect)?;
    let text = normalized.restore(&printed, dialect)?;
    Ok((statement, text))
}

#[cfg(test)]
mod tests;
