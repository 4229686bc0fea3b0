//! Which changes a watch notices.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "the tests change files as any program does"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::{FolderWatch, WatchState};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("global")).expect("a folder");
    fs::write(folder.path().join("global/page.md"), "one").expect("a page");
    folder
}

type ChangeFunction = fn(&Path);

#[test]
fn notices_every_kind_of_change() {
    let changes: [(&str, ChangeFunction); 7] = [
        ("an edit in place", |root| {
            fs::write(root.join("global/page.md"), "two").expect("a page");
        }),
        ("a new page", |root| {
            fs::write(root.join("global/new.md"), "").expect("a page");
        }),
        ("a removed page", |root| {
            fs::remove_file(root.join("global/page.md")).expect("a removal");
        }),
        ("a replaced page", |root| {
            fs::write(root.join("outside.md"), "two").expect("a page");
            fs::rename(root.join("outside.md"), root.join("global/page.md")).expect("a move");
        }),
        ("a page that may not be read", |root| {
            let mode = fs::Permissions::from_mode(0o000);
            fs::set_permissions(root.join("global/page.md"), mode).expect("a mode");
        }),
        ("a new folder", |root| {
            fs::create_dir(root.join("user")).expect("a folder");
        }),
        ("a removed folder", |root| {
            fs::remove_dir_all(root.join("global")).expect("a removal");
        }),
    ];
    for (name, change) in changes {
        let folder = folder();
        let watch = FolderWatch::new(folder.path()).expect("a watch");
        assert_eq!(watch.look(), WatchState::Unchanged, "before {name}");
        fs::read(folder.path().join("global/page.md")).expect("a page");
        assert_eq!(watch.look(), WatchState::Unchanged, "reading is not {name}");
        change(folder.path());
        assert_eq!(watch.look(), WatchState::Changed, "{name}");
    }
}

#[test]
fn does_not_watch_what_links_lead_to() {
    let folder = folder();
    symlink("page.md", folder.path().join("global/link.md")).expect("a link");
    assert!(FolderWatch::new(folder.path()).is_none());
    assert!(FolderWatch::new(&folder.path().join("missing")).is_none());
}
