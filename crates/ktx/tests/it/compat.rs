//! A project folder of KTX 0.12 opens, lists, searches and queries.

use std::path::Path;

use ktx_test_support::sandbox::Sandbox;

use crate::{run, sandbox};

/// The fixture project with its warehouse built from `warehouse.sql`.
fn project() -> Sandbox {
    let sandbox = sandbox();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/projects/ktx-0.12");
    sandbox.copy(&fixture, "p").unwrap();
    let sql = sandbox.read("p/warehouse.sql").unwrap();
    let database = rusqlite::Connection::open(sandbox.work().join("p/warehouse.db")).unwrap();
    database.execute_batch(&sql).unwrap();
    sandbox
}

#[test]
fn an_older_project_lists_its_sources_and_pages() {
    let sandbox = project();
    println!("{}", run(&sandbox, "--project-dir p sl"));
    println!("{}", run(&sandbox, "--project-dir p wiki"));
    println!("{}", run(&sandbox, "--project-dir p status --fast"));
    println!("{}", run(&sandbox, "--project-dir p sl validate --all"));
}
