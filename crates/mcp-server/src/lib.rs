//! The ktx tools served over MCP, and the life cycle of the server.
//!
//! The handshake and the list of tools come from the program itself: no part of the project is
//! opened before a tool is called. This crate must never know the terminal.

mod access;
mod background;
mod connections;
mod http;
mod instructions;
mod serve;

pub use access::Access;
pub use background::{
    Ending as BackgroundEnding, Started, TOKEN_VARIABLE, end as end_server, leave_terminal,
    report as report_start, start as start_server,
};
pub use connections::Bounds;
pub use http::{HttpEvent, HttpServer};
pub use ktx_mcp_bridge::Ended;
pub use serve::{ServeError, ServedTools, serve_stdio, serve_stream};
