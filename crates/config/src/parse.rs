//! Parses the text of `ktx.yaml` into a project and its diagnostics.

use ktx_diagnostics::{Diagnostic, Severity};

use crate::{Project, check, project, yaml};

#[derive(Debug, Clone, PartialEq)]
pub struct ParsedConfig {
    /// `None` if a diagnostic is an error. Problems below `llm` are warnings, listed in
    /// [`Llm::problems`](crate::Llm::problems).
    pub project: Option<Project>,
    /// In file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses `ktx.yaml`; `file` is its name in messages. Syntax errors and duplicate keys hide other
/// problems.
pub fn parse_bytes(bytes: &[u8], file: &str) -> ParsedConfig {
    let loaded = match yaml::load(bytes, file) {
        Ok(loaded) => loaded,
        Err(problems) => {
            return ParsedConfig {
                project: None,
                diagnostics: problems.0,
            };
        }
    };
    let findings = check::check(&loaded.value, &loaded.places);
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
    if findings.all.iter().any(is_error) {
        return ParsedConfig {
            project: None,
            diagnostics: findings.into_errors(),
        };
    }
    let mut project = project::read(&loaded.value);
    project.llm.refuse(findings.model);
    ParsedConfig {
        project: Some(project),
        diagnostics: findings.all,
    }
}

pub fn parse(text: &str, file: &str) -> ParsedConfig {
    parse_bytes(text.as_bytes(), file)
}
