//! Runs relationship discovery.

pub(crate) mod adjudicate;
pub(crate) mod discover;
pub(crate) mod homes;
mod probe;
mod verify;
pub(crate) mod wire;

#[cfg(test)]
mod tests;
