//! Which names can be read as tables.

use ktx_diagnostics::Code;
use ktx_sql::Dialect;
use sqlparser::ast::{Ident, ObjectName, TableAlias};

use crate::refusal::{Refusal, refuse};

/// Refuses names of files, stages, variables, other servers or credentials.
pub(super) fn check_table(name: &ObjectName, dialect: Dialect) -> Result<(), Refusal> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        let Some(ident) = part.as_ident() else {
            return refuse(
                Code::DynamicName,
                format!("the table name `{name}` is computed"),
            );
        };
        check_part(ident, dialect)?;
        parts.extend(ident.value.to_lowercase().split('.').map(ToOwned::to_owned));
    }
    if dialect == Dialect::SqlServer && name.0.len() > 3 {
        return refuse(
            Code::LinkedServer,
            format!("`{name}` is a table of another server"),
        );
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    check_file(name, &parts, dialect)?;
    if holds_credentials(&parts, dialect) {
        return refuse(
            Code::CredentialCatalog,
            format!("`{name}` holds credentials or secrets"),
        );
    }
    if has_effects(&parts, dialect) {
        return refuse(
            Code::TableNotAllowed,
            format!("`{name}` is not an ordinary table"),
        );
    }
    Ok(())
}

/// The parser reads `ONLY` or `STREAM` as a table with an alias.
pub(super) fn check_modifier(
    name: &ObjectName,
    alias: Option<&TableAlias>,
    dialect: Dialect,
) -> Result<(), Refusal> {
    let Some(alias) = alias else {
        return Ok(());
    };
    if alias
        .columns
        .iter()
        .any(|column| column.name.quote_style == Some('\''))
    {
        return refuse(
            Code::TableFunctionNotAllowed,
            format!("`{alias}` is not an alias of a table"),
        );
    }
    let [part] = name.0.as_slice() else {
        return Ok(());
    };
    let word = part
        .as_ident()
        .filter(|ident| ident.quote_style.is_none())
        .map(|ident| ident.value.to_ascii_lowercase());
    match (dialect, word.as_deref()) {
        (Dialect::Postgres | Dialect::Redshift, Some("only")) => {
            check_table(&ObjectName::from(vec![alias.name.clone()]), dialect)
        }
        (Dialect::Databricks, Some("stream")) => refuse(
            Code::TableNotAllowed,
            "`STREAM` reads a stream, not a table",
        ),
        _ => Ok(()),
    }
}

fn check_part(ident: &Ident, dialect: Dialect) -> Result<(), Refusal> {
    if ident.quote_style == Some('\'') {
        return refuse(
            Code::FileAsTable,
            "a quoted text is read as a file, not as a table",
        );
    }
    let name = ident.value.as_str();
    if name.starts_with(['@', '$', '?', '%', '~']) {
        return refuse(
            Code::StageOrVariable,
            format!("`{name}` is a stage or a variable"),
        );
    }
    let files = matches!(
        dialect,
        Dialect::DuckDb
            | Dialect::Databricks
            | Dialect::Snowflake
            | Dialect::ClickHouse
            | Dialect::BigQuery
            | Dialect::Sqlite
    );
    if files && (name.contains(['/', '\\']) || name.contains("://")) {
        return refuse(Code::FileAsTable, format!("`{name}` looks like a path"));
    }
    if dialect == Dialect::DuckDb && name.contains(['*', '?', ':', '[', ']']) {
        return refuse(Code::FileAsTable, format!("`{name}` looks like a path"));
    }
    Ok(())
}

fn check_file(name: &ObjectName, parts: &[&str], dialect: Dialect) -> Result<(), Refusal> {
    let is_file = match dialect {
        // Without such a table, `data.csv` is a file.
        Dialect::DuckDb => {
            let last = parts.last().copied().unwrap_or_default();
            parts.len() > 1 && FILE_ENDINGS.contains(&last)
                || parts.len() > name.0.len()
                    && ENDINGS_IN_QUOTES.split(' ').any(|ending| ending == last)
        }
        // `format.`path`` reads files, even without a slash.
        Dialect::Databricks => {
            name.0.len() == 2
                && parts.first().is_some_and(|first| {
                    // A format's class in backticks works like its name.
                    FILE_FORMATS.contains(first) || has_dot(name)
                })
        }
        _ => false,
    };
    if is_file {
        return refuse(Code::FileAsTable, format!("`{name}` is read as a file"));
    }
    Ok(())
}

fn has_dot(name: &ObjectName) -> bool {
    name.0
        .first()
        .and_then(|part| part.as_ident())
        .is_some_and(|ident| ident.value.contains('.'))
}

/// Files that DuckDB opens with its usual extensions.
const FILE_ENDINGS: &[&str] = &[
    "csv", "tsv", "txt", "parquet", "json", "jsonl", "ndjson", "geojson", "gz", "zst", "bz2", "xz",
    "xlsx", "xls", "avro", "orc", "arrow", "arrows", "feather", "ipc", "db", "duckdb", "sqlite",
    "shp", "gpkg", "fgb", "pq", "parq", "vortex", "lance",
];

/// Also table names: checked only after a dot inside quotes.
const ENDINGS_IN_QUOTES: &str = "log dat ddb sqlite3 yaml yml xml html md kml gpx pbf las laz \
    sas7bdat xpt sav dta rds vcf bam bed fasta fastq nc h5 hdf5 zarr tar zip lz4 sz snappy br bgz \
    pcap geojsonl geoparquet evtx toml ini conf";

const FILE_FORMATS: &[&str] = &[
    "parquet",
    "csv",
    "json",
    "text",
    "binaryfile",
    "orc",
    "avro",
    "xml",
    "delta",
    "iceberg",
    "hudi",
    "jdbc",
    "kafka",
    "cloudfiles",
    "image",
    "libsvm",
    "excel",
    "deltasharing",
    "lance",
];

fn holds_credentials(parts: &[&str], dialect: Dialect) -> bool {
    let last = parts.last().copied().unwrap_or_default();
    let schema = parts.iter().rev().nth(1).copied().unwrap_or_default();
    match dialect {
        Dialect::Postgres | Dialect::Redshift => matches!(
            last,
            "pg_authid"
                | "pg_shadow"
                | "pg_user_mapping"
                | "pg_user_mappings"
                | "pg_hba_file_rules"
                | "pg_ident_file_mappings"
                | "pg_file_settings"
                | "pg_largeobject"
                | "pg_subscription"
                | "pg_user_info"
                | "user_mapping_options"
                | "_pg_user_mappings"
        ),
        Dialect::MySql | Dialect::MariaDb => {
            schema == "mysql" || matches!(last, "user_attributes" | "session_account_connect_attrs")
        }
        Dialect::SqlServer => matches!(
            last,
            "sql_logins"
                | "syslogins"
                | "sysxlogins"
                | "syslnklgns"
                | "sysusers_passwords"
                | "credentials"
                | "database_scoped_credentials"
                | "linked_logins"
                | "sysremotelogins"
                | "remote_logins"
                | "symmetric_keys"
                | "asymmetric_keys"
                | "key_encryptions"
        ),
        Dialect::ClickHouse => {
            schema == "system"
                && matches!(
                    last,
                    "users" | "named_collections" | "user_directories" | "certificates"
                )
        }
        Dialect::Sqlite
        | Dialect::Snowflake
        | Dialect::BigQuery
        | Dialect::DuckDb
        | Dialect::Databricks
        | Dialect::Trino => false,
    }
}

fn has_effects(parts: &[&str], dialect: Dialect) -> bool {
    let last = parts.last().copied().unwrap_or_default();
    let schema = parts.iter().rev().nth(1).copied().unwrap_or_default();
    match dialect {
        Dialect::ClickHouse => {
            schema == "system"
                && (last.starts_with("zookeeper") || matches!(last, "stack_trace" | "coredump"))
        }
        Dialect::Sqlite => {
            matches!(
                last,
                "fsdir" | "zipfile" | "sqlite_dbpage" | "lsmode" | "bytecode" | "tables_used"
            ) || last.starts_with("pragma_")
                && !crate::functions::is_allowed(last, dialect, crate::functions::CallSite::Table)
        }
        Dialect::SqlServer => last.starts_with("fn_") || last.starts_with("dm_os_file_exists"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
