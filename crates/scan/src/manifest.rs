//! Manifest shards: `semantic-layer/<connection>/_schema/*.yaml`.

mod joins;
pub(crate) mod merge;
mod seats;
mod usage;
mod warnings;

#[cfg(test)]
mod tests;
