//! Agent files (`agents/<name>.yaml`) and their cases: parsed with positions, validated, documented
//! from one table.
//!
//! This crate must never know which tools exist, or any backend.
mod check;
mod complete;
mod form;
mod reference;
mod schema;
mod spec;

pub use reference::reference_markdown;
pub use schema::schema;
