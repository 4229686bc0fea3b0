//! Tests of real folders: faults with places, and values of good files.
#![expect(
    clippy::disallowed_methods,
    reason = "the tests write the projects that they check"
)]

mod faults;
mod keys;
mod mutations;
mod values;

use std::fs;
use std::path::{Path, PathBuf};

use ktx_diagnostics::Diagnostic;
use tempfile::TempDir;

use crate::{AgentFile, Embedding, FOLDER, ProjectFacts, agent_files};

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/agents");
    copy(&fixtures, &folder.path().join(FOLDER));
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn known() -> ProjectFacts {
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    ProjectFacts {
        tools: names(&[
            "discover_data",
            "entity_details",
            "sl_query",
            "sl_read_source",
            "wiki_read",
            "wiki_search",
        ]),
        connections: names(&["warehouse"]),
        embedding: Embedding::Absent,
        ..ProjectFacts::default()
    }
}

fn told(faults: &[Diagnostic]) -> String {
    let lines = faults.iter().map(|fault| {
        let hints = fault.hints.iter().map(|hint| format!("\n  hint: {hint}"));
        format!("{}: {fault}{}\n", fault.severity, hints.collect::<String>())
    });
    lines.collect()
}

fn faults_of(text: &str) -> String {
    let folder = project();
    let path = folder.path().join("agents/a.yaml");
    fs::write(&path, text).unwrap();
    told(&AgentFile::check(&path, folder.path(), &known()).faults)
}

fn fixtures(project: &Path) -> Vec<PathBuf> {
    agent_files(project).unwrap()
}
