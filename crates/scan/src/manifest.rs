//! Manifest shards: `semantic-layer/<connection>/_schema/*.yaml`, the input of the semantic layer.

mod joins;
pub(crate) mod merge;
mod seats;
mod usage;
mod warnings;

#[cfg(test)]
mod tests;
