//! The connections that a command line names.

use ktx_config::{Connection, Project};
use ktx_context_tools::{Reader, find_warehouse, unknown_connection};
use ktx_vocabulary::ConnectionId;

use crate::report::Outcome;

/// Returns the connection of this id, whatever its driver.
pub(crate) fn find<'a>(project: &'a Project, id: &str) -> Outcome<&'a Connection> {
    ConnectionId::parse(id)?;
    let found = project.connection(id);
    found.ok_or_else(|| unknown_connection(id, project.connections.keys()))
}

/// Returns the warehouse of a command: the named one, or the only one.
pub(crate) fn warehouse<'a>(project: &'a Project, id: Option<&str>) -> Outcome<&'a Connection> {
    id.map(ConnectionId::parse).transpose()?;
    find_warehouse(project.connections.values(), id, Reader::Person)
}
