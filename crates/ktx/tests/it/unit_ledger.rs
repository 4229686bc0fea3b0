//! The ledger of units in git: every clone knows their outcomes.

use ktx_test_support::sandbox::Sandbox;

use crate::claude::processes;
use crate::sources::{CONFIG, Script, locally, long, page, project, whole};
use crate::support::{commit, git, run, write};

const LEDGER: &str = "raw-sources/shop-dbt/ledger";

/// Only orders lead to a page.
fn one_page() -> Script {
    vec![(
        "Unit dbt-models-orders of",
        vec![page("revenue", "Refunds are not revenue.")],
    )]
}

fn forget(sandbox: &Sandbox) {
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    assert_eq!(git(sandbox, &["status", "--porcelain"]), "");
}

/// The table of `ktx ingest`, and the number of model processes.
fn ingest(sandbox: &Sandbox) -> (String, usize) {
    let before = processes(sandbox);
    let printed = run(sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(0), "{printed}");
    (printed.stdout, processes(sandbox) - before)
}

/// KTX-70: empty units are committed together.
#[test]
fn a_clone_asks_nothing_again_whatever_units_led_to() {
    let sandbox = locally(long(), &one_page());
    let (table, asked) = ingest(&sandbox);
    assert!(asked > 2, "{table}");
    insta::assert_snapshot!(table, @r"
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 2 tables	done	-	-	[COMMIT]
    shop-dbt	dbt-models-orders	done	revenue	-	[COMMIT]
    shop-dbt	dbt-models-people	done	-	-	nothing to keep
    ");
    insta::assert_snapshot!(git(&sandbox, &["log", "-2", "--format=%s", "--name-only"]), @r"
    ktx ingest: ledger of shop-dbt

    raw-sources/shop-dbt/ledger/dbt-models-people.json
    ktx ingest: shop-dbt dbt-models-orders

    raw-sources/shop-dbt/ledger/dbt-models-orders.json
    wiki/global/revenue.md
    ");
    let digits = regex::Regex::new("[0-9a-f]{64}").expect("a pattern");
    let entry = |unit: &str| {
        let entry = sandbox
            .read(&format!("{LEDGER}/{unit}.json"))
            .expect("an entry");
        digits.replace_all(&entry, "[HASH]").into_owned()
    };
    insta::assert_snapshot!(entry("dbt-models-orders") + &entry("dbt-models-people"), @r#"
    {
      "unit": "dbt-models-orders",
      "outcome": "written",
      "input": "[HASH]",
      "content": "[HASH]",
      "files": [
        "models/orders.yml"
      ],
      "pages": [
        "revenue"
      ]
    }
    {
      "unit": "dbt-models-people",
      "outcome": "nothing",
      "input": "[HASH]",
      "content": "[HASH]",
      "files": [
        "models/people.yml"
      ]
    }
    "#);
    forget(&sandbox);
    let (table, asked) = ingest(&sandbox);
    assert_eq!(asked, 0, "{table}");
    insta::assert_snapshot!(table, @r"
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 2 tables	done	-	-	nothing changed
    shop-dbt	dbt-models-orders	unchanged	revenue	-	[COMMIT]
    shop-dbt	dbt-models-people	unchanged	-	-	nothing to keep
    ");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
}

/// Comments, layout, key order, unrelated settings, and moves.
#[test]
fn what_says_the_same_is_not_asked_again() {
    let sandbox = locally(long(), &one_page());
    ingest(&sandbox);
    let schema = sandbox.read("dbt/models/orders.yml").expect("a file");
    let schema = format!(
        "# Reviewed.\n{}",
        schema.replace(
            "    description: The state.",
            "    description: 'The state.'"
        )
    );
    write(&sandbox, "dbt/models/orders.yml", &schema);
    write(
        &sandbox,
        "dbt/dbt_project.yml",
        "profile: other\nname: shop\n",
    );
    std::fs::rename(
        sandbox.work().join("dbt/models/people.yml"),
        sandbox.work().join("dbt/models/buyers.yml"),
    )
    .expect("a move");
    commit(&sandbox, "only looks and places");
    for state in ["this folder", "a clone"] {
        let (table, asked) = ingest(&sandbox);
        assert_eq!(asked, 0, "{state}: {table}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(table, @r"
            Source	Unit	Status	Pages	Sources	Commit
            shop-dbt	facts of 2 tables	done	-	-	nothing changed
            shop-dbt	dbt-models-buyers	unchanged	-	-	nothing to keep
            shop-dbt	dbt-models-orders	unchanged	revenue	-	[COMMIT]
            ");
        }
        forget(&sandbox);
    }
    insta::assert_snapshot!(git(&sandbox, &["ls-files", LEDGER]), @r"
    raw-sources/shop-dbt/ledger/dbt-models-buyers.json
    raw-sources/shop-dbt/ledger/dbt-models-orders.json
    ");
}

/// ktx 0.13 marked their commits.
#[test]
fn units_of_an_older_version_are_known() {
    let sandbox = locally(
        project(&[("models/schema.yml", crate::sources::SCHEMA)]),
        &whole(),
    );
    ingest(&sandbox);
    let message = git(&sandbox, &["log", "-1", "--format=%B"]);
    let mark = regex::Regex::new("ktx-unit: [0-9a-f]{64}").expect("a pattern");
    let of_before = "ktx-unit: 599d1c0da9004caaa81f53e65eff8b05427b42225d6a6f92a72f8173e895f1fc";
    let message = mark.replace(&message, of_before).into_owned();
    git(&sandbox, &["rm", "--quiet", "-r", LEDGER]);
    git(&sandbox, &["commit", "--quiet", "--amend", "-m", &message]);
    forget(&sandbox);
    let (table, asked) = ingest(&sandbox);
    assert_eq!(asked, 0, "{table}");
    assert_eq!(
        git(&sandbox, &["log", "-1", "--format=%s"]),
        "ktx ingest: ledger of shop-dbt\n"
    );
}

/// After a committed conflict; the unit is read again.
#[test]
fn a_damaged_entry_is_told_and_replaced() {
    let sandbox = locally(long(), &one_page());
    ingest(&sandbox);
    let entry = format!("{LEDGER}/dbt-models-people.json");
    let text = sandbox.read(&entry).expect("an entry");
    write(
        &sandbox,
        &entry,
        &text.replacen('\n', "\n<<<<<<< HEAD\n", 1),
    );
    commit(&sandbox, "a bad merge");
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    check!(&sandbox, "ingest shop-dbt", @r"
    exit 0
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 2 tables	done	-	-	nothing changed
    shop-dbt	dbt-models-orders	unchanged	revenue	-	[COMMIT]
    shop-dbt	dbt-models-people	done	-	-	nothing to keep
    --- stderr
    Project: [SANDBOX]/work
    [2/2] shop-dbt · dbt-models-people
    [2/2] shop-dbt · dbt-models-people · turn 1 of 40
    warning: the model `fake-sonnet` has no list price; what it costs is unknown
    warning: shop-dbt: raw-sources/shop-dbt/ledger/dbt-models-people.json:2:1: this is not a ledger entry (key must be a string at line 2 column 1); ktx reads its unit again
    2 model messages, 274 tokens in, 40 out, list price unknown
    ");
    assert_eq!(sandbox.read(&entry).expect("an entry"), text);
}

fn two_units() -> Sandbox {
    let people = "models:\n  - {name: customers, description: Who buys.}\n";
    let filler = format!("-- {}\nselect 1\n", "x".repeat(61_000));
    project(&[
        ("models/orders.yml", crate::sources::SCHEMA),
        ("models/people.yml", people),
        ("models/customers.sql", &filler),
    ])
}

/// Concurrent units; clones ask nothing.
#[test]
fn killed_loops_go_on() {
    let script = || -> Script {
        vec![
            (
                "Unit dbt-models-orders of",
                vec![page("revenue", "Refunds are not revenue.")],
            ),
            (
                "Unit dbt-models-people of",
                vec![page("buyers", "Who buys.")],
            ),
        ]
    };
    for point in [
        "memory:captured",
        "publish:before-import",
        "publish:after-import",
        "publish:after-files",
    ] {
        let mut sandbox = locally(two_units(), &script());
        let parallel = format!("{CONFIG}ingest: {{workUnits: {{maxConcurrency: 2}}}}\n");
        write(&sandbox, "ktx.yaml", &parallel);
        commit(&sandbox, "in parallel");
        sandbox.set("KTX_TEST_KILL_AT", point);
        assert_eq!(run(&sandbox, "ingest shop-dbt").code, None, "{point}");
        sandbox.unset("KTX_TEST_KILL_AT");
        let printed = run(&sandbox, "ingest shop-dbt");
        assert_eq!(printed.code, Some(0), "{point}: {printed}");
        for page in ["revenue", "buyers"] {
            let page = format!("wiki/global/{page}.md");
            assert!(sandbox.read(&page).is_ok(), "{point}: {page}");
        }
        git(&sandbox, &["fsck", "--strict"]);
        for _clone in 0..2 {
            forget(&sandbox);
            assert_eq!(ingest(&sandbox).1, 0, "{point}");
        }
    }
}

/// Also in a clone; what the user has changed waits.
#[test]
fn what_is_gone_goes_without_a_model() {
    let script = || -> Script {
        vec![
            (
                "Unit dbt-models-orders of",
                vec![
                    page("revenue", "Refunds are not revenue."),
                    page("signed", "Theirs."),
                ],
            ),
            (
                "Unit dbt-models-people of",
                vec![page("buyers", "Who buys.")],
            ),
        ]
    };
    let sandbox = locally(two_units(), &script());
    ingest(&sandbox);
    let signed = sandbox.read("wiki/global/signed.md").expect("a page") + "Mine.\n";
    write(&sandbox, "wiki/global/signed.md", &signed);
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("a file");
    commit(&sandbox, "no more orders");
    forget(&sandbox);
    let before = processes(&sandbox);
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert_eq!(processes(&sandbox), before, "{printed}");
    insta::assert_snapshot!(printed.stdout, @"
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 1 table	done	-	-	[COMMIT]
    shop-dbt	dbt-models-people	unchanged	buyers	-	[COMMIT]
    shop-dbt	files that are gone	kept-back	revenue	-	[COMMIT]
    ");
    assert!(sandbox.read("wiki/global/revenue.md").is_err());
    assert_eq!(
        sandbox.read("wiki/global/signed.md").expect("a page"),
        signed
    );
    assert!(sandbox.read("wiki/global/buyers.md").is_ok());
    insta::assert_snapshot!(git(&sandbox, &["log", "-2", "--format=%s", "--name-status"]), @"
    ktx ingest: ledger of shop-dbt

    D	raw-sources/shop-dbt/ledger/dbt-models-orders.json
    ktx ingest: shop-dbt without what is gone

    D	wiki/global/revenue.md
    ");
    forget(&sandbox);
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(
        (printed.code, processes(&sandbox)),
        (Some(7), before),
        "{printed}"
    );
}

#[test]
fn a_shared_page_of_another_unit_stays() {
    let script: Script = vec![
        (
            "Unit dbt-models-orders of",
            vec![page("revenue", "Refunds are not revenue.")],
        ),
        (
            "Unit dbt-models-people of",
            vec![page("revenue", "Of people who buy.")],
        ),
    ];
    let sandbox = locally(two_units(), &script);
    ingest(&sandbox);
    let before = sandbox.read("wiki/global/revenue.md").expect("a page");
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("a file");
    commit(&sandbox, "no more orders");
    let (table, asked) = ingest(&sandbox);
    assert_eq!(asked, 0, "{table}");
    let after = sandbox.read("wiki/global/revenue.md").expect("a page");
    assert_eq!(after, before);
}

/// Calls no model.
#[test]
fn a_plan_tells_what_a_run_costs() {
    let sandbox = locally(long(), &one_page());
    let printed = run(&sandbox, "ingest shop-dbt --plan");
    assert_eq!(
        (printed.code, processes(&sandbox)),
        (Some(0), 0),
        "{printed}"
    );
    insta::assert_snapshot!(printed.stdout, @"
    Source	Unit	Tokens	Price
    shop-dbt	facts and definitions	0	free
    shop-dbt	dbt-models-orders	577	unknown
    shop-dbt	dbt-models-people	537	unknown
    ");
    ingest(&sandbox);
    forget(&sandbox);
    let asked = processes(&sandbox);
    check!(&sandbox, "ingest shop-dbt --plan", @"
    exit 0
    Source	Unit	Tokens	Price
    shop-dbt	facts and definitions	0	free
    shop-dbt	dbt-models-orders	0	free, known
    shop-dbt	dbt-models-people	0	free, known
    --- stderr
    Project: [SANDBOX]/work
    0 units to read with no model: about 0 tokens if each is read once, unknown at list price; every turn of a unit reads it again, from the cache where there is one
    ");
    assert_eq!(processes(&sandbox), asked);
}

/// Once, even if a clone notices it.
#[test]
fn a_clone_notices_that_a_file_is_gone() {
    let mut script = one_page();
    script.push((
        "The source shop-dbt was read.",
        vec![
            ("wiki_read", serde_json::json!({ "key": "revenue" })),
            ("wiki_remove", serde_json::json!({ "key": "revenue" })),
        ],
    ));
    let sandbox = locally(long(), &script);
    ingest(&sandbox);
    std::fs::remove_file(sandbox.work().join("dbt/models/orders.yml")).expect("a file");
    commit(&sandbox, "no more orders");
    forget(&sandbox);
    let (table, asked) = ingest(&sandbox);
    assert!(asked > 0, "{table}");
    insta::assert_snapshot!(table, @"
    Source	Unit	Status	Pages	Sources	Commit
    shop-dbt	facts of 1 table	done	-	-	[COMMIT]
    shop-dbt	dbt-models-people	unchanged	-	-	nothing to keep
    shop-dbt	dbt-sql-models	done	-	-	nothing to keep
    shop-dbt	files that are gone	done	revenue	-	[COMMIT]
    ");
    assert!(sandbox.read("wiki/global/revenue.md").is_err());
    forget(&sandbox);
    let (table, asked) = ingest(&sandbox);
    assert_eq!(asked, 0, "{table}");
    insta::assert_snapshot!(git(&sandbox, &["ls-files", LEDGER]), @r"
    raw-sources/shop-dbt/ledger/dbt-models-people.json
    raw-sources/shop-dbt/ledger/dbt-sql-models.json
    ");
}
