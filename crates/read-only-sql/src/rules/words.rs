//! Words that start another statement without a separator.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::Ident;

use crate::refusal::{Refusal, refuse};

/// The parser would read the text of a typed literal as an alias.
pub(super) fn check_quotes(ident: &Ident, dialect: Dialect) -> Result<(), Refusal> {
    let strict = matches!(
        dialect,
        Dialect::Postgres
            | Dialect::Redshift
            | Dialect::Trino
            | Dialect::Databricks
            | Dialect::Snowflake
            | Dialect::BigQuery
    );
    if strict && ident.quote_style == Some('\'') {
        return refuse(
            Code::Unprintable,
            format!("{ident} is in place of a name; names have other quotes"),
        );
    }
    Ok(())
}

/// What the parser reads as an alias can be a command, because a batch needs no semicolons.
pub(super) fn check(ident: &Ident, dialect: Dialect) -> Result<(), Refusal> {
    if dialect != Dialect::SqlServer || ident.quote_style.is_some() {
        return Ok(());
    }
    let word = ident.value.to_ascii_lowercase();
    if CLAUSES.contains(&word.as_str()) {
        return refuse(
            Code::UnknownClause,
            format!("`{word}` starts a clause that is not known here"),
        );
    }
    if STATEMENTS.contains(&word.as_str()) {
        return refuse(
            Code::StatementCount,
            format!("`{word}` starts another statement"),
        );
    }
    Ok(())
}

const CLAUSES: &[&str] = &["holdlock", "option"];

const STATEMENTS: &[&str] = &[
    "alter",
    "backup",
    "begin",
    "break",
    "bulk",
    "checkpoint",
    "close",
    "commit",
    "continue",
    "create",
    "dbcc",
    "deallocate",
    "declare",
    "delete",
    "deny",
    "disable",
    "drop",
    "dump",
    "enable",
    "exec",
    "execute",
    "fetch",
    "get",
    "go",
    "goto",
    "grant",
    "if",
    "insert",
    "kill",
    "load",
    "merge",
    "move",
    "open",
    "print",
    "raiserror",
    "readtext",
    "receive",
    "reconfigure",
    "restore",
    "return",
    "revert",
    "revoke",
    "rollback",
    "save",
    "send",
    "set",
    "setuser",
    "shutdown",
    "throw",
    "tran",
    "transaction",
    "truncate",
    "update",
    "updatetext",
    "use",
    "waitfor",
    "while",
    "writetext",
];
