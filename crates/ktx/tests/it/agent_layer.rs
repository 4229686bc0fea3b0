//! Agents that change the layer after an approval.

use ktx_test_support::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::agent::{CONFIG, shop};
use crate::claude::play;
use crate::support::{commit, git, json as json_of, run, write};

const EDITOR: &str = "name: editor
instructions: {inline: Correct the layer.}
tools: [memory_ingest, sl_edit_source, sl_write_source, wiki_write]
";

fn editor(tool: &str, input: &Value) -> Sandbox {
    let mut sandbox = shop(CONFIG);
    write(&sandbox, "agents/editor.yaml", EDITOR);
    commit(&sandbox, "an agent that edits");
    let done = json!([{ "text": "It is done." }]);
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": format!("[called the tool {tool}"), "steps": done },
                { "prompt_contains": "Correct it.", "steps": [
                    { "tools": [{ "name": tool, "input": input }] },
                    { "text": "It is done." },
                ] },
            ],
        }),
    );
    sandbox
}

fn all_orders() -> Value {
    json!({
        "source_name": "orders",
        "yaml_edits": [{ "oldText": "    filter: status = 'paid'\n", "newText": "" }],
    })
}

/// The approval shows the old and new number; the change is one commit.
#[test]
fn a_measure_is_changed_after_its_numbers_were_shown() {
    let sandbox = editor("sl_edit_source", &all_orders());
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    let parked = run(
        &sandbox,
        "agent run --agent editor --session fix --create --on-ask park -m 'Correct it.'",
    );
    assert_eq!(parked.code, Some(7), "{parked}");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
    check!(&sandbox, "agent sessions show fix", @r#"
    exit 0
    fix · editor · 1 turn · parked

    > Correct it.
      sl_edit_source {"source_name":"orders","yaml_edits":[{"oldText":"    filter: status = 'paid'\n","newText":""}]}
      call-1 sl_edit_source waits for a decision

    --- a/semantic-layer/warehouse/orders.yaml
    +++ b/semantic-layer/warehouse/orders.yaml
    @@ -2,4 +2,3 @@
     measures:
       - name: revenue
         expr: sum(amount)
    -    filter: status = 'paid'
    orders.revenue: 15 → 35
    --- stderr
    Project: [SANDBOX]/work
    "#);
    let waiting = json_of(&sandbox, "agent approvals --json");
    insta::assert_snapshot!(waiting["data"]["items"][0]["preview"]["numbers"], @r#"["orders.revenue: 15 → 35"]"#);
    assert_eq!(run(&sandbox, "agent decide fix call-1 allow").code, Some(0));
    let done = run(&sandbox, "agent sessions resume fix");
    assert_eq!(done.code, Some(0), "{done}");
    insta::assert_snapshot!(git(&sandbox, &["log", "-1", "--format=%an <%ae>%n%B", "--stat"]), @"
    Ada Test <ada@example.com>
    Change semantic-layer/warehouse/orders.yaml

    Written by the agent `editor`.


     semantic-layer/warehouse/orders.yaml | 1 -
     1 file changed, 1 deletion(-)
    ");
    check!(&sandbox, "sl query --measure orders.revenue --execute --format table", @"
    exit 0
    revenue
    35
    --- stderr
    Project: [SANDBOX]/work
    ");
}

#[test]
fn a_change_of_the_file_withdraws_the_approval() {
    let sandbox = editor("sl_edit_source", &all_orders());
    run(
        &sandbox,
        "agent run --agent editor --session fix --create --on-ask park -m 'Correct it.'",
    );
    let path = "semantic-layer/warehouse/orders.yaml";
    let text = sandbox.read(path).expect("the source");
    write(
        &sandbox,
        path,
        &text.replace("sum(amount)", "sum(amount) / 1"),
    );
    commit(&sandbox, "another change");
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    run(&sandbox, "agent decide fix call-1 allow");
    run(&sandbox, "agent sessions resume fix");
    let shown = json_of(&sandbox, "agent sessions show fix --json");
    insta::assert_snapshot!(shown["calls"][0]["result"], @r#""the call was not begun: the files have changed since it was allowed; call it again""#);
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
}

/// A wrong change is refused without asking.
#[test]
fn a_wrong_change_is_not_asked_about() {
    let input = json!({ "source_name": "orders", "yaml": "name: orders\nmeasures:\n  - {name: revenue, expr: sum(nope)}\n" });
    let sandbox = editor("sl_write_source", &input);
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    let told = run(
        &sandbox,
        "agent run --agent editor --session fix --create --on-ask park -m 'Correct it.'",
    );
    assert_eq!(told.code, Some(0), "{told}");
    let shown = json_of(&sandbox, "agent sessions show fix --json");
    insta::assert_snapshot!(shown["calls"][0]["result"], @r#""nothing was written, the file is wrong:\n- orders.yaml:3:6: measure `revenue`: unknown column `orders.nope`: `orders` has the columns `id`, `amount`, `status`""#);
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
    let denied = editor("sl_edit_source", &all_orders());
    let head = git(&denied, &["rev-parse", "HEAD"]);
    run(
        &denied,
        "agent run --agent editor --session fix --create -m 'Correct it.'",
    );
    assert_eq!(git(&denied, &["rev-parse", "HEAD"]), head);
}

#[test]
fn a_page_is_written() {
    let input = json!({ "key": "refunds", "summary": "Refunds are not revenue", "content": "Refunded orders do not count." });
    let sandbox = editor("wiki_write", &input);
    run(
        &sandbox,
        "agent run --agent editor --session fix --create --on-ask park -m 'Correct it.'",
    );
    run(&sandbox, "agent decide fix call-1 allow");
    let done = run(&sandbox, "agent sessions resume fix");
    assert_eq!(done.code, Some(0), "{done}");
    insta::assert_snapshot!(git(&sandbox, &["show", "--format=%B"]), @"
    Change wiki/global/refunds.md

    Written by the agent `editor`.


    diff --git a/wiki/global/refunds.md b/wiki/global/refunds.md
    new file mode 100644
    index 0000000..164368b
    --- /dev/null
    +++ b/wiki/global/refunds.md
    @@ -0,0 +1,5 @@
    +---
    +summary: Refunds are not revenue
    +---
    +
    +Refunded orders do not count.
    ");
}

const NOTE: &str = "Refunded orders do not count.";

fn noting() -> Sandbox {
    let mut sandbox = shop(CONFIG);
    write(&sandbox, "agents/editor.yaml", EDITOR);
    commit(&sandbox, "an agent that edits");
    let page = json!({ "key": "refunds", "summary": "Refunds are not revenue", "content": NOTE });
    play(
        &mut sandbox,
        json!({
            "steps": [{ "text": "ok" }],
            "when": [
                { "prompt_contains": "[called the tool memory_ingest", "steps": [{ "text": "It is kept." }] },
                { "prompt_contains": "Correct it.", "steps": [
                    { "tools": [{ "name": "memory_ingest", "input": { "content": NOTE } }] },
                    { "text": "It is kept." },
                ] },
                { "prompt_contains": NOTE, "steps": [
                    { "tools": [{ "name": "wiki_write", "input": page }] },
                    { "text": "Wrote it down." },
                ] },
            ],
        }),
    );
    sandbox
}

#[test]
fn a_note_is_captured_after_its_approval() {
    let sandbox = noting();
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    let parked = run(
        &sandbox,
        "agent run --agent editor --session fix --create --on-ask park -m 'Correct it.'",
    );
    assert_eq!(parked.code, Some(7), "{parked}");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
    run(&sandbox, "agent decide fix call-1 allow");
    let done = run(&sandbox, "agent sessions resume fix");
    assert_eq!(done.code, Some(0), "{done}");
    insta::assert_snapshot!(git(&sandbox, &["show", "--format=%s", "--stat"]), @r#"
    ktx ingest: "Refunded orders do not count."

     wiki/global/refunds.md | 5 +++++
     1 file changed, 5 insertions(+)
    "#);
    let shown = json_of(&sandbox, "agent sessions show fix --json");
    assert_eq!(shown["calls"][0]["state"], "COMPLETED", "{shown:#}");
}

#[test]
fn a_denied_note_is_not_captured() {
    let sandbox = noting();
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    let denied = run(
        &sandbox,
        "agent run --agent editor --session fix --create -m 'Correct it.' --max-tokens 100000",
    );
    assert_eq!(denied.code, Some(0), "{denied}");
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head);
}

#[test]
fn a_note_is_captured_within_the_budget() {
    let sandbox = noting();
    let allowing = EDITOR.replace("tools:", "permissions: {mode: auto}\ntools:");
    write(&sandbox, "agents/editor.yaml", &allowing);
    let kept = run(
        &sandbox,
        "agent run --agent editor --session fix --create -m 'Correct it.' --max-tokens 500000",
    );
    assert_eq!(kept.code, Some(0), "{kept}");
    let shown = json_of(&sandbox, "agent sessions show fix --json");
    assert_eq!(shown["calls"][0]["state"], "COMPLETED", "{shown:#}");
    assert!(sandbox.read("wiki/global/refunds.md").is_ok());
}
