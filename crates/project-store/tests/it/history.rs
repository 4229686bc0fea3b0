//! Tests reading files as of earlier commits.

use std::collections::BTreeMap;

use ktx_project_store::{Change, Failpoints, Store};

use crate::world::{TestRepository, at, publish};

fn sources(store: &Store, revision: &str) -> Result<BTreeMap<String, String>, String> {
    let history = store.history().map_err(|error| error.to_string())?;
    let commit = history
        .commit(revision)
        .map_err(|error| error.to_string())?;
    let files = history
        .files(&commit, &at("semantic-layer"))
        .map_err(|error| error.to_string())?;
    Ok(files
        .into_iter()
        .filter(|(path, _)| path.as_str().rsplit('.').next() == Some("yaml"))
        .map(|(path, bytes)| {
            (
                path.to_string(),
                String::from_utf8_lossy(&bytes).into_owned(),
            )
        })
        .collect())
}

fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn each_commit_has_the_files_that_it_had() {
    let (world, store) = TestRepository::with_project();
    let one = "semantic-layer/warehouse/orders.yaml";
    let two = "semantic-layer/other/_schema/public.yaml";
    publish(&store, &[Change::write(at(one), "first\n")]).unwrap();
    publish(
        &store,
        &[
            Change::write(at(one), "second\n"),
            Change::write(at(two), "second\n"),
        ],
    )
    .unwrap();
    world.write("shop/semantic-layer/warehouse/orders.yaml", "third\n");
    assert_eq!(
        sources(&store, "HEAD").unwrap(),
        files(&[(two, "second\n"), (one, "second\n")])
    );
    assert_eq!(
        sources(&store, "main~1").unwrap().get(one),
        Some(&"first\n".to_owned())
    );
    for (revision, reason) in [
        ("nowhere", "`nowhere` is not a commit of this repository"),
        ("--all", "`--all` is not a commit of this repository"),
        ("", "`` is not a commit of this repository"),
        (
            "HEAD:ktx.yaml",
            "`HEAD:ktx.yaml` is not a commit of this repository",
        ),
    ] {
        assert_eq!(sources(&store, revision), Err(reason.to_owned()));
    }
}

#[test]
fn a_project_in_no_repository_has_no_history_and_gets_none() {
    let world = TestRepository::new();
    world.write("bare/ktx.yaml", "connections: {}\n");
    let root = world.path("bare");
    let store = Store::open(&root, world.environment(), Failpoints::none()).unwrap();
    assert_eq!(
        sources(&store, "HEAD"),
        Err(format!("`{}` is not in a git work tree", root.display()))
    );
    assert!(!root.join(".git").exists());
}

#[test]
fn a_shallow_clone_says_that_it_is_one() {
    let (world, store) = TestRepository::with_project();
    publish(&store, &[Change::write(at("wiki/global/one.md"), "one\n")]).unwrap();
    publish(&store, &[Change::write(at("wiki/global/two.md"), "two\n")]).unwrap();
    assert!(!store.history().unwrap().is_shallow().unwrap());
    let origin = format!("file://{}", world.path("shop").display());
    world.git("", &["clone", "--depth", "1", &origin, "copy"]);
    let copy = Store::open(&world.path("copy"), world.environment(), Failpoints::none()).unwrap();
    assert!(copy.history().unwrap().is_shallow().unwrap());
}
