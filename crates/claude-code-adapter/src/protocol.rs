//! Parses the output of the child: bytes → lines → frames. Tolerant, because the protocol is not
//! versioned.

mod decoder;
mod frame;
mod read;

pub(crate) use decoder::{Broken, Line, LineDecoder, MAX_LINE};
pub(crate) use frame::{
    Ask, AssistantFrame, Block, ControlAnswer, Frame, InitFrame, Plugin, RateLimit, ResultFrame,
    StreamFrame, ToolResult,
};
pub(crate) use read::in_seconds;

#[cfg(test)]
mod tests;
