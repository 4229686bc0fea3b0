//! Reads and checks agent files and case files.

mod build;
mod cases;

use std::fs;
use std::path::Path;

use ktx_config::yaml::{self, LoadedYaml};
use ktx_diagnostics::{Code, Diagnostic, Diagnostics, Location, Severity};
use serde_json::Value;

use crate::check;
use crate::folder::FileRoots;
use crate::model::{AgentFile, CaseFile};
use crate::rules::{CaseRules, ProjectFacts, Rules, check_cases};
use crate::spec::{ROOT, ValueShape};

#[derive(Debug, Clone, PartialEq)]
pub struct CheckedFile<T> {
    /// `None` if a fault is an error.
    pub value: Option<T>,
    /// Faults of the shape in file order, then of the rules.
    pub faults: Vec<Diagnostic>,
}

impl AgentFile {
    /// Reads an agent file without project facts and drops warnings. Relative paths in it start at
    /// its folder.
    ///
    /// # Errors
    ///
    /// All faults of the file, with places relative to the project.
    pub fn load(path: &Path, project: &Path) -> Result<Self, Diagnostics> {
        let checked = Self::check(path, project, &ProjectFacts::default());
        checked.value.ok_or(Diagnostics(checked.faults))
    }

    pub fn check(path: &Path, project: &Path, around: &ProjectFacts) -> CheckedFile<Self> {
        let disk = FileRoots::of(path, project);
        let loaded = match read(path, &disk) {
            Ok(loaded) => loaded,
            Err(faults) => return CheckedFile::refused(faults),
        };
        let shape = ValueShape::Object(ROOT);
        let mut findings = check::check(&loaded.value, &shape, &loaded.places, &[]);
        let mut faults = std::mem::take(&mut findings.faults);
        let rules = Rules {
            root: &loaded.value,
            places: &loaded.places,
            paths: &findings.paths,
            file: path,
            disk: &disk,
            around,
            found: Vec::new(),
        };
        let ignores_claude = rules.other_provider().is_some();
        faults.extend(rules.check());
        if let Some(cases) = loaded.value.get("test_cases") {
            faults.extend(check_cases(&CaseRules {
                cases,
                above: &["test_cases"],
                places: &loaded.places,
                around,
            }));
        }
        let cases = cases::of_agent(&loaded.value, &disk, around, &mut faults);
        CheckedFile::of(faults, || {
            let mut written = loaded.value.clone();
            if let (true, Value::Object(agent)) = (ignores_claude, &mut written) {
                agent.shift_remove("claude");
            }
            build::agent(&written, path, &disk, cases.as_ref())
        })
    }
}

impl CaseFile {
    pub fn check(path: &Path, project: &Path, around: &ProjectFacts) -> CheckedFile<Self> {
        let disk = FileRoots::of(path, project);
        cases::check_file(path, &disk, around)
    }
}

/// Returns true for a list or an object with `cases`.
pub fn has_cases(path: &Path) -> bool {
    let loaded = fs::read(path)
        .ok()
        .and_then(|bytes| yaml::load(&bytes, "cases").ok());
    loaded.is_some_and(|loaded| loaded.value.is_array() || loaded.value.get("cases").is_some())
}

impl<T> CheckedFile<T> {
    fn refused(faults: Diagnostics) -> Self {
        Self {
            value: None,
            faults: faults.0,
        }
    }

    fn of(mut faults: Vec<Diagnostic>, make: impl FnOnce() -> Result<T, Diagnostic>) -> Self {
        let is_error = |fault: &Diagnostic| fault.severity == Severity::Error;
        if faults.iter().any(is_error) {
            return Self {
                value: None,
                faults,
            };
        }
        let value = match make() {
            Ok(value) => Some(value),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
        Self { value, faults }
    }
}

fn read(path: &Path, disk: &FileRoots) -> Result<LoadedYaml, Diagnostics> {
    let label = disk.relative(path).display().to_string();
    match fs::read(path) {
        Ok(bytes) => yaml::load(&bytes, &label),
        Err(error) => Err(Diagnostics(vec![unreadable(&label, &error)])),
    }
}

fn unreadable(label: &str, error: &std::io::Error) -> Diagnostic {
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    Diagnostic::error(Code::FileUnreadable, message).at(Location {
        file: label.to_owned(),
        position: None,
    })
}
