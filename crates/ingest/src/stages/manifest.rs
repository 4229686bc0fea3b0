//! Records in a committed file that a source had a manifest: a reading without it knows less and
//! must remove nothing that came from it.

use ktx_context_sources::Source;
use ktx_project_store::{Change, ProjectPath, PublishBase};
use serde::{Deserialize, Serialize};

use crate::error::IngestError;
use crate::run_store::RunStore;

#[derive(Serialize, Deserialize)]
struct ReadManifest {
    manifest: String,
}

#[derive(Debug, Default)]
pub(crate) struct ManifestState {
    pub(crate) note: Option<Change>,
    pub(crate) missing: Option<String>,
}

pub(crate) fn compare(
    source: &Source,
    base: &PublishBase,
    run_store: &RunStore,
) -> Result<ManifestState, IngestError> {
    let folder = ProjectPath::parse(&format!("raw-sources/{}/artifacts", source.id))?;
    let path = ProjectPath::parse(&format!("{folder}/manifest.json"))?;
    let before = run_store.committed(base, &folder)?.remove(&path);
    match (source.snapshot.artifacts.manifest(), before) {
        (None, None) => Ok(ManifestState::default()),
        (Some(manifest), before) => {
            let read = ReadManifest {
                manifest: manifest.to_owned(),
            };
            let mut text = serde_json::to_string_pretty(&read).unwrap_or_default();
            text.push('\n');
            let is_known = before.is_some_and(|before| before == text.as_bytes());
            Ok(ManifestState {
                note: (!is_known).then(|| Change::write(path, text)),
                missing: None,
            })
        }
        (None, Some(before)) => {
            // A damaged record still says that there was a manifest.
            let read = serde_json::from_slice::<ReadManifest>(&before);
            let name = read.map_or_else(|_| "manifest.json".to_owned(), |read| read.manifest);
            let mut left_out = source.snapshot.left_out.iter();
            let is_reported = left_out.any(|left| left.path == name);
            let missing = format!(
                "`{name}` is missing, and the last reading had it: what came from it stays; run `dbt parse`, or delete \
                 `{path}` if the project no longer has a manifest"
            );
            Ok(ManifestState {
                note: None,
                missing: (!is_reported).then_some(missing),
            })
        }
    }
}
