//! The folder that an agent can access, and its file tools (KODE-67, KODE-69).
//!
//! Every path is opened part by part without following links, so that nothing can be exchanged
//! between check and use. A file is replaced only if it is unchanged since the agent read it. This
//! crate must not know sessions, permissions or models, and never runs a program.

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
