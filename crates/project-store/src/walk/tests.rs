//! Tests of links, hidden entries, and entries that do not count.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{OmissionReason, OmittedFile, folders, walk};
use crate::write_atomically;

fn world() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("project");
    for path in [
        "project/a/b.yaml",
        "project/a/sub/c.yaml",
        "project/a/.hidden.yaml",
        "project/a/.git/d.yaml",
        "project/notes/e.yaml",
        "out/f.yaml",
    ] {
        write_atomically(&folder.path().join(path), b"x").expect("written");
    }
    (folder, root)
}

fn paths(root: &Path, folder: &str) -> Vec<String> {
    let walked = walk(root, &root.join(folder)).expect("a walk");
    walked.files.into_iter().map(|file| file.path).collect()
}

fn left_out(root: &Path, found: &[OmittedFile]) -> Vec<(PathBuf, OmissionReason)> {
    found
        .iter()
        .map(|one| {
            let place = one.place.strip_prefix(root).unwrap_or(&one.place);
            (place.to_owned(), one.why)
        })
        .collect()
}

#[test]
fn hidden_entries_and_links_out_of_the_project_do_not_count() {
    let (_folder, root) = world();
    symlink("../notes/e.yaml", root.join("a/inside.yaml")).expect("a link");
    symlink("../../out/f.yaml", root.join("a/leak.yaml")).expect("a link");
    symlink("nowhere", root.join("a/lost.yaml")).expect("a link");
    symlink(".", root.join("a/loop")).expect("a link");
    symlink("../../out", root.join("a/out")).expect("a link");
    assert_eq!(paths(&root, "a"), ["b.yaml", "inside.yaml", "sub/c.yaml"]);
    let walked = walk(&root, &root.join("a")).expect("a walk");
    assert_eq!(
        left_out(&root, &walked.left_out),
        [
            ("a/leak.yaml", OmissionReason::LeavesProject),
            ("a/loop", OmissionReason::LinkedFolder),
            ("a/lost.yaml", OmissionReason::LeadsNowhere),
            ("a/out", OmissionReason::LeavesProject),
        ]
        .map(|(path, why)| (PathBuf::from(path), why))
    );
}

#[test]
fn a_folder_reached_by_a_link_out_of_the_project_is_reported_and_has_no_files() {
    let (_folder, root) = world();
    symlink("../out", root.join("w")).expect("a link");
    symlink("a", root.join("same")).expect("a link");
    symlink("../..", root.join("a/up")).expect("a link");
    let outside = [(PathBuf::from("w"), OmissionReason::LeavesProject)];
    let walked = walk(&root, &root.join("w")).expect("a walk");
    assert!(walked.files.is_empty());
    assert_eq!(left_out(&root, &walked.left_out), outside);
    let found = folders(&root, &root.join("w")).expect("folders");
    assert_eq!(left_out(&root, &found.left_out), outside);
    // A link inside the project works like the folder.
    assert_eq!(paths(&root, "same"), ["b.yaml", "sub/c.yaml"]);
    assert_eq!(paths(&root, "none"), Vec::<String>::new());
    let found = folders(&root, &root).expect("folders");
    assert_eq!(found.names, ["a", "notes"]);
    assert_eq!(
        left_out(&root, &found.left_out),
        [
            ("same", OmissionReason::LinkedFolder),
            ("w", OmissionReason::LeavesProject)
        ]
        .map(|(path, why)| (PathBuf::from(path), why))
    );
    // The path of the project itself can contain a link.
    let beside = root.with_file_name("beside");
    symlink(&root, &beside).expect("a link");
    assert_eq!(paths(&beside, "a"), ["b.yaml", "sub/c.yaml"]);
}
