//! A read-only session: the file's open mode, the authorizer and the clock.

use std::path::Path;
use std::time::Duration;

use ktx_warehouse::WarehouseError;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use super::{FILE, error};
use crate::file;
use crate::stop::Stop;

/// Steps of SQLite's machine between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// How long a writer may keep the file locked before the statement fails.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The largest value that is read at all.
const VALUE_BYTES: i32 = 256 << 20;

/// What a session may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// Queries of users: reads and listed functions.
    Query,
    /// The connector's own catalog queries: the table pragmas as well.
    Catalog,
}

/// Opens the file. It is never created and never written; names are paths and never URIs, and no
/// second file can be attached.
pub(super) fn open(path: &Path, rights: Rights, stop: &Stop) -> Result<Connection, WarehouseError> {
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
        look_at(&mut session, stop)?;
        session.authorizer(Some(move |context: AuthContext<'_>| {
            authorize(rights, context.action)
        }))?;
        Ok(session)
    });
    prepared.map_err(|error| error::map(&error, path, stop))
}

/// Lets a session that has ended one statement look at the clock of the next.
pub(super) fn watch(
    session: &mut Connection,
    path: &Path,
    stop: &Stop,
) -> Result<(), WarehouseError> {
    if stop.is_due() {
        return Err(stop.reason());
    }
    look_at(session, stop).map_err(|error| error::map(&error, path, stop))
}

fn look_at(session: &mut Connection, stop: &Stop) -> Result<(), rusqlite::Error> {
    let watch = stop.clone();
    session.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || watch.is_due()))
}

fn authorize(rights: Rights, action: AuthAction<'_>) -> Authorization {
    let allowed = match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => is_listed(function_name),
        // Full-text tables ask for it while they are read.
        AuthAction::Pragma {
            pragma_name,
            pragma_value: None,
        } if is(pragma_name, "data_version") => true,
        AuthAction::Pragma { pragma_name, .. } => {
            rights == Rights::Catalog
                && [
                    "table_list",
                    "table_xinfo",
                    "foreign_key_list",
                    "page_count",
                    "page_size",
                ]
                .iter()
                .any(|listed| is(pragma_name, listed))
        }
        _ => false,
    };
    if allowed {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

fn is(name: &str, listed: &str) -> bool {
    name.eq_ignore_ascii_case(listed)
}

fn is_listed(function: &str) -> bool {
    FUNCTIONS
        .iter()
        .flat_map(|group| group.split_ascii_whitespace())
        .any(|listed| is(function, listed))
}

/// The functions that a query may call: all that compute from their arguments and rows. Left out are
/// those that load code, reach into the file or set state.
const FUNCTIONS: &[&str] = &[
    "abs changes char coalesce concat concat_ws format glob hex if ifnull iif instr last_insert_rowid \
     length like likelihood likely lower ltrim max min nullif octet_length printf quote random randomblob \
     replace round rtrim sign soundex sqlite_version substr substring total_changes trim typeof unhex \
     unicode unistr unistr_quote unlikely upper zeroblob subtype",
    "avg count group_concat string_agg sum total median percentile percentile_cont percentile_disc",
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value",
    "date time datetime julianday unixepoch strftime timediff current_date current_time \
     current_timestamp",
    "acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 \
     mod pi pow power radians sin sinh sqrt tan tanh trunc",
    "json jsonb json_array jsonb_array json_array_length json_array_insert jsonb_array_insert \
     json_error_position json_extract jsonb_extract json_insert jsonb_insert json_object jsonb_object \
     json_patch jsonb_patch json_pretty json_quote json_remove jsonb_remove json_replace jsonb_replace \
     json_set jsonb_set json_type json_valid json_each json_tree jsonb_each jsonb_tree json_group_array \
     jsonb_group_array json_group_object jsonb_group_object -> ->>",
    "match regexp bm25 highlight snippet matchinfo offsets rtreedepth rtreecheck rtreenode",
];
