//! Two users scan on separate branches and merge.

use crate::support::{SHOP, commit, database, git, json, run, unscanned, write};

/// New tables on neighboring lines, with references to and from an existing table.
#[test]
fn scans_of_different_new_tables_merge_without_a_conflict() {
    let sandbox = unscanned(SHOP);
    let scanned = run(&sandbox, "scan");
    assert_eq!(scanned.code, Some(0), "{scanned}");
    let main = git(&sandbox, &["branch", "--show-current"]);
    git(&sandbox, &["branch", "ben"]);
    let scan = |add: &str| {
        database(&sandbox, "warehouse.db", add);
        let scanned = run(&sandbox, "scan");
        assert!(scanned.stdout.contains("1 added"), "{scanned}");
    };
    let payments = "CREATE TABLE payments (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id));
         INSERT INTO payments VALUES (1, 1), (2, 3);";
    let statuses = "CREATE TABLE paid_statuses (status TEXT PRIMARY KEY, rank INTEGER);
         INSERT INTO paid_statuses VALUES ('paid', 1), ('open', 2);";
    scan(payments);
    git(&sandbox, &["checkout", "--quiet", "ben"]);
    database(&sandbox, "warehouse.db", "DROP TABLE payments");
    scan(statuses);
    git(&sandbox, &["merge", "--quiet", "-m", "both", main.trim()]);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    database(&sandbox, "warehouse.db", payments);
    let scanned = run(&sandbox, "scan");
    assert!(
        scanned
            .stdout
            .starts_with("warehouse: 0 added, 0 modified, 0 deleted, 5 unchanged tables\n"),
        "{scanned}"
    );
    let valid = run(&sandbox, "sl validate");
    assert_eq!(valid.code, Some(0), "{valid}");
    let asked = json(
        &sandbox,
        "sl query --measure 'count(payments.id)' --dimension regions.name --execute --json",
    );
    assert!(asked.to_string().contains("North"), "{asked}");
}

#[test]
fn a_conflict_of_git_is_called_one() {
    let sandbox = crate::support::shop();
    let path = "semantic-layer/warehouse/orders.yaml";
    let text = sandbox.read(path).unwrap();
    let main = git(&sandbox, &["branch", "--show-current"]);
    git(&sandbox, &["branch", "ben"]);
    write(
        &sandbox,
        path,
        &text.replace("count(id)", "count(customer_id)"),
    );
    commit(&sandbox, "customers");
    git(&sandbox, &["checkout", "--quiet", "ben"]);
    write(&sandbox, path, &text.replace("count(id)", "count(amount)"));
    commit(&sandbox, "amounts");
    let merged = sandbox.git(".", &["merge", "--quiet", "-m", "both", main.trim()]);
    assert!(merged.is_err(), "{merged:?}");
    let status = run(&sandbox, "status");
    let told = "Git          ✗ `semantic-layer/warehouse/orders.yaml` is in conflict: git could not merge two changes";
    assert!(status.stdout.lines().any(|line| line == told), "{status}");
    let answer = json(&sandbox, "status --json");
    assert_eq!(answer["git"]["status"], "fail", "{answer}");
    assert_eq!(answer["capabilities"]["scan"]["able"], "no", "{answer}");
    git(&sandbox, &["checkout", "--ours", "--", path]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "--quiet", "-m", "both"]);
    check!(&sandbox, "status --validate", @r"
exit 0
ktx.yaml is valid
");
    assert!(!run(&sandbox, "status").stdout.contains("conflict"));
}
