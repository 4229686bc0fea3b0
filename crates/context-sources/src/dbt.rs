//! dbt projects: their YAML, the SQL of their models, their doc blocks. Nothing is run or compiled.

mod facts;
mod project;
mod units;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;

use ktx_project_store::{FileError, walk};

use crate::snapshot::{LeftOut, ReadError, Snapshot};
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
    let name = PROJECT_FILES
        .into_iter()
        .find(|name| root.join(name).is_file());
    let name = name.ok_or_else(|| ReadError::NoProject {
        root: root.to_owned(),
    })?;
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
        let walked = walk(root, &root.join(&folder))?;
        for file in walked.files {
            let path = format!("{folder}/{}", file.path);
            let is_package = |part: &str| part == "dbt_packages" || part == "node_modules";
            if is_wanted(&path) && !path.split('/').any(is_package) {
                add(&mut snapshot, &file.place, path);
            }
        }
        for left in walked.left_out {
            let path = left.place.strip_prefix(root).unwrap_or(&left.place);
            snapshot.left_out.push(LeftOut {
                path: path.display().to_string(),
                reason: left.why.text().to_owned(),
            });
        }
    }
    snapshot
        .left_out
        .sort_by(|left, right| left.path.cmp(&right.path));
    snapshot.left_out.dedup();
    Ok(snapshot)
}

fn is_wanted(path: &str) -> bool {
    is_yaml(path) || has_ending(path, &["sql", "md"])
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
