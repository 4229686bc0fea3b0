//! What counts as a change.

use super::{ProjectFile, ProjectState, Stamp};

fn state(files: &[(&str, &str)]) -> ProjectState {
    let files = files
        .iter()
        .map(|(key, stamp)| (ProjectFile::Page((*key).to_owned()), Stamp::new(*stamp)));
    ProjectState {
        files: files.collect(),
    }
}

#[test]
fn a_file_that_only_grows_old_has_not_changed() {
    let before = state(&[
        ("aged", "1:2:3.4:5:ab"),
        ("gone", "1:2:3.4:5"),
        ("rewritten", "1:2:3.4:5:ab"),
        ("same", "1:2:3.4:5"),
        ("touched", "1:2:3.4:5"),
    ]);
    let now = state(&[
        ("aged", "1:2:3.4:5"),
        ("new", "1:2:3.4:6"),
        ("rewritten", "1:2:3.4:5:cd"),
        ("same", "1:2:3.4:5"),
        ("touched", "1:2:3.5:5"),
    ]);
    let page = |key: &str| ProjectFile::Page(key.to_owned());
    let expected = ["gone", "new", "rewritten", "touched"].map(page);
    assert_eq!(now.changes_since(&before), expected);
    assert_eq!(now.changes_since(&now), []);
}
