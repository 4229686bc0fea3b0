//! The shape of a source file, and its resolved meaning.

pub(crate) mod advice;
pub mod authored;
pub(crate) mod composed;
pub(crate) mod error;
pub(crate) mod formula;
pub(crate) mod granularity;
pub(crate) mod part;
pub(crate) mod resolved;
pub mod shape;
pub(crate) mod source_file;
