//! `ktx ingest` of Notion with failures.

use ktx_test_support::notion_fake::NotionFake;
use serde_json::json;

use crate::claude::processes;
use crate::notion::{Does, HANDBOOK, NOTES, config, lane, locally, project, script, workspace};
use crate::support::{git, run, write};

#[test]
fn a_failed_page_is_asked_again_alone() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut script = script();
    script.retain(|(prompt, _)| !prompt.contains(&format!("Triage of notion-page-{NOTES}")));
    let sandbox = locally(project(&notion, ""), &script);
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(printed.stdout.contains("Weekly notes\tfailed"), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok());
    let before = processes(&sandbox);
    let sandbox = locally(sandbox, &crate::notion::script());
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(
        printed
            .stderr
            .contains("[1/1] team-notes · triage · Weekly notes · skip"),
        "{printed}"
    );
    assert!(processes(&sandbox) > before);
}

/// Only a page in the trash removes its results.
#[test]
fn a_page_in_the_trash_is_told_to_the_reconciliation() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut script = script();
    script.push((
        format!("files that are gone: pages/{HANDBOOK}.md"),
        Does::Tools(vec![("wiki_remove", json!({ "key": "refunds" }))]),
    ));
    let sandbox = locally(project(&notion, ""), &script);
    assert_eq!(run(&sandbox, "ingest team-notes").code, Some(0));
    notion.change(|all| {
        all.hidden.insert(HANDBOOK.to_owned());
    });
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok(), "{printed}");
    notion.change(|all| {
        all.hidden.clear();
        all.pages.get_mut(HANDBOOK).expect("the page")["in_trash"] = json!(true);
    });
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_err(), "{printed}");
}

#[test]
fn bad_settings_cost_nothing() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let mut sandbox = locally(project(&notion, ""), &script());
    check!(&sandbox, "connection test team-notes", @r"
exit 0
Connection test passed: team-notes
Driver: notion
Status: ok
Server: Bot: ktx of the workspace Acme
Latency: [DURATION]
Role: unknown (the server does not report what the key may do; ktx only reads)
--- stderr
Project: [SANDBOX]/work
");
    sandbox.set("NOTION_TOKEN", "ntn_another0123456789");
    check!(&sandbox, "ingest team-notes", @r"
exit 4
--- stderr
Project: [SANDBOX]/work
team-notes: reading Notion
error: `team-notes` cannot be read
  caused by: Notion at 127.0.0.1 answered 401 for `/v1/pages/0000000000000000000000000000000a`: API token is invalid.

hint: set `connections.team-notes.auth_token_ref` to the token of an integration that may read content
");
    let whole = config(&notion, "");
    for (from, to, expected) in [
        (
            format!("[{}]", crate::notion::HOME),
            "[home]".to_owned(),
            "`connections.team-notes.root_page_ids`: `home` is not a Notion id",
        ),
        (
            notion.address(),
            "http://notion.test".to_owned(),
            "`http://notion.test` is not a Notion URL",
        ),
        (
            "    auth_token_ref: env:NOTION_TOKEN\n".to_owned(),
            String::new(),
            "`connections.team-notes` has no `auth_token_ref`",
        ),
    ] {
        write(&sandbox, "ktx.yaml", &whole.replace(&from, &to));
        let printed = run(&sandbox, "ingest team-notes");
        assert_eq!(printed.code, Some(3), "{printed}");
        assert!(printed.stderr.contains(expected), "{printed}");
    }
    assert_eq!(processes(&sandbox), 0);
}

/// Killed at any point; nothing stored is paid twice.
#[test]
fn a_killed_run_goes_on() {
    for point in [
        "memory:captured",
        "publish:before-import",
        "publish:after-files",
    ] {
        let notion = NotionFake::start(workspace()).expect("an API");
        let mut script = script();
        // Only the curation writes, and it is killed.
        script[1].1 = lane("skip");
        let mut sandbox = locally(project(&notion, ""), &script);
        sandbox.set("KTX_TEST_KILL_AT", point);
        assert_eq!(run(&sandbox, "ingest team-notes").code, None, "{point}");
        sandbox.unset("KTX_TEST_KILL_AT");
        let printed = run(&sandbox, "ingest team-notes");
        assert_eq!(printed.code, Some(0), "{point}: {printed}");
        assert!(!printed.stderr.contains("triage"), "{point}: {printed}");
        let page = sandbox.read("wiki/global/refunds.md").expect("the page");
        assert!(page.ends_with("A refund counts in the month of its order.\n"));
        git(&sandbox, &["fsck", "--strict"]);
        assert_eq!(git(&sandbox, &["status", "--porcelain"]), "", "{point}");
    }
}

/// An unpriced model of any role is reported before the first call.
#[test]
fn money_is_bounded_in_every_role() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let sandbox = locally(project(&notion, ""), &script());
    let models = "  models:\n    default: sonnet\n    curator: claude-unheard-of\n";
    let priced = format!("{}{models}", config(&notion, ""));
    write(&sandbox, "ktx.yaml", &priced);
    let printed = run(&sandbox, "ingest team-notes --max-usd 1");
    assert!(
        printed.stderr.contains(
            "error: `--max-usd` cannot be held: the model `claude-unheard-of` has no list price\n"
        ),
        "{printed}"
    );
    assert_eq!(processes(&sandbox), 0);
}

#[test]
fn without_room_for_pages_nothing_is_asked() {
    let notion = NotionFake::start(workspace()).expect("an API");
    let bound = "    max_knowledge_creates_per_run: 1\n";
    let mut script = script();
    for (prompt, does) in &mut script {
        if prompt.contains(&format!("Triage of notion-page-{NOTES}")) {
            *does = lane("full");
        }
    }
    let input = json!({ "key": "weeks", "summary": "Weeks.", "content": "Weeks begin on Monday." });
    let unit = format!("Unit notion-page-{NOTES} of");
    script.push((unit, Does::Tools(vec![("wiki_write", input)])));
    let sandbox = locally(project(&notion, bound), &script);
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(7), "{printed}");
    assert!(
        printed
            .stdout
            .contains("Revenue policy\tdone\trevenue-policy")
            && printed.stdout.contains("Weekly notes\tnot-run"),
        "{printed}"
    );
    assert!(!printed.stdout.contains("curation"), "{printed}");
    let printed = run(&sandbox, "ingest team-notes");
    assert!(
        printed.stdout.contains("Weekly notes\tdone\tweeks"),
        "{printed}"
    );
    let printed = run(&sandbox, "ingest team-notes");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok(), "{printed}");
}
