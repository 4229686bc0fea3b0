//! If a manifest goes missing, ktx keeps the facts that came from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_context_sources::Source;
use ktx_context_sources::dbt::{ArtifactFiles, definitions, facts, read};
use ktx_ingest::{FactsReport, FactsSource, Imports, copy_facts};
use ktx_project_store::{Change, ProjectPath, PublishRequest};
use ktx_sql::Dialect;

use crate::world::{World, id, now, source};

const SHARD: &str = "semantic-layer/shop/_schema/main.yaml";
const MANIFEST: &str = r#"{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json", "project_name": "shop"},
  "sources": {"source.stripe.stripe.customer": {"resource_type": "source", "package_name": "stripe", "source_name": "stripe", "name": "customer", "schema": "stripe", "description": "Who pays.", "original_file_path": "models/src.yml", "config": {}}}}"#;

impl World {
    fn project(&self) -> Source {
        let snapshot = read(&self.path("dbt"), &ArtifactFiles::default()).expect("a project");
        Source {
            warehouse: Some((id("shop"), Dialect::Sqlite)),
            facts: facts(&snapshot),
            definitions: definitions(&snapshot),
            snapshot: Arc::new(snapshot),
            units: Vec::new(),
            ..source(&[])
        }
    }

    fn copy(&self, source: &Source) -> FactsReport {
        let sources = [FactsSource {
            source,
            siblings: &[],
        }];
        let run_store = self.run_store();
        let unread = std::collections::BTreeSet::new();
        let mut copied = copy_facts(&sources, &unread, Vec::new(), Imports::Now, &run_store);
        copied.remove(0).expect("facts")
    }

    fn commit(&self, path: &str, text: &str) {
        let path = ProjectPath::parse(path).expect("a path");
        let changes = [Change::write(path, text.to_owned())];
        let publisher = self.store.publisher().expect("git");
        let request = PublishRequest {
            changes: &changes,
            message: "scan",
            at: now(),
        };
        let base = publisher.begin().expect("a base");
        publisher.publish(&base, &request).expect("a commit");
    }

    fn shard(&self) -> String {
        std::fs::read_to_string(self.path("shop").join(SHARD)).expect("a shard")
    }
}

fn put(world: &World, files: &BTreeMap<&str, &str>) {
    for (path, text) in files {
        let place = world.path("dbt").join(path);
        std::fs::create_dir_all(place.parent().expect("a folder")).expect("the folder");
        std::fs::write(place, text).expect("a file");
    }
}

#[test]
fn a_missing_manifest_leaves_what_came_from_it() {
    let world = World::new();
    world.commit(
        SHARD,
        "tables:\n  customer:\n    table: stripe.customer\n    columns: []\n",
    );
    let project = BTreeMap::from([
        ("dbt_project.yml", "name: shop\n"),
        ("target/manifest.json", MANIFEST),
    ]);
    put(&world, &project);
    let first = world.copy(&world.project());
    assert_eq!((first.tables, first.warnings.len()), (1, 0));
    let written = world.shard();
    assert!(written.contains("dbt: Who pays."), "{written}");
    // A clone has neither `target/` nor the local state.
    std::fs::remove_file(world.path("dbt/target/manifest.json")).expect("the manifest");
    std::fs::remove_dir_all(world.path("shop/.ktx/state")).expect("the state");
    let without = world.copy(&world.project());
    assert_eq!(
        without.warnings,
        [
            "`target/manifest.json` is missing, and the last reading had it: what came from it stays; run `dbt parse`, or \
             delete `raw-sources/shop-dbt/artifacts/manifest.json` if the project no longer has a manifest"
        ]
    );
    assert_eq!((without.commit, world.shard()), (None, written.clone()));
    // The reading itself reports an unreadable manifest.
    put(&world, &BTreeMap::from([("target/manifest.json", "{")]));
    let broken = world.copy(&world.project());
    assert_eq!((broken.warnings.len(), world.shard()), (0, written.clone()));
    put(&world, &project);
    let again = world.copy(&world.project());
    assert_eq!((again.commit, world.shard()), (None, written));
}

#[test]
fn a_person_says_that_there_is_no_manifest_anymore() {
    let world = World::new();
    let shard = "tables:\n  customer:\n    table: stripe.customer\n    columns: []\n";
    world.commit(SHARD, shard);
    let project = BTreeMap::from([
        ("dbt_project.yml", "name: shop\n"),
        ("target/manifest.json", MANIFEST),
    ]);
    put(&world, &project);
    world.copy(&world.project());
    std::fs::remove_file(world.path("dbt/target/manifest.json")).expect("the manifest");
    let note = "raw-sources/shop-dbt/artifacts/manifest.json";
    let publisher = world.store.publisher().expect("git");
    let gone = [Change {
        path: ProjectPath::parse(note).expect("a path"),
        content: ktx_project_store::Content::Delete,
    }];
    let request = PublishRequest {
        changes: &gone,
        message: "no manifest",
        at: now(),
    };
    let base = publisher.begin().expect("a base");
    publisher.publish(&base, &request).expect("a commit");
    let without = world.copy(&world.project());
    assert_eq!(
        (without.warnings.len(), without.commit.is_some()),
        (0, true)
    );
    assert_eq!(world.shard(), shard);
}
