//! The ktx tools and their content, served over MCP, and the life cycle of the server.
//!
//! The handshake opens no part of the project, and neither does the list of ktx's own tools. This
//! crate must never know the terminal.

mod access;
mod app;
mod background;
mod connections;
mod content;
mod http;
mod instructions;
mod serve;
mod socket;

pub use access::Access;
pub use app::report_page;
pub use background::{
    Ending as BackgroundEnding, Started, TOKEN_VARIABLE, end as end_server, leave_terminal,
    report as report_start, start as start_server,
};
pub use connections::Bounds;
pub use http::{HttpEvent, HttpServer, Routes};
pub use ktx_mcp_bridge::{CallEnd, CallObserver, Ended, EndedCall, HttpAnswer};
pub use serve::{Renewal, RenewedTools, ServeError, ServedTools, serve_stdio, serve_stream};
pub use socket::{LocalSocket, SocketError};
