//! Connections: look-up, edits and tests.

pub(crate) mod check;
pub(crate) mod config_file;
pub(crate) mod entry;
pub(crate) mod history;
pub(crate) mod mask;
pub(crate) mod named_schemas;
pub(crate) mod references;

use ktx_config::{Connection, Project};
use ktx_context_tools::{Reader, find_warehouse, unknown_connection};
use ktx_diagnostics::{Code, Failure};
use ktx_sql::Dialect;
use ktx_vocabulary::ConnectionId;

use crate::compose;
use crate::invocation::OpenProject;
use crate::report::Outcome;

pub(crate) fn find<'a>(project: &'a Project, id: &str) -> Outcome<&'a Connection> {
    ConnectionId::parse(id)?;
    let found = project.connection(id);
    found.ok_or_else(|| unknown_connection(id, project.connections.keys()))
}

pub(crate) fn warehouse<'a>(project: &'a Project, id: Option<&str>) -> Outcome<&'a Connection> {
    id.map(ConnectionId::parse).transpose()?;
    find_warehouse(project.connections.values(), id, Reader::Person)
}

pub(crate) fn warehouse_with_dialect(
    project: &Project,
    id: &str,
) -> Outcome<(ConnectionId, Dialect)> {
    let found = warehouse(project, Some(id))?;
    let Some(dialect) = compose::dialect(found.driver) else {
        return Err(Failure::new(
            Code::NotAWarehouse,
            format!("connection `{id}` has no SQL dialect"),
        ));
    };
    Ok((found.id.clone(), dialect))
}

pub(crate) fn targets<'a>(
    project: &'a OpenProject,
    id: Option<&str>,
) -> Outcome<Vec<&'a Connection>> {
    if id.is_some() {
        return Ok(vec![warehouse(&project.config, id)?]);
    }
    let mut warehouses: Vec<&Connection> = project.config.warehouses().collect();
    warehouses.sort_by(|left, right| left.id.cmp(&right.id));
    if warehouses.is_empty() {
        // Fails with the usual message.
        warehouse(&project.config, None)?;
    }
    Ok(warehouses)
}
