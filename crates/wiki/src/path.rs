//! Page paths: `wiki/global/<key>.md` or `wiki/user/<id>/<key>.md`.

use ktx_vocabulary::WikiKey;

use crate::key::{KeyError, parse_key};

/// The folder name of one user's private pages.
///
/// Invariant: letters, digits, `_`, `-`, `.` and `@`, starting with a letter or digit, without
/// `..`; safe as a folder name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(String);

impl UserId {
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let first = text
            .chars()
            .next()
            .is_some_and(|letter| letter.is_ascii_alphanumeric());
        let rest = |letter: char| letter.is_ascii_alphanumeric() || "_-.@".contains(letter);
        if first && text.chars().all(rest) && !text.contains("..") {
            return Ok(Self(text.to_owned()));
        }
        Err(PathError::User {
            text: text.to_owned(),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for UserId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    Global,
    /// Shadows the global page of the same key.
    User(UserId),
}

impl Scope {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Global => "GLOBAL",
            Self::User(_) => "USER",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error(
        "`{path}` is not a wiki page: pages are `wiki/global/<key>.md` and `wiki/user/<id>/<key>.md`"
    )]
    Place { path: String },
    #[error("`{path}` does not have the name of a wiki page")]
    Key {
        path: String,
        #[source]
        source: KeyError,
    },
    #[error("unsafe user id `{text}`: use letters, digits, `_`, `-`, `.` and `@`")]
    User { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PagePath {
    pub key: WikiKey,
    pub scope: Scope,
}

impl PagePath {
    pub fn global(key: WikiKey) -> Self {
        Self {
            key,
            scope: Scope::Global,
        }
    }

    pub fn parse(path: &str) -> Result<Self, PathError> {
        let normal = path.replace('\\', "/");
        let parts: Vec<&str> = normal.split('/').collect();
        let (scope, file) = match parts.as_slice() {
            ["wiki", "global", file] => (Scope::Global, *file),
            ["wiki", "user", user, file] => (Scope::User(UserId::parse(user)?), *file),
            _ => {
                return Err(PathError::Place {
                    path: path.to_owned(),
                });
            }
        };
        let Some(name) = file.strip_suffix(".md") else {
            return Err(PathError::Place {
                path: path.to_owned(),
            });
        };
        let key = parse_key(name).map_err(|source| PathError::Key {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { key, scope })
    }
}

impl std::fmt::Display for PagePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.scope {
            Scope::Global => write!(f, "wiki/global/{}.md", self.key),
            Scope::User(user) => write!(f, "wiki/user/{user}/{}.md", self.key),
        }
    }
}

#[cfg(test)]
mod tests;
