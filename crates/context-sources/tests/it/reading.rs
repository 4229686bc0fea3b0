//! Tests which files of a project are read, and why others are not.

use std::path::Path;

use ktx_context_sources::{ReadError, Snapshot, dbt};
use ktx_diagnostics::Hints as _;

use crate::{folder, put};

fn read(root: &Path) -> Result<Snapshot, ReadError> {
    dbt::read(root, &dbt::ArtifactFiles::default())
}

const PROJECT: &str = "name: shop\nmodel-paths: [models, ./marts/]\nseed-paths: seeds\n";

#[test]
fn the_folders_of_the_project_file_are_read_and_nothing_else() {
    let folder = folder(&[
        ("dbt_project.yml", PROJECT),
        ("models/orders.sql", "select 1"),
        ("models/schema.YML", "models: []"),
        ("models/deep/er/notes.md", "notes"),
        ("models/picture.png", "png"),
        ("models/.hidden/a.yml", "a: 1"),
        ("models/node_modules/a.yml", "a: 1"),
        ("marts/revenue.sql", "select 2"),
        ("seeds/codes.csv", "a,b"),
        ("seeds/codes.yml", "seeds: []"),
        ("snapshots/s.sql", "{% snapshot s %}"),
        ("macros/m.sql", "{% macro m() %}"),
        ("target/compiled/models/orders.sql", "select 1"),
        ("dbt_packages/utils/models/u.yml", "models: []"),
        ("packages.yml", "packages: []"),
        ("profiles.yml", "password: hunter2"),
    ]);
    put(folder.path(), "models/latin.yml", b"# caf\xe9\n");
    put(folder.path(), "models/bom.yml", b"\xef\xbb\xbfmodels: []");
    let long = "x".repeat(1_000_001);
    put(folder.path(), "models/long.sql", long.as_bytes());
    let snapshot = read(folder.path()).unwrap();
    let paths: Vec<&str> = snapshot.files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "dbt_project.yml",
            "marts/revenue.sql",
            "models/bom.yml",
            "models/deep/er/notes.md",
            "models/orders.sql",
            "models/schema.YML",
            "seeds/codes.yml",
            "snapshots/s.sql",
        ]
    );
    assert_eq!(snapshot.files["models/bom.yml"], "models: []");
    let left: Vec<String> = snapshot
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.path, left.reason))
        .collect();
    assert_eq!(
        left,
        [
            "models/latin.yml: byte 5 is not UTF-8",
            "models/long.sql: it has 1000001 bytes, at most 1000000 are read",
        ]
    );
}

/// The author of a project must not choose which other files of the machine are read.
#[test]
#[cfg(unix)]
fn links_and_paths_that_lead_out_of_the_project_are_not_followed() {
    let outside = folder(&[("secret.yml", "password: hunter2")]);
    let project = "model-paths: [models, ../elsewhere, /etc]\n";
    let folder = folder(&[("dbt_project.yml", project), ("models/a.yml", "a: 1")]);
    let link = |from: &str| {
        let place = folder.path().join(from);
        std::os::unix::fs::symlink(outside.path().join("secret.yml"), place).unwrap();
    };
    link("models/linked.yml");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("models/folder")).unwrap();
    let snapshot = read(folder.path()).unwrap();
    let paths: Vec<&str> = snapshot.files.keys().map(String::as_str).collect();
    assert_eq!(paths, ["dbt_project.yml", "models/a.yml"]);
    let left: Vec<&str> = snapshot
        .left_out
        .iter()
        .map(|left| left.path.as_str())
        .collect();
    assert_eq!(
        left,
        ["../elsewhere", "/etc", "models/folder", "models/linked.yml"]
    );
}

#[test]
fn a_folder_that_is_not_a_project_is_reported_with_a_hint() {
    let folder = folder(&[("empty/a.txt", ""), ("broken/dbt_project.yml", "name: [")]);
    let told = |name: &str| {
        let error = read(&folder.path().join(name)).unwrap_err();
        let text = error
            .to_string()
            .replace(&folder.path().display().to_string(), "");
        (text, error.hints().len())
    };
    assert_eq!(
        told("nowhere"),
        ("there is no folder `/nowhere`".to_owned(), 1)
    );
    assert_eq!(told("empty/a.txt").0, "`/empty/a.txt` is not a folder");
    assert_eq!(told("empty").0, "there is no `dbt_project.yml` in `/empty`");
    let (broken, _) = told("broken");
    assert_eq!(
        broken,
        "`dbt_project.yml:2:1` is not a dbt project file: did not find expected node content"
    );
}

#[test]
fn the_root_may_be_the_folder_of_models() {
    let project = "model-paths: ['.']\ndocs-paths: [words]\ntarget-path: out\n";
    let folder = folder(&[
        ("dbt_project.yml", project),
        ("orders.sql", "select 1"),
        ("deep/schema.yml", "models: []"),
        ("words/terms.md", "{% docs a %}A.{% enddocs %}"),
        ("out/compiled/orders.sql", "select 1"),
        ("outer/kept.sql", "select 1"),
        ("logs/dbt.md", "log"),
        ("dbt_packages/u/dbt_project.yml", "name: u"),
        ("profiles.yml", "password: hunter2"),
    ]);
    let snapshot = read(folder.path()).unwrap();
    let paths: Vec<&str> = snapshot.files.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "dbt_project.yml",
            "deep/schema.yml",
            "orders.sql",
            "outer/kept.sql",
            "words/terms.md"
        ]
    );
    assert_eq!(snapshot.left_out, []);
}

#[test]
fn doc_blocks_may_be_in_a_separate_folder() {
    let folder = folder(&[
        ("dbt_project.yml", "docs-paths: [words]\n"),
        ("words/terms.md", "{% docs a %}A.{% enddocs %}"),
        ("words/more.yml", "models: []"),
    ]);
    let snapshot = read(folder.path()).unwrap();
    let paths: Vec<&str> = snapshot.files.keys().map(String::as_str).collect();
    assert_eq!(paths, ["dbt_project.yml", "words/terms.md"]);
}

#[test]
#[cfg(unix)]
fn a_project_file_that_leads_out_is_not_read() {
    let outside = folder(&[("secret.yml", "password: hunter2")]);
    let folder = folder(&[("models/a.yml", "a: 1")]);
    let place = folder.path().join("dbt_project.yml");
    std::os::unix::fs::symlink(outside.path().join("secret.yml"), place).unwrap();
    assert_eq!(
        read(folder.path()).unwrap_err().to_string(),
        "`dbt_project.yml` is not a dbt project file: it is a link that leads out of the folder"
    );
}

#[test]
fn a_source_of_200_mb_is_read_in_part() {
    let folder = folder(&[("dbt_project.yml", "name: shop\n")]);
    for number in 0..220 {
        let path = format!("models/{number:03}.sql");
        put(folder.path(), &path, b"");
        let file = std::fs::File::options()
            .write(true)
            .open(folder.path().join(path))
            .expect("the file");
        file.set_len(950_000).expect("a length");
    }
    let snapshot = read(folder.path()).expect("a project");
    assert_eq!((snapshot.files.len(), snapshot.left_out.len()), (106, 115));
    let reasons: std::collections::BTreeSet<&str> = snapshot
        .left_out
        .iter()
        .map(|left| left.reason.as_str())
        .collect();
    assert_eq!(
        reasons.into_iter().collect::<Vec<_>>(),
        [
            "the files before it have 99750011 bytes together, at most 100000000 of a source are read"
        ]
    );
}
