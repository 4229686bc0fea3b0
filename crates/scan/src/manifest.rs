//! Manifest shards: `semantic-layer/<connection>/_schema/*.yaml`, the input of the semantic layer.

pub(crate) mod edit;
mod joins;
pub(crate) mod merge;
pub(crate) mod place;
mod seats;
pub(crate) mod shard;
mod usage;
mod write;
mod yaml;

#[cfg(test)]
mod tests;
