//! The state of the context layer in a run.

use std::collections::BTreeMap;
use std::fs;

use ktx_agent_eval::LayerInfo;
use ktx_diagnostics::{Code, Failure};
use ktx_project_store::{ProjectPath, walk};
use sha2::{Digest as _, Sha256};

use crate::audit::hex;
use crate::invocation::OpenProject;
use crate::report::{Outcome, Report as _};

const FOLDERS: [&str; 2] = ["semantic-layer", "wiki"];

pub(super) fn layer_info(project: &OpenProject) -> Outcome<LayerInfo> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for folder in FOLDERS {
        let walked = walk(&project.dir, &project.dir.join(folder))
            .map_err(|error| Failure::from_error(Code::FileUnreadable, &error))?;
        for file in walked.files {
            let bytes = fs::read(&file.place)
                .map_err(|error| Failure::from_error(Code::FileUnreadable, &error))?;
            files.insert(format!("{folder}/{}", file.path), bytes);
        }
    }
    let mut digest = Sha256::new();
    for (path, bytes) in &files {
        digest.update(format!("{path}\n{}\n", bytes.len()));
        digest.update(bytes);
    }
    let committed = committed(project);
    Ok(LayerInfo {
        dirty: committed.as_ref().is_none_or(|(_, old)| *old != files),
        commit: committed.map(|(commit, _)| commit),
        digest: hex(&digest.finalize()),
    })
}

/// `None` without git or commits.
fn committed(project: &OpenProject) -> Option<(String, BTreeMap<String, Vec<u8>>)> {
    let history = project.store.history().ok()?;
    let commit = history.commit("HEAD").ok()?;
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        let folder = ProjectPath::parse(folder).ok()?;
        let found = history.files(&commit, &folder).ok()?;
        files.extend(
            found
                .into_iter()
                .map(|(path, bytes)| (path.to_string(), bytes)),
        );
    }
    Some((commit, files))
}
