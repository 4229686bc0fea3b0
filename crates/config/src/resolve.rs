//! Finds the project folder: flag, environment, nearest folder upwards, current folder.

use std::path::{Path, PathBuf};

use ktx_diagnostics::{Hint, Hints};

pub const FILE_NAME: &str = "ktx.yaml";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectDirOrigin {
    Flag,
    Environment,
    Ancestor,
    CurrentFolder,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedProject {
    /// Absolute if the current folder is.
    pub dir: PathBuf,
    pub origin: ProjectDirOrigin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("`--project-dir` requires a value")]
    BlankFlag,
    #[error("environment variable `KTX_PROJECT_DIR` must not be empty")]
    BlankVariable,
}

impl Hints for ResolveError {
    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::BlankFlag => vec![Hint::new("name a folder, or omit `--project-dir`")],
            Self::BlankVariable => {
                vec![Hint::new("set `KTX_PROJECT_DIR` to a folder, or unset it")]
            }
        }
    }
}

/// Finds the project folder. The caller must check that it contains a project.
pub fn project_dir(
    flag: Option<&str>,
    variable: Option<&str>,
    current: &Path,
    exists: impl Fn(&Path) -> bool,
) -> Result<ResolvedProject, ResolveError> {
    if let Some(flag) = flag {
        if flag.trim().is_empty() {
            return Err(ResolveError::BlankFlag);
        }
        return Ok(ResolvedProject {
            dir: current.join(flag),
            origin: ProjectDirOrigin::Flag,
        });
    }
    if let Some(variable) = variable {
        if variable.trim().is_empty() {
            return Err(ResolveError::BlankVariable);
        }
        return Ok(ResolvedProject {
            dir: current.join(variable),
            origin: ProjectDirOrigin::Environment,
        });
    }
    let found = current
        .ancestors()
        .find(|folder| exists(&folder.join(FILE_NAME)));
    Ok(found.map_or_else(
        || ResolvedProject {
            dir: current.to_owned(),
            origin: ProjectDirOrigin::CurrentFolder,
        },
        |folder| ResolvedProject {
            dir: folder.to_owned(),
            origin: ProjectDirOrigin::Ancestor,
        },
    ))
}

#[cfg(test)]
mod tests;
