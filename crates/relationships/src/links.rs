//! Links between tables, people's decisions about them, and the joins of past queries.

pub mod decisions;
pub mod declared;
pub mod joins;
pub mod link;

#[cfg(test)]
mod tests;
