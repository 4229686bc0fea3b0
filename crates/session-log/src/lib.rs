//! The log of a session: one append-only file of JSON lines, each with its sequence number and its checksum.
//!
//! One process at a time writes a log and holds its lock; any number of processes read it without one. A process that
//! is killed leaves at most one torn line at the end, which readers pass over and the next writer moves away. A wrong
//! line anywhere else is damage, which is named and never repaired in place.
//!
//! This crate must never know who runs models or tools, or what an event means.

mod error;
mod id;
mod inbox;
mod index;
mod lock;
mod log;
mod reader;
mod record;
mod store;

pub use error::LogError;
pub use id::{InvalidSessionId, SessionId};
pub use inbox::{Inbox, Letter};
pub use index::Indexed;
pub use log::{Durability, MOST_WAITING, SessionLog};
pub use reader::{LogReader, TornTail};
pub use record::{Channel, Entry, FORMAT, OPENED, Record};
pub use store::SessionStore;

#[cfg(test)]
mod tests;
