//! Tests of the verdicts (KODE-61).

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Mode, Permissions, ToolRequest, Verdict};
use crate::event::Effect;

fn told(permissions: &Permissions, tool: &str, effect: Effect, input: &Value) -> String {
    match permissions.verdict(ToolRequest {
        tool,
        effect,
        input,
    }) {
        Verdict::Allow => "runs".to_owned(),
        Verdict::Ask => "is asked".to_owned(),
        Verdict::Deny(reason) => format!("denied: {reason}"),
    }
}

fn rules(value: Value) -> Permissions {
    serde_json::from_value(value).unwrap()
}

/// KODE-61.
#[test]
fn deny_goes_before_allow_and_allow_before_ask() {
    let mut table = String::new();
    for mode in ["auto", "approval", "readonly"] {
        for (what, given) in [
            ("no rule", json!({})),
            (
                "deny and allow",
                json!({ "deny": ["save"], "allow": ["save"] }),
            ),
            (
                "allow and ask",
                json!({ "allow": ["save"], "ask": ["save"] }),
            ),
            ("ask", json!({ "ask": ["s*e"] })),
        ] {
            let mut permissions = json!({ "mode": mode, "allow": [] });
            let given = given.as_object().unwrap().clone();
            permissions.as_object_mut().unwrap().extend(given);
            let permissions = rules(permissions);
            for effect in [Effect::Reads, Effect::Writes] {
                let verdict = told(&permissions, "save", effect, &json!({}));
                writeln!(table, "{mode}, {what}, {effect:?}: {verdict}").unwrap();
            }
        }
    }
    assert_snapshot!(table, @r"
    auto, no rule, Reads: runs
    auto, no rule, Writes: runs
    auto, deny and allow, Reads: denied: a rule forbids it: `save`
    auto, deny and allow, Writes: denied: a rule forbids it: `save`
    auto, allow and ask, Reads: runs
    auto, allow and ask, Writes: runs
    auto, ask, Reads: is asked
    auto, ask, Writes: is asked
    approval, no rule, Reads: is asked
    approval, no rule, Writes: is asked
    approval, deny and allow, Reads: denied: a rule forbids it: `save`
    approval, deny and allow, Writes: denied: a rule forbids it: `save`
    approval, allow and ask, Reads: runs
    approval, allow and ask, Writes: runs
    approval, ask, Reads: is asked
    approval, ask, Writes: is asked
    readonly, no rule, Reads: runs
    readonly, no rule, Writes: denied: the agent may only read
    readonly, deny and allow, Reads: denied: a rule forbids it: `save`
    readonly, deny and allow, Writes: denied: a rule forbids it: `save`
    readonly, allow and ask, Reads: runs
    readonly, allow and ask, Writes: denied: the agent may only read
    readonly, ask, Reads: is asked
    readonly, ask, Writes: denied: the agent may only read
    ");
}

#[test]
fn rules_name_tools_by_pattern_and_group() {
    let covers = |rule: Value, tool: &str, effect| {
        let permissions = rules(json!({ "mode": "approval", "allow": [rule] }));
        told(&permissions, tool, effect, &json!({})) == "runs"
    };
    let reads = Effect::Reads;
    assert!(covers(json!("@read"), "wiki_search", Effect::Reads));
    assert!(!covers(json!("@read"), "memory_ingest", Effect::Writes));
    // Only a trusted server has tools that read.
    assert!(covers(json!("@read"), "mcp__jira__list", reads));
    assert!(covers(json!("@mcp:jira"), "mcp__jira__list", reads));
    assert!(!covers(json!("@mcp:jira"), "mcp__jirafe__list", reads));
    assert!(covers(json!("mcp__*__list"), "mcp__jira__list", reads));
    assert!(covers(json!("*"), "x", reads));
    assert!(covers(json!("a*b*c"), "a1b2c", reads));
    assert!(!covers(json!("a*bc"), "abcd", reads));
    assert!(!covers(json!("ab*ba"), "aba", reads));
}

#[test]
fn rules_look_at_arguments() {
    let covers = |args: Value, input: Value| {
        let rule = json!({ "tool": "file_write", "args": args });
        let permissions = rules(json!({ "allow": [rule] }));
        told(&permissions, "file_write", Effect::Writes, &input) == "runs"
    };
    assert!(covers(
        json!({ "path": { "regex": "reports/.*" } }),
        json!({ "path": "reports/a" })
    ));
    assert!(!covers(
        json!({ "path": { "regex": "reports/.*" } }),
        json!({ "path": "x/reports/a" })
    ));
    assert!(!covers(json!({ "path": "a" }), json!({})));
    assert!(covers(json!({ "limit": 10 }), json!({ "limit": 10.0 })));
    assert!(!covers(json!({ "limit": 1 }), json!({ "limit": true })));
    assert!(covers(
        json!({ "rate": { "fuzzy": "5 %" } }),
        json!({ "rate": 0.05 })
    ));
    assert!(covers(
        json!({ "name": { "fuzzy": "Net_Revenue" } }),
        json!({ "name": "net revenue" })
    ));
}

#[test]
fn a_wrong_rule_is_found_before_a_run() {
    let told = |rule: Value| {
        rules(json!({ "deny": [rule] }))
            .check()
            .unwrap_err()
            .to_string()
    };
    assert_snapshot!(told(json!("@reed")), @"there is no group `@reed`; there are: @read, @write, @all, @mcp:<server>");
    assert_snapshot!(told(json!({ "tool": "x", "args": { "a": { "regex": "(" } } })), @r"
    `(` is not a regular expression: regex parse error:
        (
        ^
    error: unclosed group
    ");
    // The pattern cannot close its group early and allow more.
    assert_snapshot!(told(json!({ "tool": "x", "args": { "a": { "regex": "a)|(b" } } })), @r"
    `a)|(b` is not a regular expression: regex parse error:
        a)|(b
         ^
    error: unopened group
    ");
    assert_eq!(rules(json!({})).mode, Mode::Approval);
    assert_eq!(
        rules(json!({ "deny": ["@mcp:jira", "a*"] })).check(),
        Ok(())
    );
}
