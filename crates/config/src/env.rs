//! The process environment, read only here, and the table of all variables.

mod variables;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use variables::{EnvironmentVariable, VARIABLES, reference_markdown};

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    values: BTreeMap<OsString, OsString>,
    home: Option<PathBuf>,
}

/// Shows only names, because values can be secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputMode {
    Pretty,
    Plain,
    Json,
}

impl OutputMode {
    pub const ALL: [Self; 3] = [Self::Pretty, Self::Plain, Self::Json];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Plain => "plain",
            Self::Json => "json",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    #[error("environment variable `{name}` must be one of {allowed}, not `{value}`")]
    NotOneOf {
        name: &'static str,
        allowed: String,
        value: String,
    },
}

impl Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads it"
    )]
    pub fn from_process() -> Self {
        Self {
            values: std::env::vars_os().collect(),
            home: std::env::home_dir(),
        }
    }

    pub fn from_pairs<N: Into<OsString>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let values: BTreeMap<OsString, OsString> = pairs.collect();
        let home = values.get(OsStr::new("HOME")).map(PathBuf::from);
        Self { values, home }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Returns all variables, for the adapter that starts child processes.
    pub const fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.values
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns `KTX_PROJECT_DIR` unchanged: project resolution refuses a blank value.
    pub fn project_dir(&self) -> Option<&str> {
        self.get("KTX_PROJECT_DIR")
    }

    pub fn output(&self) -> Result<Option<OutputMode>, EnvironmentError> {
        let Some(value) = self.text("KTX_OUTPUT") else {
            return Ok(None);
        };
        let found = OutputMode::ALL
            .into_iter()
            .find(|output| output.as_str() == value);
        found.map(Some).ok_or_else(|| EnvironmentError::NotOneOf {
            name: "KTX_OUTPUT",
            allowed: OutputMode::ALL
                .map(|output| format!("`{}`", output.as_str()))
                .join(", "),
            value: value.to_owned(),
        })
    }

    pub fn ci(&self) -> bool {
        self.flag("CI")
    }

    pub fn log_filter(&self) -> Option<&str> {
        self.text("KTX_LOG")
    }

    pub fn test_kill_at(&self) -> Option<&str> {
        self.text("KTX_TEST_KILL_AT")
    }

    pub fn test_now(&self) -> Option<&str> {
        self.text("KTX_TEST_NOW")
    }

    /// True if the variable is set and not blank, `0` or `false`.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

#[cfg(test)]
mod tests;
