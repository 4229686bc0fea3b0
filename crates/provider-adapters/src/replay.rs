//! Replays recorded streams without a network.

use ktx_llm_runtime::{LlmError, TokenUsage};

use crate::preset::Protocol;
use crate::wire::Decoder;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayedAnswer {
    pub text: String,
    pub calls: Vec<(String, serde_json::Value)>,
    pub usage: TokenUsage,
}

pub fn replay(protocol: Protocol, stream: &[u8], piece: usize) -> Result<ReplayedAnswer, LlmError> {
    let mut decoder = Decoder::new(protocol, "recorded");
    for bytes in stream.chunks(piece.max(1)) {
        decoder.push(bytes);
    }
    let response = decoder.finish()?;
    Ok(ReplayedAnswer {
        text: response.text(),
        calls: response
            .calls()
            .into_iter()
            .map(|(_, name, arguments)| (name, arguments))
            .collect(),
        usage: response.draft.usage,
    })
}
