//! Links between tables, decisions about them, and joins of past queries.

pub mod decisions;
pub mod declared;
pub mod joins;
pub mod link;

#[cfg(test)]
mod tests;
