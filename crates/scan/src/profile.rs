//! Reads samples and publishes statistics and value lists.

pub(crate) mod counts;
pub(crate) mod dictionary;
pub(crate) mod personal;
pub(crate) mod previous;
pub(crate) mod read;
pub(crate) mod sample;
pub(crate) mod table_read;
pub(crate) mod wire;

#[cfg(test)]
mod tests;
