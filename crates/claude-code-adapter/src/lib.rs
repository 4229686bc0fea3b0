//! Implements the runtime port with the user's Claude Code session.
//!
//! Every call is one isolated child, whose description of itself must match before its first token
//! counts. All parts are pure but `process`, `session` and `spares`. This crate must never know
//! `ktx.yaml`, ingest or the CLI.

mod attempts;
mod call;
mod conversation;
mod environment;
mod exchange;
mod host;
mod internal_guard;
mod invocation;
mod limits;
mod link;
mod mcp;
mod outcome;
mod probe;
mod process;
mod prompt;
mod protocol;
mod report;
mod run;
mod runtime;
mod session;
mod settings;
mod spares;
mod surface;
mod turns;
mod unattributed;
mod versions;

pub use internal_guard::internal_guard;
pub use process::sweep;
pub use runtime::ClaudeCodeRuntime;
pub use settings::{ClaudeCodeSettings, Isolation, KnownLimits, Launcher, Timeouts};
