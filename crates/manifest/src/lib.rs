//! Manifest shards, `semantic-layer/<connection>/_schema/*.yaml`. This crate must not know how a
//! warehouse is read.

mod change;
pub mod place;
mod shard;
#[cfg(test)]
mod tests;

pub use change::{Change, change, parse};
pub use shard::{Placement, RenamedSource, is_own_file, place_all, renamed, shards_folder};
