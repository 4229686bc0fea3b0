//! The log of a session: an append-only file of JSON lines with sequence numbers and checksums.
//!
//! One process at a time writes a log under its lock; any number read it without one. A killed
//! process leaves at most one torn line at the end, which readers skip and the next writer moves
//! away. Any other invalid line is damage, which is never repaired in place.
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
