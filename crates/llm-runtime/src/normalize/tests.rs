//! Tests of the normalizer.

use serde_json::{Map, Value, json};

use super::{Dialect, ReasoningRule, ReasoningWindow, normalize};
use crate::{ContentBlock, Message, MessageMetadata, MessageRole, Transport};

fn dialect(provider: &str, reasoning: ReasoningRule, window: ReasoningWindow) -> Dialect {
    Dialect {
        provider: provider.to_owned(),
        reasoning,
        window,
        transport: Transport::Provider,
    }
}

fn anthropic() -> Dialect {
    dialect("anthropic", ReasoningRule::OwnOnly, ReasoningWindow::All)
}

fn message(role: MessageRole, content: Vec<ContentBlock>) -> Message {
    Message::new(role, content)
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text {
        text: text.to_owned(),
    }
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolUse {
        id: id.to_owned(),
        name: "sql".to_owned(),
        input: json!({}),
        meta: Map::new(),
    }
}

fn result(id: &str, content: &str) -> ContentBlock {
    ContentBlock::ToolResult {
        tool_use_id: id.to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

fn reasoning(words: &str, meta: Value) -> ContentBlock {
    let Value::Object(meta) = meta else {
        panic!("meta is an object")
    };
    ContentBlock::Reasoning {
        reasoning: words.to_owned(),
        meta,
    }
}

fn shown(history: &[Message], dialect: &Dialect) -> Vec<String> {
    let normalized = normalize(history, dialect);
    let mut lines = vec![format!("system: {}", normalized.system)];
    for turn in &normalized.turns {
        for block in &turn.content {
            let what = match block {
                ContentBlock::Text { text } => format!("text {}", text.trim_end()),
                ContentBlock::Reasoning { reasoning, meta } => {
                    format!("reasoning {reasoning} {}", Value::Object(meta.clone()))
                }
                ContentBlock::ToolUse { id, .. } => format!("call {id}"),
                ContentBlock::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => format!("result {tool_use_id} {content} {is_error}"),
                other => format!("{other:?}"),
            };
            lines.push(format!("{:?}: {what}", turn.role));
        }
    }
    lines
}

/// KODE-57.
#[test]
fn seals_orphan_calls_and_puts_answers_first_in_call_order() {
    let history = [
        message(MessageRole::System, vec![text("be brief")]),
        message(MessageRole::User, vec![text("go")]),
        message(
            MessageRole::Assistant,
            vec![text("looking"), call("a"), call("b")],
        ),
        message(
            MessageRole::User,
            vec![text("hurry"), result("b", "two"), result("zz", "stray")],
        ),
        message(MessageRole::Assistant, vec![call("a")]),
    ];
    assert_eq!(
        shown(&history, &anthropic()),
        [
            "system: be brief",
            "User: text go",
            "Assistant: text looking",
            "Assistant: call a",
            "Assistant: call b",
            "User: result a the call was interrupted; whether it had an effect is not known true",
            "User: result b two false",
            "User: text hurry",
            "User: text [tool result] stray",
            "Assistant: call a-2",
            "User: result a-2 the call was interrupted; whether it had an effect is not known true",
        ]
    );
}

#[test]
fn merges_roles_drops_empty_text_and_opens_and_closes_with_the_user() {
    let history = [
        message(MessageRole::Assistant, vec![text("hello")]),
        message(MessageRole::User, vec![text("  ")]),
        message(MessageRole::Assistant, vec![text("again")]),
    ];
    assert_eq!(
        shown(&history, &anthropic()),
        [
            "system: ",
            "User: text Continue.",
            "Assistant: text hello",
            "Assistant: text again",
            "User: text Continue.",
        ]
    );
    assert_eq!(
        shown(&[], &anthropic()),
        ["system: ", "User: text Continue."]
    );
}

/// KODE-04, KODE-56.
#[test]
fn reasoning_goes_back_to_its_author_and_as_its_transport_says() {
    let own = json!({"provider": "anthropic", "signature": "s"});
    let foreign = json!({"provider": "gemini", "thought_signature": "t"});
    let assistant = |transport| Message {
        metadata: MessageMetadata {
            transport: Some(transport),
            ..MessageMetadata::default()
        },
        ..message(
            MessageRole::Assistant,
            vec![
                reasoning("", own.clone()),
                reasoning("theirs", foreign.clone()),
                text("answer"),
            ],
        )
    };
    let question = || message(MessageRole::User, vec![text("q")]);
    let check = |transport, dialect: &Dialect, expected: &[&str]| {
        let lines = shown(&[question(), assistant(transport), question()], dialect);
        assert_eq!(lines[2..lines.len() - 1], *expected);
    };
    check(
        Transport::Provider,
        &anthropic(),
        &[
            r#"Assistant: reasoning  {"provider":"anthropic","signature":"s"}"#,
            "Assistant: text answer",
        ],
    );
    check(
        Transport::Text,
        &anthropic(),
        &[
            "Assistant: text <think>theirs</think>",
            "Assistant: text answer",
        ],
    );
    check(Transport::Omit, &anthropic(), &["Assistant: text answer"]);
    check(
        Transport::Provider,
        &dialect("glm", ReasoningRule::Any, ReasoningWindow::All),
        &["Assistant: reasoning theirs {}", "Assistant: text answer"],
    );
    check(
        Transport::Provider,
        &dialect("qwen", ReasoningRule::Any, ReasoningWindow::CurrentTurn),
        &["Assistant: text answer"],
    );
}

#[test]
fn the_current_turn_keeps_the_reasoning_of_its_whole_tool_loop() {
    let history = [
        message(MessageRole::User, vec![text("q1")]),
        message(
            MessageRole::Assistant,
            vec![reasoning("old", json!({})), text("a1")],
        ),
        message(MessageRole::User, vec![text("q2")]),
        message(
            MessageRole::Assistant,
            vec![reasoning("one", json!({})), call("a")],
        ),
        message(MessageRole::User, vec![result("a", "r")]),
        message(
            MessageRole::Assistant,
            vec![reasoning("two", json!({})), call("b")],
        ),
        message(MessageRole::User, vec![result("b", "r")]),
    ];
    let lines = shown(
        &history,
        &dialect("qwen", ReasoningRule::Any, ReasoningWindow::CurrentTurn),
    );
    let kept: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("reasoning"))
        .collect();
    assert_eq!(
        kept,
        ["Assistant: reasoning one {}", "Assistant: reasoning two {}"]
    );
}

/// KODE-01.
#[test]
fn all_blocks_of_a_message_are_sent() {
    let mut answer = message(MessageRole::Assistant, vec![text("shown")]);
    answer.metadata.content_blocks = Some(vec![text("whole"), call("c1")]);
    let question = || message(MessageRole::User, vec![text("q")]);
    let lines = shown(&[question(), answer, question()], &anthropic());
    assert_eq!(lines[2..4], ["Assistant: text whole", "Assistant: call c1"]);
}
