//! A read-only session: open mode, authorizer and clock.

use std::path::Path;
use std::time::Duration;

use ktx_sql::Dialect;
use ktx_warehouse::WarehouseError;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{FILE, error, math};
use crate::file;
use crate::stop::StopSignal;

/// Virtual machine steps between checks of the clock.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

const LOCK_WAIT: Duration = Duration::from_secs(5);

const VALUE_BYTES: i32 = 256 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementRights {
    /// Reads, and the functions and pragmas that the static gate allows.
    Query,
    /// Catalog queries can also read the file's size.
    Catalog,
}

/// Never creates or writes the file. Names are paths, not URIs; attaching is impossible.
pub(super) fn open(
    path: &Path,
    rights: StatementRights,
    stop: &StopSignal,
) -> Result<Connection, WarehouseError> {
    file::inspect(path, &FILE)?;
    if stop.is_due() {
        return Err(stop.reason());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let prepared = Connection::open_with_flags(path, flags).and_then(|mut session| {
        session.busy_timeout(LOCK_WAIT)?;
        session.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        session.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        session.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        session.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES)?;
        math::add(&session)?;
        look_at(&mut session, stop)?;
        session.authorizer(Some(move |context: AuthContext<'_>| {
            authorize(rights, context.action)
        }))?;
        Ok(session)
    });
    prepared.map_err(|error| error::map(&error, path, stop))
}

pub(super) fn watch(
    session: &mut Connection,
    path: &Path,
    stop: &StopSignal,
) -> Result<(), WarehouseError> {
    if stop.is_due() {
        return Err(stop.reason());
    }
    look_at(session, stop).map_err(|error| error::map(&error, path, stop))
}

fn look_at(session: &mut Connection, stop: &StopSignal) -> Result<(), rusqlite::Error> {
    let watch = stop.clone();
    session.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || watch.is_due()))
}

fn authorize(rights: StatementRights, action: AuthAction<'_>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => {
            ktx_read_only_sql::lists_function(function_name, Dialect::Sqlite)
                || is_any(function_name, INTERNAL)
        }
        // Full-text tables use it while they are read.
        AuthAction::Pragma {
            pragma_name,
            pragma_value: None,
        } if is_any(pragma_name, "data_version") => true,
        // The table function `pragma_table_info` runs its pragma.
        AuthAction::Pragma { pragma_name, .. } => {
            ktx_read_only_sql::lists_function(&format!("pragma_{pragma_name}"), Dialect::Sqlite)
                || rights == StatementRights::Catalog && is_any(pragma_name, "page_count page_size")
        }
        _ => false,
    };
    if allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

fn is_any(name: &str, listed: &str) -> bool {
    listed
        .split_ascii_whitespace()
        .any(|listed| name.eq_ignore_ascii_case(listed))
}

/// SQLite's names for operators and internal checks.
const INTERNAL: &str = "-> ->> glob like match regexp rtreecheck";
