//! What units of a context source may not change without a person: it is kept back as a proposal.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::claude::processes;
use crate::sources::{SCHEMA, Script, locally, page, project};
use crate::support::{commit, git, json as json_of, run, write};

/// A page that a person has signed.
const POLICY: &str = "---
summary: What revenue is
owner: ada@example.com
---
Revenue is the sum of paid orders.
";

/// A measure that a person has signed off.
const SIGNED: &str = "name: orders
measures:
  - name: revenue
    expr: sum(amount)
    filter: status = 'paid'
";

const PAGE: &str = "wiki/global/policy.md";
const SOURCE: &str = "semantic-layer/warehouse/orders.yaml";

/// A scanned project with a dbt project, and what a person wrote.
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

/// A model that changes what a person wrote, and writes a page of its own.
fn meddling() -> Script {
    let calls = vec![
        times_ten(),
        page("policy", "Revenue is whatever dbt says."),
        page("states", "The states of an order."),
    ];
    vec![("Unit dbt-all of", calls)]
}

/// The only file below the folder of proposals.
fn proposal(sandbox: &Sandbox) -> String {
    let folder = ".ktx/state/proposals/shop-dbt";
    let entries = std::fs::read_dir(sandbox.work().join(folder)).expect("the folder");
    let names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().display().to_string())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!("{folder}/{}", names[0])
}

fn revenue(sandbox: &Sandbox) -> String {
    let query =
        "sl query --connection-id warehouse --measure orders.revenue --execute --format csv";
    run(sandbox, query).stdout
}

/// A signed-off measure and a page with an owner stay as they are until a person takes the proposal; what is new
/// lands. The command, the status and the exit code tell, as long as nobody has decided.
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
        "ktx ingest: shop-dbt dbt-all\n\nwiki/global/states.md\n"
    );
    let file = proposal(&sandbox);
    let told = format!(
        "shop-dbt: kept back because shop-dbt alone did not write it: `{SOURCE}`, `{PAGE}` (dbt-all); look at `{file}`"
    );
    assert!(printed.stderr.contains(&told), "{printed}");
    assert!(
        printed
            .stdout
            .contains("shop-dbt\tdbt-all\tkept-back\tstates\t-\t"),
        "{printed}"
    );

    // It is told as long as nobody decides, and not paid for again.
    let asked = processes(&sandbox);
    let printed = run(&sandbox, "ingest shop-dbt --json");
    assert_eq!(
        (printed.code, processes(&sandbox)),
        (Some(7), asked),
        "{printed}"
    );
    let answer: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let expected = json!([{
        "connectionId": "shop-dbt", "unitKey": "dbt-all", "file": file, "paths": [SOURCE, PAGE],
    }]);
    assert_eq!(answer["results"][0]["proposals"], expected);
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], expected);
    let status = run(&sandbox, "status --fast").stdout;
    let line = format!("Kept back    ! shop-dbt dbt-all: {SOURCE}, {PAGE}\n");
    assert!(status.contains(&line), "{status}");

    // The proposal is a patch, and whoever takes it has decided.
    git(&sandbox, &["apply", &file]);
    assert!(sandbox.read(SOURCE).unwrap().contains("* 10"));
    assert!(
        sandbox
            .read(PAGE)
            .unwrap()
            .contains("owner: ada@example.com")
    );
    commit(&sandbox, "taken");
    let answer = json_of(&sandbox, "ingest shop-dbt --json");
    assert_eq!(answer["results"][0]["proposals"], json!([]));
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], json!([]));
}

/// What a source wrote it may change, here and in a clone, until a person does.
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

    // A person changes one of the two and leaves the message of the commit as it was.
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

/// What would not be right without the part that is kept back is kept back with it: here a page that is only
/// linked to because the person's page goes.
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
    // Removing the file is a decision, too.
    std::fs::remove_file(sandbox.work().join(proposal(&sandbox))).expect("the file");
    assert_eq!(json_of(&sandbox, "status --json")["proposals"], json!([]));
    assert_eq!(run(&sandbox, "ingest shop-dbt").code, Some(0));
}

/// A source that a person is still writing and has not committed is not written over either.
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

/// The newest commit changes this file alone.
fn check_head(sandbox: &Sandbox, file: &str) {
    let changed = git(sandbox, &["log", "-1", "--format=", "--name-only"]);
    assert_eq!(changed, format!("{file}\n"));
}

/// A note is handed in by a person, who may change everything.
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
