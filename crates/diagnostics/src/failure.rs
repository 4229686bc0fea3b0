//! Failures of operations.

use ktx_vocabulary::{InvalidName, RunId};

use crate::{Code, Diagnostic, Diagnostics, Exit, Hint, Hints, Severity, shortened};

pub const MAX_CANDIDATES: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: Code,
    /// Lower case, no full stop, names in backticks.
    pub message: String,
    /// Outermost first.
    pub causes: Vec<String>,
    pub hints: Vec<Hint>,
    pub exit: Exit,
    pub detail: Box<Detail>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detail {
    /// Redacted; only for `--debug`.
    pub backend_text: Option<String>,
    /// The failed run, if its results also name it.
    pub run_id: Option<RunId>,
    pub author: Author,
    /// Complete alternative requests, as JSON objects.
    pub requests: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Author {
    /// Contains only names from the request and the project.
    #[default]
    Ktx,
    /// Can repeat data of the warehouse.
    Warehouse,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            exit: code.exit(),
            detail: Box::default(),
        }
    }

    /// A fault of the program, not of the user.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Overrides the exit of the code.
    #[must_use]
    pub fn ending(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(Hint::new(hint));
        self
    }

    #[must_use]
    pub fn with_hints(mut self, error: &dyn Hints) -> Self {
        self.hints.extend(error.hints());
        self
    }

    #[must_use]
    pub fn try_one_of<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names
            .into_iter()
            .take(MAX_CANDIDATES)
            .map(|name| format!("`{name}`"))
            .collect();
        if names.is_empty() {
            self
        } else {
            self.hint(format!("use one of {}", names.join(", ")))
        }
    }

    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Makes the message the first cause of `message`.
    #[must_use]
    pub fn context(mut self, message: impl Into<String>) -> Self {
        let inner = std::mem::replace(&mut self.message, message.into());
        self.causes.insert(0, inner);
        self
    }

    #[must_use]
    pub fn of_run(mut self, run_id: &RunId) -> Self {
        self.detail.run_id = Some(run_id.clone());
        self
    }

    #[must_use]
    pub fn by_warehouse(mut self) -> Self {
        self.detail.author = Author::Warehouse;
        self
    }
}

impl Hints for Failure {
    fn hints(&self) -> Vec<Hint> {
        self.hints.clone()
    }
}

impl From<InvalidName> for Failure {
    fn from(error: InvalidName) -> Self {
        Self::new(Code::InvalidName, shortened(&error.to_string()))
    }
}

impl From<&Diagnostic> for Failure {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            hints: diagnostic.hints.clone(),
            ..Self::new(diagnostic.code, diagnostic.to_string())
        }
    }
}

impl From<Diagnostics> for Failure {
    /// The first error becomes the message, the others its causes.
    fn from(diagnostics: Diagnostics) -> Self {
        let mut errors = diagnostics
            .0
            .iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        let Some(first) = errors.next() else {
            return Self::new(Code::InvalidConfig, "the project files are not valid");
        };
        let mut failure = Self::from(first).ending(Exit::Config);
        failure.causes = errors.map(ToString::to_string).collect();
        failure
    }
}
