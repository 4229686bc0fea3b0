//! Tests of files.

use std::os::unix::fs::symlink;

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_write_makes_folders_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a/b/c.txt");
    assert_eq!(
        write_atomically(&path, b"1").expect("written"),
        WriteEffect::Changed
    );
    assert_eq!(
        write_atomically(&path, b"1").expect("written"),
        WriteEffect::Unchanged
    );
    assert_eq!(
        write_atomically(&path, b"2").expect("written"),
        WriteEffect::Changed
    );
    assert_eq!(read_optional(&path).expect("read"), Some(b"2".to_vec()));
    assert_eq!(names(&folder.path().join("a/b")), ["c.txt"]);
    assert_eq!(remove(&path).expect("removed"), RemoveEffect::Gone);
    assert_eq!(remove(&path).expect("removed"), RemoveEffect::Absent);
    assert_eq!(read_optional(&path.join("below")).expect("read"), None);
}

#[test]
fn permissions_and_links_of_an_existing_file_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, link) = (folder.path().join("run.sh"), folder.path().join("link"));
    write_atomically(&path, b"1").expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o750)).expect("a mode");
    symlink(&path, &link).expect("a link");
    write_atomically(&link, b"2").expect("written");
    assert!(link.is_symlink());
    assert_eq!(read_optional(&path).expect("read"), Some(b"2".to_vec()));
    assert_eq!(
        fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777,
        0o750
    );
}

#[test]
fn only_the_user_may_read_private_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret");
    write_staged(&path, b"x", folder.path(), FileAccess::Private).expect("written");
    assert_eq!(
        fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777,
        0o600
    );
}

#[test]
fn only_files_of_dead_processes_are_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mine = format!("{TEMPORARY}{}-x", std::process::id());
    for name in [mine.as_str(), ".ktx-tmp-999999999-x", "notes.txt"] {
        write_atomically(&folder.path().join(name), b"x").expect("written");
    }
    sweep(folder.path()).expect("swept");
    assert_eq!(names(folder.path()), [mine.as_str(), "notes.txt"]);
    sweep(&folder.path().join("none")).expect("nothing to do");
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    write_atomically(&file, b"x").expect("written");
    let error = write_atomically(&file.join("below"), b"x").expect_err("a file is in the way");
    assert_eq!(
        error.to_string(),
        format!("cannot write `{}`", file.join("below").display())
    );
}

#[test]
fn files_are_listed_in_order_without_following_links_to_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for name in ["b.md", "a/c.md", "a/b/c.md", "a/a.md"] {
        write_atomically(&root.join(name), b"x").expect("written");
    }
    symlink(root, root.join("a/loop")).expect("a link");
    symlink(root.join("b.md"), root.join("z.md")).expect("a link");
    let found = list(root).expect("a list");
    let names: Vec<_> = found
        .iter()
        .filter_map(|path| path.strip_prefix(root).ok())
        .collect();
    assert_eq!(
        names,
        ["a/a.md", "a/b/c.md", "a/c.md", "b.md", "z.md"].map(Path::new)
    );
    assert_eq!(
        list(&root.join("none")).expect("a list"),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn lines_are_added_to_a_private_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    append_line(&path, b"{}").expect("written");
    append_line(&path, b"[]").expect("written");
    assert_eq!(
        read_optional(&path).expect("read"),
        Some(b"{}\n[]\n".to_vec())
    );
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let missing = append_line(&folder.path().join("no/log"), b"{}");
    assert!(matches!(missing, Err(FileError::Write { .. })));
}

#[test]
fn many_files_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let staging = folder.path().join("staging");
    fs::create_dir(&staging).expect("a folder");
    let texts: Vec<String> = (0..100).map(|number| format!("{number}\n")).collect();
    let files: Vec<Replacement<'_>> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let path = format!("part-{}/{number}.txt", number % 3);
            new(folder.path().join(path), text.as_bytes())
        })
        .collect();
    let all: Vec<&Replacement<'_>> = files.iter().collect();
    assert_eq!(
        replace_all(&all, &staging).expect("written"),
        BTreeSet::new()
    );
    replace_all(&[], &staging).expect("nothing to write");
    for file in &files {
        let found = read_optional(&file.path).expect("read");
        assert_eq!(found.as_deref(), Some(file.bytes));
    }
    assert_eq!(names(&staging), Vec::<String>::new());

    let blocked = folder.path().join("part-0/0.txt/below");
    let left = replace_all(&[&new(blocked.clone(), b"x")], &staging);
    assert_eq!(left.expect("left"), BTreeSet::from([blocked]));
    let nowhere = replace_all(
        &[&new(folder.path().join("a"), b"x")],
        &folder.path().join("none"),
    );
    assert!(
        matches!(&nowhere, Err(FileError::Write { .. })),
        "{nowhere:?}"
    );
}

fn new(path: PathBuf, bytes: &[u8]) -> Replacement<'_> {
    Replacement {
        path,
        bytes,
        expected: None,
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let staging = folder.path().join("staging");
    fs::create_dir(&staging).expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["same", "edited", "made"] {
        write_atomically(&at(name), name.as_bytes()).expect("written");
    }
    symlink(at("same"), at("link")).expect("a link");
    let files = [
        ("same", Some("same")),
        ("edited", Some("as it was")),
        ("gone", Some("as it was")),
        ("link", Some("same")),
        ("made", None),
        ("new", None),
    ];
    let files = files.map(|(name, expected)| Replacement {
        path: at(name),
        bytes: b"2",
        expected: expected.map(str::as_bytes),
    });
    let left = replace_all(&files.each_ref(), &staging).expect("written");
    assert_eq!(
        left,
        BTreeSet::from(["edited", "gone", "link", "made"].map(at))
    );
    let found = ["same", "edited", "gone", "made", "new"].map(|name| {
        let found = read_optional(&at(name)).expect("read");
        found.map(|bytes| String::from_utf8(bytes).expect("text"))
    });
    let found = found.each_ref().map(Option::as_deref);
    assert_eq!(
        found,
        [Some("2"), Some("edited"), None, Some("made"), Some("2")]
    );
    assert!(at("link").is_symlink());
    assert_eq!(names(&staging), Vec::<String>::new());
}

#[test]
fn write_access_is_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    require_writable(folder.path()).expect("a folder of our own");
    assert_eq!(names(folder.path()), [""; 0]);
    let gone = folder.path().join("gone");
    let error = require_writable(&gone).expect_err("nothing is there");
    assert!(
        matches!(&error, FileError::Write { path, source } if *path == gone && source.kind() == ErrorKind::NotFound),
        "{error}"
    );
}
