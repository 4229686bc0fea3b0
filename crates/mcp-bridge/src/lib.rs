//! Serves a given tool set and its content over MCP, on any transport.
//!
//! A tool's output is `content[0].text` (its Markdown) and, unless both are long,
//! `structuredContent` (its data). Every failure is a readable text with `isError`, because clients
//! hide protocol errors from the model. This crate must never know which tools there are.

mod bridge;
mod caller;
mod content;
mod heard;
mod http;
mod lazy;
mod observer;
mod progress;
mod serve;
mod session;
mod sessions;
mod streams;
mod wire;

pub use content::{
    ContentError, Need, News, PromptArgument, PromptEntry, PromptPart, ResourceEntry, ResourceForm,
    ResourceList, ResourceText, ServerContent, Severity, Subject, Typed,
};
pub use heard::until_heard;
pub use http::{HttpAnswer, HttpTools, plain, refusal};
pub use lazy::LazyTools;
pub use observer::{CallEnd, CallObserver, EndedCall};
pub use serve::{Ended, Offer, ServeError, ServerIdentity, serve_stdio, serve_stream};
