//! Manifest shards: `semantic-layer/<connection>/_schema/<shard>.yaml`, what the semantic layer reads.

mod joins;
pub(crate) mod merge;
mod place;
pub(crate) mod shard;
mod yaml;

#[cfg(test)]
mod tests;
