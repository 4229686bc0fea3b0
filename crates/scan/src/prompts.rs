//! The prompt templates: files rendered strictly, so that a missing value is an error and not a gap.

use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::request::ScanError;

/// Instructions for describing a table.
pub(crate) const DESCRIBE_SYSTEM: &str = include_str!("prompts/describe.system.md");
/// The task of describing a table.
pub(crate) const DESCRIBE: &str = include_str!("prompts/describe.md");
/// Instructions for deciding links.
pub(crate) const ADJUDICATE_SYSTEM: &str = include_str!("prompts/adjudicate.system.md");
/// The task of deciding links.
pub(crate) const ADJUDICATE: &str = include_str!("prompts/adjudicate.md");

/// Renders a template.
pub(crate) fn render(template: &str, values: impl Serialize) -> Result<String, ScanError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
        .render_str(template, minijinja::value::Serde(values))
        .map_err(|error| ScanError::Internal {
            reason: format!("a prompt could not be rendered: {error}"),
        })
}

/// Data as one line that cannot close the fence around it.
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
    crate::profile::column::clipped(&plain, length)
}
