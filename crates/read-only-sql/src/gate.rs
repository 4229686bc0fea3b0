//! The check of one statement: parse, judge, print, read back.

use std::collections::BTreeSet;

use ktx_diagnostics::{Code, shortened};
use ktx_sql::Dialect;
use sqlparser::ast::Statement;

use crate::order::{SortKey, order_of};
use crate::patches::PatchedTokens;
use crate::refusal::{Refusal, refuse};
use crate::restriction::{Restriction, with_definitions};
use crate::user_functions::AllowedFunctions;
use crate::{functions, grammar, limit, literals, rules, tables, tidy};

/// An allowed statement: the canonical text of its tree, never the original text. Only [`check`]
/// and [`check_allowing`] create one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOnlySql {
    text: String,
    dialect: Dialect,
    tables: BTreeSet<String>,
    order: Vec<SortKey>,
    allowed: AllowedFunctions,
}

impl ReadOnlySql {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The tables that it reads, as dotted names without quotes, without common table expressions
    /// and table functions.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// The keys by which the outermost query sorts its rows; empty if they have no order.
    pub fn order(&self) -> &[SortKey] {
        &self.order
    }

    /// The same query with a row limit in its tree. A query that has a limit, or a form that
    /// accepts none, stays unchanged, so callers must also stop reading on their own.
    #[must_use]
    pub fn with_row_limit(&self, rows: u64) -> Self {
        // A query that cannot take the limit is still allowed.
        check_on_thread(&self.text, self.dialect, &self.allowed, Some(rows))
            .unwrap_or_else(|_| self.clone())
    }

    /// Returns the query over what `restriction` lets a client read: each table under its full name, or as the rows
    /// and columns that may be read of it. User-defined functions are refused, because ktx cannot know what they read.
    ///
    /// # Errors
    /// If the query names another table, or has a part that cannot be limited with certainty.
    pub fn restricted(&self, restriction: &Restriction) -> Result<Self, Refusal> {
        let text = on_thread(&self.text, || {
            let mut definitions = Vec::new();
            let (_, text) = parse_and_print(
                &self.text,
                self.dialect,
                &self.allowed,
                &mut |statement, _| {
                    definitions = restriction.apply(statement, self.dialect)?;
                    Ok(())
                },
            )?;
            Ok(with_definitions(&text, &definitions))
        })?;
        let own = AllowedFunctions::default();
        let limited = check_on_thread(&text, self.dialect, &own, None).map_err(|refusal| {
            match refusal.unknown_functions.first() {
                Some(name) => Refusal {
                    reason: format!("the function `{name}` is not open to a client with a policy"),
                    unknown_functions: Vec::new(),
                    ..refusal
                },
                None => refusal,
            }
        })?;
        restriction.confirm(limited.tables())?;
        Ok(limited)
    }
}

/// The longest text accepted, in bytes: a list of 80,000 numbers fits. Time and memory of the check
/// are proportional to the text: at most 0.9 s and 140 MB at this length, measured without
/// optimizations.
pub const MAX_BYTES: usize = 1 << 20;

/// Fits the deepest tree that [`grammar`] accepts.
const STACK_BYTES: usize = 256 << 20;

/// Refuses everything that could write, and prints the rest from its tree.
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

/// Whether a query may call this function, as an expression or as a table. For sessions that judge
/// calls themselves, so that they accept what [`check`] allows.
pub fn lists_function(name: &str, dialect: Dialect) -> bool {
    let name = name.to_lowercase();
    [functions::CallSite::Expression, functions::CallSite::Table]
        .into_iter()
        .any(|site| functions::is_allowed(&name, dialect, site))
}

fn check_on_thread(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    limit: Option<u64>,
) -> Result<ReadOnlySql, Refusal> {
    on_thread(sql, || check_and_read_back(sql, dialect, allowed, limit))
}

/// Runs work on a text on a thread whose stack fits the deepest tree.
fn on_thread<T: Send>(
    sql: &str,
    work: impl FnOnce() -> Result<T, Refusal> + Send,
) -> Result<T, Refusal> {
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
            .spawn_scoped(scope, work)
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
    let (first, text) = parse_and_print(sql, dialect, allowed, &mut |statement, patched| {
        if let Some(rows) = limit
            && patched.takes_limit()
        {
            limit::add(statement, rows, dialect);
        }
        Ok(())
    })?;
    // Here, because the caller's stack may be too small for the tree.
    let tables = tables::tables_of(&first);
    let order = order_of(&first);
    if text == sql && limit.is_none() {
        return Ok(ReadOnlySql {
            text,
            dialect,
            tables,
            order,
            allowed: allowed.clone(),
        });
    }
    let (second, again) = parse_and_print(&text, dialect, allowed, &mut |_, _| Ok(()))?;
    if first != second || text != again {
        return refuse(
            Code::Unprintable,
            "the printed query does not parse to the same tree",
        );
    }
    Ok(ReadOnlySql {
        text,
        dialect,
        tables,
        order,
        allowed: allowed.clone(),
    })
}

/// Changes a checked tree before it is printed.
type Change<'a> = &'a mut dyn FnMut(&mut Statement, &PatchedTokens) -> Result<(), Refusal>;

/// Runs one pass and returns the checked tree with its printed text.
fn parse_and_print(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
    change: Change<'_>,
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
    change(&mut statement, &patched)?;
    let printed = patched.undo(&statement.to_string(), dialect)?;
    let text = normalized.restore(&printed, dialect)?;
    Ok((statement, text))
}

#[cfg(test)]
mod tests;
