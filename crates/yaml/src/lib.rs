//! YAML that people also write: edits that change only what they must, and texts that every reader
//! reads alike.
//!
//! This crate must not know what a file means.

mod edit;
mod render;
mod tree;

pub use edit::{Obstacle, edit, reads_as};
pub use render::{double_quoted, is_special, is_word_of_another_type, text_scalar, to_yaml};
pub use tree::{Content, Entry, Node, Style, scalar_text, second_document, tree};
