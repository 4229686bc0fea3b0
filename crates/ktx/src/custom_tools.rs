//! The project's tools in `tools/*.yaml`.

use std::path::Path;
use std::sync::Arc;

use ktx_context_tools::{CustomTool, ProjectContext, check_tool, parse_tool};
use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Failure, Location};

use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};
use crate::{compose, context};

const FOLDER: &str = "tools";

/// Sorted by file name; needs no warehouse.
pub(crate) fn read(project: &OpenProject) -> Outcome<Vec<Arc<CustomTool>>> {
    let mut tools: Vec<Arc<CustomTool>> = Vec::new();
    let mut problems = Vec::new();
    for (file, bytes) in files(&project.dir.join(FOLDER))? {
        match parse_tool(&file, &bytes) {
            Ok(tool) => {
                let same = |other: &&Arc<CustomTool>| other.name == tool.name;
                if let Some(other) = tools.iter().find(same) {
                    let message = format!("`{}` has a tool `{}`, too", other.file, tool.name);
                    problems.push(at(&file, message, "give one of the two another name"));
                } else if ktx_context_tools::is_own_tool(&tool.name)
                    || tool.name.starts_with("memory_")
                {
                    let message = format!("ktx itself has a tool `{}`", tool.name);
                    problems.push(at(&file, message, "give the tool another name"));
                } else {
                    tools.push(Arc::new(tool));
                }
            }
            Err(found) => problems.extend(found.0),
        }
    }
    if problems.is_empty() {
        Ok(tools)
    } else {
        Err(Diagnostics(problems).into())
    }
}

fn at(file: &str, message: String, hint: &str) -> Diagnostic {
    let place = Location {
        file: file.to_owned(),
        position: None,
    };
    Diagnostic::error(Code::InvalidTool, message)
        .at(place)
        .hint(hint)
}

fn files(folder: &Path) -> Outcome<Vec<(String, Vec<u8>)>> {
    let unreadable = |error: &std::io::Error, path: &Path| {
        Failure::from_error(Code::InvalidTool, error)
            .context(format!("`{}` cannot be read", path.display()))
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(&error, folder)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(&error, folder))?.path();
        let is_yaml = path
            .extension()
            .is_some_and(|ending| ending == "yaml" || ending == "yml");
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if !is_yaml || name.starts_with('.') {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&error, &path))?;
        found.push((format!("{FOLDER}/{name}"), bytes));
    }
    found.sort();
    Ok(found)
}

/// Checks that each tool only reads, and only what exists.
pub(crate) fn checked(
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Vec<Arc<CustomTool>>> {
    let tools = read(project)?;
    if tools.is_empty() {
        return Ok(tools);
    }
    let context: Arc<dyn ProjectContext> = context::open_for_agent(invocation, project)?;
    let problems = compose::block_on(|_| async {
        let mut problems = Vec::new();
        for tool in &tools {
            problems.extend(check_tool(&*context, tool).await.err());
        }
        Ok(problems)
    })?;
    if problems.is_empty() {
        Ok(tools)
    } else {
        Err(Diagnostics(problems).into())
    }
}
