//! Vectors of texts: a table of token vectors in a file, or an embeddings server.
//!
//! Both implement [`ktx_search::Vectors`]. This crate reads no files and must never know where
//! texts come from.

mod server;
mod table;
mod tokens;

pub use server::{EmbeddingServer, ServerError, ServerSettings};
pub use table::{EmbeddingTable, TableError};
