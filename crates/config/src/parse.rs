//! Parses the text of `ktx.yaml` into a project and its diagnostics.

use ktx_diagnostics::{Diagnostic, Severity};

use crate::{Project, check, project, yaml};

#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The project; `None` if a diagnostic is an error. Problems below `llm` are warnings, listed
    /// in [`Llm::problems`](crate::Llm::problems): only commands that call a model fail then.
    pub project: Option<Project>,
    /// Errors and warnings, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the bytes of `ktx.yaml`. `file` is the file's name in messages. Reports every problem with
/// its place, but syntax errors and duplicate keys hide the others.
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

/// Like [`parse_bytes`], for a text.
pub fn parse(text: &str, file: &str) -> Parsed {
    parse_bytes(text.as_bytes(), file)
}
