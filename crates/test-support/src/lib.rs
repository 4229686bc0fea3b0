//! Fakes, test projects and output filters for tests only.

pub mod databases;
pub mod fake_claude;
pub mod looker_fake;
pub mod loopback;
pub mod mcp_conformance;
pub mod mcp_fake;
pub mod metabase_fake;
pub mod notion_fake;
pub mod otlp;
pub mod provider_fake;
pub mod random;
pub mod sandbox;
pub mod services;
pub mod terminal;
