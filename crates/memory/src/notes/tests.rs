//! Texts that teach nothing, and conversations in pieces.

use super::*;

#[test]
fn courtesies_and_code_teach_nothing() {
    let cases = [
        ("👍 12:30!", Some(Worthless::NoWords)),
        ("Hi there, thanks a lot!", Some(Worthless::Courtesy)),
        ("Vielen Dank", Some(Worthless::Courtesy)),
        ("Refunds are not revenue.", None),
        ("Fine: churn counts customers, no trials.", None),
        (
            "```python\nimport os\ndef run(path):\n    return os.path.join(path, 'a')\n```",
            Some(Worthless::Code),
        ),
        ("let x = open(path)?;\nx.read();", Some(Worthless::Code)),
        ("// Revenue counts paid orders only.\nlet x = sum();", None),
        ("Revenue is = sum(amount).\nlet x = 1;", None),
        (
            "SELECT sum(amount) AS revenue FROM orders WHERE status = 'paid';",
            None,
        ),
        (
            "name: orders\nmeasures:\n  - name: revenue\n    expr: sum(amount)",
            None,
        ),
        ("revenue = paid orders\nchurn = lost / all customers", None),
        ("Revenue (net)\nChurn (gross)", None),
        ("revenue = sum(paid orders), never refunds", None),
    ];
    for (text, expected) in cases {
        assert_eq!(worthless(text), expected, "{text}");
    }
}

#[test]
fn a_transcript_is_read_without_tools_and_courtesies() {
    let lines = [
        r#"{"type":"summary","summary":"About revenue"}"#,
        r#"{"type":"user","message":{"role":"user","content":"Refunds are not revenue."}}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Noted: revenue has no refunds."},{"type":"tool_use","name":"Bash","input":{}}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"secret rows"}]}}"#,
        r#"{"type":"user","isMeta":true,"message":{"role":"user","content":"Caveat: nothing of this."}}"#,
        r#"{"type":"user","isSidechain":true,"message":{"role":"user","content":"Search the files."}}"#,
        r#"{"type":"user","message":{"role":"user","content":"Thanks!"}}"#,
        r#"{"type":"user","message":{"role":"user","#,
    ];
    let read = read_conversation(&lines.join("\n")).expect("a conversation");
    assert_eq!(
        read,
        Conversation {
            pieces: vec![
                "User: Refunds are not revenue.\n\nAssistant: Noted: revenue has no refunds."
                    .to_owned()
            ],
            messages: 2,
            unreadable: 1,
        }
    );
    assert_eq!(
        read_conversation("{\"type\":\"summary\"}\n"),
        Err(NoMessages)
    );
    assert_eq!(read_conversation(" \n"), Err(NoMessages));
}

#[test]
fn a_short_answer_to_a_question_stays() {
    let lines = [
        r#"{"role":"assistant","content":"Are trials customers?"}"#,
        r#"{"role":"user","content":"No, thanks."}"#,
        r#"{"role":"assistant","content":"You are welcome!"}"#,
    ];
    let read = read_conversation(&lines.join("\n")).expect("a conversation");
    assert_eq!(
        read.pieces,
        ["Assistant: Are trials customers?\n\nUser: No, thanks."]
    );
}

#[test]
fn a_long_conversation_comes_in_pieces_and_loses_nothing() {
    let parts: Vec<String> = (0..50)
        .map(|number| format!("Ada: message {number} {}", "x".repeat(2_000)))
        .collect();
    let read = read_conversation(&parts.join("\n\n")).expect("a conversation");
    assert!(read.pieces.len() > 2);
    assert!(
        read.pieces
            .iter()
            .all(|piece| piece.chars().count() <= LONGEST_PIECE + 100)
    );
    assert_eq!(read.pieces.join("\n\n"), parts.join("\n\n"));
    let long = "y".repeat(LONGEST_PIECE * 2 + 10);
    let read = read_conversation(&long).expect("a conversation");
    assert_eq!(read.pieces.len(), 3);
    assert!(read.pieces.concat().contains("yyy"));
}
