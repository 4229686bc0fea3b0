//! The warehouse that a context source or a note is about.

use ktx_config::Connection;
use ktx_diagnostics::{Code, Failure};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::compose;
use crate::connections;
use crate::invocation::OpenProject;
use crate::report::Outcome;

/// Returns the warehouse with this id, and its dialect; none if there is no id.
pub(crate) fn named(
    id: Option<&str>,
    project: &OpenProject,
) -> Outcome<Option<(ConnectionId, Dialect)>> {
    let Some(id) = id else {
        return Ok(None);
    };
    let found: &Connection = connections::warehouse(&project.config, Some(id))?;
    let Some(dialect) = compose::dialect(found.driver) else {
        return Err(Failure::new(
            Code::NotAWarehouse,
            format!("connection `{id}` has no SQL dialect"),
        ));
    };
    Ok(Some((found.id.clone(), dialect)))
}

/// Returns the warehouse whose sources may be written: the configured one, else the one of setup,
/// else the only one.
pub(super) fn of_source(
    connection: &Connection,
    target: Option<&str>,
    project: &OpenProject,
) -> Outcome<Option<(ConnectionId, Dialect)>> {
    if target.is_some() {
        return named(target, project);
    }
    let mut warehouses: Vec<&str> = project
        .config
        .warehouses()
        .map(|found| found.id.as_str())
        .collect();
    if let Some(known) = &project.config.setup_databases
        && warehouses
            .iter()
            .any(|id| known.iter().any(|known| known == id))
    {
        warehouses.retain(|id| known.iter().any(|known| known == id));
    }
    match warehouses.as_slice() {
        [] => Ok(None),
        [only] => named(Some(only), project),
        several => Err(Failure::new(
            Code::ConnectionRequired,
            format!(
                "`{}` can be about several warehouses: {}",
                connection.id,
                several.join(", ")
            ),
        )
        .hint(format!(
            "name one: `ktx ingest {} --connection-id {}`",
            connection.id,
            several.first().unwrap_or(&"<id>")
        ))),
    }
}
