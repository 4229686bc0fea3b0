//! From the text of `ktx.yaml` to a project, with everything that is wrong.

use ktx_diagnostics::{Diagnostic, Severity};

use crate::{Project, check, project, yaml};

/// The outcome of reading `ktx.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The project; none when a diagnostic is an error. What is wrong below `llm` is a warning, and
    /// [`Llm::problems`](crate::Llm::problems) holds it: only what asks a model fails then.
    pub project: Option<Project>,
    /// Errors and warnings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the bytes of `ktx.yaml`. `file` is how the user knows the file. All problems are reported,
/// each with its place; syntax errors and duplicate keys hide the others.
pub fn parse_bytes(bytes: &[u8], file: &str) -> Parsed {
    let loaded = match yaml::load(bytes, file) {
        Ok(loaded) => loaded,
        Err(problems) => {
            return Parsed {
                project: None,
                diagnostics: problems.0,
            };
        }
    };
    let findings = check::check(&loaded.value, &loaded.places);
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
    if findings.all.iter().any(is_error) {
        return Parsed {
            project: None,
            diagnostics: findings.into_errors(),
        };
    }
    let mut project = project::read(&loaded.value);
    project.llm.refuse(findings.model);
    Parsed {
        project: Some(project),
        diagnostics: findings.all,
    }
}

/// As [`parse_bytes`], for a text.
pub fn parse(text: &str, file: &str) -> Parsed {
    parse_bytes(text.as_bytes(), file)
}
