//! The built-in research agent.

/// The instructions of the research agent, which answers questions from the context layer.
pub const RESEARCH: &str = include_str!("prompts/research.system.md");
