//! The sample project of `ktx demo`.

pub(crate) mod files;
pub(crate) mod random;
pub(crate) mod warehouse;

#[cfg(test)]
mod tests;
