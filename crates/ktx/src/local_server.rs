//! The project's MCP server over HTTP as seen from outside: whether it runs, where, and with which token.

pub(crate) mod address;
pub(crate) mod state;
pub(crate) mod token;
