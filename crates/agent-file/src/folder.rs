//! Agent files of a project and the files that they name.

use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use crate::spec::PathKind;

pub const FOLDER: &str = "agents";

const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// Returns the agent files of a project, sorted; empty if the folder is missing.
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

/// Returns the existing file of an agent, else the path of a new one.
pub fn agent_path(project: &Path, name: &str) -> PathBuf {
    let folder = project.join(FOLDER);
    let candidates = ENDINGS.map(|ending| folder.join(format!("{name}.{ending}")));
    let existing = candidates.iter().find(|path| path.is_file());
    existing.or(candidates.first()).cloned().unwrap_or(folder)
}

/// The stems of the files are the names.
pub(crate) fn agent_names(project: &Path) -> Vec<String> {
    let files = agent_files(project).unwrap_or_default();
    files.iter().filter_map(|path| stem(path)).collect()
}

pub(crate) fn stem(path: &Path) -> Option<String> {
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

#[derive(Debug, Clone)]
pub(crate) struct FileRoots {
    pub(crate) project: PathBuf,
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathFault {
    Absent,
    Outside,
    NotAFile,
    NotAFolder,
}

impl FileRoots {
    pub(crate) fn of(file: &Path, project: &Path) -> Self {
        let folder = file.parent().unwrap_or(project);
        Self {
            project: fs::canonicalize(project).unwrap_or_else(|_| project.to_owned()),
            folder: folder.to_owned(),
        }
    }

    pub(crate) fn find(&self, written: &str, to: PathKind) -> Result<PathBuf, PathFault> {
        let Ok(found) = fs::canonicalize(self.folder.join(written)) else {
            return Err(if self.leads_outside(written) {
                PathFault::Outside
            } else {
                PathFault::Absent
            });
        };
        if !found.starts_with(&self.project) {
            return Err(PathFault::Outside);
        }
        match to {
            PathKind::File if !found.is_file() => Err(PathFault::NotAFile),
            PathKind::Folder if !found.is_dir() => Err(PathFault::NotAFolder),
            _ => Ok(found),
        }
    }

    /// Checks lexically whether a missing path would be outside the project.
    fn leads_outside(&self, written: &str) -> bool {
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

    pub(crate) fn relative(&self, path: &Path) -> PathBuf {
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        whole
            .strip_prefix(&self.project)
            .map_or_else(|_| path.to_owned(), Path::to_owned)
    }
}

impl PathFault {
    pub(crate) fn describe(self, written: &str) -> String {
        match self {
            Self::Absent => format!("`{written}` is not there"),
            Self::Outside => format!("`{written}` is outside the project"),
            Self::NotAFile => format!("`{written}` is not a file"),
            Self::NotAFolder => format!("`{written}` is not a folder"),
        }
    }
}
