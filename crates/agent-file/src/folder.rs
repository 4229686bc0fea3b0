//! The files of agents in a project, and the files that they name.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use crate::spec::PathTo;

/// The folder of a project that holds its agent files.
pub const FOLDER: &str = "agents";

const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// Returns the agent files of a project, sorted by path; none if there is no folder.
///
/// # Errors
///
/// The folder exists and cannot be listed.
pub fn agent_files(project: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(project.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns where the agent of this name is written: an existing file, else the file that would hold
/// it.
pub fn agent_path(project: &Path, name: &str) -> PathBuf {
    let folder = project.join(FOLDER);
    let candidates = ENDINGS.map(|ending| folder.join(format!("{name}.{ending}")));
    let existing = candidates.iter().find(|path| path.is_file());
    existing.or(candidates.first()).cloned().unwrap_or(folder)
}

/// Returns the names of agents by which others ask them: those of their files.
pub(crate) fn agent_names(project: &Path) -> Vec<String> {
    let files = agent_files(project).unwrap_or_default();
    files.iter().filter_map(|path| stem(path)).collect()
}

pub(crate) fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

/// The place of a file, for the paths in it.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    /// The project, without links.
    pub(crate) project: PathBuf,
    /// The folder of the file.
    pub(crate) folder: PathBuf,
}

/// Why a path cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFault {
    Absent,
    Outside,
    NotAFile,
    NotAFolder,
}

impl Disk {
    pub(crate) fn of(file: &Path, project: &Path) -> Self {
        let folder = file.parent().unwrap_or(project);
        Self {
            project: fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()),
            folder: folder.to_owned(),
        }
    }

    /// Finds a path that is written in the file; without links, inside the project.
    pub(crate) fn find(&self, written: &str, to: PathTo) -> Result<PathBuf, PathFault> {
        let Ok(found) = fs::canonicalize(self.folder.join(written)) else {
            return Err(if self.leads_out(written) {
                PathFault::Outside
            } else {
                PathFault::Absent
            });
        };
        if !found.starts_with(&self.project) {
            return Err(PathFault::Outside);
        }
        match to {
            PathTo::File if !found.is_file() => Err(PathFault::NotAFile),
            PathTo::Folder if !found.is_dir() => Err(PathFault::NotAFolder),
            _ => Ok(found),
        }
    }

    /// Whether a path that leads nowhere would be outside the project.
    fn leads_out(&self, written: &str) -> bool {
        let folder = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let mut path = PathBuf::new();
        for part in folder.join(written).components() {
            match part {
                Component::ParentDir => {
                    path.pop();
                }
                Component::CurDir => {}
                other => path.push(other),
            }
        }
        !path.starts_with(&self.project)
    }

    /// Returns a path relative to the project.
    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        whole
            .strip_prefix(&self.project)
            .map_or_else(|_| path.to_owned(), Path::to_owned)
    }
}

impl PathFault {
    /// Describes the fault of a path.
    pub(crate) fn said(self, written: &str) -> String {
        match self {
            Self::Absent => format!("`{written}` is not there"),
            Self::Outside => format!("`{written}` is outside the project"),
            Self::NotAFile => format!("`{written}` is not a file"),
            Self::NotAFolder => format!("`{written}` is not a folder"),
        }
    }
}
