//! Replays recorded streams without a network, for measurements and to inspect a recording.

use ktx_llm_runtime::{LlmError, TokenUsage};

use crate::preset::Protocol;
use crate::wire::Decoder;

/// The result of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The text of the answer.
    pub text: String,
    /// Tool calls: name and arguments.
    pub calls: Vec<(String, serde_json::Value)>,
    /// The counted tokens.
    pub usage: TokenUsage,
}

/// Reads a stream in pieces of this many bytes, as a call would.
pub fn replay(protocol: Protocol, stream: &[u8], piece: usize) -> Result<Replayed, LlmError> {
    let mut decoder = Decoder::new(protocol, "recorded");
    for bytes in stream.chunks(piece.max(1)) {
        decoder.push(bytes);
    }
    let response = decoder.finish()?;
    Ok(Replayed {
        text: response.text(),
        calls: response
            .calls()
            .into_iter()
            .map(|(_, name, arguments)| (name, arguments))
            .collect(),
        usage: response.draft.usage,
    })
}
