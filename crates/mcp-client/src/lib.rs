//! The tools of foreign MCP servers as descriptors: over stdio, Streamable HTTP and the older SSE.
//!
//! Server output is untrusted: bounded, labeled, and trusted for decisions only if the settings say
//! so. This crate must not know sessions, or which tools are used.

mod address;
mod connection;
mod events;
mod fault;
mod legacy_sse;
mod lines;
mod naming;
mod process;
mod result;
mod server;
mod settings;

pub use fault::McpFault;
pub use naming::tool_name;
pub use server::{Offer, Server};
pub use settings::{
    Annotations, MOST_MESSAGE_BYTES, MOST_RESULT_BYTES, MOST_TOOLS, Resolved, ServerSettings,
    Transport,
};

#[cfg(test)]
mod tests;
