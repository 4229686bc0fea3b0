//! Makes any history acceptable to every provider (KODE-03, KODE-56, KODE-57).
//!
//! Leading system messages become the system text. The rest becomes alternating turns that begin
//! and end with the user and answer every tool call in the next turn. Only tool results change
//! their place, to the front of a turn.

mod calls;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::{ContentBlock, Message, MessageRole, Transport};

/// Key of the provider's name in a block's `meta`.
pub const META_PROVIDER: &str = "provider";

/// Closes a history without a final question.
const CONTINUE: &str = "Continue.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningRule {
    /// Only the provider's own, signed.
    OwnOnly,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningWindow {
    All,
    /// Since the last question: the current tool loop.
    CurrentTurn,
    Strip,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// As in `meta.provider`.
    pub provider: String,
    pub reasoning: ReasoningRule,
    pub window: ReasoningWindow,
    /// Default for messages that set none.
    pub transport: Transport,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct NormalizedHistory {
    /// Leading system messages, joined by an empty line.
    pub system: String,
    /// Alternating turns; the first and last are the user's.
    pub turns: Vec<Message>,
}

pub fn normalize(history: &[Message], dialect: &Dialect) -> NormalizedHistory {
    let lead = history
        .iter()
        .take_while(|message| message.role == MessageRole::System)
        .count();
    let (system, rest) = history.split_at_checked(lead).unwrap_or((history, &[]));
    let window_start = window_start(rest, dialect.window);
    let mut turns: Vec<Message> = Vec::new();
    for (index, message) in rest.iter().enumerate() {
        let reasoning = if index >= window_start {
            Reasoning::Kept
        } else {
            Reasoning::Dropped
        };
        push_message(&mut turns, fitted(message, dialect, reasoning));
    }
    let turns = calls::pair_with_results(turns);
    NormalizedHistory {
        system: plain_text(system),
        turns: closed(turns),
    }
}

fn window_start(messages: &[Message], window: ReasoningWindow) -> usize {
    match window {
        ReasoningWindow::All => 0,
        ReasoningWindow::Strip => usize::MAX,
        ReasoningWindow::CurrentTurn => messages
            .iter()
            .rposition(|message| {
                message.role == MessageRole::User
                    && !message
                        .blocks()
                        .iter()
                        .any(|block| matches!(block, ContentBlock::ToolResult { .. }))
            })
            .unwrap_or(0),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reasoning {
    Kept,
    Dropped,
}

fn fitted(message: &Message, dialect: &Dialect, own_reasoning: Reasoning) -> Message {
    let role = match message.role {
        MessageRole::Assistant => MessageRole::Assistant,
        MessageRole::User | MessageRole::System => MessageRole::User,
    };
    let transport = message.metadata.transport.unwrap_or(dialect.transport);
    let content = message
        .blocks()
        .iter()
        .filter_map(|block| match (role, block) {
            (_, ContentBlock::Text { text }) => text_block(text),
            (MessageRole::Assistant, ContentBlock::Reasoning { reasoning, meta }) => {
                match own_reasoning {
                    Reasoning::Kept => reasoning_block(reasoning, meta, transport, dialect),
                    Reasoning::Dropped => None,
                }
            }
            (_, ContentBlock::Reasoning { reasoning, .. }) => text_block(reasoning),
            (
                MessageRole::Assistant,
                ContentBlock::ToolUse {
                    id,
                    name,
                    input,
                    meta,
                },
            ) => Some(ContentBlock::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: arguments(input),
                meta: own_meta(meta, dialect),
            }),
            (_, ContentBlock::ToolUse { name, input, .. }) => {
                text_block(&format!("[tool call] {name} {input}"))
            }
            (MessageRole::Assistant, ContentBlock::ToolResult { content, .. }) => {
                text_block(&format!("[tool result] {content}"))
            }
            (_, ContentBlock::Opaque { provider, .. }) => {
                (*provider == dialect.provider).then(|| block.clone())
            }
            (
                MessageRole::Assistant,
                ContentBlock::Image { .. } | ContentBlock::Audio { .. } | ContentBlock::File { .. },
            ) => text_block("[media that an assistant sent was left out]"),
            _ => Some(block.clone()),
        })
        .collect();
    Message::new(role, content)
}

/// Providers refuse empty text.
fn text_block(text: &str) -> Option<ContentBlock> {
    (!text.trim().is_empty()).then(|| ContentBlock::Text {
        text: text.to_owned(),
    })
}

/// Wraps arguments that are not objects.
fn arguments(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => Value::Object(Map::default()),
        other => Value::Object(Map::from_iter([("value".to_owned(), other.clone())])),
    }
}

fn reasoning_block(
    reasoning: &str,
    meta: &Map<String, Value>,
    transport: Transport,
    dialect: &Dialect,
) -> Option<ContentBlock> {
    let own = author(meta) == Some(dialect.provider.as_str());
    match transport {
        Transport::Omit => None,
        Transport::Text => text_block(&thought(reasoning)?),
        Transport::Provider if own => Some(ContentBlock::Reasoning {
            reasoning: reasoning.to_owned(),
            meta: meta.clone(),
        }),
        Transport::Provider => match dialect.reasoning {
            ReasoningRule::OwnOnly => None,
            ReasoningRule::Any => (!reasoning.trim().is_empty()).then(|| ContentBlock::Reasoning {
                reasoning: reasoning.to_owned(),
                meta: Map::default(),
            }),
        },
    }
}

fn thought(reasoning: &str) -> Option<String> {
    (!reasoning.trim().is_empty()).then(|| format!("<think>{reasoning}</think>\n"))
}

/// An unnamed signature is Anthropic's: it is older than the name.
fn author(meta: &Map<String, Value>) -> Option<&str> {
    meta.get(META_PROVIDER)
        .and_then(Value::as_str)
        .or_else(|| meta.contains_key("signature").then_some("anthropic"))
}

fn own_meta(meta: &Map<String, Value>, dialect: &Dialect) -> Map<String, Value> {
    if author(meta) == Some(dialect.provider.as_str()) {
        meta.clone()
    } else {
        Map::default()
    }
}

/// Merges consecutive messages of one role and drops empty ones.
fn push_message(turns: &mut Vec<Message>, message: Message) {
    let is_marker = |block: &ContentBlock| matches!(block, ContentBlock::CacheControl { .. });
    if message.content.iter().all(is_marker) {
        // Markers belong to the previous message.
        if let Some(last) = turns.last_mut() {
            last.content.extend(message.content);
        }
        return;
    }
    match turns.last_mut() {
        Some(last) if last.role == message.role => last.content.extend(message.content),
        _ => turns.push(message),
    }
}

fn closed(mut turns: Vec<Message>) -> Vec<Message> {
    let opens_with_user = turns
        .first()
        .is_some_and(|turn| turn.role == MessageRole::User);
    if !opens_with_user {
        turns.insert(0, Message::text(MessageRole::User, CONTINUE));
    }
    if turns
        .last()
        .is_some_and(|turn| turn.role == MessageRole::Assistant)
    {
        turns.push(Message::text(MessageRole::User, CONTINUE));
    }
    turns
}

fn plain_text(messages: &[Message]) -> String {
    let texts: Vec<&str> = messages
        .iter()
        .flat_map(Message::blocks)
        .filter_map(|block| match block {
            ContentBlock::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n\n")
}
