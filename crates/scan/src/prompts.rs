//! The prompt templates. A missing value is an error.

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::request::ScanError;

pub(crate) const DESCRIBE_SYSTEM: &str = include_str!("prompts/describe.system.md");
pub(crate) const DESCRIBE: &str = include_str!("prompts/describe.md");
pub(crate) const ADJUDICATE_SYSTEM: &str = include_str!("prompts/adjudicate.system.md");
pub(crate) const ADJUDICATE: &str = include_str!("prompts/adjudicate.md");

pub(crate) fn render(template: &str, values: impl Serialize) -> Result<String, ScanError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
        .render_str(template, minijinja::value::Serde(values))
        .map_err(|error| ScanError::Internal {
            reason: format!("a prompt could not be rendered: {error}"),
        })
}

/// Returns data as one line that cannot close the fence around it.
pub(crate) fn fenced(text: &str, length: usize) -> String {
    let plain: String = text
        .chars()
        .map(|letter| match letter {
            '<' => '‹',
            '>' => '›',
            letter if letter.is_control() => ' ',
            letter => letter,
        })
        .collect();
    ktx_relationships::profile::column::clipped(&plain, length)
}
