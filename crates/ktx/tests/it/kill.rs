//! `kill -9` at every named step: the next run of the same command finishes and git is sound.

use ktx_test_support::sandbox::Sandbox;

use crate::{run, sandbox};

const WAREHOUSE: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), amount REAL);
INSERT INTO customers VALUES (1, 'Ada'), (2, 'Ben');
INSERT INTO orders VALUES (1, 1, 10.0), (2, 1, 5.5), (3, 2, 1.0);
";

const CONFIG: &str = "connections:\n  warehouse:\n    driver: sqlite\n    path: warehouse.db\n";

/// Kills `command` at `point`, runs it again, and checks the repository.
fn killed_then_finished(sandbox: &mut Sandbox, command: &str, point: &str) {
    sandbox.set("KTX_TEST_KILL_AT", point);
    let killed = sandbox.run(command).unwrap();
    assert_eq!(killed.code, None, "{point} was not reached by `{command}`: {killed}");
    sandbox.unset("KTX_TEST_KILL_AT");
    let again = sandbox.run(command).unwrap();
    assert_eq!(again.code, Some(0), "after {point}: {again}");
    if sandbox.work().join("p/.git").is_dir() {
        sandbox.git("p", &["fsck", "--strict"]).unwrap();
        assert_eq!(sandbox.git("p", &["status", "--porcelain"]).unwrap(), "", "after {point}");
    }
}

#[test]
fn init_finishes_after_a_kill_at_every_step() {
    for point in ["init:begin", "init:files", "init:git", "init:commit"] {
        let mut sandbox = sandbox();
        killed_then_finished(&mut sandbox, "admin init p", point);
        let log = sandbox.git("p", &["log", "--format=%an %s"]).unwrap();
        assert_eq!(log, "Ada Test Initialize ktx project: p\n", "after {point}");
    }
}

#[test]
fn scan_finishes_after_a_kill_at_every_step() {
    for point in SCAN_POINTS {
        let mut sandbox = project();
        killed_then_finished(&mut sandbox, "--project-dir p scan", point);
        let log = sandbox.git("p", &["log", "--format=%s"]).unwrap();
        assert_eq!(
            log,
            "ktx scan: warehouse\nuse the warehouse\nInitialize ktx project: p\n",
            "after {point}"
        );
        let shard = sandbox.read("p/semantic-layer/warehouse/_schema/public.yaml").unwrap();
        assert!(shard.contains("customers.id"), "after {point}: {shard}");
    }
}

const SCAN_POINTS: [&str; 6] = [
    "scan:begin",
    "scan:computed",
    "publish:begin",
    "publish:imported",
    "publish:step",
    "scan:published",
];

fn project() -> Sandbox {
    let sandbox = sandbox();
    run(&sandbox, "admin init p");
    sandbox.write("p/ktx.yaml", CONFIG).unwrap();
    let database = rusqlite::Connection::open(sandbox.work().join("p/warehouse.db")).unwrap();
    database.execute_batch(WAREHOUSE).unwrap();
    sandbox.write("p/.gitignore", "*.db\n").unwrap();
    sandbox.git("p", &["add", "."]).unwrap();
    sandbox.git("p", &["commit", "-m", "use the warehouse"]).unwrap();
    sandbox
}
