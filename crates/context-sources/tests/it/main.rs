//! Tests context sources: the files read, the units and the facts.
#![expect(clippy::expect_used, reason = "test helpers fail the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "files of other people's projects"
)]

mod apply;
mod artifacts;
mod artifacts_sources;
mod cube;
mod facts;
mod forms;
mod looker;
mod looker_troubles;
mod lookml;
mod metabase;
mod metricflow;
mod notion;
mod odd;
mod reading;
mod references;
mod units;

use std::path::Path;

use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        put(folder.path(), path, text.as_bytes());
    }
    folder
}

fn put(root: &Path, path: &str, bytes: &[u8]) {
    let place = root.join(path);
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("the folder");
    std::fs::write(place, bytes).expect("the file");
}

fn snapshot(files: &[(&str, &str)]) -> ktx_context_sources::Snapshot {
    let folder = folder(files);
    ktx_context_sources::dbt::read(
        folder.path(),
        &ktx_context_sources::dbt::ArtifactFiles::default(),
    )
    .expect("a project")
}
