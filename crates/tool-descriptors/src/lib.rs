//! Tools as data: name, description, object schema, and what a call returns.
//!
//! A model sees only `markdown`; `structured` stays inside the process (KTX-54). This crate must
//! never know any LLM, MCP or domain.

mod argument;
mod descriptor;
mod lenient;
mod listed;
mod output;
mod parts;
mod properties;
mod render;
mod repair;
mod schema;
mod set;

pub use argument::{ArgumentMatcher, WholeText, matches_name};
pub use descriptor::{
    CallContext, NextSteps, NoProgress, ProgressSink, ToolDescriptor, ToolError, ToolHandler,
    WriteEffect, handler_fn,
};
pub use lenient::accepted_schema;
pub use listed::{ListedTool, SHARED, listed_schema, plain_schema};
pub use output::{LONGEST_TWICE, ToolOutput};
pub use parts::{CURSOR, LONGEST_RESULT, ResultParts};
pub use properties::ALIASES;
pub use render::markdown_of;
pub use schema::{ObjectSchema, SchemaError, object_schema_for, schema_for};
pub use set::{ToolSet, ToolSetError};

#[cfg(test)]
mod tests;
