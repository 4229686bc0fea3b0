//! Fields that are calls: some servers read `x.name` as `name(x)`.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{AccessExpr, Expr, Ident};

use crate::refusal::{Refusal, refuse};

/// The other names are a table or a schema.
pub(super) fn check_path(parts: &[Ident], dialect: Dialect) -> Result<(), Refusal> {
    parts.last().map_or(Ok(()), |name| check(name, dialect))
}

pub(super) fn check_chain(chain: &[AccessExpr], dialect: Dialect) -> Result<(), Refusal> {
    for access in chain {
        match access {
            AccessExpr::Dot(Expr::Identifier(name)) => check(name, dialect)?,
            AccessExpr::Dot(Expr::CompoundIdentifier(names)) => {
                for name in names {
                    check(name, dialect)?;
                }
            }
            AccessExpr::Dot(_) | AccessExpr::Subscript(_) => {}
        }
    }
    Ok(())
}

fn check(name: &Ident, dialect: Dialect) -> Result<(), Refusal> {
    if name.value.eq_ignore_ascii_case("nextval") {
        return refuse(Code::Sequence, format!("`{name}` moves a sequence"));
    }
    let calls = matches!(dialect, Dialect::Postgres | Dialect::Redshift);
    if calls && is_call(&name.value.to_ascii_lowercase()) {
        return refuse(
            Code::FunctionNotAllowed,
            format!("the field `{name}` would call the function of this name"),
        );
    }
    Ok(())
}

/// PostgreSQL calls the function if `x` has no such column. The gate does not know the columns, so
/// it refuses functions with effects.
pub(super) fn is_call(name: &str) -> bool {
    CALLS.split_ascii_whitespace().any(|call| call == name)
        || FAMILIES.iter().any(|family| name.starts_with(family))
}

const FAMILIES: &[&str] = &[
    "binary_upgrade_",
    "dblink_",
    "pg_advisory_",
    "pg_file_",
    "pg_ls_",
    "pg_read_",
    "pg_replication_",
    "pg_restore_",
    "pg_sleep",
    "pg_stat_reset",
    "pg_try_advisory_",
    "run_command_on_",
];

const CALLS: &str = "addauth brin_summarize_new_values bt_index_check bt_index_parent_check bt_metap \
    compress_chunk crosstab crosstab2 crosstab3 crosstab4 currval dblink decompress_chunk \
    dropgeometrytable fsm_page_contents gin_clean_pending_list gin_index_check http http_delete \
    http_get http_head lo_close lo_creat lo_create lo_export lo_get lo_import lo_tell lo_tell64 \
    lo_unlink page_header pg_backup_start pg_backup_stop pg_buffercache_evict \
    pg_buffercache_evict_relation pg_cancel_backend pg_check_frozen pg_check_visible \
    pg_create_physical_replication_slot pg_create_restore_point pg_current_logfile \
    pg_drop_replication_slot pg_import_system_collations pg_log_backend_memory_contexts pg_prewarm \
    pg_promote pg_relpages pg_rotate_logfile_old pg_start_backup pg_stat_file \
    pg_stat_statements_reset pg_stop_backup pg_sync_replication_slots pg_terminate_backend \
    pg_truncate_visibility_map pgrowlocks pgstatginindex pgstathashindex pgstatindex pgstattuple \
    pgstattuple_approx populate_geometry_columns postgis_extensions_upgrade postgres_fdw_disconnect \
    set_limit setseed ts_stat unlockrows verify_heapam";
