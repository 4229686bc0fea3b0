//! The `ktx.yaml` model: parsing with positions, in-place edits and the reference page.
//!
//! This crate must not know how anything runs.

mod check;
mod connection;
mod defaults;
pub mod edit;
pub mod env;
mod fields;
mod parse;
mod project;
mod reference;
mod resolve;
mod schema;
mod spec;
pub mod yaml;

pub use connection::{Connection, Driver, DriverKind};
pub use env::{Environment, EnvironmentError, OutputMode};
pub use fields::{FieldKind, field_kind, field_names};
pub use parse::{ParsedConfig, parse, parse_bytes};
pub use project::{
    Client, Embeddings, EmbeddingsBackend, Endpoint, EnrichmentMode, FailureMode, Ingest,
    Isolation, Llm, ModelBudget, ModelTimeouts, OpenAiProtocol, Profile, Project, PromptCaching,
    RateLimit, Relationships, Research, Scan, ValidationBudget, VertexConfig, WarehouseRules,
};
pub use reference::reference_markdown;
pub use resolve::{FILE_NAME, ProjectDirOrigin, ResolveError, ResolvedProject, project_dir};
pub use schema::schema;
pub use spec::DEFAULT_CLIENT;
