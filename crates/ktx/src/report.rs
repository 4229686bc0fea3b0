//! Failures as the user sees them: one error, its causes, the next steps, an exit code.

pub(crate) mod machine;

use std::path::Path;

use ktx_diagnostics::{Code, Diagnostics, Exit, Severity, shortened};
use ktx_llm_runtime::LlmError;
use ktx_vocabulary::{InvalidName, RunId};
use ktx_warehouse::{AdmissionError, Refusal, WarehouseError};
use serde_json::{Value, json};

use crate::printer::foreign::one_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: Code,
    /// What failed and where: lower case, no full stop.
    pub message: String,
    /// The causes, outermost first.
    pub causes: Vec<String>,
    /// The next steps.
    pub hints: Vec<String>,
    /// Details that few failures have.
    pub aside: Box<Aside>,
    pub exit: Exit,
}

/// Details that few failures have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aside {
    /// A backend's own text, redacted; only for `--debug`.
    pub detail: Option<String>,
    /// The run that failed, if its results name it as well.
    pub run_id: Option<RunId>,
}

pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            aside: Box::default(),
            exit: code.exit(),
        }
    }

    /// Replaces the exit code that the error code implies, where the operation knows better.
    #[must_use]
    pub(crate) fn ending(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn of_run(mut self, run_id: &RunId) -> Self {
        self.aside.run_id = Some(run_id.clone());
        self
    }

    #[must_use]
    pub(crate) fn because(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// Prepends context: the message becomes the first cause.
    #[must_use]
    pub(crate) fn context(mut self, message: impl Into<String>) -> Self {
        let inner = std::mem::replace(&mut self.message, message.into());
        self.causes.insert(0, inner);
        self
    }

    /// Converts an error with its chain of causes, and adds the next step if the machine is the
    /// cause.
    pub(crate) fn from_error(code: Code, error: &(dyn std::error::Error + 'static)) -> Self {
        let mut chain = machine::chain(error).into_iter();
        let message = chain.next().unwrap_or_default();
        let next_step = machine::Trouble::of(error).map(machine::Trouble::next_step);
        Self {
            causes: chain.collect(),
            hints: next_step.into_iter().collect(),
            ..Self::new(code, message)
        }
    }

    /// Shortens paths of the project and its git relative to the project.
    #[must_use]
    pub(crate) fn seen_from(mut self, project: &Path) -> Self {
        let texts = std::iter::once(&mut self.message).chain(&mut self.causes);
        for text in texts.chain(&mut self.hints) {
            *text = machine::seen_from(project, text);
        }
        self
    }

    /// Formats the text for stderr: each part is one line, whatever it contains.
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("error: {}\n", one_line(&self.message));
        for cause in &self.causes {
            text.push_str("  caused by: ");
            text.push_str(&one_line(cause));
            text.push('\n');
        }
        for (index, hint) in self.hints.iter().enumerate() {
            text.push_str(if index == 0 { "\nhint: " } else { "hint: " });
            text.push_str(&one_line(hint));
            text.push('\n');
        }
        text
    }

    /// Formats the envelope for `--json`: `{error:{code,message,hint}}`, plus causes and further
    /// hints if there are any.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({
            "code": self.code.as_str(),
            "message": self.message,
            "hint": self.hints.first(),
        });
        if let Value::Object(map) = &mut error {
            if let Some(run_id) = &self.aside.run_id {
                map.insert("run_id".to_owned(), json!(run_id));
            }
            if !self.causes.is_empty() {
                map.insert("causes".to_owned(), json!(self.causes));
            }
            if self.hints.len() > 1 {
                map.insert("hints".to_owned(), json!(self.hints));
            }
        }
        json!({ "error": error })
    }
}

impl From<WarehouseError> for Failure {
    fn from(error: WarehouseError) -> Self {
        let failure = Self::new(error.kind.code(), error.message);
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<AdmissionError> for Failure {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Refused(refusal) => refusal.into(),
            AdmissionError::Failed(error) => error.into(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        if let Some(permission) = refusal.permission() {
            return Self::new(refusal.code, refusal.reason).hint(permission);
        }
        let hint = match refusal.code {
            Code::ParseError => {
                "correct the statement, or write it in another way; only what can be read is sent"
            }
            Code::FunctionNotFound => "correct the name, or write its schema before it",
            Code::TooDeep | Code::TooLarge => {
                "write it shorter or flatter, such as with `WITH` and lists, or ask in parts"
            }
            _ => "ktx runs single read-only queries; write to the warehouse with your own tools",
        };
        Self::new(refusal.code, refusal.reason).hint(hint)
    }
}

impl From<LlmError> for Failure {
    fn from(error: LlmError) -> Self {
        let mut failure = Self::new(error.kind.code(), error.message);
        failure.aside.detail = error.detail;
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<ktx_context_tools::Failure> for Failure {
    fn from(failure: ktx_context_tools::Failure) -> Self {
        let mut mapped = Self::new(failure.code, for_people(&failure.message));
        mapped.hints = failure
            .hints
            .iter()
            .map(|hint| for_people(hint.as_str()))
            .collect();
        mapped
    }
}

/// Replaces the names of agent tools and their arguments by commands and options.
fn for_people(text: &str) -> String {
    [
        ("`wiki_search`", "`ktx wiki`"),
        ("`connection_list`", "`ktx connection list`"),
        ("`connectionId`", "`--connection-id`"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (tool, command)| {
        text.replace(tool, command)
    })
}

impl From<InvalidName> for Failure {
    fn from(error: InvalidName) -> Self {
        Self::new(Code::InvalidName, shortened(&error.to_string()))
    }
}

impl From<Diagnostics> for Failure {
    /// The first error is the message; the others follow as causes.
    fn from(diagnostics: Diagnostics) -> Self {
        let mut errors = diagnostics
            .0
            .into_iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error);
        let Some(first) = errors.next() else {
            return Self::new(Code::InvalidConfig, "the project files are not valid");
        };
        let mut failure = Self::new(first.code, first.to_string()).ending(Exit::Config);
        failure.hints = first.hints.iter().map(ToString::to_string).collect();
        failure.causes = errors.map(|error| error.to_string()).collect();
        failure
    }
}
