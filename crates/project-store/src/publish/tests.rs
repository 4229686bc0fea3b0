//! Tests of git's input and output formats.

use super::stream::render;
use super::tree::{GitIndex, parse_blobs, parse_index, parse_tree};
use super::*;

fn path(text: &str) -> ProjectPath {
    ProjectPath::parse(text).expect("a good path")
}

#[test]
fn the_stream_deletes_first_and_quotes_paths() {
    let commit = StreamedCommit {
        branch: "refs/heads/main",
        parent: Some("abc"),
        author: "Ada <ada@example.com>",
        committer: "Bot <bot@example.com>",
        at: Timestamp::from_second(1_763_760_000).expect("a time"),
        message: "ktx: größe\n\n",
    };
    let (write, delete) = (Content::Write(b"# A\n".to_vec()), Content::Delete);
    let file = |path: &str, mode, content| StreamedFile {
        path: path.to_owned(),
        mode,
        content,
    };
    let files = [
        file("a \"b\"\n\u{1}.md", "100644", &write),
        file("old.md", "100644", &delete),
        file("run.sh", "100755", &write),
    ];
    let stream = render(&commit, &files);
    assert_eq!(
        String::from_utf8_lossy(&stream),
        "blob\nmark :2\ndata 4\n# A\n\nblob\nmark :3\ndata 4\n# A\n\n\
         commit refs/heads/main\nmark :1\nauthor Ada <ada@example.com> 1763760000 +0000\n\
         committer Bot <bot@example.com> 1763760000 +0000\ndata 13\nktx: größe\n\nfrom abc\n\
         D \"old.md\"\n\
         M 100644 :2 \"a \\\"b\\\"\\n\\001.md\"\n\
         M 100755 :3 \"run.sh\"\n\
         \nget-mark :1\nget-mark :2\nget-mark :3\ndone\n"
    );
}

#[test]
fn trees_and_indexes_are_read_below_the_project_only() {
    let tree = "100644 blob 11\tdata/a b|100644 blob 22\tother|120000 blob 33\tdata/link|";
    let entry = |mode: &str, id: &str| tree::TreeEntry {
        mode: mode.to_owned(),
        id: id.to_owned(),
    };
    assert_eq!(
        parse_tree(tree.replace('|', "\0").as_bytes(), "data/"),
        Tree::from([
            (path("a b"), entry("100644", "11")),
            (path("link"), entry("120000", "33"))
        ])
    );
    let index = "H 100644 11 0\ta|M 100644 22 1\tb|M 100644 33 2\tb|S 100644 44 0\tc|H odd\td|";
    assert_eq!(
        parse_index(index.replace('|', "\0").as_bytes(), ""),
        GitIndex {
            entries: Tree::from([
                (path("a"), entry("100644", "11")),
                (path("b"), entry("100644", "in conflict")),
                (path("c"), entry("100644", "44"))
            ]),
            unseen: BTreeSet::from([path("c")]),
        }
    );
}

#[test]
fn blobs_may_hold_anything() {
    let output = b"11 blob 4\na\nb\0\n22 missing\n33 blob 0\n\n";
    assert_eq!(
        parse_blobs(output),
        BTreeMap::from([
            ("11".to_owned(), b"a\nb\0".to_vec()),
            ("33".to_owned(), Vec::new())
        ])
    );
    assert_eq!(parse_blobs(b"11 blob 400\nshort"), BTreeMap::new());
}

#[test]
fn long_lists_of_files_are_cut() {
    let paths: Vec<ProjectPath> = (1..=7).map(|number| path(&format!("f{number}"))).collect();
    assert_eq!(
        PublishError::Conflict { paths }.to_string(),
        "someone else has changed `f1`, `f2`, `f3`, `f4`, `f5` and 2 more"
    );
}
