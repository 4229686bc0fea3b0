//! The folder that an agent can touch, and the tools for its files (KODE-67, KODE-69).
//!
//! Every path is opened part by part below the folder, and no link is followed, so that nothing can be exchanged
//! between a check and a use. A file is replaced only as it was read. This crate must not know sessions, permissions
//! or models, and nothing here runs a program.

mod fault;
mod folder;
mod search;
mod seen;
mod tools;

pub use fault::{MOST_FILE_BYTES, WorkspaceFault};
pub use folder::{Entry, EntryKind, Expected, Listing, LocalFolder, MOST_ENTRIES};
pub use search::{MOST_HITS, Match, Matches};
pub use tools::{Access, Exclusion, workspace_tools};

#[cfg(test)]
mod tests;
