//! Gives every tool call exactly one result, in the next turn.

use std::collections::BTreeSet;

use crate::{ContentBlock, Message, MessageRole};

/// Replaces a lost result.
const SEALED: &str = "the call was interrupted; whether it had an effect is not known";

struct UnansweredCall {
    asked: String,
    id: String,
    answer: Option<ContentBlock>,
}

/// Makes ids unique, adds missing results, turns stray results into text, and moves results to the
/// front.
pub(super) fn pair_with_results(turns: Vec<Message>) -> Vec<Message> {
    let mut used = BTreeSet::new();
    let mut open: Vec<UnansweredCall> = Vec::new();
    let mut out: Vec<Message> = Vec::new();
    for mut turn in turns {
        match turn.role {
            MessageRole::Assistant => {
                push_turn(&mut out, std::mem::take(&mut open), Vec::new());
                open = renamed(&mut turn, &mut used);
                out.push(turn);
            }
            MessageRole::User | MessageRole::System => {
                let mut open = std::mem::take(&mut open);
                let rest = matched(turn.content, &mut open);
                push_turn(&mut out, open, rest);
            }
        }
    }
    push_turn(&mut out, open, Vec::new());
    out
}

fn renamed(turn: &mut Message, used: &mut BTreeSet<String>) -> Vec<UnansweredCall> {
    let mut open = Vec::new();
    for block in &mut turn.content {
        if let ContentBlock::ToolUse { id, .. } = block {
            let asked = id.clone();
            let base = plain_id(&asked);
            let mut number = 1_u32;
            let mut unique = base.clone();
            while !used.insert(unique.clone()) {
                number += 1;
                unique = format!("{base}-{number}");
            }
            id.clone_from(&unique);
            open.push(UnansweredCall {
                asked,
                id: unique,
                answer: None,
            });
        }
    }
    open
}

fn plain_id(id: &str) -> String {
    let plain: String = id
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    if plain.is_empty() {
        "call".to_owned()
    } else {
        plain
    }
}

fn matched(content: Vec<ContentBlock>, open: &mut [UnansweredCall]) -> Vec<ContentBlock> {
    let mut rest = Vec::new();
    for block in content {
        let ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } = block
        else {
            rest.push(block);
            continue;
        };
        let call = open
            .iter_mut()
            .find(|call| call.answer.is_none() && call.asked == tool_use_id);
        match call {
            Some(call) => {
                call.answer = Some(ContentBlock::ToolResult {
                    tool_use_id: call.id.clone(),
                    content,
                    is_error,
                });
            }
            None => rest.push(ContentBlock::Text {
                text: format!("[tool result] {content}"),
            }),
        }
    }
    rest
}

fn push_turn(out: &mut Vec<Message>, open: Vec<UnansweredCall>, rest: Vec<ContentBlock>) {
    let mut content: Vec<ContentBlock> = open
        .into_iter()
        .map(|call| {
            call.answer.unwrap_or_else(|| ContentBlock::ToolResult {
                tool_use_id: call.id,
                content: SEALED.to_owned(),
                is_error: true,
            })
        })
        .collect();
    content.extend(rest);
    if !content.is_empty() {
        out.push(Message::new(MessageRole::User, content));
    }
}
