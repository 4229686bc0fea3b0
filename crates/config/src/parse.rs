//! From the text of `ktx.yaml` to a project, with everything that is wrong.

use ktx_diagnostics::{Diagnostic, Severity};

use crate::{Project, check, project, yaml};

/// The outcome of reading `ktx.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The project; none when a diagnostic is an error.
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
    let diagnostics = check::check(&loaded.value, &loaded.places);
    let good = diagnostics
        .iter()
        .all(|diagnostic| diagnostic.severity != Severity::Error);
    Parsed {
        project: good.then(|| project::read(&loaded.value)),
        diagnostics,
    }
}

/// As [`parse_bytes`], for a text.
pub fn parse(text: &str, file: &str) -> Parsed {
    parse_bytes(text.as_bytes(), file)
}
