//! Serves a given tool set over MCP, on any transport.
//!
//! A tool's output reaches the client as `content[0].text` (its Markdown) and, unless both are long, as
//! `structuredContent` (its data). A tool that fails, is unknown or got wrong arguments answers with `isError` and a
//! readable text, because clients hide protocol errors from the model. This crate must never know
//! which tools there are.

mod bridge;
mod caller;
mod heard;
mod http;
mod lazy;
mod progress;
mod serve;
mod sessions;
mod wire;

pub use heard::until_heard;
pub use http::{HttpAnswer, HttpTools, plain};
pub use lazy::LazyTools;
pub use serve::{Ended, ServeError, ServerIdentity, serve_stdio, serve_stream};
