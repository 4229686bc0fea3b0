//! Tests of audit lines.

use super::*;

#[track_caller]
fn check(outcome: AuditOutcome, text: StatementText, expected: &str) {
    let entry = AuditEntry {
        tool: "sql_execution",
        call_id: "7".to_owned(),
        connection: "shop".parse().expect("an id"),
        sql: "select 1".to_owned(),
        outcome,
    };
    let at = "2026-01-31T09:00:00Z".parse().expect("a time");
    let line = serde_json::to_string(&line(&entry, at, text)).expect("JSON");
    assert_eq!(line, expected);
}

#[test]
fn a_line_says_who_asked_what_and_how_it_ended() {
    let head = r#"{"at":"2026-01-31T09:00:00Z","tool":"sql_execution","callId":"7","connectionId":"shop","sqlSha256":"822ae07d4783158bc1912bb623e5107cc9002d519e1143a9c200ed6ee18b6d0f","#;
    check(
        AuditOutcome::Executed { rows: 3 },
        StatementText::Hashed,
        &format!(r#"{head}"outcome":"executed","rows":3}}"#),
    );
    check(
        AuditOutcome::Refused {
            code: Code::WritingNode,
        },
        StatementText::Kept,
        &format!(r#"{head}"outcome":"refused","rows":0,"code":"writing_node","sql":"select 1"}}"#),
    );
    check(
        AuditOutcome::Failed {
            code: Code::QueryTimeout,
        },
        StatementText::Hashed,
        &format!(r#"{head}"outcome":"failed","rows":0,"code":"query_timeout"}}"#),
    );
}
