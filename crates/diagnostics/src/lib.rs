//! Diagnostics as data. Only `ktx` turns them into text or JSON.

mod code;
mod count;
mod diagnostic;
mod excerpt;
mod exit;
mod failure;
mod near;
mod position;

pub use code::{Code, codes_markdown};
pub use count::counted;
pub use diagnostic::{Diagnostic, Diagnostics, Hint, Hints, Severity, chain};
pub use excerpt::{LONGEST_EXCERPT, excerpt, shortened};
pub use exit::Exit;
pub use failure::{Author, Detail, Failure, MAX_CANDIDATES};
pub use near::nearest;
pub use position::{LineIndex, LineStarts, Location, Position};

#[cfg(test)]
mod tests;
