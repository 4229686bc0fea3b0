//! Joins of the last scans.

use ktx_diagnostics::Code;
use ktx_scan::{Found, load_links};

use crate::connections::targets;
use crate::invocation::OpenProject;
use crate::printer::Printer;
use crate::report::Outcome;

pub(crate) fn load(
    id: Option<&str>,
    project: &OpenProject,
    printer: &Printer,
) -> Outcome<Vec<Found>> {
    let connections = targets(project, id)?;
    let only = connections.len() == 1;
    let mut found = Vec::new();
    for connection in connections {
        match load_links(&connection.id, project.store.layout()) {
            Ok(one) => found.push(one),
            Err(failure) if only || failure.code != Code::NotScanned => return Err(failure),
            Err(failure) => printer.note(&format!("note: {}", failure.message)),
        }
    }
    Ok(found)
}
