//! Truncation is reported, and links out of the project are not read.

use serde_json::json;

use crate::support::{commit, database, json, run, shop, tree, unscanned, write};

const MANY: &str = "
CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001)
INSERT INTO items SELECT i, 'item ' || i FROM n;
";

#[test]
fn the_usual_limit_is_told() {
    let sandbox = unscanned(MANY);
    assert_eq!(run(&sandbox, "scan").code, Some(0));
    let line = "sl query --measure count(items.id) --dimension items.id --execute";
    let answer = json(&sandbox, &format!("{line} --json"));
    assert_eq!(
        (&answer["totalRows"], &answer["truncated"]),
        (&json!(1000), &json!(true))
    );
    let printed = run(&sandbox, &format!("{line} --format csv"));
    assert_eq!(printed.stdout.lines().count(), 1001);
    assert!(
        printed
            .stderr
            .contains("only the first 1000 rows; there are more\n"),
        "{printed}"
    );
    database(&sandbox, "warehouse.db", "DELETE FROM items WHERE id = 7");
    let answer = json(&sandbox, &format!("{line} --json"));
    assert_eq!(
        (&answer["totalRows"], &answer["truncated"]),
        (&json!(1000), &json!(false))
    );
}

#[test]
fn a_cut_cell_is_told() {
    let sandbox = unscanned("CREATE TABLE t (id INTEGER PRIMARY KEY);");
    let line = "select printf('%.*c', 1048577, 'x') as long, 'short…' as short";
    let note = "1 cell is longer than 1048576 bytes, cut there and marked with `…`";
    let answer = sandbox.run_arguments(&["sql", line, "--json"]).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["notes"], json!([note]));
    let printed = sandbox
        .run_arguments(&["sql", line, "--output", "csv"])
        .unwrap();
    assert!(printed.stderr.contains(&format!("note: {note}\n")));
}

#[test]
fn a_terminal_obeys_no_cell() {
    let sandbox = unscanned("CREATE TABLE t (id INTEGER PRIMARY KEY);");
    let line = "select char(27) || ']0;title' || char(7) || char(155) || '1m' as a";
    for format in ["table", "plain", "tsv"] {
        let printed = sandbox
            .run_arguments(&["sql", line, "--output", format])
            .unwrap();
        assert!(
            printed.stdout.contains(r"\u{1b}]0;title\u{7}\u{9b}1m"),
            "{format}: {printed}"
        );
        assert!(!printed.stdout.contains('\u{1b}'));
    }
}

#[test]
fn no_character_of_a_page_is_changed() {
    let sandbox = shop();
    let text = "del \u{7f} csi \u{9b}31m next \u{85} esc \u{1b}[2J";
    let page = format!("---\nsummary: odd\n---\n{text}\n");
    write(&sandbox, "wiki/global/odd.md", &page);
    assert_eq!(run(&sandbox, "wiki read odd").stdout, page);
    let printed = run(&sandbox, "wiki read odd --json").stdout;
    let answer: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(answer["content"].as_str().unwrap().trim_end(), text);
    assert!(!printed.contains(|letter: char| letter.is_control() && letter != '\n'));
}

/// A project's author must not choose which other files are served.
#[cfg(unix)]
#[test]
fn links_out_of_the_project_are_not_read() {
    use std::os::unix::fs::symlink;

    let sandbox = shop();
    let secret = sandbox.home().join("secret.md");
    std::fs::write(&secret, "---\nsummary: SECRET\n---\nSECRET\n").unwrap();
    for place in ["wiki/global/leak.md", "semantic-layer/warehouse/leak.yaml"] {
        let place = sandbox.work().join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(&secret, place).unwrap();
    }
    write(
        &sandbox,
        "notes/inside.md",
        "---\nsummary: Inside\n---\nInside.\n",
    );
    symlink(
        "../../notes/inside.md",
        sandbox.work().join("wiki/global/inside.md"),
    )
    .unwrap();
    for line in [
        "wiki SECRET",
        "wiki read leak",
        "sl",
        "sl read leak",
        "sl validate",
    ] {
        let printed = run(&sandbox, line);
        assert!(
            !format!("{printed}").contains("SECRET") || line == "wiki SECRET",
            "{line}: {printed}"
        );
        assert!(!printed.stdout.contains("leak"), "{line}: {printed}");
    }
    assert!(run(&sandbox, "wiki read inside").stdout.contains("Inside."));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_database() {
    let sandbox = unscanned("CREATE TABLE t (id INTEGER PRIMARY KEY);");
    let place = sandbox.work().join("warehouse.db");
    std::fs::remove_file(&place).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&place).status();
    assert!(made.unwrap().success());
    let printed = sandbox.run_arguments(&["sql", "select 1"]).unwrap();
    assert_eq!(printed.code, Some(3), "{printed}");
    assert!(
        printed.stderr.contains("is not a regular file"),
        "{printed}"
    );
}

#[test]
fn a_long_table_name_is_scanned_and_asked() {
    let name = "n".repeat(300);
    let sandbox = unscanned(&format!(
        "CREATE TABLE \"{name}\" (id INTEGER PRIMARY KEY); INSERT INTO \"{name}\" VALUES (1), (2);"
    ));
    for _ in 0..2 {
        let printed = run(&sandbox, "scan");
        assert_eq!(printed.code, Some(0), "{printed}");
    }
    let line = format!("sl query --measure count({name}.id) --execute --format csv");
    assert!(run(&sandbox, &line).stdout.ends_with("\n2\n"));
}

#[test]
fn checks_of_what_cannot_be_read_fail() {
    let sandbox = shop();
    check!(&sandbox, "sl test nope", @r"
exit 3
--- stderr
Project: [SANDBOX]/work
error: no semantic source `nope`

hint: run `ktx sl` for all sources
");
    write(
        &sandbox,
        "semantic-layer/warehouse/regions.yaml",
        "foo: 1\n",
    );
    commit(&sandbox, "broken");
    let printed = run(&sandbox, "sl test");
    assert_eq!(printed.code, Some(3), "{printed}");
    assert!(
        printed
            .stdout
            .starts_with("failed\tsemantic-layer/warehouse/regions.yaml:1:1: invalid_source: "),
        "{printed}"
    );
    database(&sandbox, "warehouse.db", "DROP TABLE customers");
    let printed = run(&sandbox, "sl test");
    assert_eq!(printed.code, Some(3), "{printed}");
    let passed = printed
        .stdout
        .lines()
        .filter(|line| line.starts_with("passed"));
    assert!(passed.count() > 0, "{printed}");
    assert!(printed.stdout.contains("no such table"), "{printed}");
}

#[test]
fn an_emptied_warehouse_takes_nothing_away() {
    let sandbox = shop();
    let before = tree(&sandbox);
    std::fs::write(sandbox.work().join("warehouse.db"), "").unwrap();
    check!(&sandbox, "scan", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
warehouse · structure
warehouse · 0 tables, 0 columns
error: `warehouse` shows no tables, an earlier scan found 3; ktx changed nothing

hint: check the database, the schemas and the rights of the connection
hint: if the tables are gone for good, delete `raw-sources/warehouse` and `semantic-layer/warehouse/_schema`, then scan again
");
    let files = |mut tree: std::collections::BTreeMap<String, Vec<u8>>| {
        tree.retain(|path, _| path != "warehouse.db");
        tree
    };
    assert_eq!(files(tree(&sandbox)), files(before));
}
