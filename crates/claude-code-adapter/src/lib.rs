//! Drives the user's local Claude Code session as an implementation of the runtime port.
//!
//! Four parts, all pure but the last: `invocation` (what a child is asked), `environment` (what it
//! inherits), `protocol` with `conversation` (what it says and what follows), and `process` with
//! `session` and `spares` (how it runs, waits and ends). Every call is one child, isolated from the
//! host: no settings, only our tools, no plugins, no stored session. Its self-description is
//! compared with that before its first token counts.
//!
//! This crate must never know `ktx.yaml`, ingest or the CLI.

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
