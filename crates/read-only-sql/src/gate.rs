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

/// The text printed from a checked tree, never the original. Only [`check`] and [`check_allowing`]
/// create one.
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

    /// Excludes common table expressions and table functions. Names are dotted, without quotes.
    pub fn tables(&self) -> &BTreeSet<String> {
        &self.tables
    }

    /// Returns the sort keys of the outermost query.
    pub fn order(&self) -> &[SortKey] {
        &self.order
    }

    /// Some queries stay unchanged, so callers must also stop reading on their own.
    #[must_use]
    pub fn with_row_limit(&self, rows: u64) -> Self {
        check_on_thread(&self.text, self.dialect, &self.allowed, Some(rows))
            .unwrap_or_else(|_| self.clone())
    }

    /// Limits the query to what a client can read. Refuses user-defined functions, because ktx
    /// cannot know what they read.
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

/// Bytes; a list of 80,000 numbers fits. The check takes at most 0.9 s and 140 MB, measured without
/// optimizations.
pub const MAX_BYTES: usize = 1 << 20;

/// Fits the deepest tree that [`grammar`] accepts.
const STACK_BYTES: usize = 256 << 20;

/// Refuses everything that could write.
pub fn check(sql: &str, dialect: Dialect) -> Result<ReadOnlySql, Refusal> {
    check_allowing(sql, dialect, &AllowedFunctions::default())
}

/// Like [`check`], for a connection that allows more functions.
pub fn check_allowing(
    sql: &str,
    dialect: Dialect,
    allowed: &AllowedFunctions,
) -> Result<ReadOnlySql, Refusal> {
    check_on_thread(sql, dialect, allowed, None)
}

/// Returns whether [`check`] allows the function.
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

/// The caller's stack can be too small for the tree.
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

type Change<'a> = &'a mut dyn FnMut(&mut Statement, &PatchedTokens) -> Result<(), Refusal>;

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
