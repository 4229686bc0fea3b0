//! Parses the child's output tolerantly, because the protocol has no versions.

mod decoder;
mod frame;
mod read;

pub(crate) use decoder::{BrokenLine, DecodedLine, LineDecoder, MAX_LINE};
pub(crate) use frame::{
    AssistantBlock, AssistantFrame, ControlAnswer, ControlRequest, Frame, InitFrame, Plugin,
    RateLimit, ResultFrame, StreamFrame, ToolResult,
};
pub(crate) use read::in_seconds;

#[cfg(test)]
mod tests;
