//! Matches the dialects of statement and connection.

use ktx_read_only_sql::ReadOnlySql;
use ktx_sql::Dialect;
use ktx_warehouse::{ErrorKind, WarehouseError};

pub(crate) fn require_dialect(
    sql: &ReadOnlySql,
    accepted: &[Dialect],
) -> Result<(), WarehouseError> {
    if accepted.contains(&sql.dialect()) {
        return Ok(());
    }
    let expected = accepted
        .first()
        .map(|dialect| dialect.name())
        .unwrap_or_default();
    Err(WarehouseError::new(
        ErrorKind::Sql,
        format!(
            "the statement was checked as `{}`, the connection speaks `{expected}`",
            sql.dialect()
        ),
    ))
}
