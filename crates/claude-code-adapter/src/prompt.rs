//! A conversation as one prompt with role markers (COG-04).

use ktx_llm_runtime::{ContentBlock, LlmError, LlmErrorKind, Message, MessageRole};

/// Oldest first, so that longer conversations begin with the same bytes. No reasoning, because it
/// belongs to its model. Fails on media.
pub(crate) fn build_prompt(messages: &[Message]) -> Result<String, LlmError> {
    let mut prompt = String::new();
    for message in messages {
        let role = match message.role {
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::System => "system",
        };
        let mut parts = Vec::new();
        for block in message.blocks() {
            parts.extend(part(block)?);
        }
        if !parts.is_empty() {
            let body = escaped(&parts.join("\n"));
            prompt.extend(["<message role=\"", role, "\">\n", &body, "\n</message>\n\n"]);
        }
    }
    if prompt.is_empty() {
        return Err(LlmError::new(
            LlmErrorKind::InvalidRequest,
            "the conversation is empty",
        ));
    }
    prompt.push_str("Write the next assistant message of this conversation.");
    Ok(prompt)
}

fn part(block: &ContentBlock) -> Result<Option<String>, LlmError> {
    let part = match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::ToolUse {
            id, name, input, ..
        } => {
            format!("[called the tool {name} as {id} with {input}]")
        }
        ContentBlock::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => {
            let outcome = if *is_error { "failed" } else { "answered" };
            format!("[the call {tool_use_id} {outcome}:]\n{content}")
        }
        ContentBlock::Reasoning { .. }
        | ContentBlock::CacheControl { .. }
        | ContentBlock::Opaque { .. } => return Ok(None),
        ContentBlock::Image { .. } | ContentBlock::Audio { .. } | ContentBlock::File { .. } => {
            return Err(LlmError::new(
                LlmErrorKind::InvalidRequest,
                "the `claude-code` backend takes text only",
            )
            .hint(
                "leave images, sound and documents out, or choose another `llm.provider.backend`",
            ));
        }
    };
    Ok(Some(part))
}

/// No message may speak in another role.
fn escaped(text: &str) -> String {
    text.replace("<message", "&lt;message")
        .replace("</message", "&lt;/message")
}

#[cfg(test)]
mod tests;
