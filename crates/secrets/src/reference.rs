//! `env:` and `file:` references.

use std::path::{Path, PathBuf};

use crate::Secret;

/// Looks up references: the real environment and disk in `ktx`.
pub trait SecretSource {
    fn env(&self, name: &str) -> Option<String>;
    fn read(&self, path: &Path) -> std::io::Result<String>;
    fn home(&self) -> Option<PathBuf>;
    /// For relative paths: the project.
    fn base(&self) -> PathBuf;
}

/// A value of `ktx.yaml` that can refer to a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// `env:NAME`
    Env(String),
    /// `file:PATH`, trimmed. `~/` is the home folder; relative paths start at the project.
    File(PathBuf),
    Literal(Secret),
}

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("environment variable `{name}` is not set")]
    MissingVariable { name: String },
    #[error("secret file `{path}` cannot be read")]
    UnreadableFile {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("secret file `{path}` is empty")]
    EmptyFile { path: PathBuf },
}

impl SecretRef {
    pub fn parse(text: &str) -> Self {
        if let Some(name) = text.strip_prefix("env:") {
            return Self::Env(name.trim().to_owned());
        }
        match text.strip_prefix("file:") {
            // SQLite's `file:` URLs have their own field.
            Some(path) => Self::File(PathBuf::from(path.trim())),
            None => Self::Literal(Secret::new(text)),
        }
    }

    /// Trims the value; blank counts as missing.
    pub fn resolve(&self, source: &dyn SecretSource) -> Result<Secret, SecretError> {
        match self {
            Self::Literal(secret) => Ok(secret.clone()),
            Self::Env(name) => source
                .env(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
                .map(Secret::new)
                .ok_or_else(|| SecretError::MissingVariable { name: name.clone() }),
            Self::File(path) => {
                let path = absolute(path, source);
                let text = source
                    .read(&path)
                    .map_err(|error| SecretError::UnreadableFile {
                        path: path.clone(),
                        source: error,
                    })?;
                let text = text.trim();
                if text.is_empty() {
                    return Err(SecretError::EmptyFile { path });
                }
                Ok(Secret::new(text))
            }
        }
    }
}

fn absolute(path: &Path, source: &dyn SecretSource) -> PathBuf {
    match (path.strip_prefix("~"), source.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => source.base().join(path),
    }
}
