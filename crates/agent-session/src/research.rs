//! The built-in research agent.

pub const RESEARCH: &str = include_str!("prompts/research.system.md");
