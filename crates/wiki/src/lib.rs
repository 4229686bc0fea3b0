//! Wiki pages: keys, front matter, links, byte-preserving edits.
//!
//! The functions take text and return values and diagnostics. This crate must never know search,
//! LLMs
//! or the file system.

mod edit;
mod front_matter;
mod key;
mod links;
mod markdown;
mod page;
mod path;

pub use edit::{EditError, FieldValue, remove_field, render_page, replace_body, set_field};
pub use front_matter::{FrontMatter, UsageMode};
pub use key::{KeyError, parse_key};
pub use links::{CodeReference, Link, ReferenceTarget, SlReference, code_references, links};
pub use page::{Page, PageSection, ParsedPage, parse, visible_to};
pub use path::{PagePath, PathError, Scope, UserId};
