//! Changes by context sources that need a decision become proposals.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::processes;
use crate::sources::{SCHEMA, Script, locally, page, project};
use crate::support::{commit, git, json as json_of, run, write};

const POLICY: &str = "---
summary: What revenue is
owner: ada@example.com
---
Revenue is the sum of paid orders.
";

const SIGNED: &str = "name: orders
measures:
  - name: revenue
    expr: sum(amount)
    filter: status = 'paid'
";

const PAGE: &str = "wiki/global/policy.md";
const SOURCE: &str = "semantic-layer/warehouse/orders.yaml";

fn signed() -> Sandbox {
    let sandbox = project(&[("models/schema.yml", SCHEMA)]);
    write(&sandbox, PAGE, POLICY);
    write(&sandbox, SOURCE, SIGNED);
    commit(&sandbox, "signed off");
    sandbox
}

fn times_ten() -> (&'static str, Value) {
    let yaml = SIGNED.replace("sum(amount)", "sum(amount) * 10");
    (
        "sl_write_source",
        json!({ "source_name": "orders", "yaml": yaml }),
    )
}

fn meddling() -> Script {
    let calls = vec![
        times_ten(),
        page("policy", "Revenue is whatever dbt says."),
        page("states", "The states of an order."),
    ];
    vec![("Unit dbt-all of", calls)]
}

fn proposal(sandbox: &Sandbox) -> String {
    let listed = json_of(sandbox, "review list --json");
    let items = listed["data"]["items"].as_array().expect("items");
    assert_eq!(items.len(), 1, "{listed}");
    items[0]["id"].as_str().expect("an id").to_owned()
}

fn revenue(sandbox: &Sandbox) -> String {
    let query =
        "sl query --connection-id warehouse --measure orders.revenue --execute --format csv";
    run(sandbox, query).stdout
}

/// Status and exit code report the proposal; new work is committed.
#[test]
fn a_unit_keeps_off_what_a_person_wrote() {
    let sandbox = locally(signed(), &meddling());
    let number = revenue(&sandbox);
    let printed = run(&sandbox, "ingest shop-dbt");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert_eq!(sandbox.read(PAGE).unwrap(), POLICY);
    assert_eq!(sandbox.read(SOURCE).unwrap(), SIGNED);
    assert_eq!(revenue(&sandbox), number);
    let changed = git(&sandbox, &["log", "-1", "--format=%s", "--name-only"]);
    assert_eq!(
        changed,
        "ktx ingest: shop-dbt dbt-all\n\nraw-sources/shop-dbt/ledger/dbt-all.json\nwiki/global/states.md\n"
    );
    let id = proposal(&sandbox);
    let reason = "a person or another source wrote it";
    let told = format!(
        "shop-dbt: dbt-all waits for you: `{SOURCE}` ({reason}), `{PAGE}` ({reason}); look with `ktx review show {id}`"
    );
    assert!(printed.stderr.contains(&told), "{printed}");
    assert!(
        printed
            .stdout
            .contains("shop-dbt\tdbt-all\tkept-back\tstates\t-\t"),
        "{printed}"
    );

    // Reported again, but not paid again.
    let asked = processes(&sandbox);
    let printed = run(&sandbox, "ingest shop-dbt --json");
    assert_eq!(
        (printed.code, processes(&sandbox)),
        (Some(7), asked),
        "{printed}"
    );
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let expected = json!([{
        "id": id, "connectionId": "shop-dbt", "unitKey": "dbt-all", "state": "open", "paths": [SOURCE, PAGE],
    }]);
    assert_eq!(answer["results"][0]["proposals"], expected);
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], expected);
    let status = run(&sandbox, "status").stdout;
    let line = format!("Kept back    ! shop-dbt dbt-all: {SOURCE}, {PAGE}\n");
    assert!(status.contains(&line), "{status}");

    // Acceptance is the user's commit.
    let printed = run(&sandbox, &format!("review accept {id}"));
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read(SOURCE).unwrap().contains("* 10"));
    assert!(
        sandbox
            .read(PAGE)
            .unwrap()
            .contains("owner: ada@example.com")
    );
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(answer["results"][0]["proposals"], json!([]));
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], json!([]));
}

#[test]
fn a_page_belongs_to_its_source_until_a_person_changes_it() {
    let writes = |words: &str| -> Script {
        vec![(
            "Unit dbt-all of",
            vec![page("states", words), page("other", words)],
        )]
    };
    let again = |sandbox: &Sandbox, description: &str| {
        let schema = SCHEMA.replace("One row per order.", description);
        write(sandbox, "dbt/models/schema.yml", &schema);
        commit(sandbox, "dbt");
    };
    let sandbox = locally(project(&[("models/schema.yml", SCHEMA)]), &writes("First."));
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));

    again(&sandbox, "Changed.");
    let sandbox = locally(sandbox, &writes("Second."));
    std::fs::remove_dir_all(sandbox.work().join(".ktx/state")).expect("local state");
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    assert!(
        sandbox
            .read("wiki/global/states.md")
            .unwrap()
            .contains("Second.")
    );

    let mine = sandbox.read("wiki/global/states.md").unwrap() + "Mine.\n";
    write(&sandbox, "wiki/global/states.md", &mine);
    git(
        &sandbox,
        &["commit", "--quiet", "--all", "--amend", "--no-edit"],
    );
    again(&sandbox, "Changed again.");
    let sandbox = locally(sandbox, &writes("Third."));
    let printed = run(&sandbox, "ingest shop-dbt --json");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert_eq!(sandbox.read("wiki/global/states.md").unwrap(), mine);
    assert!(
        sandbox
            .read("wiki/global/other.md")
            .unwrap()
            .contains("Third.")
    );
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let unit = &answer["results"][0]["units"][0];
    assert_eq!(
        (
            &unit["status"],
            &unit["keptBack"],
            &unit["captured"]["wiki"]
        ),
        (
            &json!("kept-back"),
            &json!(["wiki/global/states.md"]),
            &json!(["other"])
        )
    );
}

/// A page that needs the removal of the user's page waits, too.
#[test]
fn what_needs_a_change_that_is_kept_back_waits_with_it() {
    let sandbox = locally(
        project(&[("models/schema.yml", SCHEMA)]),
        &vec![("Unit dbt-all of", vec![page("states", "The states.")])],
    );
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
    let linking = POLICY.replace("paid orders", "paid orders, see [[states]]");
    write(&sandbox, PAGE, &linking);
    commit(&sandbox, "signed off");
    write(
        &sandbox,
        "dbt/models/schema.yml",
        &SCHEMA.replace("One row", "A row"),
    );
    let remove = |key: &str| ("wiki_remove", json!({ "key": key }));
    let sandbox = locally(
        sandbox,
        &vec![("Unit dbt-all of", vec![remove("policy"), remove("states")])],
    );
    let before = git(&sandbox, &["rev-parse", "HEAD:wiki"]);
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(7));
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD:wiki"]), before);
    let paths = &json_of(&sandbox, "status --json")["proposals"][0]["paths"];
    assert_eq!(paths, &json!([PAGE, "wiki/global/states.md"]));
    let printed = run(&sandbox, &format!("review reject {}", proposal(&sandbox)));
    assert_eq!(printed.code, Some(0), "{printed}");
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], json!([]));
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
}

#[test]
fn a_unit_keeps_off_what_a_person_has_not_committed_yet() {
    let sandbox = locally(
        project(&[("models/schema.yml", SCHEMA)]),
        &vec![(
            "Unit dbt-all of",
            vec![times_ten(), page("states", "The states.")],
        )],
    );
    write(&sandbox, SOURCE, SIGNED);
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(7));
    assert_eq!(sandbox.read(SOURCE).unwrap(), SIGNED);
    check_head(&sandbox, "wiki/global/states.md");
    assert_eq!(
        git(&sandbox, &["status", "--porcelain"]),
        format!("?? {SOURCE}\n")
    );
}

/// Changes only this file and the ledger.
fn check_head(sandbox: &Sandbox, file: &str) {
    let changed = git(sandbox, &["log", "-1", "--format=", "--name-only"]);
    let changed: Vec<&str> = changed
        .lines()
        .filter(|path| !path.starts_with("raw-sources/shop-dbt/ledger/"))
        .collect();
    assert_eq!(changed, [file]);
}

#[test]
fn a_note_may_change_what_a_person_wrote() {
    let sandbox = locally(
        signed(),
        &vec![("Revenue is net.", vec![page("policy", "Revenue is net.")])],
    );
    check!(&sandbox, "ingest --text 'Revenue is net.'", @r#"
exit 0
Note	Status	Pages	Sources	Commit
"Revenue is net."	done	policy	-	[COMMIT]
--- stderr
Project: [SANDBOX]/work
[1/1] "Revenue is net."
[1/1] "Revenue is net." · turn 1 of 30
[1/1] "Revenue is net." · turn 2 of 30
warning: the model `fake-sonnet` has no list price; what it costs is unknown
3 model messages, 411 tokens in, 60 out, list price unknown
"#);
    assert!(sandbox.read(PAGE).unwrap().contains("Revenue is net."));
}
