//! Edits `ktx.yaml` atomically, without a commit.

use ktx_config::edit::EditError;
use ktx_config::{FILE_NAME, Project, parse};
use ktx_diagnostics::{Code, Exit, Failure, Severity};
use ktx_project_store::{FileError, ProjectPath};
use serde_json::Value;

use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

pub(crate) const NOT_COMMITTED: &str = "ktx.yaml has uncommitted changes";

pub(crate) struct LockedConfig {
    pub text: String,
    pub project: Project,
}

pub(crate) fn current(project: &OpenProject) -> Outcome<LockedConfig> {
    let bytes = project
        .store
        .config_bytes()
        .map_err(|error| file_failure(&error))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::from_error(Code::UnreadableConfig, &error))?;
    let project = meaning(&text)?;
    Ok(LockedConfig { text, project })
}

pub(crate) fn meaning(text: &str) -> Outcome<Project> {
    let parsed = parse(text, FILE_NAME);
    if let Some(project) = parsed.project {
        return Ok(project);
    }
    let mut errors = parsed
        .diagnostics
        .into_iter()
        .filter(|found| found.severity == Severity::Error);
    let Some(first) = errors.next() else {
        return Err(Failure::new(
            Code::InvalidConfig,
            format!("`{FILE_NAME}` is not valid"),
        ));
    };
    let mut failure = Failure::new(first.code, first.message).ending(Exit::Config);
    failure.hints = first.hints;
    failure.causes = errors.map(|error| error.message).collect();
    Err(failure)
}

pub(crate) fn write(project: &OpenProject, text: &str) -> Outcome<()> {
    let path = project_path(FILE_NAME)?;
    project
        .store
        .write(&path, text.as_bytes())
        .map_err(|error| file_failure(&error))?;
    Ok(())
}

pub(crate) fn project_path(text: &str) -> Outcome<ProjectPath> {
    ProjectPath::parse(text).map_err(|error| Failure::from_error(Code::Internal, &error))
}

pub(crate) fn file_failure(error: &FileError) -> Failure {
    Failure::from_error(Code::File, error)
}

pub(crate) fn edit_failure(error: &EditError) -> Failure {
    Failure::from_error(Code::EditRefused, error).with_hints(error)
}

pub(crate) fn folders(project: &OpenProject, id: &str) -> Vec<String> {
    ["semantic-layer", "raw-sources"]
        .into_iter()
        .map(|folder| format!("{folder}/{id}"))
        .filter(|folder| project.dir.join(folder).is_dir())
        .collect()
}

/// Keys outside the connection's own entry.
pub(crate) fn mentions(text: &str, id: &str) -> Outcome<Vec<Vec<String>>> {
    let loaded = ktx_config::yaml::load_text(text, FILE_NAME)?;
    let mut found = Vec::new();
    let databases = ["setup", "database_connection_ids"];
    let listed = at(&loaded.value, &databases).and_then(Value::as_array);
    if listed.is_some_and(|items| items.iter().any(|item| item == id)) {
        found.push(databases.map(str::to_owned).to_vec());
    }
    let connections = loaded.value.get("connections").and_then(Value::as_object);
    for (name, fields) in connections.into_iter().flatten() {
        for map in ["databaseMappings", "connectionMappings"] {
            let mapped = at(fields, &["mappings", map]).and_then(Value::as_object);
            for (key, _) in mapped
                .into_iter()
                .flatten()
                .filter(|(_, target)| *target == id)
            {
                let path = ["connections", name, "mappings", map, key];
                found.push(path.map(str::to_owned).to_vec());
            }
        }
    }
    Ok(found)
}

pub(crate) fn rename_mentions(text: &str, old: &str, new: &str) -> Outcome<String> {
    let mut text = text.to_owned();
    for path in mentions(&text, old)? {
        let loaded = ktx_config::yaml::load_text(&text, FILE_NAME)?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let value = match at(&loaded.value, &path) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    if item == old {
                        Value::from(new)
                    } else {
                        item.clone()
                    }
                })
                .collect(),
            _ => Value::from(new),
        };
        text = ktx_config::edit::set(&text, &path, &value).map_err(|error| edit_failure(&error))?;
    }
    Ok(text)
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}
