//! The grammar of each dialect.

mod extended;
mod infix;
mod prefix;
mod switches;

pub use self::extended::{Extension, Grammar};
pub use self::prefix::TABLE;

#[cfg(test)]
mod tests;
