//! dbt projects: their YAML, the SQL of their models, their doc blocks. Nothing is run or compiled.

mod checks;
mod docs;
mod facts;
mod models;
mod project;
mod sql;
mod units;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use ktx_project_store::{FileError, walk};

use crate::snapshot::{LeftOut, ReadError, Snapshot};
use models::stem;
use project::Project;

pub use facts::facts;
pub use units::units;

/// A longer file is left out.
const LONGEST_FILE: u64 = 1_000_000;

/// The names of project files.
const PROJECT_FILES: [&str; 2] = ["dbt_project.yml", "dbt_project.yaml"];

/// Reads the project in `root`: its project file, and YAML, SQL and Markdown below the folders that it
/// names for models, seeds, snapshots and analyses.
///
/// # Errors
/// [`ReadError`] when there is no project that can be read.
pub fn read(root: &Path) -> Result<Snapshot, ReadError> {
    match std::fs::metadata(root) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(ReadError::NotAFolder {
                root: root.to_owned(),
            });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ReadError::Missing {
                root: root.to_owned(),
            });
        }
        Err(source) => {
            let path = root.to_owned();
            return Err(FileError::Read { path, source }.into());
        }
    }
    let mut snapshot = Snapshot::default();
    let name = project_file(root)?;
    if leads_out(root, &root.join(name)) {
        return Err(ReadError::Project {
            path: name.to_owned(),
            reason: "it is a link that leads out of the folder".to_owned(),
        });
    }
    add(&mut snapshot, &root.join(name), name.to_owned());
    let Some(text) = snapshot.files.get(name) else {
        let reason = snapshot.left_out.pop().map(|left| left.reason);
        return Err(ReadError::Project {
            path: name.to_owned(),
            reason: reason.unwrap_or_default(),
        });
    };
    let project = Project::parse(name, text)?;
    for folder in project.folders() {
        let is_wanted = |path: &str| has_ending(path, &["yml", "yaml", "sql", "md"]);
        below(&mut snapshot, root, &folder, &project, is_wanted)?;
    }
    for folder in &project.docs {
        below(&mut snapshot, root, folder, &project, |path| {
            has_ending(path, &["md"])
        })?;
    }
    let outside = project.outside.iter().map(|folder| LeftOut {
        path: folder.clone(),
        reason: "it lies outside of the project".to_owned(),
    });
    snapshot.left_out.extend(outside);
    snapshot
        .left_out
        .sort_by(|left, right| left.path.cmp(&right.path));
    snapshot.left_out.dedup();
    Ok(snapshot)
}

/// Takes in what is wanted below a folder of the project.
fn below(
    snapshot: &mut Snapshot,
    root: &Path,
    folder: &str,
    project: &Project,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(), ReadError> {
    let is_foreign = |path: &str| {
        let is_package = |part: &str| ["dbt_packages", "node_modules"].contains(&part);
        let is_within = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path.split('/').any(is_package) || project.written.iter().any(is_within)
    };
    let walked = walk(root, &root.join(folder))?;
    for file in walked.files {
        let path = format!("{folder}/{}", file.path);
        let path = path.trim_start_matches('/').to_owned();
        // Profiles hold logins, and project files are no descriptions.
        let is_other = matches!(stem(&path), "profiles" | "dbt_project") && is_yaml(&path);
        if is_wanted(&path) && !is_foreign(&path) && !is_other {
            add(snapshot, &file.place, path);
        }
    }
    for left in walked.left_out {
        let path = left.place.strip_prefix(root).unwrap_or(&left.place);
        let path = path.display().to_string();
        if !is_foreign(&path) {
            snapshot.left_out.push(LeftOut {
                path,
                reason: left.why.text().to_owned(),
            });
        }
    }
    Ok(())
}

/// The name of the project file.
fn project_file(root: &Path) -> Result<&'static str, ReadError> {
    for name in PROJECT_FILES {
        let path = root.join(name);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => return Ok(name),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(FileError::Read { path, source }.into()),
        }
    }
    let root = root.to_owned();
    Err(ReadError::NoProject { root })
}

/// Whether a file of the project is a link to somewhere else.
fn leads_out(root: &Path, place: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path);
    match (real(root), real(place)) {
        (Ok(root), Ok(place)) => !place.starts_with(root),
        // What cannot be found cannot be read either.
        _ => false,
    }
}

pub(crate) fn is_yaml(path: &str) -> bool {
    has_ending(path, &["yml", "yaml"])
}

fn has_ending(path: &str, endings: &[&str]) -> bool {
    let ending = Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| {
        endings
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    })
}

/// Takes a file in, or notes why it was left out.
fn add(snapshot: &mut Snapshot, place: &Path, path: String) {
    let reason = match std::fs::metadata(place) {
        Ok(found) if found.len() > LONGEST_FILE => {
            format!(
                "it has {} bytes, at most {LONGEST_FILE} are read",
                found.len()
            )
        }
        Ok(_) => match std::fs::read(place).map(String::from_utf8) {
            Ok(Ok(text)) => {
                let text = text
                    .strip_prefix('\u{feff}')
                    .map(str::to_owned)
                    .unwrap_or(text);
                snapshot.files.insert(path, text);
                return;
            }
            Ok(Err(error)) => format!("byte {} is no UTF-8", error.utf8_error().valid_up_to()),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    snapshot.left_out.push(LeftOut { path, reason });
}

/// The project file of a snapshot that [`read`] has made.
fn project_of(files: &BTreeMap<String, String>) -> Option<(&str, Project)> {
    PROJECT_FILES.into_iter().find_map(|name| {
        let text = files.get(name)?;
        Some((name, Project::parse(name, text).ok()?))
    })
}
