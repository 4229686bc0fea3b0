//! Paths inside a project.

use std::path::{Path, PathBuf};

/// A relative path with `/`. No empty part, `.`, `..` or `.git` in any case; no NUL, no `\`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectPath(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsafe project path `{text}`")]
pub struct UnsafePath {
    pub text: String,
}

impl ProjectPath {
    pub fn parse(text: &str) -> Result<Self, UnsafePath> {
        let safe = text
            .split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"));
        if safe && !text.contains(['\\', '\0']) {
            return Ok(Self(text.to_owned()));
        }
        Err(UnsafePath {
            text: text.to_owned(),
        })
    }

    pub fn inside(root: &Path, file: &Path) -> Result<Self, UnsafePath> {
        let text = file.strip_prefix(root).ok().and_then(Path::to_str);
        let Some(text) = text else {
            return Err(UnsafePath {
                text: file.display().to_string(),
            });
        };
        Self::parse(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }
}

impl std::fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
