//! Test projects and complete outputs.

use std::collections::BTreeMap;
use std::path::Path;

use ktx_test_support::sandbox::{RunOutput, Sandbox};
use serde_json::Value;

/// Three tables: two joins, one of them declared; a region without customers; a test customer.
pub(crate) const SHOP: &str = "
CREATE TABLE regions (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE customers (
  id INTEGER PRIMARY KEY, region_id INTEGER NOT NULL REFERENCES regions (id),
  name TEXT NOT NULL, test INTEGER NOT NULL);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, status TEXT NOT NULL,
  amount REAL NOT NULL, ordered_at DATE NOT NULL);
INSERT INTO regions VALUES (1, 'North'), (2, 'South'), (3, 'Islands');
INSERT INTO customers VALUES (1, 1, 'Ada', 0), (2, 1, 'Ben', 0), (3, 2, 'Cleo', 0), (4, 2, 'Dag', 1);
INSERT INTO orders VALUES
  (1, 1, 'paid', 10.0, '2026-01-05'), (2, 1, 'paid', 5.5, '2026-01-20'),
  (3, 2, 'open', 1.0, '2026-02-01'), (4, 3, 'paid', 7.25, '2026-02-14'),
  (5, 3, 'paid', 2.75, '2026-03-03'), (6, 4, 'paid', 100.0, '2026-03-04');
";

pub(crate) const CONFIG: &str = "connections:
  warehouse:
    driver: sqlite
    path: warehouse.db
";

pub(crate) const ORDERS: &str = "name: orders
descriptions:
  user: One row per order; cancelled orders are not kept.
column_overrides:
  - name: ordered_at
    descriptions:
      user: The day of the order.
measures:
  - name: revenue
    expr: sum(amount)
    filter: status = 'paid' and customers.test = 0
    description: Money received from real customers.
  - name: order_count
    expr: count(id)
segments:
  - name: paid
    expr: status = 'paid'
";

const REVENUE_PAGE: &str = "---
summary: Revenue counts paid orders only
tags: [finance, revenue]
refs: [test-customers]
sl_refs: [warehouse.orders]
---
# Revenue

Test customers never count; see [[test-customers]].
";

const TEST_CUSTOMERS_PAGE: &str = "---
summary: Which customers are not real
---
`customers.test` is 1 for accounts of the team.
";

/// Runs the built program.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_ktx")).expect("a sandbox");
    let identity = "[user]\n\tname = Ada Test\n\temail = ada@example.com\n";
    std::fs::write(sandbox.home().join(".gitconfig"), identity).expect("a home");
    sandbox
}

pub(crate) fn project() -> Sandbox {
    let sandbox = sandbox();
    let made = run(&sandbox, "admin init");
    assert_eq!(made.code, Some(0), "{made}");
    sandbox
}

/// Never scanned; everything is committed.
pub(crate) fn unscanned(sql: &str) -> Sandbox {
    let sandbox = project();
    database(&sandbox, "warehouse.db", sql);
    write(&sandbox, "ktx.yaml", CONFIG);
    write(&sandbox, ".gitignore", "*.db\n");
    write(&sandbox, "wiki/global/revenue.md", REVENUE_PAGE);
    write(
        &sandbox,
        "wiki/global/test-customers.md",
        TEST_CUSTOMERS_PAGE,
    );
    commit(&sandbox, "the shop");
    sandbox
}

/// The shop with its scan and a person's files.
pub(crate) fn shop() -> Sandbox {
    let sandbox = unscanned(SHOP);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    write(&sandbox, "semantic-layer/warehouse/orders.yaml", ORDERS);
    commit(&sandbox, "orders");
    sandbox
}

pub(crate) fn database(sandbox: &Sandbox, path: &str, sql: &str) {
    let database =
        rusqlite::Connection::open(sandbox.work().join(path)).expect("the file can be made");
    database.execute_batch(sql).expect("the SQL is right");
}

pub(crate) fn write(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(path, text).expect("the file can be written");
}

pub(crate) fn commit(sandbox: &Sandbox, message: &str) {
    git(sandbox, &["add", "."]);
    git(sandbox, &["commit", "--quiet", "-m", message]);
}

pub(crate) fn git(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.git(".", words).expect("git works")
}

/// Words in single quotes are one argument.
pub(crate) fn run(sandbox: &Sandbox, line: &str) -> RunOutput {
    sandbox
        .run_arguments(&words(line).iter().map(String::as_str).collect::<Vec<_>>())
        .expect("the program runs")
}

/// The command must succeed.
#[track_caller]
pub(crate) fn json(sandbox: &Sandbox, line: &str) -> Value {
    let printed = run(sandbox, line);
    assert_eq!(printed.code, Some(0), "`ktx {line}`: {printed}");
    serde_json::from_str(&printed.stdout).expect("stdout is JSON")
}

/// Compares the whole output with an inline snapshot.
macro_rules! check {
    ($sandbox:expr, $line:expr, @$expected:literal) => {
        insta::allow_duplicates! {
            insta::assert_snapshot!($crate::support::transcript(&$crate::support::run($sandbox, $line)), $line, @$expected)
        }
    };
}

/// Compares a whole output with an inline snapshot.
macro_rules! compare {
    ($line:expr, $printed:expr, @$expected:literal) => {
        insta::allow_duplicates! {
            insta::assert_snapshot!($crate::support::transcript($printed), $line, @$expected)
        }
    };
}

#[track_caller]
pub(crate) fn check(sandbox: &Sandbox, line: &str, expected: &str) {
    let printed = run(sandbox, line);
    compare(line, &printed, expected);
}

/// `exit N`, stdout, and stderr if there is any.
#[track_caller]
pub(crate) fn compare(line: &str, printed: &RunOutput, expected: &str) {
    compare_text(&format!("ktx {line}"), &transcript(printed), expected);
}

/// The expected text may begin on its own line.
#[track_caller]
pub(crate) fn compare_text(what: &str, text: &str, expected: &str) {
    assert_eq!(text, expected.trim_start_matches('\n'), "{what}");
}

/// `exit N`, stdout, and stderr if there is any.
pub(crate) fn transcript(printed: &RunOutput) -> String {
    let code = printed
        .code
        .map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
    let mut text = format!("exit {code}\n{}", printed.stdout);
    if !printed.stderr.is_empty() {
        text.push_str("--- stderr\n");
        text.push_str(&printed.stderr);
    }
    let mut text = steady(&text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Replaces what varies beyond the sandbox's own filters.
fn steady(text: &str) -> String {
    let rules = [
        (r"SQLite \d+\.\d+\.\d+", "SQLite [VERSION]"),
        (r#""latencyMs": \d+"#, r#""latencyMs": "[DURATION]""#),
    ];
    let mut text = text.to_owned();
    for (pattern, mark) in rules {
        let pattern = regex::Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, mark).into_owned();
    }
    text
}

pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Every file with its bytes, except ktx's local state.
pub(crate) fn tree(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&sandbox.work(), &sandbox.work(), &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .strip_prefix(root)
            .expect("below the root")
            .display()
            .to_string();
        // Reading status can refresh git's index; local state is a cache.
        if name == ".git/index" || name.starts_with(".ktx/") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(name, std::fs::read(&path).expect("a file"));
        }
    }
}
