//! YAML that users also edit by hand. This crate must not know what a file means.

mod edit;
mod render;
mod tree;

pub use edit::{Obstacle, edit, reads_as};
pub use render::{double_quoted, is_special, is_word_of_another_type, text_scalar, to_yaml};
pub use tree::{Content, Entry, Node, Style, scalar_text, second_document, tree};
