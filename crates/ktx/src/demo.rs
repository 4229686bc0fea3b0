//! The sample project of `ktx demo`: a company, its warehouse, and its team's knowledge.

pub(crate) mod files;
pub(crate) mod random;
pub(crate) mod warehouse;

#[cfg(test)]
mod tests;
