//! `env:` and `file:` references.

use std::path::{Path, PathBuf};

use crate::Secret;

/// The place where references are looked up. `ktx` implements it over the real environment and
/// disk.
pub trait SecretSource {
    fn env(&self, name: &str) -> Option<String>;
    fn read(&self, path: &Path) -> std::io::Result<String>;
    fn home(&self) -> Option<PathBuf>;
    /// The folder that relative paths start from: the project.
    fn base(&self) -> PathBuf;
}

/// A value of `ktx.yaml` that may refer to a secret instead of containing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    /// `env:NAME`: an environment variable, looked up on every run.
    Env(String),
    /// `file:PATH`: a whole file, trimmed. `~/` is the home folder; a relative path starts at the
    /// project.
    File(PathBuf),
    /// The value itself.
    Literal(Secret),
}

/// Why a reference has no value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Not set, or blank.
    #[error("environment variable `{name}` is not set")]
    MissingVariable { name: String },
    #[error("secret file `{path}` cannot be read")]
    UnreadableFile {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Empty or blank.
    #[error("secret file `{path}` is empty")]
    EmptyFile { path: PathBuf },
}

impl SecretRef {
    /// Every text has a form.
    pub fn parse(text: &str) -> Self {
        if let Some(name) = text.strip_prefix("env:") {
            return Self::Env(name.trim().to_owned());
        }
        match text.strip_prefix("file:") {
            // `file:` URLs of SQLite databases keep their meaning in their own field.
            Some(path) => Self::File(PathBuf::from(path.trim())),
            None => Self::Literal(Secret::new(text)),
        }
    }

    /// Looks the value up and trims it; blank counts as missing.
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
