//! Tests that a project of KTX 0.12 opens and works.

use std::path::Path;

use ktx_config::Project;
use ktx_project_store::{Change, Failpoints, Store, list};

use crate::world::{TestRepository, at, publish};

/// Copies the fixture and commits it as KTX 0.12 would.
fn project(world: &TestRepository) -> Store {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12");
    for file in list(&fixture).expect("the fixture") {
        let name = file
            .strip_prefix(&fixture)
            .expect("inside")
            .display()
            .to_string();
        let text = std::fs::read_to_string(&file).expect("text");
        world.write(&format!("old/{name}"), &text);
    }
    world.git("old", &["init", "-q"]);
    world.git("old", &["add", "-A"]);
    world.git(
        "old",
        &[
            "-c",
            "user.name=ktx",
            "-c",
            "user.email=ktx@example.com",
            "commit",
            "-qm",
            "scan",
        ],
    );
    Store::open(&world.path("old"), world.environment(), Failpoints::none()).expect("a project")
}

#[test]
fn its_configuration_is_every_default_and_one_connection() {
    let world = TestRepository::new();
    let config = project(&world).config().expect("a good file");
    assert_eq!(config.warnings, []);
    let ids: Vec<&str> = config
        .project
        .connections
        .keys()
        .map(AsRef::as_ref)
        .collect();
    assert_eq!(ids, ["warehouse"]);
    // The file contains the defaults of 0.12, where the agent was off and could not read a page.
    let research = &config.project.research;
    assert!(!research.enabled);
    assert_eq!(
        research.toolset,
        ["sl_query", "wiki_search", "sl_read_source"]
    );
    let project = Project {
        connections: Project::defaults().connections,
        research: Project::defaults().research,
        ..config.project
    };
    assert_eq!(project, Project::defaults());
}

#[test]
fn it_is_worked_on_without_a_trace_of_local_state() {
    let world = TestRepository::new();
    let store = project(&world);
    drop(store.state().expect("a database"));
    drop(
        store
            .lock(
                "ktx scan",
                jiff::Timestamp::UNIX_EPOCH,
                ktx_project_store::Wait::No,
            )
            .expect("the lock"),
    );
    let change = Change::write(at("wiki/global/refunded-orders.md"), "# Refunds\n");
    let published = publish(&store, &[change]).expect("a commit");
    assert_eq!(published.skipped, []);
    assert_eq!(world.untidy("old"), "");
    assert_eq!(
        world.git("old", &["show", "--name-only", "--format=%s"]),
        "ktx: a run\n\nwiki/global/refunded-orders.md\n"
    );
}

#[test]
fn the_old_database_is_not_changed() {
    let world = TestRepository::new();
    let store = project(&world);
    world.write("old/.ktx/db.sqlite", "rows of 0.12");
    drop(store.state().expect("a database"));
    assert_eq!(
        world.read("old/.ktx/db.sqlite").as_deref(),
        Some("rows of 0.12")
    );
    assert!(store.layout().database().is_file());
}
