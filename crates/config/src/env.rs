//! The process environment, read only here, and the table of every variable that ktx uses.

mod variables;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use variables::{VARIABLES, Variable, reference_markdown};

/// A copy of the environment, taken once.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    values: BTreeMap<OsString, OsString>,
    home: Option<PathBuf>,
}

/// Shows the names only, because values may be secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Formatted for a terminal.
    Pretty,
    /// Bare lines.
    Plain,
    Json,
}

impl Output {
    /// All values in display order.
    pub const ALL: [Self; 3] = [Self::Pretty, Self::Plain, Self::Json];

    /// Returns the spelling on the command line and in `KTX_OUTPUT`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Plain => "plain",
            Self::Json => "json",
        }
    }
}

/// A variable has a value that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The value is not one of the allowed values.
    #[error("environment variable `{name}` must be one of {allowed}, not `{value}`")]
    NotOneOf {
        /// The variable.
        name: &'static str,
        /// The allowed values, formatted as code, separated by commas.
        allowed: String,
        /// The actual value.
        value: String,
    },
}

impl Environment {
    /// Copies the environment of this process.
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

    /// Makes an environment of these variables; `HOME` is the home folder.
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

    /// Returns the value of a variable; `None` if it is not set or not Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
    }

    /// Returns the trimmed value of a variable; `None` if it is blank.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// Returns every variable, for the adapter that starts children.
    pub const fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.values
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns `KTX_PROJECT_DIR` unchanged, even if it is blank, because the resolution refuses a
    /// blank value.
    pub fn project_dir(&self) -> Option<&str> {
        self.get("KTX_PROJECT_DIR")
    }

    /// Parses `KTX_OUTPUT`; blank counts as not set.
    pub fn output(&self) -> Result<Option<Output>, EnvironmentError> {
        let Some(value) = self.text("KTX_OUTPUT") else {
            return Ok(None);
        };
        let found = Output::ALL
            .into_iter()
            .find(|output| output.as_str() == value);
        found.map(Some).ok_or_else(|| EnvironmentError::NotOneOf {
            name: "KTX_OUTPUT",
            allowed: Output::ALL
                .map(|output| format!("`{}`", output.as_str()))
                .join(", "),
            value: value.to_owned(),
        })
    }

    /// Whether this is a continuous-integration machine.
    pub fn ci(&self) -> bool {
        self.flag("CI")
    }

    /// Returns the filter of log lines, in the syntax of `tracing`.
    pub fn log_filter(&self) -> Option<&str> {
        self.text("KTX_LOG")
    }

    /// Returns `KTX_TEST_KILL_AT`: the step at which the process kills itself.
    pub fn test_kill_at(&self) -> Option<&str> {
        self.text("KTX_TEST_KILL_AT")
    }

    /// Whether a switch is on: set, and neither `0` nor `false` nor blank.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

#[cfg(test)]
mod tests;
